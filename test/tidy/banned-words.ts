import { scan } from './scan.ts';
import * as tables from './tables.ts';
import { type Finding, isCode, isTestCode, lineAt, type Tree } from './tree.ts';

interface BannedWord {
  readonly name: string;
  readonly pattern: RegExp;
  /** `text` looks into comments and strings too, `bare` into neither. */
  readonly in: 'text' | 'bare';
  readonly instead: string;
  isCheckedIn(path: string): boolean;
}

const everywhere = () => true;
const inTests = (path: string) => isTestCode(path);
const inRunTests = (path: string) => /^test\/|\.(?:test|contract)\.tsx?$/.test(path);
/** Time and randomness are reached through ports, and adapters are where the ports end. */
const inSource = (path: string) =>
  path.startsWith('src/') && !path.startsWith('src/adapters/') && !isTestCode(path);

const throughClock = 'ask the Clock port, so that no test has to wait';
const waitForFact = 'wait for a fact: until() in test/doubles, an event, or a clock that the test moves';
const throughSecrets = 'ask the Secrets port, so that a test can predict it';

/** The brackets around single letters keep this file from finding itself. */
const bannedWords: readonly BannedWord[] = [
  word(
    'any',
    /(?::\s*|\bas\s+|[<,|&]\s*)any\b(?!\s*[(:.])|\bany\[\]/g,
    'bare',
    'say the type, or unknown',
    everywhere,
  ),
  word('ts-ignore', /@ts-(?:ignore|nocheck)\b/g, 'text', 'solve what the compiler says', everywhere),
  word('unfinished', /\b(?:TO[D]O|FIX[M]E|XX[X]|HA[C]K)\b/g, 'text', 'do it, or leave it', everywhere),
  word(
    'only-or-skip',
    /\.(?:only|skip|todo)\s*[(.]/g,
    'bare',
    'run every test, or say when not: skipIf',
    inTests,
  ),
  // A method of that name, such as a socket's or a manual clock's, is none.
  word('fixed wait', /\bBun\.sleep\s*\(|(?<![.\w])setTimeout\s*\(/g, 'bare', waitForFact, inRunTests),
  word('Date.now', /\bDate\.now\b/g, 'bare', throughClock, inSource),
  word('new Date()', /\bnew Date\b(?:\s*\(\s*\)|(?!\s*\())/g, 'bare', throughClock, inSource),
  word('timer', /\b(?:setTimeout|setInterval)\b/g, 'bare', throughClock, inSource),
  word('Math.random', /\bMath\.random\b/g, 'bare', throughSecrets, inSource),
  word('crypto random', /\b(?:randomUUID|getRandomValues)\b/g, 'bare', throughSecrets, inSource),
];

function word(
  name: string,
  pattern: RegExp,
  where: BannedWord['in'],
  instead: string,
  isCheckedIn: BannedWord['isCheckedIn'],
): BannedWord {
  return { name, pattern, in: where, instead, isCheckedIn };
}

/** Rule 8: what we do not write. */
export function checkBannedWords(
  tree: Tree,
  exceptions: readonly tables.WordException[] = tables.wordExceptions,
): Finding[] {
  const used = new Set<tables.WordException>();
  const found = tree.flatMap(({ path, text }) => {
    if (!isCode(path) && !/\.(?:sql|css|html|sh|lua)$/.test(path)) return [];
    return bannedWords.flatMap((banned) => {
      if (!banned.isCheckedIn(path) || (banned.in === 'bare' && !isCode(path))) return [];
      const searched = banned.in === 'bare' ? scan(text).bare : text;
      const matches = [...searched.matchAll(banned.pattern)];
      const exception = exceptions.find((one) => one.path === path && one.word === banned.name);
      if (exception !== undefined && matches.length > 0) {
        used.add(exception);
        return [];
      }
      return matches.map((match) => {
        const problem = `"${match[0].trim()}" is not written here: ${banned.instead}`;
        return { path, line: lineAt(searched, match.index), problem };
      });
    });
  });
  const stale = exceptions
    .filter((exception) => !used.has(exception))
    .map(({ path, word }) => {
      return {
        path,
        line: 1,
        problem: `${word} is not used any more: delete its row in test/tidy/tables.ts`,
      };
    });
  return [...found, ...stale];
}
