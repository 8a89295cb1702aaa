import { describe, expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { addCompany } from '../../accounts/company.ts';
import { runCheck } from '../../reconciliation/audit-check.ts';
import { usageMonthsCheck, usageSubjectsCheck } from '../../reconciliation/usage-checks.ts';
import { chargeCalls } from '../settlement/charge-calls.ts';
import type { FinishedCall } from '../settlement/finished-call.ts';
import { marginReport } from './margins.ts';
import { addUpUsageMonths } from './usage-months.ts';
import type { UsageDimension } from './usage-report.ts';
import { type SubjectGroup, subjectUsage } from './usage-subjects.ts';

const { newId } = createSystemSecrets();
const log = createSilentLog();
const DAY_MS = 86_400_000;
const FIRST_MS = Date.UTC(2020, 0, 20);
const DAYS = 75;
/** April is not over by this clock; January to March are added up. */
const clock = createManualClock(Date.UTC(2020, 3, 6));

const KINDS = { project: 'project', user: 'endUser', tag: 'tags' } as const;
const BREAKDOWNS: readonly (readonly UsageDimension[])[] = [
  ...[[], ['model'], ['day'], ['key'], ['day', 'model'], ['day', 'key', 'model']],
] as const;

describe('usage by project, end user and tag', () => {
  const database = useDatabase();
  const companyId = newId();
  const otherId = newId();
  const keys = [newId(), newId()];
  const calls: FinishedCall[] = [];

  async function charge(random: ReturnType<typeof createSeededRandom>, count: number): Promise<void> {
    const more = Array.from({ length: count }, () =>
      finishedCall(random.below(5) === 0 ? otherId : companyId, {
        id: newId(),
        keyId: random.pick(keys),
        alias: random.pick(['svc/chat-default', 'svc/chat-cheap']),
        startedAtMs: FIRST_MS + random.below(DAYS * DAY_MS),
        project: random.pick(['web', 'app', undefined]),
        endUser: random.pick(['ada', 'bob', 'cy', 'dee', undefined]),
        tags: random.pick([['env:prod', 'team-a'], ['env:test'], undefined]),
        costMicro: random.pick([3, 5, undefined]),
        tokens: { promptTokens: 10 + random.below(50), cachedTokens: 4, completionTokens: random.below(20) },
        ...(random.below(6) === 0 ? { outcome: 'FAILED' as const, tokens: null } : {}),
      }),
    );
    calls.push(...more);
    for (let at = 0; at < more.length; at += 20) await chargeCalls(database, more.slice(at, at + 20));
  }

  /** Calls, by the names of a report. */
  function counted(
    own: readonly FinishedCall[],
    subject: keyof typeof KINDS,
    by: readonly UsageDimension[],
  ): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const call of own) {
      const carried = call[KINDS[subject]];
      for (const name of typeof carried === 'string' ? [carried] : (carried ?? [])) {
        const key = nameOf({ subject: name, model: call.alias, day: dayOf(call), keyId: call.keyId }, by);
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
    }
    return counts;
  }

  async function compareAll(): Promise<void> {
    const ranges = [
      ['2020-01-01', '2020-12-31'],
      ['2020-01-25', '2020-03-02'],
      ['2020-02-10', '2020-02-10'],
    ] as const;
    for (const [from, to] of ranges) {
      const own = calls.filter(
        (call) => call.companyId === companyId && from <= dayOf(call) && dayOf(call) <= to,
      );
      for (const subject of ['project', 'user', 'tag'] as const) {
        for (const by of BREAKDOWNS) {
          for (const keyId of [null, keys[0] ?? null]) {
            const report = await subjectUsage(database, { companyId, keyId, from, to, subject, by });
            const expected = counted(
              own.filter((call) => keyId === null || call.keyId === keyId),
              subject,
              by,
            );
            const found = new Map(report.groups.map((group) => [nameOf(group, by), Number(group.calls)]));
            expect(found, `${from} ${to} ${subject} ${by}`).toEqual(new Map(expected));
            expect(report.range).toEqual({ from, to });
          }
        }
      }
    }
  }

  const addUp = () => addUpUsageMonths({ database, clock, log });
  const faults = async () => [
    ...(await runCheck(database, usageMonthsCheck)).faults,
    ...(await runCheck(database, usageSubjectsCheck)).faults,
  ];

  test('is the sum of the calls that carry them, before months are summed, after it, and after late calls', async () => {
    for (const id of [companyId, otherId])
      await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
    const random = createSeededRandom(7);
    await charge(random, 240);
    await compareAll();
    expect(await addUp()).toBe(6);
    await compareAll();
    expect(await addUp()).toBe(0);
    await charge(random, 60);
    await compareAll();
    await addUp();
    expect(await faults()).toEqual([]);
  });

  test('months that were summed before there were sums by name are summed again', async () => {
    await database.script(
      'update usage_months_done set has_subjects = false; delete from usage_subject_months',
    );
    await addUp();
    await compareAll();
    const [sums] = await database.query<{ rows: bigint }>(
      'select count(*) as rows from usage_subject_months',
    );
    expect(Number(sums?.rows)).toBeGreaterThan(100);
  });

  test('days of a finished month are read from the sums over all keys and models', async () => {
    const range = { from: '2020-02-10', to: '2020-03-02' };
    const count = async (by: readonly UsageDimension[]) => {
      const { groups } = await subjectUsage(database, {
        ...{ companyId, keyId: null, ...range, subject: 'user', by },
      });
      return groups.reduce((sum, { calls: own }) => sum + Number(own), 0);
    };
    const before = await count([]);
    await database.script(`update usage_subject_months set calls = calls + 1000
      where kind = 'END_USER' and alias = '' and day in ('2020-02-10', '2020-02-09')`);
    expect(await count([])).toBeGreaterThan(before + 999);
    expect(await count(['day'])).toBe(await count([]));
    // By model or by key only the days themselves are.
    expect(await count(['model'])).toBe(before);
    expect(await count(['key'])).toBe(before);
    await database.query('update usage_months_done set has_subjects = false');
    expect(await count([])).toBe(before);
    await addUp();
    expect(await count([])).toBe(before);
  });

  test('too many rows for one response: the newest whole days are returned, at least the last, and the range says so', async () => {
    const question = { companyId, keyId: null, from: '2020-01-01', to: '2020-03-31' } as const;
    const ask = (most: number) =>
      subjectUsage(database, { ...question, subject: 'user', by: ['day', 'key'] }, most);
    const all = await ask(100_000);
    expect(all.range.from).toBe('2020-01-01');
    const part = await ask(50);
    expect(part.range.from > '2020-01-20' && part.range.from < '2020-03-31').toBe(true);
    expect(part.groups).toEqual(all.groups.filter(({ day }) => (day ?? '') >= part.range.from));
    expect((await ask(0)).range).toEqual({ from: '2020-03-31', to: '2020-03-31' });
  });

  test('a period that begins within a day is that of the whole day', async () => {
    const question = { companyId, keyId: null, subject: 'user', by: [] } as const;
    const { range } = await subjectUsage(database, {
      ...question,
      ...{ from: '2020-02-10T23:00:00.000Z', to: '2020-03-02' },
    });
    expect(range).toEqual({ from: '2020-02-10', to: '2020-03-02' });
  });

  test('another company, and a key of another company, have no rows', async () => {
    const range = { from: '2020-01-01', to: '2020-12-31' };
    const ask = (company: string, keyId: string | null) =>
      subjectUsage(database, { companyId: company, keyId, ...range, subject: 'user', by: [] });
    expect((await ask(newId(), null)).groups).toEqual([]);
    expect((await ask(newId(), keys[0] ?? '')).groups).toEqual([]);
    expect((await ask(companyId, newId())).groups).toEqual([]);
  });

  test('the margins of all companies are the same with sums and without, also after a late call', async () => {
    const ranges = [
      { from: '2020-01-01', to: '2020-04-30' },
      { from: '2020-02-01', to: '2020-02-29' },
      { from: '2020-01-25', to: '2020-03-03' },
    ];
    const reports = async () => {
      const all = [];
      for (const range of ranges) {
        for (const groupBy of ['MODEL', 'PROVIDER', 'COMPANY', 'DAY'] as const) {
          all.push(await marginReport(database, { ...range, groupBy }));
        }
      }
      return all;
    };
    const undo = () =>
      database.script('delete from platform_days_done; delete from company_cost_months_done');
    const summed = await reports();
    await undo();
    expect(await reports()).toEqual(summed);
    const costed = calls.filter(({ costMicro }) => costMicro !== undefined);
    expect(summed[0]?.totals.calls).toBe(BigInt(costed.length));
    await addUp();
    await charge(createSeededRandom(8), 20);
    const late = await reports();
    expect(late).not.toEqual(summed);
    await undo();
    expect(await reports()).toEqual(late);
    await addUp();
    expect(await reports()).toEqual(late);
  });
});

function dayOf({ startedAtMs }: FinishedCall): string {
  return new Date(startedAtMs).toISOString().slice(0, 10);
}

function nameOf(
  { subject, model, day, keyId }: Pick<SubjectGroup, 'subject' | 'model' | 'day' | 'keyId'>,
  by: readonly UsageDimension[],
): string {
  const names = { model, day, key: keyId };
  return [subject, ...by.map((dimension) => names[dimension])].join(' ');
}
