/**
 * The house rules, kept by a test. Each rule is first shown to find what it is for, on a small tree that
 * breaks it, and to leave alone what is fine (rules 1 and 2 in tidy/imports.test.ts); then all of them look
 * at the real tree.
 */
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { checkBannedWords } from './tidy/banned-words.ts';
import { checkContractingMigrations } from './tidy/contracting-migrations.ts';
import { checkCycles } from './tidy/cycles.ts';
import { checkDeadFiles, checkMigrations } from './tidy/dead-files.ts';
import { checkDocPaths } from './tidy/doc-paths.ts';
import { checkDomainReadmes } from './tidy/domain-readmes.ts';
import { checkEnvironment } from './tidy/environment.ts';
import { checkImportTable } from './tidy/import-table.ts';
import { checkDependencies, checkLibraryHomes } from './tidy/library-homes.ts';
import { places, treeOf } from './tidy/made-up-tree.ts';
import { checkNames } from './tidy/names.ts';
import { checkOwnWords } from './tidy/own-words.ts';
import { checkFolders, checkSizes } from './tidy/sizes.ts';
import { checkStoredFunctions } from './tidy/stored-functions.ts';
import { checkTableOwners } from './tidy/table-owners.ts';
import * as tables from './tidy/tables.ts';
import { describeFinding, readTree } from './tidy/tree.ts';

describe('rule 3: sizes', () => {
  const lines = (count: number) => 'a();\n'.repeat(count);
  const functionOf = (count: number) => `function long() {\n${'  a();\n'.repeat(count - 2)}}\n`;

  test('a file over 400 lines, a test over 700 or a function over 70 is found, at the limit it is fine', () => {
    expect(places(checkSizes(treeOf({ 'src/http/a.ts': lines(401) }), []))).toEqual(['src/http/a.ts:1']);
    expect(places(checkSizes(treeOf({ 'src/http/a.test.ts': lines(701) }), []))).toEqual([
      'src/http/a.test.ts:1',
    ]);
    expect(checkSizes(treeOf({ 'test/a.ts': lines(700), 'src/a.test.ts': lines(700) }), [])).toEqual([]);
    expect(places(checkSizes(treeOf({ 'test/a.ts': `b();\n${functionOf(71)}` }), []))).toEqual([
      'test/a.ts:2',
    ]);
    expect(checkSizes(treeOf({ 'src/a.ts': lines(400), 'src/b.ts': functionOf(70) }), [])).toEqual([]);
    expect(checkSizes(treeOf({ 'docs/a.md': lines(900), 'test/recorded/a.json': lines(900) }), [])).toEqual(
      [],
    );
  });

  test('an exception counts for what it names, and is found when nothing exceeds', () => {
    const tree = treeOf({ 'src/a.ts': functionOf(71), 'src/b.ts': lines(401) });
    const exceptions = [
      { path: 'src/a.ts', functionName: 'long', reason: 'made up' },
      { path: 'src/b.ts', reason: 'made up' },
    ];
    expect(checkSizes(tree, exceptions)).toEqual([]);
    expect(places(checkSizes([], exceptions))).toEqual(['src/a.ts:1', 'src/b.ts:1']);
  });

  test('a folder of more than 20 source files is found; tests and data do not count', () => {
    const files = (count: number, ending: string) =>
      Array.from({ length: count }, (_, at) => ({ path: `src/http/a${at}${ending}`, text: '' }));
    expect(places(checkFolders(files(21, '.ts')))).toEqual(['src/http:1']);
    expect(checkFolders([...files(20, '.ts'), ...files(20, '.test.ts'), ...files(20, '.json')])).toEqual([]);
  });
});

test('rule 4: names that name nothing are found', () => {
  const bad = [
    'src/http/utils.ts',
    'src/shared/a.ts',
    'console/types.d.ts',
    'src/gateway/index.ts',
    'test/lib/a.ts',
  ];
  for (const path of bad) expect(places(checkNames(treeOf({ [path]: '' })))).toEqual([`${path}:1`]);
  const good = [
    'src/ai-service/a.ts',
    'src/ports/shared-state.ts',
    'console/index.html',
    'test/services/a.ts',
  ];
  for (const path of good) expect(checkNames(treeOf({ [path]: '' }))).toEqual([]);
});

