import { describe, expect, test } from 'bun:test';
import { checksumOf, parseFunction } from '../../src/adapters/database/stored-functions.ts';
import { treeOf } from './made-up-tree.ts';
import type { RecordedFunction } from './recorded-functions.ts';
import { checkStoredFunctions } from './stored-functions.ts';

const header = (revision: number) =>
  `-- revision: ${revision}\n-- Owner: src/domain/calls\n--\n-- Adds what was given to it.\n`;
const body = (signature: string, value = 1) =>
  `create or replace function total(${signature}) returns bigint language sql as $$ select ${value} $$;\n`;
const SIGNATURE = 'a bigint, b numeric(9, 2)';
const recorded: RecordedFunction = {
  name: 'total',
  revision: 2,
  checksum: checksumOf(parseFunction('total.sql', header(2) + body(SIGNATURE))).slice(0, 16),
  parameters: ['a bigint', 'b numeric(9, 2)'],
  returns: 'bigint',
};

function find(text: string, more: Record<string, string> = {}): string[] {
  const files = { 'src/domain/calls/a.ts': '', 'migrations/functions/total.sql': text, ...more };
  return checkStoredFunctions(treeOf(files), [recorded]).map(({ path, problem }) => `${path} ${problem}`);
}

describe('rule 12: stored functions are only ever extended', () => {
  test('unchanged, also with other comments, it is fine', () => {
    expect(find(header(2) + body(SIGNATURE))).toEqual([]);
    expect(find(header(2).replace('Adds what', 'Sums up what') + body(SIGNATURE))).toEqual([]);
  });

  test.each([
    ['a bigint'],
    ['b numeric(9, 2), a bigint'],
    ['a integer, b numeric(9, 2)'],
    ['c text default null, a bigint, b numeric(9, 2)'],
    ['a bigint, b numeric(9, 2), c text'],
  ])('%s in place of its parameters is found', (signature) => {
    expect(find(header(3) + body(signature))).toEqual([
      expect.stringContaining('its signature may only be extended'),
    ]);
  });

  test('another parameter with a default at the end is fine, and to be recorded', () => {
    expect(find(header(3) + body(`${SIGNATURE}, c text default null`))).toEqual([
      expect.stringContaining('"parameters":["a bigint","b numeric(9, 2)","c text default null"]'),
    ]);
  });

  test('a change without a new revision, or with a lower one, is found; with a higher one it is to be recorded', () => {
    expect(find(header(2) + body(SIGNATURE, 5))).toEqual([expect.stringContaining('first line to 3')]);
    expect(find(header(1) + body(SIGNATURE))).toEqual([expect.stringContaining('must be 2 or higher')]);
    expect(find(header(3) + body(SIGNATURE, 5))).toEqual([expect.stringContaining('record it in test/tidy')]);
    const returns = body(SIGNATURE).replace('returns bigint', 'returns text');
    expect(find(header(3) + returns)).toEqual([expect.stringContaining('what it returns cannot change')]);
  });

  test('a file says its revision, its owner and what it does, and holds one function of its name', () => {
    const whole = header(2) + body(SIGNATURE);
    const one = (text: string) => [expect.stringContaining(text)];
    expect(find(whole.replace('-- revision: 2\n', ''))).toEqual(one('must start with a line like'));
    expect(find(whole.replace('calls', 'nothing'))).toEqual(one('must name its capability'));
    expect(find(whole.replace('-- Adds what was given to it.\n', ''))).toEqual(one('what it does'));
    for (const text of [`${whole}select 1;\n`, whole + whole, whole.replace('total', 'sum')])
      expect(find(text)).toEqual(one('and nothing else'));
  });

  test('a recorded one without a file, and a file that is not recorded, are found', () => {
    expect(checkStoredFunctions([], [recorded])).toHaveLength(1);
    const other = (header(1) + body(SIGNATURE)).replaceAll('total', 'other');
    expect(find(header(2) + body(SIGNATURE), { 'migrations/functions/other.sql': other })).toHaveLength(1);
  });

  test('a migration may create one that has a file, and replaces none', () => {
    const whole = header(2) + body(SIGNATURE);
    const migration = (name: string, sql: string) => find(whole, { [`migrations/${name}.sql`]: sql });
    expect(migration('0021_a', 'create function total(a bigint)')).toEqual([]);
    expect(migration('0020_a', 'create or replace function total(a bigint)')).toEqual([]);
    expect(migration('0021_a', 'create function other()')).toEqual([
      expect.stringContaining('creates other'),
    ]);
    expect(migration('0021_a', 'create function other(); drop function other;')).toEqual([]);
    expect(migration('0021_a', 'create or replace function total(a bigint)')).toEqual([
      expect.stringContaining('replaces total: change migrations/functions/total.sql instead'),
    ]);
  });
});
