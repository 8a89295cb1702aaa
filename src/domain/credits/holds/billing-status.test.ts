import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../../test/doubles/recording-log.ts';
import { createSteeredMessages } from '../../../../test/doubles/steered-messages.ts';
import { steerStatements } from '../../../../test/doubles/steered-statements.ts';
import type { Statements } from '../../../ports/database.ts';
import { COMPANIES_TOPIC } from '../ledger/credit-account.ts';
import { createBillingStatuses, isBlocked } from './billing-status.ts';

async function given(maxEntries?: number) {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const sharedState = createSteeredMessages(clock);
  /** Due dates by company. */
  const due = new Map<string, number>();
  const table = {
    query: async (_: string, [ids]: readonly string[][]) =>
      (ids ?? []).flatMap((companyId) => {
        const dueMs = due.get(companyId);
        return dueMs === undefined ? [] : [{ companyId, dueAt: new Date(dueMs), budgets: null }];
      }),
  } as unknown as Statements;
  const database = steerStatements(table);
  const more = maxEntries === undefined ? {} : { maxEntries };
  const billingStatuses = await createBillingStatuses({ database, sharedState, clock, log, ...more });
  const blocked = async (companyId = 'a') => {
    const status = await billingStatuses.find(companyId);
    return status === null ? null : isBlocked(status, clock.now());
  };
  const tell = async (companyId: string) => {
    await sharedState.publish(COMPANIES_TOPIC, companyId);
    await clock.advance(0);
  };
  return { clock, entries, sharedState, due, database, billingStatuses, blocked, tell };
}

describe('G-32 the billing status of companies', () => {
  test('G-32 a due date is compared at each call: it blocks at that moment, from memory', async () => {
    const { clock, due, blocked, database } = await given();
    due.set('a', clock.now() + 300);
    expect(await blocked()).toBe(false);
    await clock.advance(299);
    expect(await blocked()).toBe(false);
    await clock.advance(1);
    expect(await blocked()).toBe(true);
    expect(database.asked).toHaveLength(1);
  });

  test('G-32 a message applies at once, without it the delay is at most a second', async () => {
    const { clock, due, blocked, tell } = await given();
    expect(await blocked()).toBe(false);
    due.set('a', 0);
    expect(await blocked()).toBe(false);
    await tell('a');
    expect(await blocked()).toBe(true);
    due.delete('a');
    await clock.advance(1_000);
    expect(await blocked()).toBe(false);
  });

  test('the status of a company in steady use is refreshed in the background, and its calls do not wait', async () => {
    const { clock, billingStatuses, database } = await given();
    await billingStatuses.find('a');
    for (let n = 0; n < 20; n += 1) {
      await clock.advance(250);
      expect(billingStatuses.find('a')).not.toBeInstanceOf(Promise);
    }
    expect(database.asked.length).toBeGreaterThan(5);
    expect(database.asked.length).toBeLessThan(12);
  });

  test('concurrent reads are answered by one statement, each company once', async () => {
    const { billingStatuses, database } = await given();
    const ids = Array.from({ length: 1_200 }, (_, n) => `company-${n % 600}`);
    await Promise.all(ids.map((id) => billingStatuses.find(id)));
    expect(database.asked.map(({ values }) => (values[0] as string[]).length)).toEqual([500, 100]);
  });

  test('a result that is older than a message or a gap is not used', async () => {
    for (const overtake of ['message', 'gap'] as const) {
      const { due, blocked, database, sharedState, tell } = await given();
      database.hold();
      const first = blocked();
      await database.held(1);
      due.set('a', 0);
      if (overtake === 'gap') sharedState.gap();
      else await tell('a');
      database.release();
      expect(await first).toBe(true);
    }
  });

  test('memory is bounded: the company that was read longest ago is removed', async () => {
    const { billingStatuses, database } = await given(2);
    for (const id of ['a', 'b', 'c']) await billingStatuses.find(id);
    await billingStatuses.find('c');
    expect(database.asked).toHaveLength(3);
    await billingStatuses.find('a');
    expect(database.asked).toHaveLength(4);
  });
});

describe('while the database is unavailable', () => {
  test('the last status applies for the grace period, an unknown company is unavailable, and it is logged once', async () => {
    const { clock, due, blocked, database, entries, tell } = await given();
    due.set('b', 0);
    expect([await blocked('a'), await blocked('b')]).toEqual([false, true]);
    database.failWith('unavailable');
    await tell('a');
    for (let n = 0; n < 5; n += 1) {
      await clock.advance(60_000);
      expect([await blocked('a'), await blocked('b'), await blocked('c')]).toEqual([false, true, null]);
    }
    expect(entries.filter(({ level }) => level === 'warn')).toHaveLength(1);
    await clock.advance(300_000);
    expect(await blocked('a')).toBeNull();
    database.failWith(null);
    due.delete('b');
    await clock.advance(1_000);
    expect([await blocked('a'), await blocked('b')]).toEqual([false, false]);
  });

  test('a database that does not respond for long is queried in the background, and calls do not wait again', async () => {
    const { clock, billingStatuses, database, tell } = await given();
    await billingStatuses.find('a');
    database.hold();
    await clock.advance(1_000);
    const first = billingStatuses.find('a');
    await clock.advance(1_000);
    await first;
    await tell('a');
    for (let n = 0; n < 40; n += 1) {
      await clock.advance(250);
      expect(billingStatuses.find('a')).not.toBeInstanceOf(Promise);
      expect(billingStatuses.latest('a')).not.toBeInstanceOf(Promise);
    }
    database.release();
  });

  test('a rejected statement is an internal error: no status is known, however recent', async () => {
    const { clock, blocked, database } = await given();
    expect(await blocked()).toBe(false);
    await clock.advance(1_000);
    database.failWith('refused');
    expect(await blocked()).toBeNull();
  });
});
