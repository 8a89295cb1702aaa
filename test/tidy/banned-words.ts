import { scan } from './scan.ts';
import * as tables from './tables.ts';
import { type Finding, isCode, isTestCode, lineAt, type Tree } from './tree.ts';

interface BannedWord {
  readonly name: string;
  readonly pattern: RegExp;
  readonly instead: string;
  isCheckedIn(path: string): boolean;
}

const ENVIRONMENT_READER = 'src/start/settings/configuration.ts';

const inRunTests = (path: string) => /^test\/|\.(?:test|contract)\.tsx?$/.test(path);
/** Time and randomness are reached through ports, and adapters are where the ports end. */
const inSource = (path: string) =>
  path.startsWith('src/') && !path.startsWith('src/adapters/') && !isTestCode(path);
/** One file reads the environment, so that it can name all that is wrong with it. */
const inReaders = (path: string) =>
  !isTestCode(path) && !path.startsWith('bin/') && path !== ENVIRONMENT_READER;

const bannedWords: readonly BannedWord[] = [
  {
    name: 'only-or-skip',
    pattern: /\.(?:only|skip|todo)\s*[(.]/g,
    instead: 'run every test, or say when not: skipIf',
    isCheckedIn: isTestCode,
  },
  {
    name: 'fixed wait',
    // A method of that name, such as a socket's or a manual clock's, is none.
    pattern: /\bBun\.sleep\s*\(|(?<![.\w])setTimeout\s*\(/g,
    instead: 'wait for a fact: until() in test/doubles, an event, or a clock that the test moves',
    isCheckedIn: inRunTests,
  },
  {
    name: 'environment',
    pattern:
      /\b(?:process|Bun|import\.meta)\s*\??\.\s*env\b|\{[^{}]*\benv\b[^{}]*\}\s*=\s*(?:process|Bun|import\.meta)\b|\bimport\s*\{[^{}]*\benv\b[^{}]*\}\s*from/g,
    instead: `read it in ${ENVIRONMENT_READER} and hand the value over`,
    isCheckedIn: inReaders,
  },
  {
    name: 'time',
    pattern: /\bDate\.now\b|\bnew Date\b(?:\s*\(\s*\)|(?!\s*\())|\b(?:setTimeout|setInterval)\b/g,
    instead: 'ask the Clock port, so that no test has to wait',
    isCheckedIn: inSource,
  },
  {
    name: 'randomness',
    pattern: /\bMath\.random\b|\b(?:randomUUID|getRandomValues)\b/g,
    instead: 'ask the Secrets port, so that a test can predict it',
    isCheckedIn: inSource,
  },
];

/** Rule 8: what we do not write. */
export function checkBannedWords(
  tree: Tree,
  exceptions: readonly tables.WordException[] = tables.wordExceptions,
): Finding[] {
  const used = new Set<tables.WordException>();
  const found = tree.flatMap(({ path, text }) => {
    if (!isCode(path)) return [];
    const { bare } = scan(text);
    return bannedWords.flatMap((banned) => {
      if (!banned.isCheckedIn(path)) return [];
      const matches = [...bare.matchAll(banned.pattern)];
      const exception = exceptions.find((one) => one.path === path && one.word === banned.name);
      if (exception !== undefined && matches.length > 0) {
        used.add(exception);
        return [];
      }
      return matches.map((match) => {
        const problem = `"${match[0].trim()}" is not written here: ${banned.instead}`;
        return { path, line: lineAt(bare, match.index), problem };
      });
    });
  });
  const stale = exceptions
    .filter((exception) => !used.has(exception))
    .map(({ path, word }) => {
      const problem = `${word} is not used any more: delete its row in test/tidy/tables.ts`;
      return { path, line: 1, problem };
    });
  return [...found, ...stale];
}
