import { posix } from 'node:path';
import { scan } from './scan.ts';
import { lineAt, type SourceFile } from './tree.ts';

interface Import {
  /** As written; null where it is computed. */
  readonly specifier: string | null;
  /** The repository's path that a relative specifier names. */
  readonly target: string | null;
  readonly line: number;
  /** `started`: not imported but run, as a thread or a process, by its path. */
  readonly kind: 'imported' | 'started';
}

interface Form {
  readonly pattern: RegExp;
  readonly kind: Import['kind'];
  /** What must follow the specifier's closing quote. */
  readonly followedBy?: RegExp;
}

/** Each matches up to and with the opening quote, in a text whose strings are blank. */
const forms: readonly Form[] = [
  {
    pattern: /(?<![.\w$])(?:import|export)\b(?:[\w$*{}\s,]*?[\s}*]from)?\s*(['"])/g,
    kind: 'imported',
  },
  { pattern: /(?<![.\w$])(?:import|require)\s*\(\s*(['"`])/g, kind: 'imported' },
  { pattern: /\bnew\s+URL\s*\(\s*(['"`])/g, kind: 'started', followedBy: /^\s*,\s*import\.meta\.url\b/ },
  { pattern: /\bWorker\s*\(\s*(['"`])/g, kind: 'started' },
];
const computed = /(?<![.\w$])import\s*\((?!\s*['"`])/g;

/** Every import of a file: static, type-only, dynamic, re-exported, and what is started by a literal path. */
export function findImports(file: SourceFile): Import[] {
  const { code, bare } = scan(file.text);
  const found: Import[] = [];
  for (const form of forms) {
    for (const match of bare.matchAll(form.pattern)) {
      const begin = match.index + match[0].length;
      const end = bare.indexOf(match[1] ?? '', begin);
      if (end === -1 || form.followedBy?.test(bare.slice(end + 1)) === false) continue;
      const specifier = code.slice(begin, end);
      const target = targetOf(file.path, specifier);
      // A URL of a folder or of data is no code that runs.
      if (form.kind === 'started' && !(target ?? '').endsWith('.ts')) continue;
      found.push({ specifier, target, line: lineAt(bare, match.index), kind: form.kind });
    }
  }
  for (const match of bare.matchAll(computed)) {
    found.push({ specifier: null, target: null, line: lineAt(bare, match.index), kind: 'imported' });
  }
  return found.sort((one, other) => one.line - other.line);
}

function targetOf(from: string, specifier: string): string | null {
  return /^\.\.?\//.test(specifier) ? posix.join(posix.dirname(from), specifier) : null;
}

/** `@scope/name/part` is of `@scope/name`; all of Node's own parts are `node:`, all of Bun's `bun`. */
export function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return 'node:';
  if (specifier.startsWith('bun:')) return 'bun';
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
