import { beforeEach, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';
import type { Database } from '../../../ports/database.ts';
import { createCallsRetentionHandler } from '../partitions/call-retention.ts';
import {
  addUpAddressRefusals,
  createAddressRefusals,
  listRefusedAddresses,
  purgeAddressRefusals,
} from './address-refusals.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const START = Date.UTC(2026, 10, 16, 3);
/** The beginning of the day that a test of five days ends with. */
const TODAY = Date.UTC(2026, 10, 16);

const listed = async (database: Database, fromMs: number, toMs: number) => [
  ...(await listRefusedAddresses(database, { from: new Date(fromMs), to: new Date(toMs), limit: 1_000 })),
];

/** Every eleven minutes of the five days before TODAY, and of half of it. */
async function refuseForDays(database: Database): Promise<void> {
  const clock = createManualClock(TODAY - 5 * DAY_MS);
  const refusals = createAddressRefusals({ database, clock, log: createSilentLog() });
  for (let at = 0; clock.now() < TODAY + DAY_MS / 2; at += 1) {
    refusals.note(`192.0.2.${at % 5}`, at % 3 === 0 ? 'rateLimited' : 'unauthenticated');
    clock.step(11 * MINUTE_MS);
  }
  await refusals.close();
}

async function forget(database: Database): Promise<void> {
  await database.script(
    'delete from address_refusals; delete from address_refusal_days; delete from address_refusal_days_done',
  );
}

const countOf = (rows: readonly { readonly count: bigint }[]) =>
  rows.reduce((sum, { count }) => sum + count, 0n);

describe('refusals without a key', () => {
  const database = useDatabase();
  beforeEach(() => forget(database));

  test('are counted by address, code and minute, with a bound, and removed after a week', async () => {
    const clock = createManualClock(START);
    const refusals = createAddressRefusals({ database, clock, log: createSilentLog() });
    for (let at = 0; at < 5; at += 1) refusals.note('192.0.2.1', 'unauthenticated');
    refusals.note('192.0.2.1', 'rateLimited');
    for (let at = 0; at < 2_000; at += 1) refusals.note(`198.51.100.${at}`, 'unauthenticated');
    await refusals.close();
    const span = { from: new Date(START), to: new Date(START + 60_000), limit: 2 };
    const minute = { firstMinute: new Date(START), lastMinute: new Date(START) };
    expect([...(await listRefusedAddresses(database, span))]).toEqual([
      { address: '', code: 'unauthenticated', count: 1_002n, ...minute },
      { address: '192.0.2.1', code: 'unauthenticated', count: 5n, ...minute },
    ]);
    refusals.note('192.0.2.1', 'unauthenticated');
    await refusals.close();
    expect((await listRefusedAddresses(database, span))[1]).toMatchObject({ count: 6n });
    await purgeAddressRefusals(database, START + 8 * 24 * 60 * 60_000);
    expect(await listRefusedAddresses(database, span)).toHaveLength(0);
  });

  test('are the same in every period after their days were summed', async () => {
    await refuseForDays(database);
    const ends = [0, 1, MINUTE_MS, HOUR_MS + 1, DAY_MS - 1, DAY_MS, 2 * DAY_MS, 5 * DAY_MS, 6 * DAY_MS];
    const periods = ends.flatMap((fromMs) =>
      ends
        .filter((toMs) => toMs > fromMs)
        .map((toMs) => [TODAY - 5 * DAY_MS + fromMs, TODAY - 5 * DAY_MS + toMs] as const),
    );
    const before = await Promise.all(periods.map(([fromMs, toMs]) => listed(database, fromMs, toMs)));
    expect(await addUpAddressRefusals(database, TODAY + DAY_MS / 2)).toBe(7 - 1);
    const after = await Promise.all(periods.map(([fromMs, toMs]) => listed(database, fromMs, toMs)));
    expect(after).toEqual(before);
    expect(await addUpAddressRefusals(database, TODAY + DAY_MS / 2)).toBe(0);
  });

  test('are read by day only where the day was summed and is completely in the period', async () => {
    await refuseForDays(database);
    // An hour after its end at the earliest.
    await addUpAddressRefusals(database, TODAY + HOUR_MS - 1);
    const yesterday = () => listed(database, TODAY - DAY_MS, TODAY);
    const before = await yesterday();
    await database.script('update address_refusal_days set count = count + 1000');
    expect(await yesterday()).toEqual(before);
    await addUpAddressRefusals(database, TODAY + HOUR_MS);
    expect(await yesterday()).toEqual(before);
    await database.script(`update address_refusal_days set count = count + 1000 where day = '2026-11-15'`);
    expect(countOf(await yesterday())).toBe(countOf(before) + 10_000n);
    const part = await listed(database, TODAY - DAY_MS + MINUTE_MS, TODAY);
    expect(countOf(part)).toBeLessThanOrEqual(countOf(before));
  });

  test('of a day that is partly past its retention are read minute by minute', async () => {
    await refuseForDays(database);
    await addUpAddressRefusals(database, TODAY + DAY_MS / 2);
    const nowMs = TODAY + 3 * DAY_MS + DAY_MS / 4;
    const cutMs = nowMs - 7 * DAY_MS;
    const [left, all] = [
      await listed(database, cutMs, nowMs),
      await listed(database, TODAY - 5 * DAY_MS, nowMs),
    ];
    expect(countOf(left)).toBeLessThan(countOf(all));
    await purgeAddressRefusals(database, nowMs);
    expect(await listed(database, TODAY - 5 * DAY_MS, nowMs)).toEqual(left);
    // Nor is what is left of it added up.
    await addUpAddressRefusals(database, nowMs);
    const [first] = await database.query(`select min(day)::text as day from address_refusal_days_done`);
    expect(first?.day).toBe('2026-11-13');
  });

  test('are summed by the hourly job', async () => {
    await refuseForDays(database);
    const clock = createManualClock(TODAY + DAY_MS / 2);
    const parts = { database, clock, log: createSilentLog(), keepMonths: 0, keepNamesMonths: 0 };
    const handler = createCallsRetentionHandler({ ...parts, span: 'month' });
    await handler({ id: '1', data: {}, attempt: 1, signal: new AbortController().signal });
    const [row] = await database.query('select count(distinct day) as days from address_refusal_days');
    expect(row?.days).toBe(5n);
  });
});

describePostgres('refusals without a key, with a server', () => {
  const database = usePostgres();

  test('are summed once by concurrent processes', async () => {
    await forget(database);
    await refuseForDays(database);
    const before = await listed(database, TODAY - 5 * DAY_MS, TODAY);
    const nowMs = TODAY + DAY_MS / 2;
    const added = await Promise.all([1, 2, 3].map(() => addUpAddressRefusals(database, nowMs)));
    expect(added.reduce((sum, days) => sum + days)).toBe(7 - 1);
    expect(await listed(database, TODAY - 5 * DAY_MS, TODAY)).toEqual(before);
  });
});
