/** The rules of tidy.test.ts that take a page, shown to find what they are for. What they leave alone the real tree shows. */
import { describe, expect, test } from 'bun:test';
import { checksumOf, parseFunction } from '../../src/adapters/database/stored-functions.ts';
import { checkContractingMigrations } from './contracting-migrations.ts';
import { checkDocPaths } from './doc-paths.ts';
import { checkImportTable } from './import-table.ts';
import { checkDependencies, checkLibraryHomes } from './library-homes.ts';
import { places, treeOf } from './made-up-tree.ts';
import type { RecordedFunction } from './recorded-functions.ts';
import { checkStoredFunctions } from './stored-functions.ts';
import { checkTableOwners } from './table-owners.ts';
import type { TableException } from './tables.ts';
import { checkWalks } from './walks.ts';

describe('rule 1: imports follow the table', () => {
  const from = (path: string, ...targets: string[]) =>
    places(
      checkImportTable(
        treeOf({ [path]: targets.map((target) => `import { a } from '${target}';`).join('\n') }),
      ),
    );

  test.each([
    ['src/gateway/a.ts', '../adapters/clock/system.ts'],
    ['src/gateway/a.ts', '../backend/b.ts'],
    ['src/http/a.ts', '../domain/keys/b.ts'],
    ['src/domain/credits/a.ts', '../payments/b.ts'],
    ['src/adapters/job-queue/a.ts', '../database/b.ts'],
    ['src/start/a.ts', '../../test/b.ts'],
    ['src/domain/keys/a.ts', './a.test.ts'],
    ['console/a.ts', '../src/ports/b.ts'],
    ['src/surprise/a.ts', './b.ts'],
    ['src/domain/a.ts', './keys/b.ts'],
  ])('%s may not import %s', (path, target) => {
    expect(from(path, target)).toEqual([`${path}:1`]);
  });

  test('type-only, dynamic and re-exporting imports count, and so does a thread', () => {
    const lines = [
      "import type { A } from '../adapters/a.ts';",
      "const b = import('../adapters/b/b.ts');",
      "export * from '../adapters/b/c.ts';",
      "new Worker(new URL('../adapters/b/d.ts', import.meta.url));",
      'const e = import(somewhere);',
    ];
    const findings = checkImportTable(treeOf({ 'src/gateway/a.ts': lines.join('\n') }));
    expect(findings.map((finding) => finding.line)).toEqual([1, 2, 3, 4, 5]);
  });
});

describe('rule 2: every library has its home', () => {
  test.each([
    ['src/ports/a.ts', "import { z } from 'zod';"],
    ['src/adapters/job-queue/a.ts', "import { PGlite } from '@electric-sql/pglite/live';"],
    ['src/gateway/a.ts', "import { SQL } from 'bun';"],
    ['src/gateway/a.ts', 'const hash = Bun.hash(text);'],
    ['src/domain/keys/a.ts', "import { createHash } from 'node:crypto';"],
    ['src/gateway/a.ts', "import leftPad from 'left-pad';"],
  ])('%s: %s', (path, text) => {
    expect(places(checkLibraryHomes(treeOf({ [path]: text })))).toEqual([`${path}:1`]);
  });

  test('a version is exact, a dependency has its line of reasons, and a home its dependency', () => {
    const homes = [{ name: 'zod', homes: ['src/'], reason: 'made up' }];
    const find = (version: string, docs: string) => {
      const manifest = { dependencies: { zod: version }, devDependencies: { '@types/zod': '1.0.0' } };
      const files = { 'package.json': JSON.stringify(manifest), 'docs/dependencies.md': docs };
      return checkDependencies(treeOf(files), homes).length;
    };
    const docs = '| package | why |\n|---|---|\n| `zod` | checks |\n- **@types/zod**: types';
    expect(find('4.6.7', docs)).toBe(0);
    for (const version of ['^4.0.0', '4', 'latest']) expect(find(version, docs)).toBe(1);
    expect(find('4.6.7', '- `@types/zod` is for zod\n- zodiac is another one')).toBe(1);
    expect(checkDependencies(treeOf({ 'package.json': '{}' }), homes)).toHaveLength(1);
  });
});

