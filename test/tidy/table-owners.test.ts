import { describe, expect, test } from 'bun:test';
import { places, treeOf } from './made-up-tree.ts';
import { checkTableOwners } from './table-owners.ts';
import type { TableException } from './tables.ts';

const owners = [
  { owner: 'src/domain/keys', owns: ['api_keys'] },
  { owner: 'src/domain/calls', owns: ['calls'] },
  { owner: 'src/adapters/job-queue', owns: ['queue'] },
];
const base = {
  'migrations/0001_a.sql': 'create table api_keys (id uuid);\nCREATE TABLE IF NOT EXISTS "calls" (id uuid);',
  'src/adapters/job-queue/a.ts': 'const sql = `update queue.job set state = $1`;',
  'src/domain/keys/a.ts': '',
  'src/domain/calls/a.ts': '',
};

function check(files: Record<string, string>, exceptions: readonly TableException[] = []) {
  return checkTableOwners(treeOf({ ...base, ...files }), owners, exceptions);
}
/** A template whose table is `name`. */
const computed = (before: string, after: string) => `\`${before} \${name} ${after}\``;
const find = (path: string, text: string, exceptions: readonly TableException[] = []) =>
  places(check({ [path]: text }, exceptions));

describe('rule 13: every table is written by its owner', () => {
  test.each([
    ['`insert into api_keys (id) values ($1)`'],
    ['`INSERT INTO "api_keys" (id) values ($1)`'],
    ['`with gone as (delete from only api_keys where id = $1) select 1`'],
    ["'update api_keys as own set name = $1'"],
    ['`truncate table public.api_keys`'],
    ['`merge into api_keys using given on true`'],
  ])('%s is found outside of the owner, also in reconciliation, and is fine inside', (text) => {
    for (const path of ['src/domain/calls/b.ts', 'src/start/b.ts', 'src/domain/reconciliation/b.ts']) {
      expect(find(path, text)).toEqual([`${path}:1`]);
    }
    expect(find('src/domain/keys/deeper/b.ts', text)).toEqual([]);
    expect(find('src/domain/calls/b.test.ts', text)).toEqual([]);
  });

  test('a statement over several lines is found at the line of the table', () => {
    expect(find('src/domain/calls/b.ts', 'const sql = `insert\n  into\n  api_keys (id)`;')).toEqual([
      'src/domain/calls/b.ts:3',
    ]);
  });

  test.each([
    ['`select 1 from api_keys`'],
    ['`select 1 from calls as call, api_keys where true`'],
    ['`select 1 from calls call\n left JOIN api_keys as key on true`'],
    ['`delete from calls using api_keys`'],
    ['`select 1 from (select id from public.api_keys) as found`'],
  ])('%s is found outside of the owner, and is fine inside and in reconciliation', (text) => {
    expect(find('src/domain/calls/b.ts', text)).toHaveLength(1);
    expect(find('src/domain/reconciliation/b.ts', text.replace('delete', 'select 1'))).toEqual([]);
    expect(find('src/domain/keys/b.ts', text.replaceAll('calls', 'api_keys'))).toEqual([]);
  });

  test('comments, imports, other names and words that only look alike are fine', () => {
    const texts = [
      '// insert into api_keys\n/* from api_keys */',
      "import { api_keys } from './api_keys.ts';",
      '`insert into old_api_keys select 1 from calls for update`',
      '`on conflict do update set api_keys = 1`',
      computed('select 1 from', 'for update of job'),
    ];
    for (const text of texts) expect(find('src/domain/calls/b.ts', text)).toEqual([]);
  });

  test('a computed name behind a word that writes is found, also in the owner’s folder', () => {
    expect(find('src/domain/calls/b.ts', computed('delete from', 'where true'))).toEqual([
      'src/domain/calls/b.ts:1',
    ]);
  });

  test('tables of another schema belong to the owner of the schema', () => {
    expect(find('src/domain/calls/b.ts', '`select 1 from queue.job`')).toEqual(['src/domain/calls/b.ts:1']);
    expect(find('src/adapters/job-queue/b.ts', '`select 1 from queue.job`')).toEqual([]);
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
    expect(find('src/domain/calls/c.ts', '`select 1 from api_keys`', [exception])).toEqual([
      'src/domain/calls/c.ts:1',
      'test/tidy/tables.ts:1',
    ]);
    const ofComputed = { ...exception, table: '{name}', access: 'write' } as const;
    expect(find(path, computed('update', 'set a = 1'), [ofComputed])).toEqual([]);
  });

  test('every table has exactly one owner, which exists, and every row has its table', () => {
    const problems = (files: Record<string, string>, rows = owners) =>
      checkTableOwners(treeOf({ ...base, ...files }), rows, []).map(({ problem }) => problem);
    expect(problems({})).toEqual([]);
    expect(problems({ 'migrations/0002_b.sql': 'create table plans (id uuid)' })).toEqual([
      expect.stringContaining('plans needs a row'),
    ]);
    expect(problems({ 'src/domain/calls/b.ts': '`create table if not exists notes (id uuid)`' })).toEqual([
      expect.stringContaining('notes needs a row'),
    ]);
    expect(problems({}, [...owners, { owner: 'src/domain/calls', owns: ['api_keys'] }])).toContainEqual(
      expect.stringContaining('more than one owner'),
    );
    expect(problems({}, [...owners, { owner: 'src/domain/calls', owns: ['gone'] }])).toEqual([
      expect.stringContaining('gone is created nowhere'),
    ]);
    expect(
      problems({ 'migrations/0002_b.sql': 'create table plans ()' }, [
        ...owners,
        { owner: 'src/domain/catalog', owns: ['plans'] },
      ]),
    ).toEqual([expect.stringContaining('has no files')]);
  });
});
