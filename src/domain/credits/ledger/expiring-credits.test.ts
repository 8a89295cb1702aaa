import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { useMemoryDatabase } from '../../../../test/setup/use-memory-database.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../../adapters/shared-state/in-process.ts';
import { addCompany } from '../../accounts/company.ts';
import { runCheck } from '../../reconciliation/audit-check.ts';
import { balanceCheck, expiredCreditsCheck } from '../../reconciliation/ledger-checks.ts';
import { readLevel } from './credit-account.ts';
import { expireCredits, moveExpiry } from './expiring-credits.ts';
import { listTransactions, type Posting, postTransaction } from './ledger.ts';

const DAY_MS = 86_400_000;
const START = Date.UTC(2030, 0, 1);
const { newId } = createSystemSecrets();
const database = useMemoryDatabase();
const clock = createManualClock(START);
const log = createSilentLog();
const sharedState = createInProcessState({ clock, log });
const expire = () => expireCredits({ database, sharedState, clock, log });

async function company(): Promise<string> {
  const id = newId();
  await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
  return id;
}

async function post(accountId: string, amountMicro: bigint, more: Partial<Posting> = {}): Promise<void> {
  const kind = amountMicro < 0n ? ({ type: 'USAGE', contra: 'usage' } as const) : GRANT;
  const source = { sourceKind: 'test', sourceId: newId() };
  const posted = await database.transaction((transaction) =>
    postTransaction(transaction, { accountId, amountMicro, ...kind, ...source, ...more }),
  );
  expect(posted.outcome).toBe('posted');
}
const GRANT = { type: 'SUBSCRIPTION_GRANT', contra: 'grants' } as const;
const after = (days: number, subject: string | null = null) => ({
  expires: { at: new Date(clock.now() + days * DAY_MS), subject },
});
const balance = async (id: string) => (await readLevel(database, id))?.balanceMicro;
const expiries = async (id: string) =>
  (await listTransactions(database, id, { first: 100 }))
    .filter(({ type }) => type === 'EXPIRY')
    .map(({ amountMicro }) => amountMicro);

describe('granted credits that expire', () => {
  test('what is left is taken at its moment, once, however often the job runs', async () => {
    const id = await company();
    await post(id, 100n, after(10));
    await post(id, -30n);
    await expire();
    expect(await balance(id)).toBe(70n);
    await clock.advance(10 * DAY_MS);
    await Promise.all([expire(), expire(), expire()]);
    await expire();
    expect(await expiries(id)).toEqual([-70n]);
    expect(await balance(id)).toBe(0n);
  });

  test('what expires first is spent first, and bought credits last', async () => {
    const id = await company();
    await post(id, 1_000n, { type: 'PACK_PURCHASE', contra: 'sales' });
    await post(id, 100n, after(20));
    await post(id, 100n, after(10));
    await post(id, -150n);
    await clock.advance(10 * DAY_MS);
    await expire();
    expect(await expiries(id)).toEqual([]);
    await post(id, -20n);
    await clock.advance(10 * DAY_MS);
    await expire();
    expect(await expiries(id)).toEqual([-30n]);
    expect(await balance(id)).toBe(1_000n);
  });

  test('a grant that paid a debt takes nothing below zero', async () => {
    const id = await company();
    await post(id, -80n);
    await post(id, 100n, after(1));
    await clock.advance(DAY_MS);
    await expire();
    expect(await expiries(id)).toEqual([-20n]);
    expect(await balance(id)).toBe(0n);
  });

  test('usage before a grant is not counted against it, usage between two grants only against the first', async () => {
    const id = await company();
    await post(id, 500n, { type: 'PACK_PURCHASE', contra: 'sales' });
    await post(id, -100n);
    await post(id, 50n, after(30));
    await post(id, -40n);
    await post(id, 50n, after(5));
    await clock.advance(30 * DAY_MS);
    await expire();
    expect((await expiries(id)).sort()).toEqual([-10n, -50n]);
    expect(await balance(id)).toBe(400n);
  });

  test('what they belong to may end earlier or later', async () => {
    const [short, long] = [await company(), await company()];
    for (const id of [short, long]) await post(id, 10n, after(14, 'trial:sub_1'));
    const move = (accountId: string, days: number) =>
      database.transaction((transaction) =>
        moveExpiry(transaction, {
          accountId,
          subject: 'trial:sub_1',
          expiresAt: new Date(clock.now() + days * DAY_MS),
        }),
      );
    await move(short, 0);
    await move(long, 20);
    await expire();
    expect([await balance(short), await balance(long)]).toEqual([0n, 10n]);
    await clock.advance(14 * DAY_MS);
    await expire();
    expect(await balance(long)).toBe(10n);
    await clock.advance(6 * DAY_MS);
    await expire();
    expect(await balance(long)).toBe(0n);
  });

  test('random grants, usage and runs agree with a plain model of lots', async () => {
    for (const seed of [1, 2]) {
      const random = createSeededRandom(seed);
      const id = await company();
      const lots: { left: bigint; at: number }[] = [];
      let held = 0n;
      for (let step = 0; step < 40; step += 1) {
        const amount = BigInt(1 + random.below(100));
        switch (random.below(4)) {
          case 0: {
            const days = 1 + random.below(20);
            await post(id, amount, after(days));
            lots.push({ left: amount, at: clock.now() + days * DAY_MS });
            held += amount;
            break;
          }
          case 1:
            await post(id, amount, { type: 'PACK_PURCHASE', contra: 'sales' });
            held += amount;
            break;
          case 2: {
            await post(id, -amount);
            held -= amount;
            let spent = amount;
            for (const lot of lots.toSorted((one, other) => one.at - other.at)) {
              const taken = spent < lot.left ? spent : lot.left;
              lot.left -= taken;
              spent -= taken;
            }
            break;
          }
          default:
            await clock.advance(random.below(6) * DAY_MS);
            await expire();
            for (const lot of lots.toSorted((one, other) => one.at - other.at)) {
              if (lot.at > clock.now()) continue;
              const most = held > 0n ? held : 0n;
              held -= lot.left < most ? lot.left : most;
              lot.left = 0n;
            }
        }
        expect([seed, step, await balance(id)]).toEqual([seed, step, held]);
      }
    }
    for (const check of [balanceCheck, expiredCreditsCheck]) {
      expect(await runCheck(database, check)).toEqual({ faults: [], isCut: false });
    }
  });
});
