import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import type { CreditHold, HeldLevel } from './claims.ts';
import { createLimits, type KeyLimits } from './limits.ts';

const key: KeyLimits = {
  id: 'key-1',
  companyId: 'company-1',
  requestsPerMinute: 1_000,
  tokensPerMinute: 1_000_000,
  maxCallsInFlight: null,
};
const TTL_MS = 600_000;

/** The sum of what is held, by an entry that holds nothing. */
async function heldIn(state: SharedState): Promise<number | undefined> {
  const look = { entry: 'look', amount: 0, ttlMs: 1, rule: 'room', limit: 1_000_000 } as const;
  const looked = await state.reserve('company-1', [{ kind: 'held', name: 'balance', ...look }]);
  return looked.outcome === 'level-unknown' ? undefined : looked.standings[0]?.used;
}

function given() {
  const clock = createManualClock(1_000_000);
  const { log, entries } = createRecordingLog();
  const outage = { shared: false, settles: false, database: false };
  const real = createInProcessState({ clock, log });
  const away = () => Promise.reject(new Error('away'));
  const sharedState: SharedState = {
    ...real,
    reserve: (...words) => (outage.shared ? away() : real.reserve(...words)),
    settle: (...words) => (outage.shared || outage.settles ? away() : real.settle(...words)),
  };
  const ownState = createInProcessState({ clock, log });
  const limits = createLimits({ sharedState, ownState, clock, log, addressRequestsPerMinute: 0 });
  const account = { value: 100, version: 1, reads: 0 };
  const level = (): HeldLevel => ({
    name: 'balance',
    value: account.value,
    version: account.version,
    ttlMs: TTL_MS,
  });
  const hold = (amount: number): CreditHold => ({
    name: 'balance',
    amount,
    maxAgeMs: 5_000,
    graceMs: TTL_MS,
    async read() {
      account.reads += 1;
      return outage.database ? null : level();
    },
  });
  let calls = 0;
  const start = (amount: number) => {
    calls += 1;
    return limits.reserve(key, `call-${calls}`, 0, [hold(amount)]);
  };
  async function begin(amount: number) {
    const started = await start(amount);
    if (started.outcome !== 'admitted') throw new Error(`refused: ${started.outcome}`);
    return started.reservation;
  }
  const charge = (amount: number) => {
    account.value -= amount;
    account.version += 1;
    return [level()];
  };
  const held = () => heldIn(real);
  return { limits, held, clock, entries, outage, account, level, start, begin, charge };
}

describe('G-29 what a call holds', () => {
  test('a level is read once, then kept fresh by what commits say of it', async () => {
    const { begin, charge, clock, account } = given();
    for (let n = 0; n < 5; n += 1) {
      const call = await begin(10);
      await clock.advance(4_000);
      await call.end(0, charge(1));
    }
    expect(account.reads).toBe(1);
    await clock.advance(5_001);
    await begin(10);
    expect(account.reads).toBe(2);
  });

  test('a lone call passes on any positive level; others while the held sum is below it', async () => {
    const { begin, start, account } = given();
    const first = await begin(1_000_000);
    expect(await start(1)).toMatchObject({ outcome: 'not-payable', level: 100 });
    await first.end(0, []);
    await begin(60);
    await begin(60);
    expect((await start(1)).outcome).toBe('not-payable');
    account.value = 0;
  });

  test('G-37 credits refuse before the key’s limits do, and consume none of them', async () => {
    const { limits, start, account } = given();
    account.value = 0;
    const refused = await start(1);
    expect(refused).toMatchObject({ outcome: 'not-payable', level: 0 });
    expect((await limits.look(key)).requests.remaining).toBe(1_000);
  });

  test('the end of a call gives its hold back and sets the level in one step', async () => {
    const { begin, start, charge, held } = given();
    const call = await begin(100);
    await call.end(0, charge(100));
    expect(await held()).toBe(0);
    expect(await start(1)).toMatchObject({ outcome: 'not-payable', level: 0 });
  });

  test('G-33 a call that waits in the journal keeps its hold, however long, until its commit is known', async () => {
    const { begin, start, charge, held, clock } = given();
    const call = await begin(100);
    const committed = Promise.withResolvers<HeldLevel[]>();
    await call.end(0, committed.promise);
    for (let n = 0; n < 20; n += 1) await clock.advance(30_000);
    expect(await held()).toBe(100);
    expect((await start(1)).outcome).toBe('not-payable');
    committed.resolve(charge(40));
    await clock.advance(0);
    expect(await held()).toBe(0);
    expect((await start(1)).outcome).toBe('admitted');
    expect(clock.pendingTimers()).toBe(1);
  });

  test('the hold of a process that died ends by itself', async () => {
    const { clock, held } = given();
    const state = createInProcessState({ clock });
    const other = createLimits({
      sharedState: state,
      ownState: createInProcessState({ clock }),
      clock: { ...clock, after: () => ({ cancel() {} }) },
      log: createRecordingLog().log,
      addressRequestsPerMinute: 0,
    });
    const read = async () => ({ name: 'balance', value: 1, version: 1, ttlMs: TTL_MS });
    const hold = { name: 'balance', amount: 5, maxAgeMs: 5_000, graceMs: TTL_MS, read };
    await other.reserve(key, 'call', 0, [hold]);
    await clock.advance(89_000);
    expect(await heldIn(state)).toBe(5);
    await clock.advance(1_001);
    expect(await heldIn(state)).toBe(0);
    expect(await held()).toBe(0);
  });

  test('what could not be given back is given back once shared state answers again', async () => {
    const { begin, charge, held, clock, outage, entries } = given();
    const call = await begin(100);
    outage.settles = true;
    await call.end(0, charge(1));
    expect(entries.some(({ level }) => level === 'warn')).toBe(true);
    outage.settles = false;
    expect(await held()).toBe(100);
    await clock.advance(5_000);
    expect(await held()).toBe(0);
  });
});

describe('when something is away', () => {
  test('the database: the last level serves for the time of grace, an unknown one admits nobody', async () => {
    const { begin, start, clock, outage } = given();
    outage.database = true;
    expect(await start(1)).toEqual({ outcome: 'unknown-level' });
    outage.database = false;
    await (await begin(1)).end(0, []);
    outage.database = true;
    await clock.advance(TTL_MS - 10_000);
    expect((await start(1)).outcome).toBe('admitted');
    await clock.advance(10_001);
    expect(await start(1)).toEqual({ outcome: 'unknown-level' });
  });

  test('shared state: each process holds by itself, against the level it reads, and settles where it reserved', async () => {
    const { begin, start, charge, held, clock, outage } = given();
    const before = await begin(100);
    outage.shared = true;
    const during = await begin(100);
    expect((await start(1)).outcome).toBe('not-payable');
    await during.end(0, charge(50));
    expect((await start(1)).outcome).toBe('admitted');
    outage.shared = false;
    await clock.advance(1_000);
    expect(await held()).toBe(100);
    await before.end(0, []);
    expect(await held()).toBe(0);
  });
});