test('rule 5: the environment is read in one place', () => {
  const bad = ['process.env.A', 'Bun.env.A', 'import.meta.env.A', 'const { env } = process;', 'process?.env'];
  for (const text of [...bad, "import { env } from 'node:process';"]) {
    expect(places(checkEnvironment(treeOf({ 'src/http/a.ts': text })))).toEqual(['src/http/a.ts:1']);
    for (const path of ['src/start/settings/configuration.ts', 'test/a.ts', 'bench/a.ts', 'bin/a.mjs']) {
      expect(checkEnvironment(treeOf({ [path]: text }))).toEqual([]);
    }
  }
  expect(checkEnvironment(treeOf({ 'src/a.ts': "// process.env\nspawn({ env }); b('Bun.env');" }))).toEqual(
    [],
  );
});

test('rule 6: every capability has its README', () => {
  const readme = '# Keys\n\n## Owns\n\n- a\n\n## Does not own\n\n- b\n\n## Invariants\n\n- c\n';
  const withReadme = (text: string) =>
    treeOf({ 'src/domain/keys/a.ts': '', 'src/domain/keys/README.md': text });
  expect(checkDomainReadmes(withReadme(readme))).toEqual([]);
  for (const text of [
    '',
    readme.replace('## Does not own', '## Other'),
    readme.replace('## Owns', '').concat('## Owns'),
  ]) {
    expect(places(checkDomainReadmes(withReadme(text)))).toEqual(['src/domain/keys/README.md:1']);
  }
  const without = treeOf({ 'src/domain/keys/a.ts': '' });
  expect(places(checkDomainReadmes(without))).toEqual(['src/domain/keys/README.md:1']);
});

