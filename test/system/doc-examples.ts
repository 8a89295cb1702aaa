import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A fenced block of a document. */
export interface DocBlock {
  /** `docs/parsing.md:5`. */
  readonly place: string;
  readonly language: string;
  readonly text: string;
}

/** Every fenced block of README.md, CONTRIBUTING.md and docs/*.md. */
export function docBlocks(): DocBlock[] {
  const docs = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  return ['README.md', 'CONTRIBUTING.md', ...docs.sort().map((name) => `docs/${name}`)].flatMap((path) =>
    blocksOf(path, readFileSync(join(ROOT, path), 'utf8')),
  );
}

export function blocksOf(path: string, document: string): DocBlock[] {
  const blocks: DocBlock[] = [];
  let open: { line: number; language: string; lines: string[] } | null = null;
  document.split('\n').forEach((line, at) => {
    const fence = /^\s*```(\w*)\s*$/.exec(line);
    if (fence === null) open?.lines.push(line);
    else if (open === null) open = { line: at + 1, language: fence[1] ?? '', lines: [] };
    else {
      blocks.push({ place: `${path}:${open.line}`, language: open.language, text: open.lines.join('\n') });
      open = null;
    }
  });
  return blocks;
}

/** A command of a shell block: its words without quotes, and the output that a comment behind it shows. */
export interface ShellCommand {
  readonly words: readonly string[];
  readonly shown: string | null;
}

/**
 * The commands of a block, as a shell would cut them: quotes, continued lines, comments, `&&`. A comment on a line of its
 * own that begins with a bracket shows what the command before it prints.
 */
export function shellCommands(block: string): ShellCommand[] {
  const commands: { words: string[]; shown: string | null }[] = [];
  let words: string[] = [];
  const end = () => {
    if (words.length > 0) commands.push({ words, shown: null });
    words = [];
  };
  const lexer =
    /\\\n|\n|&&|;(?=\s)|#[^\n]*|(?:\$\((?:[^()]|\([^()]*\))*\)|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|[^\s'"\\;&#]|\\[^\n]|#)+|[^\S\n]+/g;
  for (const [token] of block.matchAll(lexer)) {
    if (token === '\n' || token === '&&' || token === ';') end();
    else if (token.startsWith('#')) {
      end();
      const last = commands.at(-1);
      if (last !== undefined && /^# ?[{[]/.test(token)) last.shown = token.slice(1).trim();
    } else if (token !== '\\\n' && token.trim() !== '') words.push(token);
  }
  end();
  return commands;
}

/** A word without its quotes, with the variables that are known. */
export function expanded(word: string, variables: Readonly<Record<string, string>>): string {
  return word.replace(/'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|([^'"]+)/g, (_, single, double, bare) => {
    if (single !== undefined) return single;
    const text: string = double === undefined ? bare : double.replace(/\\(["\\$`])/g, '$1');
    return text.replace(/\$\{?(\w+)\}?/g, (whole, name) => {
      const value = variables[name];
      if (value === undefined) throw new Error(`nothing says what ${whole} is`);
      return value;
    });
  });
}

/** What `curl` would send. */
export function curlRequest(words: readonly string[]): { url: string; init: RequestInit } {
  const headers = new Headers();
  let body: string | FormData | undefined;
  let url: string | undefined;
  for (let at = 1; at < words.length; at++) {
    const word = words[at] ?? '';
    const value = () => words[++at] ?? '';
    if (/^-[sSN]+$/.test(word)) continue;
    if (word === '-H') {
      const [, name = '', text = ''] = /^([^:]+):\s*(.*)$/.exec(value()) ?? [];
      headers.set(name, text);
    } else if (word === '-d') body = value();
    else if (word === '-F') {
      const [, field = '', file = ''] = /^(\w+)=@(.+)$/.exec(value()) ?? [];
      const form = body instanceof FormData ? body : new FormData();
      form.append(field, new Blob([readFileSync(file)]), file.split('/').at(-1));
      body = form;
    } else if (word.startsWith('-')) throw new Error(`curl ${word} is not known here`);
    else url = word.includes('://') ? word : `http://${word}`;
  }
  if (url === undefined) throw new Error('curl without an address');
  return { url, init: { method: body === undefined ? 'GET' : 'POST', headers, ...(body && { body }) } };
}
