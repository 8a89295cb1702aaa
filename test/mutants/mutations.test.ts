import { expect, test } from 'bun:test';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { treeOf } from '../tidy/made-up-tree.ts';
import { drawMutations, findMutations, mutate } from './mutations.ts';

const TEXT = `import { a } from './a.ts';
interface Shape { readonly isOpen: true; }
/** Not here: a < b. */
export async function of(list: readonly Map<string, number>[]): Promise<boolean> {
  if (!list.length && a >= 2) return true;
  await a.store('1 < 2');
  const x = { isOpen: true, most: Math.min(a + 1, 3) };
  return x.most === 2;
}
`;

test('operators, constants and statements change; types, texts and comments do not', () => {
  const found = findMutations(treeOf({ 'src/domain/a.ts': TEXT }));
  expect(found.map(({ line, from, to }) => [line, from, to])).toEqual([
    [5, '!', ''],
    [5, ' && ', ' || '],
    [5, ' >= ', ' > '],
    [5, '2', '3'],
    [5, 'true', 'false'],
    [6, "await a.store('1 < 2');", ''],
    [7, 'true', 'false'],
    [7, 'Math.min(', 'Math.max('],
    [7, ' + ', ' - '],
    [7, '1', '2'],
    [7, '3', '4'],
    [8, ' === ', ' !== '],
    [8, '2', '3'],
  ]);
  const last = found.at(-2);
  if (last === undefined) throw new Error('nothing is found');
  expect(mutate(TEXT, last)).toBe(TEXT.replace('x.most ===', 'x.most !=='));
});

test('the same are drawn for a seed, at most two of a file', () => {
  const all = findMutations(treeOf({ 'src/domain/a.ts': TEXT, 'src/domain/b.ts': TEXT }));
  const draw = () => drawMutations(all, 10, createSeededRandom(5).below);
  expect(draw()).toEqual(draw());
  expect(
    draw()
      .map(({ path }) => path)
      .sort(),
  ).toEqual([...['src/domain/a.ts', 'src/domain/a.ts', 'src/domain/b.ts', 'src/domain/b.ts']]);
});
