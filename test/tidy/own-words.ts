import * as tables from './tables.ts';
import { type Finding, lineAt, type Tree } from './tree.ts';

const lockFile = 'package-lock.json';

const foreignPlaces = [
  {
    pattern: /(?<![\w.~\-/})\]])(?:file:\/\/)?\/(?:work|root|home\/[\w.-]+)\/[^\s'"`)]*/g,
    problem: 'is a path of one developer’s machine: say it relative to the repository',
  },
  {
    pattern: /\/\/registry\.[^\s'"`)]*/g,
    problem: 'is a registry’s address: which one is used is a setting of the machine',
  },
];

/** Rule 9: the project describes itself alone, not the machines that it was made on. */
export function checkOwnWords(
  tree: Tree,
  exceptions: readonly tables.TextException[] = tables.placeExceptions,
): Finding[] {
  return tree.flatMap(({ path, text }): Finding[] => {
    if (path === lockFile) return checkLockFile(text);
    return foreignPlaces.flatMap(({ pattern, problem }) =>
      [...text.matchAll(pattern)]
        .filter(([place]) => !exceptions.some((one) => one.path === path && place.startsWith(one.text)))
        .map((match) => ({ path, line: lineAt(text, match.index), problem: `${match[0]} ${problem}` })),
    );
  });
}

function checkLockFile(text: string): Finding[] {
  return [...text.matchAll(/"resolved":\s*"https?:/g)].map((match) => ({
    path: lockFile,
    line: lineAt(text, match.index),
    problem:
      'names the registry it was made with: leave "resolved" out (npm --omit-lockfile-registry-resolved)',
  }));
}
