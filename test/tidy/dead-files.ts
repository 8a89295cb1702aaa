import { findImports } from './imports.ts';
import * as tables from './tables.ts';
import { type Finding, isCode, isTestCode, type Tree } from './tree.ts';

/** Rule 7: every file of src is reached from where a process begins. */
export function checkDeadFiles(tree: Tree, entries: readonly string[] = tables.entries): Finding[] {
  const files = new Map(tree.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const ahead = [...entries];
  for (let path = ahead.pop(); path !== undefined; path = ahead.pop()) {
    const file = files.get(path);
    if (file === undefined || reached.has(path)) continue;
    reached.add(path);
    if (isCode(path)) ahead.push(...findImports(file).flatMap(({ target }) => target ?? []));
  }
  return tree
    .filter(({ path }) => path.startsWith('src/') && isCode(path) && !isTestCode(path) && !reached.has(path))
    .map(({ path }) => {
      const problem = 'no process imports it: use it, delete it, or move it to test/ if only tests need it';
      return { path, line: 1, problem };
    });
}

/** Rule 7, second half: migrations are counted from 0001 without gaps or repeats. */
export function checkMigrations(tree: Tree): Finding[] {
  const names = tree
    .map((file) => file.path)
    .filter((path) => /^migrations\/(?!functions\/)/.test(path) && !/\.md$|\/releases\.json$/.test(path))
    .sort();
  return names.flatMap((path, at): Finding[] => {
    const number = /^migrations\/(\d{4})_[a-z0-9]+(?:_[a-z0-9]+)*\.sql$/.exec(path)?.[1];
    if (number === undefined) return [{ path, line: 1, problem: 'must be called NNNN_words_like_these.sql' }];
    const previous = Number(/(\d{4})_/.exec(names[at - 1] ?? '')?.[1] ?? 0);
    if (Number(number) === previous + 1) return [];
    const wanted = String(previous + 1).padStart(4, '0');
    return [
      {
        path,
        line: 1,
        problem: `follows ${String(previous).padStart(4, '0')}: its number must be ${wanted}`,
      },
    ];
  });
}
