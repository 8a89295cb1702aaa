/** The rule shown to find what it is for, on trees that break it; then the walks of ARCHITECTURE.md against the real imports. */
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { treeOf } from './made-up-tree.ts';
import { describeFinding, readTree } from './tree.ts';
import { checkWalks, readWalks } from './walks.ts';

const FILES = {
  'src/start/gateway.ts': "import '../gateway/server.ts';\nimport { a } from '../adapters/upstream/http.ts';",
  'src/http/listen.ts': '',
  'src/gateway/server.ts': "import type { Admit } from './admit.ts';",
  'src/gateway/admit.ts': "import '../ports/upstream.ts';",
  'src/ports/upstream.ts': '',
  'src/adapters/upstream/http.ts': '',
  'src/adapters/upstream/alone.ts': '',
};
const NONE = new Map<string, number>();

function problems(items: readonly string[], longest: ReadonlyMap<string, number> = NONE): string[] {
  const list = items.map((item, at) => `${at + 1}. ${item}`).join('\n');
  const text = `# A\n\n## Walks\n\nProse.\n\n### A call\n\n${list}\n\n## Rest\n`;
  const findings = checkWalks(treeOf({ ...FILES, 'ARCHITECTURE.md': text }), longest);
  return findings.map(({ line, problem }) => `${line} ${problem}`);
}

describe('walks follow the imports', () => {
  const listen = '`src/http/listen.ts`: a request comes';
  const server = '`src/gateway/server.ts` (wired by start)';
  const admit = '`src/gateway/admit.ts` refuses, by `routes`';
  const upstream = '`src/adapters/upstream/http.ts`\n   (wired by start): the provider';

  test('a walk by imports, type imports too, and by what start joins is fine', () => {
    expect(problems([listen, server, admit, upstream])).toEqual([]);
  });

  test.each([
    ['a file that is not there', [listen, '`src/gateway/gone.ts`'], 'is no file of the product'],
    ['an item without a path', [listen, 'the server'], 'is no file of the product'],
    ['a test', [listen, '`test/a.ts`'], 'is no file of the product'],
    ['a way back', [listen, server, admit, server], 'goes back to a file that the walk has passed'],
    ['a jump', [listen, '`src/gateway/server.ts`'], 'is imported by no file before it'],
    [
      'an import in the other direction',
      ['`src/gateway/admit.ts`', '`src/gateway/server.ts`'],
      'no file before it',
    ],
    [
      'a jump without a join',
      [listen, '`src/adapters/upstream/alone.ts` (wired by start)'],
      'no file of src/start',
    ],
    [
      'a mark that is not needed',
      ['`src/gateway/server.ts`', `${admit} (wired by start)`],
      'leave "(wired by start)" out',
    ],
  ])('%s is found', (_, items, problem) => {
    const found = problems(items);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(problem);
    expect(found[0]).toStartWith(`${8 + items.length} `);
  });

  test('a walk with too many files is found, and so is one that is not there', () => {
    expect(problems([listen, server], new Map([['A call', 1]]))).toEqual([
      '7 A call: has 2 files, at most 1 are allowed',
    ]);
    expect(problems([listen, server], new Map([['A match', 9]]))).toEqual([
      '1 has no list under "### A match" in its section "## Walks"',
    ]);
    expect(checkWalks(treeOf(FILES))).toHaveLength(1);
  });

  test('only lists of the section count, each with its heading, and their numbers follow each other', () => {
    const text =
      '### No walk\n\n1. `a.ts`\n\n## Walks\n\n1. `b.ts`\n\n### One\n\nProse.\n\n1. `c.ts`\n3. `d.ts`\n\n' +
      '### Prose\n\nNone.\n\n### Two\n\n1. `e.ts`\n\n## Rest\n\n### Three\n\n1. `f.ts`\n';
    const walks = readWalks(text).map(({ title, stops }) => [title, stops.map(({ path }) => path)]);
    expect(walks).toEqual([
      ['One', ['c.ts', 'd.ts']],
      ['Two', ['e.ts']],
    ]);
    const found = checkWalks(
      treeOf({ 'ARCHITECTURE.md': text, 'c.ts': "import './d.ts';", 'd.ts': '', 'e.ts': '' }),
      NONE,
    );
    expect(found.map(describeFinding)).toEqual(['ARCHITECTURE.md:14 One, 3. d.ts: must be number 2']);
  });
});

test('ARCHITECTURE.md lists the files that one meets', () => {
  expect(checkWalks(readTree(join(import.meta.dir, '../..'))).map(describeFinding)).toEqual([]);
});
