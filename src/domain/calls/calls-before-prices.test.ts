import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';

const MIGRATIONS = join(import.meta.dir, '../../../migrations');
const COMPANY = '00000000-0000-7000-8000-000000000001';
const KEY = '00000000-0000-7000-8000-000000000002';
const OLD_CALL = '019c0000-0000-7000-8000-000000000001';
const STRANGE_CALL = 'f0000000-0000-4000-8000-000000000001';
let database: PGlite;

beforeAll(async () => {
  database = await PGlite.create();
  const files = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql')).sort();
  for (const name of files.filter((file) => file < '0006')) await apply(name);
  await database.exec(
    `insert into companies (id, name, billing_mode, credit_limit_micro) values ('${COMPANY}', 'Acme', 'POSTPAID', 500)`,
  );
  const common = `'r', 'chat/completions', 'svc/chat-default', 200, true, 1, '2026-01-31T23:59:00Z', 1`;
  await database.exec(
    `insert into calls (request_id, endpoint, alias, http_status, streamed, estimated_tokens, started_at, duration_ms,
       id, company_id, key_id, outcome, prompt_tokens, cached_tokens, completion_tokens) values
     (${common}, '${OLD_CALL}', '${COMPANY}', '${KEY}', 'SUCCEEDED', 10, 4, 20),
     (${common}, '${STRANGE_CALL}', '${COMPANY}', null, 'SUCCEEDED', 1, 0, 2),
     (${common}, gen_random_uuid(), '${COMPANY}', '${KEY}', 'FAILED', 5, 0, 0),
     (${common}, gen_random_uuid(), '${COMPANY}', '${KEY}', 'REFUSED', null, null, null)`,
  );
  await apply(files.find((name) => name.startsWith('0006')) ?? '');
});
afterAll(() => database.close());

async function apply(name: string): Promise<void> {
  await database.exec(await readFile(join(MIGRATIONS, name), 'utf8'));
}

test('G-5 calls from before there were prices are in the usage, without a charge', async () => {
  const { rows } = await database.query(
    `select case key_id when '${KEY}' then 'key' else 'all' end as whose, calls, failures, prompt_tokens as prompt,
       cached_tokens as cached, completion_tokens as completion, charge_micro as charge, day::text
     from usage_days order by whose`,
  );
  expect(rows).toEqual([
    {
      whose: 'all',
      calls: 3,
      failures: 1,
      prompt: 11,
      cached: 4,
      completion: 22,
      charge: 0,
      day: '2026-01-31',
    },
    {
      whose: 'key',
      calls: 2,
      failures: 1,
      prompt: 10,
      cached: 4,
      completion: 20,
      charge: 0,
      day: '2026-01-31',
    },
  ]);
});

test('P-19 a company from before there were credits has an account with its credit line', async () => {
  const { rows } = await database.query(
    'select owner, balance_micro, line_micro, version from credit_accounts',
  );
  expect(rows).toEqual([{ owner: 'COMPANY', balance_micro: 0, line_micro: 500, version: 0 }]);
});

test('G-33 calls from before there were partitions are still stored, and their ids are in use', async () => {
  const files = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql')).sort();
  for (const name of files.filter((file) => file >= '0007')) await apply(name);
  const { rows } = await database.query(
    `select id, tableoid::regclass::text as place from calls where id in ('${OLD_CALL}', '${STRANGE_CALL}') order by id`,
  );
  // An id without a time of ours is in the default partition.
  expect(rows).toEqual([
    { id: OLD_CALL, place: 'calls_first' },
    { id: STRANGE_CALL, place: 'calls_other' },
  ]);
  expect((await database.query('select 1 from calls')).rows).toHaveLength(4);
  const again = await database.query(
    `insert into calls select * from calls where id in ('${OLD_CALL}', '${STRANGE_CALL}') on conflict (id) do nothing returning 1`,
  );
  expect(again.rows).toEqual([]);
});
