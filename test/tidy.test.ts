/**
 * The house rules, kept by a test. Each rule is first shown to find what it is for, on a small tree that
 * breaks it (the longer ones in test/tidy); then all of them look at the real tree, which also shows what they leave alone.
 */
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { checkBannedWords } from './tidy/banned-words.ts';
import { checkContractingMigrations } from './tidy/contracting-migrations.ts';
import { checkCycles } from './tidy/cycles.ts';
import { checkDeadFiles, checkMigrations } from './tidy/dead-files.ts';
import { checkDocPaths } from './tidy/doc-paths.ts';
import { checkDomainReadmes } from './tidy/domain-readmes.ts';
import { checkImportTable } from './tidy/import-table.ts';
import { checkDependencies, checkLibraryHomes } from './tidy/library-homes.ts';
import { places, treeOf } from './tidy/made-up-tree.ts';
import { checkNames } from './tidy/names.ts';
import { checkFolders, checkSizes } from './tidy/sizes.ts';
import { checkStoredFunctions } from './tidy/stored-functions.ts';
import { checkTableOwners } from './tidy/table-owners.ts';
import * as tables from './tidy/tables.ts';
import { describeFinding, readTree } from './tidy/tree.ts';
import { checkWalks } from './tidy/walks.ts';

test('rule 3: a file, a test, a function and a folder over their limits are found, at the limit they are fine', () => {
  const lines = (count: number) => 'a();\n'.repeat(count);
  const functionOf = (count: number) => `function long() {\n${'  a();\n'.repeat(count - 2)}}\n`;
  const sizes = (files: Record<string, string>) => places(checkSizes(treeOf(files)));
  expect(sizes({ 'src/a.ts': lines(601), 'src/a.test.ts': lines(701) })).toEqual([
    'src/a.ts:1',
    'src/a.test.ts:1',
  ]);
  expect(sizes({ 'test/a.ts': `b();\n${functionOf(71)}` })).toEqual(['test/a.ts:2']);
  expect(sizes({ 'src/a.ts': lines(600), 'src/a.test.ts': lines(700), 'src/b.ts': functionOf(70) })).toEqual(
    [],
  );
  const files = (count: number, ending: string) =>
    Array.from({ length: count }, (_, at) => ({ path: `src/http/a${at}${ending}`, text: '' }));
  expect(places(checkFolders(files(21, '.ts')))).toEqual(['src/http:1']);
  expect(checkFolders([...files(20, '.ts'), ...files(20, '.test.ts'), ...files(20, '.json')])).toEqual([]);
});

test('rule 4: names that name nothing are found', () => {
  const find = (path: string) => places(checkNames(treeOf({ [path]: '' })));
  for (const path of ['src/http/utils.ts', 'src/shared/a.ts', 'console/types.d.ts', 'test/lib/a.ts'])
    expect(find(path)).toEqual([`${path}:1`]);
});

test('rule 6: every capability has its README', () => {
  const readme = '# Keys\n\n## Owns\n\n- a\n\n## Does not own\n\n- b\n\n## Invariants\n\n- c\n';
  const find = (files: Record<string, string>) =>
    places(checkDomainReadmes(treeOf({ 'src/domain/keys/a.ts': '', ...files })));
  expect(find({ 'src/domain/keys/README.md': readme })).toEqual([]);
  expect(find({})).toEqual(['src/domain/keys/README.md:1']);
  const disordered = readme.replace('## Owns', '').concat('## Owns');
  expect(find({ 'src/domain/keys/README.md': disordered })).toEqual(['src/domain/keys/README.md:1']);
});

test('rule 7: a file that no process reaches is found', () => {
  const tree = treeOf({
    'src/start/gateway.ts': "import '../gateway/server.ts';",
    'src/gateway/server.ts':
      "import type { A } from '../ports/a.ts';\nnew URL('./thread.ts', import.meta.url);",
    'src/gateway/thread.ts': '',
    'src/gateway/server.test.ts': "import './only-tested.ts';",
    'src/gateway/only-tested.ts': '',
    'src/gateway/alone.ts': "// no file says import './alone.ts'",
    'src/ports/a.ts': '',
  });
  expect(places(checkDeadFiles(tree))).toEqual(['src/gateway/only-tested.ts:1', 'src/gateway/alone.ts:1']);
});

