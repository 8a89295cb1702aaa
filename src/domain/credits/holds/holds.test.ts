import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../../test/doubles/recording-log.ts';
import { steerStatements } from '../../../../test/doubles/steered-statements.ts';
import { createInProcessState } from '../../../adapters/shared-state/in-process.ts';
import type { Statements } from '../../../ports/database.ts';
import { COMPANIES_TOPIC, publishLevel } from '../ledger/credit-account.ts';
import { createCreditHolds, estimateCost } from './holds.ts';

const LIMIT = 500n;
const JANUARY = Date.UTC(2030, 0, 31, 23, 59, 59, 999);
const payer = {
  companyId: 'company',
  keyId: 'key',
  monthlyLimitMicro: LIMIT,
  startedAtMs: JANUARY,
  userId: null,
};
const level = { accountId: 'company', balanceMicro: 70n, lineMicro: 30n, version: 9n };

function given() {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const table = {
    query: async (text: string) =>
      text.includes('key_spending') ? [{ version: 9n, spentMicro: 120n }] : [level],
  } as unknown as Statements;
  const database = steerStatements(table);
  return { clock, entries, database, holds: createCreditHolds({ database, clock, log }) };
}

describe('G-29 the levels that calls are held against', () => {
  test('the balance with its credit line, and the key’s month where it has a limit', async () => {
    const { holds } = given();
    const [balance, spending, ...none] = holds.of(payer, 7);
    expect(none).toEqual([]);
    expect(balance).toMatchObject({ of: 'balance', name: 'balance', amount: 7 });
    expect(await balance?.read()).toMatchObject({ name: 'balance', value: 100, version: 9 });
    expect(spending).toMatchObject({ of: 'key-spending', amount: 7, plus: 500 });
    expect(await spending?.read()).toMatchObject({ name: spending?.level, value: -120, version: 9 });
    expect(holds.of({ ...payer, monthlyLimitMicro: null }, 7)).toHaveLength(1);
  });

  test('concurrent reads share one statement', async () => {
    const { holds, database } = given();
    await Promise.all(Array.from({ length: 50 }, () => holds.of(payer, 1)[0]?.read()));
    expect(database.asked).toHaveLength(1);
  });

  test('an unavailable database is not queried for a second, and calls use older levels at once', async () => {
    const { holds, database, clock, entries } = given();
    database.failWith('unavailable');
    expect(await holds.of(payer, 1)[0]?.read()).toBeNull();
    for (let n = 0; n < 10; n += 1) expect(await holds.of(payer, 1)[0]?.read()).toBeNull();
    expect(database.asked).toHaveLength(1);
    expect(holds.of(payer, 1)[0]?.maxAgeMs).toBe(600_000);
    await clock.advance(1_000);
    expect(holds.of(payer, 1)[0]?.maxAgeMs).toBe(5_000);
    database.failWith(null);
    expect(await holds.of(payer, 1)[0]?.read()).toMatchObject({ value: 100 });
    expect(entries.map((entry) => entry.level)).toEqual(['warn', 'info']);
  });

  test('the first call after an outage reads the balance and its key’s month', async () => {
    const { holds, database, clock } = given();
    database.failWith('unavailable');
    expect(await holds.of(payer, 1)[0]?.read()).toBeNull();
    database.failWith(null);
    await clock.advance(1_000);
    const levels = await Promise.all(holds.of(payer, 1).map((hold) => hold.read()));
    expect(levels).toMatchObject([{ value: 100 }, { value: -120 }]);
  });

  test('a database that does not respond delays one call by a second', async () => {
    const { holds, database, clock } = given();
    database.hold();
    const waiting = holds.of(payer, 1)[0]?.read();
    await clock.advance(1_000);
    expect(await waiting).toBeNull();
    expect(await holds.of({ ...payer, companyId: 'other' }, 1)[0]?.read()).toBeNull();
    database.release();
  });

  test('a rejected statement fails closed', async () => {
    const { holds, database } = given();
    database.failWith('refused');
    const error = await holds
      .of(payer, 1)[0]
      ?.read()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
  });
});

test('G-29 an estimate is rounded up, whole for cached tokens, and bounded', () => {
  const price = { promptMicro: 1_000_000n, completionMicro: 4_000_001n };
  expect(estimateCost(price, { promptTokens: 10, completionTokens: 100 })).toBe(411);
  expect(estimateCost(price, { promptTokens: 0, completionTokens: 0 })).toBe(0);
  expect(estimateCost(price, { promptTokens: 2 ** 40, completionTokens: 2 ** 40 })).toBe(5_497_559_238_392);
  const dear = { promptMicro: 10n ** 12n, completionMicro: 10n ** 12n };
  expect(estimateCost(dear, { promptTokens: 2 ** 40, completionTokens: 2 ** 40 })).toBe(2 ** 44);
});

describe('G-29 a posting is published to every process', () => {
  test('its level is set for the next call, never over a newer one, and the company is in the message', async () => {
    const clock = createManualClock();
    const state = createInProcessState({ clock });
    const heard: string[] = [];
    await state.subscribe(
      COMPANIES_TOPIC,
      (id) => heard.push(id),
      () => {},
    );
    const read = {
      kind: 'level',
      name: 'balance',
      value: 7,
      version: 1,
      ttlMs: 600_000,
      replaces: null,
    } as const;
    await state.settle('company', [read]);
    await publishLevel(state, level);
    await publishLevel(state, { ...level, balanceMicro: -1_000n, version: 8n });
    const claim = {
      kind: 'held',
      name: 'balance',
      entry: 'x',
      amount: 1,
      ttlMs: 1_000,
      rule: 'room',
      limit: { level: 'balance', maxAgeMs: 0 },
    } as const;
    expect(await state.reserve('company', [claim])).toMatchObject({ limitStates: [{ limit: 100 }] });
    expect(heard).toEqual(['company', 'company']);
  });

  test('while shared state is unavailable, the failure is logged and no call is affected', async () => {
    const { log, entries } = createRecordingLog();
    const away = { settle: async () => Promise.reject(new Error('away')) };
    await publishLevel(away as never, level, log);
    expect(entries.map((entry) => entry.level)).toEqual(['warn']);
  });
});
