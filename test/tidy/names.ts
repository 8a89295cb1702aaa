import type { Finding, Tree } from './tree.ts';

/** Names that say "various": whatever is put there has no better reason to be there. */
const bannedNames = [
  ...['shared', 'common', 'utils', 'util', 'helpers', 'helper', 'lib', 'misc'],
  ...['manager', 'service', 'services', 'types', 'constants', 'index'],
];

/** The programs that tests run on are services, and nothing else is in that folder. */
const allowedFolder = 'test/services/';

/** Rule 4: every folder and file says what it holds. */
export function checkNames(tree: Tree): Finding[] {
  return tree.flatMap(({ path }) => {
    if (!/^(?:src|console|test|bench)\//.test(path)) return [];
    const checked = path.startsWith(allowedFolder) ? path.slice(allowedFolder.length) : path;
    const banned = checked
      .split('/')
      .map((part) => part.replace(/\..*$/, ''))
      .find((name) => bannedNames.includes(name.toLowerCase()));
    // A browser's first page is called index.html everywhere.
    if (banned === undefined || (banned === 'index' && path.endsWith('.html'))) return [];
    return [{ path, line: 1, problem: `"${banned}" names nothing: say what is in it` }];
  });
}