describe('rule 10: a migration leaves the version before running', () => {
  const find = (sql: string) => places(checkContractingMigrations(treeOf({ 'migrations/0001_a.sql': sql })));

  test.each([
    'alter table calls drop column reason;',
    'drop table calls;',
    'alter table calls rename column reason to why;',
    'alter table calls rename to old_calls;',
    'alter table calls alter column status type bigint;',
    'alter table calls alter column status set not null;',
    'alter table calls add column cost bigint not null;',
    '-- contract: too short\ndrop table calls;',
    '-- contract: not read since release 4\nselect 1; drop table calls;',
  ])('%s is found', (sql) => {
    expect(find(sql)).toHaveLength(1);
  });
});

describe('rule 12: stored functions are only ever extended', () => {
  const header = (revision: number) =>
    `-- revision: ${revision}\n-- Owner: src/domain/calls\n--\n-- Adds what was given to it.\n`;
  const body = (signature: string, value = 1) =>
    `create or replace function total(${signature}) returns bigint language sql as $$ select ${value} $$;\n`;
  const SIGNATURE = 'a bigint, b numeric(9, 2)';
  const whole = header(2) + body(SIGNATURE);
  const recorded: RecordedFunction = {
    name: 'total',
    revision: 2,
    checksum: checksumOf(parseFunction('total.sql', whole)).slice(0, 16),
    parameters: ['a bigint', 'b numeric(9, 2)'],
    returns: 'bigint',
  };

  function find(text: string, more: Record<string, string> = {}): string[] {
    const files = { 'src/domain/calls/a.ts': '', 'migrations/functions/total.sql': text, ...more };
    return checkStoredFunctions(treeOf(files), [recorded]).map(({ problem }) => problem);
  }

  const returnsText = body(SIGNATURE).replace('returns bigint', 'returns text');
  test.each([
    ['fewer parameters', header(3) + body('a bigint'), 'its signature may only be extended'],
    ['another type', header(3) + body('a integer, b numeric(9, 2)'), 'its signature may only be extended'],
    ['no default', header(3) + body(`${SIGNATURE}, c text`), 'its signature may only be extended'],
    ['an extension', header(3) + body(`${SIGNATURE}, c text default null`), '"c text default null"]'],
    ['no new revision', header(2) + body(SIGNATURE, 5), 'first line to 3'],
    ['a lower revision', header(1) + body(SIGNATURE), 'must be 2 or higher'],
    ['a new revision', header(3) + body(SIGNATURE, 5), 'record it in test/tidy'],
    ['another result', header(3) + returnsText, 'what it returns cannot change'],
    ['no revision', whole.replace('-- revision: 2\n', ''), 'must start with a line like'],
    ['no owner', whole.replace('calls', 'nothing'), 'must name its capability'],
    ['no comment', whole.replace('-- Adds what was given to it.\n', ''), 'what it does'],
    ['another statement', `${whole}select 1;\n`, 'and nothing else'],
    ['another name', whole.replace('total', 'sum'), 'and nothing else'],
  ])('%s is found', (_, text, problem) => {
    expect(find(text)).toEqual([expect.stringContaining(problem)]);
  });

  test('a recorded one without a file, and a file that is not recorded, are found', () => {
    expect(checkStoredFunctions([], [recorded])).toHaveLength(1);
    const other = (header(1) + body(SIGNATURE)).replaceAll('total', 'other');
    expect(find(whole, { 'migrations/functions/other.sql': other })).toHaveLength(1);
  });

  test('a migration may create one that has a file, and replaces none', () => {
    const migration = (sql: string) => find(whole, { 'migrations/0021_a.sql': sql });
    expect(migration('create function total(a bigint)')).toEqual([]);
    expect(migration('create function other()')).toEqual([expect.stringContaining('creates other')]);
    expect(migration('create function other(); drop function other;')).toEqual([]);
    expect(migration('create or replace function total(a bigint)')).toEqual([
      expect.stringContaining('replaces total: change migrations/functions/total.sql instead'),
    ]);
  });
});

