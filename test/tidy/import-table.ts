import { findImports } from './imports.ts';
import * as tables from './tables.ts';
import { type Finding, isCode, isTestCode, type SourceFile, type Tree } from './tree.ts';

/**
 * The room that a file belongs to: `gateway`, `domain/keys`, `adapters/database`, `test` … `root` is what is
 * no code of ours: package.json, migrations.
 */
function roomOf(path: string): string {
  if (isTestCode(path)) return path.startsWith('bench/') ? 'bench' : 'test';
  const [top = '', room = '', folder = '', ...rest] = path.split('/');
  if (top === 'console' || top === 'bin') return top;
  if (top !== 'src') return 'root';
  const hasFolders = room === 'domain' || room === 'adapters';
  return hasFolders && rest.length > 0 ? `${room}/${folder}` : room;
}

/** Rule 1: who may import whom, type-only and dynamic imports too. */
export function checkImportTable(
  tree: Tree,
  rooms = tables.rooms,
  siblings = tables.domainSiblings,
): Finding[] {
  return tree.flatMap((file) => {
    if (!isCode(file.path)) return [];
    const from = roomOf(file.path);
    // Nothing keeps test code from looking at everything, and the root's own code is tools' settings.
    if (from === 'test' || from === 'bench' || from === 'root') return [];
    if (from === 'domain' || from === 'adapters') {
      return [
        { path: file.path, line: 1, problem: `a file of ${from} belongs in a folder of its capability` },
      ];
    }
    const [kind = ''] = from.split('/');
    const row = rooms.find((one) => one.from === kind);
    if (row === undefined) {
      return [
        { path: file.path, line: 1, problem: `src/${kind} is no room of this house (test/tidy/tables.ts)` },
      ];
    }
    const own = siblings.find((one) => `domain/${one.from}` === from);
    const allowed = [from, ...row.to, ...(own?.to ?? []).map((sibling) => `domain/${sibling}`)];
    return checkFile(file, from, allowed);
  });
}

function checkFile(file: SourceFile, from: string, allowed: readonly string[]): Finding[] {
  return findImports(file).flatMap(({ specifier, target, line }) => {
    if (specifier === null) {
      const problem = 'import() of a computed path, which no rule can follow: write the path out';
      return [{ path: file.path, line, problem }];
    }
    if (target === null) return [];
    const to = roomOf(target);
    const [kind = ''] = to.split('/');
    if (allowed.includes(to) || allowed.includes(kind)) return [];
    const problem = `${from} imports ${to} (${specifier}); it may import only ${allowed.join(', ')}`;
    return [{ path: file.path, line, problem }];
  });
}
