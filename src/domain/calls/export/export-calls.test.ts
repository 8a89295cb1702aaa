import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { openParquetFolder } from '../../../adapters/table-files/parquet-folder.ts';
import type { Statements } from '../../../ports/database.ts';
import { leastIdAt } from '../../../ports/secrets.ts';
import { COLUMN_NAMES, exportCalls } from './export-calls.ts';

const database = useDatabase();
const secrets = createSystemSecrets();
const HOUR = 3_600_000;
const START = Date.parse('2026-11-15T10:00:00Z');
let folder = '';

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-export-'));
  await database.query('delete from calls');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Calls whose ids begin at that moment. */
async function add(atMs: number, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => leastIdAt(atMs).slice(0, 14) + secrets.newId().slice(14));
  await database.query(
    `insert into calls (id, company_id, request_id, endpoint, alias, outcome, http_status, streamed, prompt_tokens,
       estimated_tokens, started_at, duration_ms, charge_micro, end_user, tags)
     select id, $2, 'req', 'chat', 'chat-default', 'SUCCEEDED', 200, true, 9007199254740993, 1, $3, 5, 1500000, 'u-1',
       '{a,b}'
     from unnest($1::uuid[]) as id`,
    [ids, secrets.newId(), new Date(atMs)],
  );
  return ids.toSorted();
}

const run = (nowMs: number, statements: Statements = database) =>
  exportCalls(
    {
      ...{ database: statements, clock: { now: () => nowMs }, files: openParquetFolder(folder) },
      ...{ pageRows: 10, groupRows: 20 },
    },
    null,
  );

async function read(path: string): Promise<Record<string, unknown>[]> {
  return await parquetReadObjects({ file: await asyncBufferFromFile(join(folder, path)) });
}
const idsIn = async (path: string) => (await read(path)).map(({ id }) => String(id)).toSorted();
const files = () =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted();

const TEN = 'day=2026-11-15/hour=10/calls.parquet';
const TWO_DAYS_ON = 'day=2026-11-17/hour=10/calls.parquet';

