import { describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import type { FinishedCall } from '../../src/domain/calls/settlement/finished-call.ts';
import { postWithheldUsage } from '../../src/domain/calls/settlement/withheld-usage.ts';
import { usageReport } from '../../src/domain/calls/usage/usage-report.ts';
import {
  purgeSubjectSums,
  setNamesPerDay,
  subjectUsage,
} from '../../src/domain/calls/usage/usage-subjects.ts';
import type { CallBudget } from '../../src/domain/credits/budgets/call-budgets.ts';
import type { Database } from '../../src/ports/database.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { addTestCompany } from '../doubles/test-company.ts';

const NAMES = ['ada', 'bob', 'cy', 'dee', 'eve'];
const JANUARY = Date.UTC(2026, 0, 31, 23, 59, 59, 999);

/** What a charge adds to the sums by project, end user and tag, and what it says of budgets, on one engine. */
export function attributedCallsContract(engine: string, given: () => Database): void {
  const { newId } = createSystemSecrets();

  const company = () => addTestCompany(given());
  const charge = (...calls: FinishedCall[]) => chargeCalls(given(), calls);
  const days = async (id: string) => [
    ...(await given().query(
      `select kind, day::text, subject, sum(calls)::integer as calls, sum(failures)::integer as failures,
         sum(charge_micro)::integer as charge
       from usage_subject_days where company_id = $1 group by 1, 2, 3 order by 1, 2, 3`,
      [id],
    )),
  ];
  const months = async (id: string) => [
    ...(await given().query(
      `select scope, month::text, subject, charge_micro as charge from subject_months where company_id = $1
       order by 1, 2, 3`,
      [id],
    )),
  ];
  const alerts = async (id: string) => [
    ...(await given().query(
      `select kind, subject, threshold_percent as percent, episode, spent_micro as spent, limit_micro as most
       from credit_alerts where company_id = $1 order by percent`,
      [id],
    )),
  ];
  const budget = (changes: Partial<CallBudget>): CallBudget => ({
    ...{ id: newId(), scope: 'COMPANY', subject: '', mostMicro: 1_000, isHard: true },
    ...changes,
  });

  describe(`attributed calls on ${engine}`, () => {
    test('are summed by day and month, each once, failures without a charge; each tag by itself', async () => {
      const id = await company();
      const keyId = newId();
      const whole = { keyId, project: 'web', endUser: 'ada', tags: ['a', 'b'] };
      const call = finishedCall(id, whole);
      const failed = finishedCall(id, { ...whole, outcome: 'FAILED', tokens: null });
      await charge(call);
      await charge(call, failed, finishedCall(id, { keyId, endUser: 'bob' }), finishedCall(id, { keyId }));
      await charge(failed);
      const day = '2026-01-31';
      const row = (kind: string, subject: string) => ({
        kind,
        day,
        subject,
        calls: 2,
        failures: 1,
        charge: 76,
      });
      expect(await days(id)).toEqual([
        row('END_USER', 'ada'),
        { ...row('END_USER', 'bob'), calls: 1, failures: 0 },
        row('PROJECT', 'web'),
        row('TAG', 'a'),
        row('TAG', 'b'),
      ]);
      const month = '2026-01-01';
      expect(await months(id)).toEqual([
        { scope: 'END_USER', month, subject: 'ada', charge: 76n },
        { scope: 'END_USER', month, subject: 'bob', charge: 76n },
        { scope: 'PROJECT', month, subject: 'web', charge: 76n },
      ]);
    });

    test('alone or in a group, in any order and any number of times, have the same sums', async () => {
      const random = createSeededRandom(11);
      const keyIds = [newId(), newId()];
      const one = await company();
      const other = await company();
      const calls = Array.from({ length: 40 }, () => ({
        keyId: random.pick(keyIds),
        startedAtMs: JANUARY + random.below(3) - 1,
        ...(random.below(3) === 0 ? {} : { endUser: random.pick(NAMES) }),
        ...(random.below(2) === 0 ? {} : { project: random.pick(['web', 'app']) }),
        ...(random.below(2) === 0 ? {} : { tags: [random.pick(['x', 'y'])] }),
        ...(random.below(5) === 0 ? { outcome: 'FAILED' as const, tokens: null } : {}),
        ...(random.below(5) === 0 ? { chargeShareMillionths: 0 } : {}),
      }));
      const finished = calls.map((call) => finishedCall(one, call));
      for (const call of finished) await charge(call);
      const grouped = calls.map((call) => finishedCall(other, call));
      await charge(...grouped.slice(0, 25));
      await charge(...grouped.slice(10), ...grouped.slice(0, 5));
      expect(await days(other)).toEqual(await days(one));
      expect(await months(other)).toEqual(await months(one));
    });

    test('withheld usage that is posted later is added to the sums of its call', async () => {
      const id = await company();
      const keyId = newId();
      const tokens = { promptTokens: 10, cachedTokens: 4, completionTokens: 17 };
      const tokenBounds = { promptTokens: 10, completionTokens: 7 };
      const call = finishedCall(id, { keyId, endUser: 'ada', project: 'web', tokens, tokenBounds });
      await charge(call);
      expect((await months(id)).map((row) => row.charge)).toEqual([36n, 36n]);
      const resolving = { callId: call.id, note: 'right after all', now: new Date() };
      await given().transaction((transaction) => postWithheldUsage(transaction, resolving));
      expect((await months(id)).map((row) => row.charge)).toEqual([76n, 76n]);
      expect((await days(id)).map((row) => row.charge)).toEqual([76, 76]);
    });

    test('a query is planned for its company on a server, however often it runs', async () => {
      const plans: unknown[] = [];
      const observed: Database = {
        ...given(),
        transaction: (work, options) =>
          given().transaction(async (transaction) => {
            const result = await work(transaction);
            plans.push(...(await transaction.query('show plan_cache_mode')));
            return result;
          }, options),
      };
      const period = { from: '2026-01-31', to: '2026-02-01' };
      const question = { companyId: await company(), keyId: null, ...period };
      await subjectUsage(observed, { ...question, subject: 'user', by: [] });
      await usageReport(observed, { ...question, by: [['key']] });
      const planned = { plan_cache_mode: 'force_custom_plan' };
      expect(plans).toEqual(given().engine === 'postgres' ? [planned, planned] : []);
    });

    test('sums of months past their retention are removed, and no others', async () => {
      const id = await company();
      const at = (startedAtMs: number) => finishedCall(id, { keyId: newId(), endUser: 'ada', startedAtMs });
      await charge(at(Date.UTC(2026, 9, 31)), at(Date.UTC(2026, 10, 1)), at(Date.UTC(2027, 11, 3)));
      const nowMs = Date.UTC(2027, 11, 15);
      await purgeSubjectSums(given(), { keepMonths: 0, nowMs });
      expect(await months(id)).toHaveLength(3);
      await purgeSubjectSums(given(), { keepMonths: 13, nowMs });
      expect((await days(id)).map(({ day }) => day)).toEqual(['2026-11-01', '2027-12-03']);
      expect(await months(id)).toHaveLength(2);
    });

    test('names beyond the daily bound share one row, and the spending of each stays exact', async () => {
      await setNamesPerDay(given(), 3);
      const id = await company();
      const keyId = newId();
      const by = (endUser: string) => finishedCall(id, { keyId, endUser });
      await charge(by('ada'), by('bob'));
      await charge(by('cy'), by('dee'), by('eve'), by('ada'));
      await charge(by('dee'));
      await charge(by('bob'));
      await setNamesPerDay(given(), 1_000);
      const rows = await days(id);
      expect(rows.map((row) => [row.subject, row.calls])).toEqual([
        ['(other)', 3],
        ['ada', 2],
        ['bob', 2],
        ['cy', 1],
      ]);
      expect((await months(id)).map((row) => [row.subject, row.charge])).toEqual([
        ['ada', 152n],
        ['bob', 152n],
        ['cy', 76n],
        ['dee', 152n],
        ['eve', 76n],
      ]);
    });

    test('an end user named like the shared row, or with spaces in the name, is counted like any other', async () => {
      const id = await company();
      const keyId = newId();
      const names = ['(other)', '*', 'a b KEY c', "'; drop table budgets; --"];
      for (const endUser of names) {
        const budgets = [budget({ scope: 'END_USER', subject: endUser })];
        const { budgets: spent } = await charge(finishedCall(id, { keyId, endUser, budgets }));
        expect(spent).toEqual([
          { scope: 'END_USER', subject: endUser, month: '2026-01-01', spentMicro: 76n },
        ]);
      }
      expect(await months(id)).toHaveLength(names.length);
    });

    test('a budget raises each of its thresholds once a month, across keys', async () => {
      const id = await company();
      const one = budget({ scope: 'PROJECT', subject: 'web', mostMicro: 190, isHard: false });
      const call = (startedAtMs = JANUARY) =>
        finishedCall(id, { keyId: newId(), project: 'web', budgets: [one], startedAtMs });
      await charge(call());
      expect(await alerts(id)).toEqual([]);
      const raised = { kind: 'BUDGET', subject: one.id, episode: '2026-01', most: 190n };
      await charge(call());
      expect(await alerts(id)).toEqual([{ ...raised, percent: 80, spent: 152n }]);
      await charge(call(), call());
      expect(await alerts(id)).toEqual([
        { ...raised, percent: 80, spent: 152n },
        { ...raised, percent: 100, spent: 304n },
      ]);
      await charge(call(JANUARY + 1), call(JANUARY + 1));
      expect((await alerts(id)).map(({ percent, episode }) => [percent, episode])).toEqual(
        expect.arrayContaining([[80, '2026-02']]),
      );
    });
  });
}
