import { describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { EXIT_FAILED, EXIT_OK } from '../../src/command-line/command.ts';
import { auditCommand } from '../../src/command-line/credit-commands.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { listCallPartitions, openCallPartitions } from '../../src/domain/calls/partitions/call-partitions.ts';
import { retireCalls } from '../../src/domain/calls/partitions/call-retention.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import type { FinishedCall } from '../../src/domain/calls/settlement/finished-call.ts';
import { postWithheldUsage, purgeResolvedUsage } from '../../src/domain/calls/settlement/withheld-usage.ts';
import { usageReport } from '../../src/domain/calls/usage/usage-report.ts';
import type { Database } from '../../src/ports/database.ts';
import { leastIdAt } from '../../src/ports/secrets.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { typedCommand } from '../doubles/typed-command.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const { newId } = createSystemSecrets();

/** An id that was made at this moment. */
function idAt(timeMs: number): string {
  return `${leastIdAt(timeMs).slice(0, 13)}${newId().slice(13)}`;
}

/** The tests build on each other: one history of some months.  */
export function retiredCallsContract(engine: string, given: () => Database): void {
  describe(`calls by time on ${engine}`, () => {
    const { log, entries } = createRecordingLog();
    const clock = createManualClock(Date.UTC(2040, 0, 10));
    const parts = () => ({ database: given(), clock, log, span: 'month' as const, keepMonths: 2 });
    const companyId = newId();
    const keyId = newId();
    const callAt = (startedAtMs: number, changes: Partial<FinishedCall> = {}) =>
      finishedCall(companyId, { id: idAt(startedAtMs), startedAtMs, keyId, ...changes });
    const january = callAt(Date.UTC(2040, 0, 10), { costMicro: 7 });
    const lastOfJanuary = callAt(Date.UTC(2040, 0, 31, 23, 59, 59), {
      // Its id was made before midnight, itself it began after.
      startedAtMs: Date.UTC(2040, 1, 1),
    });
    /** Of each 900 micro-credits are withheld. */
    const [posted, open] = [11, 12].map((day) =>
      callAt(Date.UTC(2040, 0, day), {
        costMicro: 5,
        tokens: { promptTokens: 1_000, cachedTokens: 0, completionTokens: 0 },
        tokenBounds: { promptTokens: 100, completionTokens: 1 },
      }),
    ) as [FinishedCall, FinishedCall];
    const post = ({ id: callId }: FinishedCall) =>
      given().transaction((transaction) =>
        postWithheldUsage(transaction, { callId, note: 'checked', now: new Date(clock.now()) }),
      );
    const partitionOf = async ({ id }: FinishedCall) =>
      (await given().query('select tableoid::regclass::text as name from calls where id = $1', [id]))[0]
        ?.name;
    const audit = () => typedCommand({ database: given() }, auditCommand);
    const usage = async () => {
      const question = { companyId, keyId: null, from: '2040-01-01', to: '2040-12-31' };
      const { groups } = await usageReport(given(), { ...question, by: [['day', 'model']] });
      return groups[0]?.map(({ day, calls, chargeMicro }) => ({ day, calls, chargeMicro }));
    };
    const balance = async () =>
      (
        await given().query('select balance_micro as micro from credit_accounts where id = $1', [companyId])
      )[0]?.micro;

    test('partitions are created ahead, once, by the first process; another span begins where they end', async () => {
      await addCompany(given(), { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
      const made = await Promise.all([openCallPartitions(parts()), openCallPartitions(parts())]);
      expect(Math.max(...made)).toBe(4);
      expect(await openCallPartitions(parts())).toBe(0);
      const ahead = { ...parts(), clock: createManualClock(Date.UTC(2040, 3, 29)), span: 'week' as const };
      // Monday, 30 April: the first of May is a Tuesday.
      expect(await openCallPartitions(ahead)).toBe(6);
      const names = (await listCallPartitions(given())).map(({ name }) => name);
      expect(names.filter((name) => name >= 'calls_from_2040')).toEqual([
        ...[
          'calls_from_2040_01_01',
          'calls_from_2040_02_01',
          'calls_from_2040_03_01',
          'calls_from_2040_04_01',
        ],
        ...[
          'calls_from_2040_05_01',
          'calls_from_2040_05_07',
          'calls_from_2040_05_14',
          'calls_from_2040_05_21',
        ],
        ...['calls_from_2040_05_28', 'calls_from_2040_06_04'],
      ]);
    });

    test('G-33 a call is in the partition of its id, and sent again, however late, it changes nothing', async () => {
      await chargeCalls(given(), [january, lastOfJanuary, posted, open]);
      expect(await partitionOf(january)).toBe('calls_from_2040_01_01');
      expect(await partitionOf(lastOfJanuary)).toBe('calls_from_2040_01_01');
      const before = await balance();
      // With another time of beginning: the id alone counts.
      const again = { ...january, startedAtMs: Date.UTC(2040, 2, 2) };
      expect(await chargeCalls(given(), [again])).toEqual({ levels: [], spending: [], budgets: [] });
      expect(await balance()).toBe(before);
    });

    test('a call without a partition is still charged, and its span gets none later', async () => {
      const stray = callAt(Date.UTC(2041, 5, 1));
      await chargeCalls(given(), [stray]);
      expect(await partitionOf(stray)).toBe('calls_other');
      const then = { ...parts(), clock: createManualClock(Date.UTC(2041, 5, 2)) };
      expect(await openCallPartitions(then)).toBe(3);
      await chargeCalls(given(), [stray, callAt(Date.UTC(2041, 5, 3))]);
      expect((await audit()).exitCode).toBe(EXIT_OK);
    });

    test('calls are kept for the configured months, and for at least 45 days', async () => {
      const keep = (keepMonths: number, nowMs: number) =>
        retireCalls({ ...parts(), keepMonths, clock: createManualClock(nowMs) });
      expect(await keep(0, Date.UTC(2050, 0, 1))).toBe(0);
      // Partitions before 2040, which are not ours.
      expect(await keep(2, Date.UTC(2040, 2, 31))).toBeGreaterThan(0);
      expect(await keep(1, Date.UTC(2040, 2, 14))).toBe(0);
      expect(await partitionOf(january)).toBe('calls_from_2040_01_01');
    });

    test('P-19 a month with calls missing from the books is not removed', async () => {
      const then = { ...parts(), clock: createManualClock(Date.UTC(2040, 3, 1)) };
      for (const damage of [
        `update calls set charge_micro = charge_micro + 1 where id = '${january.id}'`,
        `update usage_days set calls = calls - 1 where company_id = '${companyId}' and day = '2040-01-10'`,
        `update cost_days set cost_micro = cost_micro - 1 where company_id = '${companyId}' and day = '2040-01-10'`,
      ]) {
        const undo = damage.replace(/([+-]) 1/, (_, sign) => (sign === '+' ? '- 1' : '+ 1'));
        await given().query(damage);
        expect(await retireCalls(then)).toBe(0);
        expect((await audit()).exitCode).toBe(EXIT_FAILED);
        await given().query(undo);
      }
      expect(entries.filter(({ level }) => level === 'error')).toHaveLength(3);
      expect(await given().query('select 1 from retired_usage')).toEqual([]);
      expect((await audit()).exitCode).toBe(EXIT_OK);
    });

    test('P-19 P-29 after a month is removed, usage is unchanged and the audit compares its charges with its sums', async () => {
      expect((await post(posted)).outcome).toBe('resolved');
      const [before, had] = [await usage(), await balance()];
      await clock.advance(Date.UTC(2040, 3, 1) - clock.now());
      const gone = await Promise.all([retireCalls(parts()), retireCalls(parts())]);
      expect(Math.max(...gone)).toBe(1);
      expect(await partitionOf(january)).toBeUndefined();
      expect([await usage(), await balance()]).toEqual([before, had]);
      expect((await audit()).exitCode).toBe(EXIT_OK);
      await given().query('update retired_usage set charge_micro = charge_micro + 1');
      expect((await audit()).lines.join()).toContain(
        'for calls that were deleted by retention, which had cost',
      );
      await given().query('update retired_usage set charge_micro = charge_micro - 1');
    });

    test('P-19 withheld usage of a call of a removed month is posted once, and counted in its sums', async () => {
      const had = (await balance()) as bigint;
      const results = [await post(open), await post(open)];
      expect(results).toMatchObject([
        { outcome: 'resolved', isNew: true },
        { outcome: 'resolved', isNew: false },
      ]);
      expect(await balance()).toBe(had - 900n);
      expect((await usage())?.find(({ day }) => day === '2040-01-12')?.chargeMicro).toBe(1_000n);
      expect((await audit()).exitCode).toBe(EXIT_OK);
      await purgeResolvedUsage(given());
      expect(await given().query('select 1 from withheld_usage where company_id = $1', [companyId])).toEqual(
        [],
      );
      expect((await audit()).exitCode).toBe(EXIT_OK);
    });

    test('G-33 a call of a removed month is charged once: sent again it is refused, sent late it counts', async () => {
      const [before, counted] = [await balance(), await usage()];
      const refusal = await chargeCalls(given(), [january]).catch((error: Error) => error);
      expect(refusal).toBeInstanceOf(Error);
      expect([await balance(), await usage()]).toEqual([before, counted]);
      const late = callAt(Date.UTC(2040, 0, 20));
      await chargeCalls(given(), [late]);
      await chargeCalls(given(), [late]);
      expect(await balance()).toBe((before as bigint) - 76n);
      expect((await audit()).exitCode).toBe(EXIT_OK);
      // It goes with the next run.
      await clock.advance(DAY_MS);
      expect(await retireCalls(parts())).toBe(0);
      expect(await partitionOf(late)).toBeUndefined();
      expect((await audit()).exitCode).toBe(EXIT_OK);
      expect((await usage())?.length).toBe((counted?.length ?? 0) + 1);
    });
  });
}