describe('rule 13: every table is written by its owner', () => {
  const owners = [
    { owner: 'src/domain/keys', owns: ['api_keys'] },
    { owner: 'src/domain/calls', owns: ['calls'] },
    { owner: 'src/adapters/job-queue', owns: ['queue'] },
  ];
  const base = {
    'migrations/0001_a.sql':
      'create table api_keys (id uuid);\nCREATE TABLE IF NOT EXISTS "calls" (id uuid);',
    'src/adapters/job-queue/a.ts': 'const sql = `update queue.job set state = $1`;',
    'src/domain/keys/a.ts': '',
    'src/domain/calls/a.ts': '',
  };
  const check = (files: Record<string, string>, exceptions: readonly TableException[] = []) =>
    checkTableOwners(treeOf({ ...base, ...files }), owners, exceptions);
  const find = (path: string, text: string, exceptions: readonly TableException[] = []) =>
    places(check({ [path]: text }, exceptions));
  /** A template whose table is `name`. */
  const computed = (before: string, after: string) => `\`${before} \${name} ${after}\``;

  test.each([
    ['`insert into api_keys (id) values ($1)`'],
    ['`with gone as (delete from only api_keys where id = $1) select 1`'],
    ["'update api_keys as own set name = $1'"],
    ['`truncate table public.api_keys`'],
    ['`merge into "api_keys" using given on true`'],
  ])('%s is found outside of the owner, also in reconciliation, and is fine inside', (text) => {
    for (const path of ['src/domain/calls/b.ts', 'src/start/b.ts', 'src/domain/reconciliation/b.ts'])
      expect(find(path, text)).toEqual([`${path}:1`]);
    expect(find('src/domain/keys/deeper/b.ts', text)).toEqual([]);
    expect(find('src/domain/calls/b.test.ts', text)).toEqual([]);
  });

  test.each([
    ['`select 1 from calls as call, api_keys where true`'],
    ['`select 1 from calls call\n left JOIN api_keys as key on true`'],
    ['`delete from calls using api_keys`'],
    ['`select 1 from (select id from public.api_keys) as found`'],
  ])('%s is found outside of the owner, and is fine inside and in reconciliation', (text) => {
    expect(find('src/domain/calls/b.ts', text)).toHaveLength(1);
    expect(find('src/domain/reconciliation/b.ts', text.replace('delete', 'select 1'))).toEqual([]);
    expect(find('src/domain/keys/b.ts', text.replaceAll('calls', 'api_keys'))).toEqual([]);
  });

  test('a computed name behind a word that writes is found, and a table of another schema', () => {
    for (const text of [computed('delete from', 'where true'), '`select 1 from queue.job`'])
      expect(find('src/domain/calls/b.ts', text)).toEqual(['src/domain/calls/b.ts:1']);
  });

  test('a stored function writes the tables of its owner, and may read others', () => {
    const sql = (owner: string) =>
      `-- Owner: src/domain/${owner}\n-- insert into calls\ninsert into api_keys select id from calls`;
    expect(find('migrations/functions/f.sql', sql('keys'))).toEqual([]);
    expect(find('migrations/functions/f.sql', sql('calls'))).toEqual(['migrations/functions/f.sql:3']);
  });

  test('an exception counts for its file, table and kind, and is found when it is not needed', () => {
    const path = 'src/domain/calls/b.ts';
    const exception = { path, table: 'api_keys', access: 'read', reason: 'made up' } as const;
    expect(find(path, '`select 1 from api_keys`', [exception])).toEqual([]);
    expect(find(path, '`delete from api_keys`', [exception])).toEqual([`${path}:1`, 'test/tidy/tables.ts:1']);
    const ofComputed = { ...exception, table: '{name}', access: 'write' } as const;
    expect(find(path, computed('update', 'set a = 1'), [ofComputed])).toEqual([]);
  });

  test.each([
    ['plans needs a row', [], { 'migrations/0002_b.sql': 'create table plans (id uuid)' }],
    ['notes needs a row', [], { 'src/domain/calls/b.ts': '`create table if not exists notes (id uuid)`' }],
    ['more than one owner', [{ owner: 'src/domain/calls', owns: ['api_keys'] }], {}],
    ['gone is created nowhere', [{ owner: 'src/domain/calls', owns: ['gone'] }], {}],
  ])('%s', (problem, more, files) => {
    const found = checkTableOwners(treeOf({ ...base, ...files }), [...owners, ...more], []);
    expect(found.map((one) => one.problem)).toContainEqual(expect.stringContaining(problem));
  });
});

