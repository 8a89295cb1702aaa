import { beforeAll, describe, expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { addTestCompany } from '../../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { leastIdAt } from '../../../ports/secrets.ts';
import { addCompany } from '../../accounts/company.ts';
import { runCheck } from '../../reconciliation/audit-check.ts';
import { usageMonthsCheck } from '../../reconciliation/usage-checks.ts';
import { chargeCalls } from '../settlement/charge-calls.ts';
import type { FinishedCall } from '../settlement/finished-call.ts';
import { addUpUsageMonths } from './usage-months.ts';
import { spanOf } from './usage-range.ts';
import {
  NO_USAGE,
  type UsageDimension,
  type UsageGroup,
  type UsageQuestion,
  usageReport,
} from './usage-report.ts';

const { newId } = createSystemSecrets();
const companyId = newId();
const [keyA, keyB] = [newId(), newId()];
const START_MS = Date.UTC(2020, 0, 1);
const DAY_MS = 86_400_000;
const calls: FinishedCall[] = [];
const database = useDatabase();

beforeAll(async () => {
  const other = newId();
  for (const id of [companyId, other])
    await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
  const random = createSeededRandom(5);
  for (let n = 0; n < 400; n += 1) {
    const tokens = {
      promptTokens: random.below(900),
      cachedTokens: random.below(90),
      ...(random.below(2) === 0 ? {} : { cacheWriteTokens: random.below(90) }),
      completionTokens: random.below(500),
    };
    calls.push(
      finishedCall(random.below(10) === 0 ? other : companyId, {
        keyId: random.pick([keyA, keyA, keyB, null]),
        alias: random.pick(['svc/chat-default', 'svc/chat-cheap', 'svc/embed-default']),
        outcome: random.below(5) === 0 ? 'FAILED' : 'SUCCEEDED',
        tokens: random.below(6) === 0 ? null : tokens,
        startedAtMs: START_MS + random.below(40 * DAY_MS),
        surchargeMicro: random.below(3) === 0 ? random.below(9_000) : undefined,
      }),
    );
  }
  for (let at = 0; at < calls.length; at += 50) await chargeCalls(database, calls.slice(at, at + 50));
});

const day = (call: FinishedCall) => new Date(call.startedAtMs).toISOString().slice(0, 10);
const january = { companyId, keyId: null, from: '2020-01-01', to: '2020-01-31' };

async function ask(question: Partial<UsageQuestion>) {
  return (await usageReport(database, { ...january, by: [[]], ...question })).groups;
}

const addUp = () => addUpUsageMonths({ database, clock: createManualClock(), log: createSilentLog() });

/** Straight from the rows of the calls, of which the report reads only parts of days. */
async function counted(keyId: string | null, from: string, to: string, by: readonly UsageDimension[]) {
  const { fromMs, beforeMs } = spanOf({ from, to });
  const columns = {
    model: 'alias',
    day: "to_char(started_at at time zone 'utc', 'YYYY-MM-DD')",
    key: 'key_id',
  };
  const column = (dimension: UsageDimension) => (by.includes(dimension) ? columns[dimension] : 'null::text');
  const rows = await database.query<UsageGroup>(
    `select ${column('model')} as model, ${column('day')} as day, ${column('key')} as "keyId", count(*) as calls,
       count(*) filter (where outcome = 'FAILED') as failures,
       coalesce(sum(prompt_tokens) filter (where outcome = 'SUCCEEDED'), 0)::bigint as "promptTokens",
       coalesce(sum(cached_tokens) filter (where outcome = 'SUCCEEDED'), 0)::bigint as "cachedTokens",
       coalesce(sum(cache_write_tokens) filter (where outcome = 'SUCCEEDED'), 0)::bigint as "cacheWriteTokens",
       coalesce(sum(completion_tokens) filter (where outcome = 'SUCCEEDED'), 0)::bigint as "completionTokens", sum(charge_micro)::bigint as "chargeMicro",
       coalesce(sum(surcharge_micro), 0)::bigint as "surchargeMicro"
     from calls where company_id = $1 and ($2::uuid is null or key_id = $2)
       and started_at >= $3::timestamptz and started_at < $4::timestamptz
       and ($5 or key_id is not null)
     group by 1, 2, 3 order by 2, 1, 3`,
    [
      ...[companyId, keyId, new Date(fromMs).toISOString(), new Date(beforeMs).toISOString()],
      !by.includes('key') || keyId !== null,
    ],
  );
  return rows.filter((row) => row.calls > 0n);
}

describe('G-5 the usage report', () => {
  test.each([
    ['a company', null, [[], ['model'], ['day'], ['model', 'day']]],
    ['a key', keyA, [[], ['model'], ['day'], ['day', 'model'], ['key'], ['key', 'day']]],
    ['a company by key', null, [['key'], ['key', 'model'], ['key', 'day', 'model']]],
  ] as const)(
    '%s: every breakdown is what its calls say, by days and by added months',
    async (_, keyId, by) => {
      await database.script('delete from usage_months_done');
      await compare(keyId, by);
      expect(await addUp()).toBeGreaterThan(1);
      expect(await addUp()).toBe(0);
      await compare(keyId, by);
    },
  );

  async function compare(keyId: string | null, by: readonly (readonly UsageDimension[])[]): Promise<void> {
    for (const [from, to] of [
      ['2020-01-01', '2020-01-31'],
      ['2020-01-31', '2020-02-20'],
      ['2020-01-10', '2020-01-10'],
      ['2019-12-15', '2020-02-29'],
      ['2020-01-20', '2020-05-05'],
      // Within a day, from one day into the next, and around whole months.
      ['2020-01-10T06:00:00.000Z', '2020-01-10T18:30:00.000Z'],
      ['2020-01-10T12:00:00.000Z', '2020-01-11T12:00:00.000Z'],
      ['2019-12-15T09:00:00.000Z', '2020-02-05T09:00:00.001Z'],
      ['2020-01-10T12:00:00.000Z', '2020-01-12'],
      ['2020-01-10', '2020-01-12T12:00:00.000Z'],
    ] as const) {
      const groups = await ask({ keyId, from, to, by });
      for (const [at, dimensions] of by.entries()) {
        const sorted = (rows: readonly UsageGroup[]) =>
          rows.map((row) => ({ ...row })).toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
        expect(sorted(groups[at] ?? [])).toEqual(sorted(await counted(keyId, from, to, dimensions)));
      }
    }
  }

  test('within a day it is exact to the millisecond: the start is included, the end is not', async () => {
    const at = Date.UTC(2020, 5, 10, 12);
    const call = calls.find((one) => one.tokens !== null && one.outcome === 'SUCCEEDED') as FinishedCall;
    for (const startedAtMs of [at - 1, at, at + 999, at + 1_000]) {
      await chargeCalls(database, [{ ...call, id: newId(), companyId, keyId: keyA, startedAtMs }]);
    }
    const within = async (fromMs: number, beforeMs: number) => {
      const [from, to] = [new Date(fromMs).toISOString(), new Date(beforeMs).toISOString()];
      const { range, groups } = await usageReport(database, { ...january, from, to, by: [[], ['day']] });
      expect(range).toEqual({ from, to });
      return groups.map((rows) => rows.map((row) => Number(row.calls)));
    };
    expect(await within(at, at + 1_000)).toEqual([[2], [2]]);
    expect(await within(at - 1, at + 1_001)).toEqual([[4], [4]]);
    expect(await within(at + 1_001, at + 3_600_000)).toEqual([[], []]);
  });

  test('where the calls of a part of a day are too many or removed, it covers and names the whole day', async () => {
    const question = {
      ...january,
      from: '2020-01-10T11:59:00.000Z',
      to: '2020-01-12T12:00:00.000Z',
      by: [[]],
    };
    const days = { from: '2020-01-10', to: '2020-01-12' };
    const ofDays = await usageReport(database, { ...question, ...days });
    expect(ofDays.range).toEqual(days);
    expect(await usageReport(database, question, 1)).toEqual(ofDays);
    await database.query('insert into calls_retirement (before_id, retired_at) values ($1, now())', [
      leastIdAt(Date.UTC(2020, 0, 10, 12)),
    ]);
    expect(await usageReport(database, question)).toEqual(ofDays);
    const later = { ...question, from: '2020-01-10T12:30:00.000Z' };
    expect((await usageReport(database, later)).range).toEqual({ from: later.from, to: later.to });
    await database.query('delete from calls_retirement');
  });

  test('a call recorded after its month was summed is included at once, and reopens the month', async () => {
    await addUp();
    const ask31 = () => ask({ keyId: keyA, by: [[], ['model'], ['day']] });
    const total = async () =>
      (await ask31()).map((groups) => groups.reduce((sum, { calls }) => sum + calls, 0n));
    const [before] = await total();
    const call = calls.find((one) => one.alias !== null) as FinishedCall;
    await chargeCalls(database, [{ ...call, id: newId(), companyId, keyId: keyA, startedAtMs: START_MS }]);
    const wanted = (before ?? 0n) + 1n;
    expect(await total()).toEqual([wanted, wanted, wanted]);
    expect(await addUp()).toBe(1);
    expect(await total()).toEqual([wanted, wanted, wanted]);
  });

  test('summed months are used also where the period begins before the first call', async () => {
    await addUp();
    const ask20 = async (from: string) => (await ask({ from, to: '2020-12-31', by: [['key']] }))[0] ?? [];
    const count = async (from: string) => (await ask20(from)).reduce((sum, { calls }) => sum + calls, 0n);
    const before = await count('2020-01-01');
    await database.script("update usage_months set calls = calls + 1000 where month = '2020-01-01'");
    const ofMonths = await count('2020-01-01');
    expect(ofMonths).toBeGreaterThan(before);
    expect(await count('2019-03-15')).toBe(ofMonths);
    await database.script('delete from usage_months; delete from usage_months_done');
    expect(await count('2019-03-15')).toBe(before);
  });

  test('a month that is not over is not summed', async () => {
    const [row] = await database.query<{ day: string }>("select to_char(current_date, 'YYYY-MM-DD') as day");
    const call = calls.find((one) => one.alias !== null) as FinishedCall;
    await addUp();
    await chargeCalls(database, [
      { ...call, id: newId(), companyId, startedAtMs: Date.parse(`${row?.day}T12:00:00Z`) },
    ]);
    await addUp();
    const done = await database.query('select 1 from usage_months_done where month > current_date - 31');
    expect(done).toEqual([]);
  });

  test('no usage returns no group, and other companies are not visible', async () => {
    expect(await ask({ from: '2019-01-01', to: '2019-12-31', by: [[], ['day']] })).toEqual([[], []]);
    expect(await ask({ companyId: newId(), by: [[], ['model']] })).toEqual([[], []]);
    expect(await ask({ companyId: newId(), keyId: keyA, by: [[]] })).toEqual([[]]);
    expect(Object.values(NO_USAGE).every((value) => value === 0n)).toBe(true);
  });

  test('groups are sorted by day, then model', async () => {
    const [groups = []] = await ask({ by: [['day', 'model']] });
    const names = groups.map(({ day, model }) => `${day} ${model}`);
    expect(names).toEqual(names.toSorted());
    expect(new Set(groups.map((group) => group.day))).toEqual(
      new Set(calls.filter((call) => call.companyId === companyId && day(call) <= '2020-01-31').map(day)),
    );
  });

  test('a company’s calls are not counted twice by mixing its own rows with its keys’', async () => {
    const error = await ask({ by: [[], ['key']] }).catch((thrown: Error) => thrown);
    expect(error).toBeInstanceOf(RangeError);
  });
});

describePostgres('with a server', () => {
  const log = createSilentLog();
  const database = usePostgres();

  test('calls are counted in the order of their days: two groups of late calls do not deadlock', async () => {
    await database.script(`
      create table counted_days (place serial, day date);
      create function note_counted_day() returns trigger language plpgsql as $$
        begin insert into counted_days (day) values (new.day); return null; end $$;
      create trigger note_counted_day after insert or update on usage_days for each row execute function note_counted_day()`);
    const companies = [await addTestCompany(database), await addTestCompany(database)];
    const calls = [9, 2, 11, 0, 7, 4].flatMap((month) =>
      companies.map((id) =>
        finishedCall(id, {
          alias: `svc/chat-${month % 2 === 0 ? 'default' : 'cheap'}`,
          startedAtMs: Date.UTC(2019, month),
        }),
      ),
    );
    await chargeCalls(database, calls);
    const counted = await database.query<{ day: string }>(
      'select day::text as day from counted_days order by place',
    );
    await database.script('drop table counted_days; drop function note_counted_day cascade');
    const days = counted.map(({ day }) => day);
    expect(days).toEqual(days.toSorted());
    expect(new Set(days).size).toBe(6);
  });

  test('G-5 late calls during the summing: every report has every call that was committed before it', async () => {
    const companies = [await addTestCompany(database), await addTestCompany(database)];
    const keyId = newId();
    const call = (companyId: string, n: number) =>
      finishedCall(companyId, {
        ...{ keyId, alias: n % 2 === 0 ? 'svc/chat-default' : 'svc/chat-cheap' },
        startedAtMs: Date.UTC(2020, n % 3, 1 + (n % 28)),
      });
    const committed = new Map(companies.map((id) => [id, 0n]));
    const counts = async (companyId: string): Promise<bigint[]> => {
      const question = { companyId, from: '2020-01-01', to: '2020-12-31' };
      const own = await usageReport(database, {
        ...question,
        keyId,
        by: [[], ['model'], ['day'], ['model', 'day']],
      });
      const byKey = await usageReport(database, { ...question, keyId: null, by: [['key']] });
      return [...own.groups, ...byKey.groups].map((groups) =>
        groups.reduce((sum, group) => sum + group.calls, 0n),
      );
    };
    const rounds = 16;
    let isCharging = true;
    const chargers = companies.map(async (companyId) => {
      for (let n = 0; n < rounds; n += 1) {
        await chargeCalls(database, [call(companyId, n), call(companyId, n + 1)]);
        committed.set(companyId, (committed.get(companyId) ?? 0n) + 2n);
      }
    });
    const adders = Array.from({ length: 3 }, async () => {
      while (isCharging) await addUpUsageMonths({ database, log, clock: createManualClock() });
    });
    const watchers = companies.map(async (companyId) => {
      while (isCharging) {
        const before = committed.get(companyId) ?? 0n;
        for (const count of await counts(companyId)) expect(count).toBeGreaterThanOrEqual(before);
      }
    });
    await Promise.all(chargers);
    isCharging = false;
    await Promise.all([...adders, ...watchers]);
    for (const companyId of companies)
      expect(await counts(companyId)).toEqual(Array(5).fill(2n * BigInt(rounds)));
    await addUpUsageMonths({ database, log, clock: createManualClock() });
    for (const companyId of companies)
      expect(await counts(companyId)).toEqual(Array(5).fill(2n * BigInt(rounds)));
    expect(await runCheck(database, usageMonthsCheck)).toEqual({ faults: [], isCut: false });
    const [done] = await database.query('select count(*) as months from usage_months_done');
    expect(done?.months).toBeGreaterThanOrEqual(6n);
  });
});

function nameOf({ day, model, keyId }: UsageGroup): string {
  return `${day} ${model} ${keyId}`;
}
