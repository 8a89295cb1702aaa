import { describe, expect, test } from 'bun:test';
import { checkContractingMigrations } from './contracting-migrations.ts';
import { places, treeOf } from './made-up-tree.ts';

const find = (sql: string) => places(checkContractingMigrations(treeOf({ 'migrations/0001_a.sql': sql })));

describe('rule 10: a migration leaves the version before running', () => {
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

  test.each([
    'create table calls (id uuid not null, reason text not null);',
    'alter table calls add column cost bigint;',
    'alter table calls add column cost bigint not null default 0;',
    'alter table calls add column total bigint generated always as (a + b) stored not null;',
    'alter index calls_pkey rename to first_pkey;',
    'alter table calls rename to first; create table calls (id uuid) partition by range (id);',
    '-- drop table calls: never\ncreate index on calls (id);',
    'drop index calls_by_day; create or replace function f() returns int language sql as $$ select 1 $$;',
    '-- contract: not read since release 4\ndrop table calls;',
  ])('%s is fine', (sql) => {
    expect(find(sql)).toEqual([]);
  });
});