describe('rule 14: a path that a document names exists', () => {
  const files = {
    'src/http/listen.ts': '',
    'src/domain/keys/raw-key.ts': '',
    'src/domain/keys/audit/audit-key.ts': '',
    'migrations/0001_keys.sql': '',
    'decisions/0001-bun.md': '',
  };
  const find = (path: string, text: string) => places(checkDocPaths(treeOf({ ...files, [path]: text })));

  test.each([
    'the server is in `src/http/gone.ts`',
    'see `src/httpd`',
    'see `listen-twice.ts`',
    'run `bun test src/http/gone.test.ts`',
    'see `src/http/stop*.ts`',
    '[why](../decisions/0002-gone.md)',
  ])('%s is found', (text) => {
    expect(find('docs/a.md', `# A\n\n${text}.\n`)).toEqual(['docs/a.md:3']);
  });

  test('a README means the files below its folder, and history may name what is gone', () => {
    const readme = 'src/domain/keys/README.md';
    expect(find(readme, '`raw-key.ts`, `audit-key.ts`, `src/http/listen.ts`')).toEqual([]);
    expect(find(readme, '`listen.ts`')).toEqual([`${readme}:1`]);
    expect(find('CHANGELOG.md', '`src/http/gone.ts`')).toEqual([]);
  });
});

describe('rule 15: walks follow the imports', () => {
  const files = {
    'src/start/gateway.ts':
      "import '../gateway/server.ts';\nimport { a } from '../adapters/upstream/http.ts';",
    'src/http/listen.ts': '',
    'src/gateway/server.ts': "import type { Admit } from './admit.ts';",
    'src/gateway/admit.ts': "import '../ports/upstream.ts';",
    'src/ports/upstream.ts': '',
    'src/adapters/upstream/http.ts': '',
    'src/adapters/upstream/alone.ts': '',
  };

  function problems(items: readonly string[], longest: Record<string, number> = {}): string[] {
    const list = items.map((item, at) => `${at + 1}. ${item}`).join('\n');
    const text = `# A\n\n## Walks\n\nProse.\n\n### A call\n\n${list}\n\n## Rest\n\n### No walk\n\n1. \`b.ts\`\n`;
    const tree = treeOf({ ...files, 'ARCHITECTURE.md': text });
    return checkWalks(tree, new Map(Object.entries(longest))).map(
      ({ line, problem }) => `${line} ${problem}`,
    );
  }

  const listen = '`src/http/listen.ts`: a request comes';
  const server = '`src/gateway/server.ts` (wired by start)';
  const admit = '`src/gateway/admit.ts` refuses, by `routes`';
  test.each([
    ['a file that is not there', [listen, '`src/gateway/gone.ts`'], 'is no file of the product'],
    ['a way back', [listen, server, admit, server], 'goes back to a file that the walk has passed'],
    ['a jump', [listen, '`src/gateway/server.ts`'], 'is imported by no file before it'],
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
    expect(found).toEqual([expect.stringContaining(problem)]);
    expect(found[0]).toStartWith(`${8 + items.length} `);
  });

  test('a walk with too many files is found, and so is one that is not there', () => {
    expect(problems([listen, server], { 'A call': 1 })).toEqual([
      '7 A call: has 2 files, at most 1 are allowed',
    ]);
    expect(problems([listen, server], { 'A match': 9 })).toEqual([
      '1 has no list under "### A match" in its section "## Walks"',
    ]);
  });
});