describe('rule 7: nothing is dead', () => {
  test('a file that no process reaches is found', () => {
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

  test('migrations are numbered without gaps or repeats', () => {
    const named = (...names: string[]) =>
      checkMigrations(names.map((name) => ({ path: `migrations/${name}`, text: '' })));
    expect(named('0001_accounts.sql', '0002_api_keys.sql', 'README.md', 'functions/a.sql')).toEqual([]);
    expect(places(named('0001_a.sql', '0003_b.sql'))).toEqual(['migrations/0003_b.sql:1']);
    expect(places(named('0001_a.sql', '0001_b.sql'))).toEqual(['migrations/0001_b.sql:1']);
    expect(places(named('0002_a.sql'))).toEqual(['migrations/0002_a.sql:1']);
    expect(places(named('1_a.sql'))).toEqual(['migrations/1_a.sql:1']);
  });
});

describe('rule 8: banned words', () => {
  const find = (path: string, text: string) => places(checkBannedWords(treeOf({ [path]: text }), []));
  // Put together here, so that this file does not hold what it forbids.
  const unfinished = ['TO', 'DO'].join('');
  const ignore = ['@ts', 'ignore'].join('-');

  test.each([
    ['src/http/a.ts', 'let a: any;'],
    ['test/a.ts', 'const a = b as any;'],
    ['console/a.tsx', 'const a: any[] = useState<any>();'],
    ['src/http/a.ts', `// ${ignore}`],
    ['migrations/0001_a.sql', `-- ${unfinished}: later`],
    ['test/a.test.ts', "test.only('a', () => {});"],
    ['src/http/a.test.ts', "describe.skip.each([])('a', () => {});"],
    ['src/domain/keys/a.ts', 'const now = Date.now();'],
    ['src/http/a.ts', 'const now = new Date();'],
    ['src/start/a.ts', 'setTimeout(stop, 10);'],
    ['test/a.test.ts', 'await Bun.sleep(60);'],
    ['src/gateway/a.test.ts', 'setTimeout(resolve, delayMs);'],
    ['test/contracts/a.contract.ts', 'await new Promise((resolve) => setTimeout(resolve, 5));'],
    ['test/doubles/a.ts', 'setTimeout(() => socket.end(), 5);'],
    ['src/gateway/a.ts', 'const id = crypto.randomUUID();'],
    ['src/gateway/a.ts', 'crypto.getRandomValues(bytes); Math.random();'],
  ])('%s: %s', (path, text) => {
    expect(new Set(find(path, text))).toEqual(new Set([`${path}:1`]));
  });

  test.each([
    ['src/http/a.ts', "// any of these, as any other\nPromise.any(all); const b = 'as any';"],
    ['src/adapters/clock/a.ts', 'Date.now(); new Date(); setTimeout(a, 1); crypto.randomUUID();'],
    ['src/http/a.ts', "const date = new Date(clock.now()); const text = 'Date.now()'; clock.after(1, a);"],
    ['test/a.test.ts', "test.skipIf(a)('b', () => {}); describe.skipIf(a)('b', () => {}); rows.skipped();"],
    [
      'test/a.test.ts',
      "await until(() => ready); clock.setTimeout(a, 5); Bun.sleepSync(5); const b = 'Bun.sleep(5)';",
    ],
    ['bench/a.ts', 'await Bun.sleep(5); setTimeout(a, 5);'],
    ['docs/a.md', unfinished],
  ])('%s: %s is fine', (path, text) => {
    expect(find(path, text)).toEqual([]);
  });

  test('an exception counts for its file and word, and is found when it is not needed', () => {
    const exceptions = [{ path: 'src/start/a.ts', word: 'timer', reason: 'made up' }];
    expect(checkBannedWords(treeOf({ 'src/start/a.ts': 'setTimeout(a, 1);' }), exceptions)).toEqual([]);
    expect(places(checkBannedWords([], exceptions))).toEqual(['src/start/a.ts:1']);
  });
});

test('rule 9: no word of the machines that it was made on', () => {
  const find = (text: string, path = 'docs/a.md') => checkOwnWords(treeOf({ [path]: text }), []);
  const path = (...parts: string[]) => ['', ...parts].join('/');
  const registry = 'https:/'.concat('/registry.example.org/zod');
  for (const place of [path('work', 'a'), path('root', '.npm'), path('home', 'me', 'a'), registry]) {
    expect(find(`it lies in ${place}`)).toHaveLength(1);
    expect(find(`{"a":"${place}"}`, 'a.json')).toHaveLength(1);
  }
  expect(find('file:/'.concat('/', path('root', 'a')))).toHaveLength(1);
  expect(find('"resolved": "https://example.org/zod.tgz"', 'package-lock.json')).toHaveLength(1);
  expect(find('https://example.org/home2/a src/root/a ~/w/ /home the registry. /tmp/a')).toEqual([]);
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
    ['5 the environment is read in one place', checkEnvironment(tree)],
    ['6 every capability has its README', checkDomainReadmes(tree)],
    ['7 nothing is dead', checkDeadFiles(tree)],
    ['7 migrations are counted', checkMigrations(tree)],
    ['8 no banned words', checkBannedWords(tree)],
    ['9 no word of other machines', checkOwnWords(tree)],
    ['10 migrations leave the version before running', checkContractingMigrations(tree)],
    ['11 no import cycle', checkCycles(tree)],
    ['12 stored functions are only ever extended', checkStoredFunctions(tree)],
    ['13 every table is written by its owner', checkTableOwners(tree)],
    ['14 paths in documents exist', checkDocPaths(tree)],
  ])('keeps rule %s', (_, findings) => {
    expect(findings.map(describeFinding)).toEqual([]);
  });

  test('is not empty', () => {
    expect(tree.length).toBeGreaterThan(50);
  });

  test('every exception says why', () => {
    const rows = [...tables.rooms, ...tables.domainSiblings, ...tables.libraryHomes];
    const exceptions = [...tables.sizeExceptions, ...tables.wordExceptions, ...tables.placeExceptions];
    for (const row of [...rows, ...exceptions, ...tables.tableExceptions])
      expect(row.reason.length).toBeGreaterThan(10);
  });
});