describe('calls as Parquet', () => {
  test('an hour that is over is one file, with exact numbers; the current hour has none yet', async () => {
    const ids = await add(START + 5_000, 3);
    await add(START + HOUR + 5_000, 2);
    expect(await run(START + HOUR + 14 * 60_000)).toEqual({ files: 0, calls: 0, unchanged: 0 });
    expect(await run(START + HOUR + 16 * 60_000)).toEqual({ files: 1, calls: 3, unchanged: 0 });
    expect(files()).toEqual([TEN]);
    expect(await idsIn(TEN)).toEqual(ids);
    expect((await read(TEN))[0]).toMatchObject({
      ...{ model: 'chat-default', outcome: 'SUCCEEDED', status: 200, stream: true, key_id: null },
      ...{ prompt_tokens: 9_007_199_254_740_993n, charge_micro: 1_500_000n, cached_tokens: null },
      ...{
        end_user: 'u-1',
        tags: 'a,b',
        project: null,
        tries: 1,
        own_key: false,
        cost_micro: null,
        count: 1,
      },
      created_at: new Date(START + 5_000),
    });
  });

  test('factors, cache writes for an hour, surcharge, share and what is unpriced are columns at the end, and files without them are written again', async () => {
    const [plain = '', priority = '', long = ''] = await add(START + 5_000, 3);
    await database.query(
      `update calls set tier = 'priority', price_factor_millionths = 2000000, hour_write_tokens = 7,
         hour_write_factor_millionths = 1600000 where id = $1`,
      [priority],
    );
    await database.query(
      `update calls set tier = 'prompt_tokens>9', price_factor_millionths = 2000000, completion_factor_millionths = 1500000,
         surcharge_micro = 250000, charge_share_millionths = 500000, unpriced = '{audio,web_search}'
       where id = $1`,
      [long],
    );
    const now = START + 2 * HOUR;
    expect(await run(now)).toMatchObject({ files: 1, calls: 3 });
    const rows = new Map((await read(TEN)).map((row) => [row.id, row]));
    expect(rows.get(plain)).toMatchObject({
      ...{ tier: null, price_factor_millionths: 1_000_000, completion_factor_millionths: 1_000_000 },
      ...{ hour_write_tokens: null, hour_write_factor_millionths: null },
      ...{ surcharge_micro: 0n, charge_share_millionths: 1_000_000, unpriced: null },
    });
    expect(rows.get(priority)).toMatchObject({
      ...{ tier: 'priority', price_factor_millionths: 2_000_000, completion_factor_millionths: 2_000_000 },
      ...{ hour_write_tokens: 7n, hour_write_factor_millionths: 1_600_000 },
    });
    expect(rows.get(long)).toMatchObject({
      ...{ price_factor_millionths: 2_000_000, completion_factor_millionths: 1_500_000 },
      ...{ surcharge_micro: 250_000n, charge_share_millionths: 500_000, unpriced: 'audio,web_search' },
    });
    expect(Object.keys((await read(TEN))[0] ?? {})).toEqual(COLUMN_NAMES);
    expect(COLUMN_NAMES.indexOf('tier')).toBe(COLUMN_NAMES.indexOf('count') + 1);
    // As earlier versions wrote it.
    const mark = `charge_micro=4500000 count=3`;
    const old = async function* () {
      yield [...rows.values()];
    };
    await openParquetFolder(folder).write(TEN, { id: 'STRING' }, old(), mark);
    expect(await run(now)).toMatchObject({ files: 1, calls: 3 });
    expect((await read(TEN)).map(({ tier }) => tier).filter(Boolean)).toHaveLength(2);
    expect(await run(now)).toMatchObject({ files: 0, unchanged: 1 });
  });

  test('docs/scaling.md has every column', async () => {
    const text = await Bun.file(join(import.meta.dir, '../../../../docs/scaling.md')).text();
    expect(COLUMN_NAMES.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });

  test('a second run writes nothing; late calls are added, and each is there once', async () => {
    const ids = await add(START + 5_000, 3);
    const later = await add(START + 48 * HOUR, 1);
    const now = START + 50 * HOUR;
    expect(await run(now)).toEqual({ files: 2, calls: 4, unchanged: 0 });
    expect(await run(now)).toEqual({ files: 0, calls: 0, unchanged: 2 });
    // From the journal of a host that was cut off.
    const late = await add(START + 1_000, 2);
    expect(await run(now)).toEqual({ files: 1, calls: 5, unchanged: 1 });
    expect(await idsIn(TEN)).toEqual([...ids, ...late].toSorted());
    expect(await idsIn(TWO_DAYS_ON)).toEqual(later);
  });

  test('a row that changes after its export is exported again, however old it is', async () => {
    const [old = ''] = await add(START + 5_000, 2);
    const [recent = ''] = await add(START + 20 * 24 * HOUR, 2);
    const now = START + 20 * 24 * HOUR + 2 * HOUR;
    const recently = 'day=2026-12-05/hour=10/calls.parquet';
    expect(await run(now)).toEqual({ files: 2, calls: 4, unchanged: 0 });
    const post = async (id: string) => {
      await database.query('update calls set charge_micro = charge_micro + 7 where id = $1', [id]);
      await database.query(
        `insert into withheld_usage (call_id, company_id, request_id, alias, day, prompt_tokens, completion_tokens,
           prompt_bound, completion_bound, charged_micro, excess_micro, resolution, resolved_at, note)
         select id, company_id, request_id, alias, started_at::date, 1, 0, 1, 1, 1, 7, 'POSTED', $2, 'posted'
         from calls where id = $1`,
        [id, new Date(now)],
      );
    };
    await post(old);
    await post(recent);
    const charges = async (path: string) => (await read(path)).map(({ charge_micro }) => charge_micro).sort();
    expect(await run(now)).toEqual({ files: 2, calls: 4, unchanged: 0 });
    expect([await charges(TEN), await charges(recently)]).toEqual(
      Array.from({ length: 2 }, () => [1_500_000n, 1_500_007n]),
    );
    expect(await run(now)).toEqual({ files: 0, calls: 0, unchanged: 2 });
    // Refusals that were counted later, in the row of the first of them.
    await database.query('update calls set count = 61 where id = $1', [recent]);
    expect(await run(now)).toMatchObject({ files: 1, calls: 2 });
    await database.query('delete from withheld_usage');
  });

  test('a run that fails in the middle leaves complete files, and the next one continues there', async () => {
    await add(START + 5_000, 3);
    const later = await add(START + 48 * HOUR, 2);
    let pages = 0;
    const breaking: Statements = {
      query: (sql: string, values?: readonly unknown[]) => {
        if (sql.includes('as "created_at"') && ++pages === 2) throw new Error('the server has gone');
        return database.query(sql, values as never);
      },
    } as Statements;
    await expect(run(START + 50 * HOUR, breaking)).rejects.toThrow('the server has gone');
    expect(files()).toEqual([TEN]);
    expect(await run(START + 50 * HOUR)).toEqual({ files: 1, calls: 2, unchanged: 1 });
    expect(await idsIn(TWO_DAYS_ON)).toEqual(later);
  });

  test('a file keeps its calls when retention removes them, and a damaged one is written again', async () => {
    const ids = await add(START + 5_000, 3);
    const now = START + 50 * HOUR;
    await run(now);
    writeFileSync(join(folder, TEN), 'not Parquet');
    expect(await run(now)).toMatchObject({ files: 1, calls: 3 });
    await database.query('delete from calls where id = $1', [ids[0] ?? null]);
    expect(await run(now)).toMatchObject({ files: 0, unchanged: 1 });
    await database.query('delete from calls');
    expect(await run(now)).toEqual({ files: 0, calls: 0, unchanged: 0 });
    expect(await idsIn(TEN)).toEqual(ids);
  });

  test('more calls than a page or a row group holds are all exported, in order', async () => {
    await add(START + 5_000, 63);
    expect(await run(START + 2 * HOUR)).toEqual({ files: 1, calls: 63, unchanged: 0 });
    const ids = (await read(TEN)).map(({ id }) => String(id));
    expect([ids.length, new Set(ids).size]).toEqual([63, 63]);
    expect(ids).toEqual(ids.toSorted());
  });

  test('a run may begin at a given day', async () => {
    await add(START + 5_000, 3);
    await add(START + 48 * HOUR, 2);
    const parts = { database, clock: { now: () => START + 50 * HOUR }, files: openParquetFolder(folder) };
    const exported = await exportCalls(parts, new Date('2026-11-16T00:00:00Z'));
    expect(exported).toEqual({ files: 1, calls: 2, unchanged: 0 });
    expect(files()).toEqual([TWO_DAYS_ON]);
  });
});