test('rule 7: migrations are numbered without gaps or repeats', () => {
  const named = (...names: string[]) =>
    places(checkMigrations(names.map((name) => ({ path: `migrations/${name}`, text: '' }))));
  expect(named('0001_accounts.sql', '0002_api_keys.sql', 'README.md', 'functions/a.sql')).toEqual([]);
  expect(named('0001_a.sql', '0003_b.sql')).toEqual(['migrations/0003_b.sql:1']);
  expect(named('0001_a.sql', '0001_b.sql')).toEqual(['migrations/0001_b.sql:1']);
  expect(named('1_a.sql')).toEqual(['migrations/1_a.sql:1']);
});

describe('rule 8: banned words', () => {
  const find = (path: string, text: string) => places(checkBannedWords(treeOf({ [path]: text }), []));

  test.each([
    ['test/a.test.ts', "test.only('a', () => {});"],
    ['src/http/a.test.ts', "describe.skip.each([])('a', () => {});"],
    ['src/domain/keys/a.ts', 'const now = Date.now();'],
    ['src/http/a.ts', 'const now = new Date();'],
    ['src/start/a.ts', 'setTimeout(stop, 10);'],
    ['test/a.test.ts', 'await Bun.sleep(60);'],
    ['src/gateway/a.test.ts', 'setTimeout(resolve, delayMs);'],
    ['src/gateway/a.ts', 'const id = crypto.randomUUID();'],
    ['src/http/a.ts', 'const a = process?.env.A;'],
    ['src/http/a.ts', 'const { env } = process;'],
    ['src/http/a.ts', "import { env } from 'node:process';"],
  ])('%s: %s', (path, text) => {
    expect(find(path, text)).toEqual([`${path}:1`]);
  });

  test('an exception counts for its file and word, and is found when it is not needed', () => {
    const exceptions = [{ path: 'src/start/a.ts', word: 'time', reason: 'made up' }];
    expect(checkBannedWords(treeOf({ 'src/start/a.ts': 'setTimeout(a, 1);' }), exceptions)).toEqual([]);
    expect(places(checkBannedWords([], exceptions))).toEqual(['src/start/a.ts:1']);
  });
});

test('rule 11: an import cycle is found, also through types', () => {
  const tree = treeOf({
    'src/http/a.ts': "import { b } from './b.ts';",
    'src/http/b.ts': "import type { C } from './c.ts';\nimport './d.ts';",
    'src/http/c.ts': "export { a } from './a.ts';",
    'src/http/d.ts': '',
    'src/http/a.test.ts': "import './a.ts';",
  });
  expect(checkCycles(tree).map(({ problem }) => problem)).toEqual([
    'import cycle: src/http/a.ts -> src/http/b.ts -> src/http/c.ts -> src/http/a.ts',
  ]);
  expect(checkCycles(tree.filter(({ path }) => path !== 'src/http/c.ts'))).toEqual([]);
});

describe('the real tree', () => {
  const tree = readTree(join(import.meta.dir, '..'));

  test.each([
    ['1 imports follow the table', checkImportTable(tree)],
    ['2 every library has its home', checkLibraryHomes(tree)],
    ['2 every dependency is pinned and explained', checkDependencies(tree)],
    ['3 files and functions are short', checkSizes(tree)],
    ['3 no folder is too full', checkFolders(tree)],
    ['4 names name something', checkNames(tree)],
    ['6 every capability has its README', checkDomainReadmes(tree)],
    ['7 nothing is dead', checkDeadFiles(tree)],
    ['7 migrations are counted', checkMigrations(tree)],
    ['8 no banned words', checkBannedWords(tree)],
    ['10 migrations leave the version before running', checkContractingMigrations(tree)],
    ['11 no import cycle', checkCycles(tree)],
    ['12 stored functions are only ever extended', checkStoredFunctions(tree)],
    ['13 every table is written by its owner', checkTableOwners(tree)],
    ['14 paths in documents exist', checkDocPaths(tree)],
    ['15 ARCHITECTURE.md lists the files that one meets', checkWalks(tree)],
  ])('keeps rule %s', (_, findings) => {
    expect(findings.map(describeFinding)).toEqual([]);
  });

  test('is not empty', () => {
    expect(tree.length).toBeGreaterThan(50);
  });

  test('every exception says why', () => {
    const rows = [...tables.rooms, ...tables.domainSiblings, ...tables.libraryHomes];
    for (const row of [...rows, ...tables.wordExceptions, ...tables.tableExceptions])
      expect(row.reason.length).toBeGreaterThan(10);
  });
});
