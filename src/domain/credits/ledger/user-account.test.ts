import { beforeEach, describe, expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { addTestCompany, addTestUser, postTo } from '../../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../../adapters/shared-state/in-process.ts';
import type { Database } from '../../../ports/database.ts';
import { retireCalls } from '../../calls/partitions/call-retention.ts';
import { chargeCalls } from '../../calls/settlement/charge-calls.ts';
import { ownCharges } from '../../calls/settlement/own-charge.ts';
import { postWithheldUsage } from '../../calls/settlement/withheld-usage.ts';
import type { CallReservation } from '../../limits/call-reservation.ts';
import { createLimits } from '../../limits/limits.ts';
import { AUDIT_CHECKS } from '../../reconciliation/audit.ts';
import { runCheck } from '../../reconciliation/audit-check.ts';
import { createCreditHolds, createHeldCredits, type Payer } from '../holds/holds.ts';
import { publishLevel, readLevel, setCompanyBilling } from './credit-account.ts';
import { postTransaction } from './ledger.ts';
import {
  openUserAccount,
  publishMoved,
  returnCreditsOfFormerUsers,
  returnUserCredits,
  transferToUser,
  type UserTransfer,
} from './user-account.ts';

const database = useDatabase();
const { newId } = createSystemSecrets();
const log = createSilentLog();
/** One call of `finishedCall`. */
const COST = 76n;
let companyId = '';

beforeEach(async () => {
  companyId = await addTestCompany(database);
});

const addMember = (company = companyId) => addTestUser(database, company);

async function post(amountMicro: bigint) {
  const posted = await postTo(database, companyId, amountMicro);
  if (posted.outcome !== 'posted') throw new Error(posted.outcome);
  return posted.level;
}

function move(userId: string, amountMicro: bigint, changes: Partial<UserTransfer> = {}) {
  const given = { companyId, userId, amountMicro, idempotencyKey: newId(), reason: 'test', heldMicro: 0n };
  return database.transaction((transaction) => transferToUser(transaction, { ...given, ...changes }));
}

async function balances(...ids: string[]): Promise<(bigint | undefined)[]> {
  const levels = await Promise.all(ids.map((id) => readLevel(database, id)));
  return levels.map((level) => level?.balanceMicro);
}

async function audit(audited: Database = database): Promise<readonly string[]> {
  const found = [];
  for (const check of AUDIT_CHECKS) found.push(...(await runCheck(audited, check)).faults);
  return found;
}

describe('credits of users', () => {
  test('P-19 are moved from the company and back, once per idempotency key, and never more than the balance', async () => {
    const userId = await addMember();
    await post(1_000n);
    const once = { idempotencyKey: 'once' };
    expect(await move(userId, 600n, once)).toMatchObject({ outcome: 'moved' });
    expect(await move(userId, 600n, once)).toMatchObject({ outcome: 'already-moved' });
    expect(await move(userId, 601n, once)).toEqual({ outcome: 'other-transfer' });
    expect(await move(await addMember(), 600n, once)).toEqual({ outcome: 'other-transfer' });
    expect(await balances(companyId, userId)).toEqual([400n, 600n]);
    expect(await move(userId, 401n)).toEqual({ outcome: 'not-enough', availableMicro: 400n });
    expect(await move(userId, 400n, { heldMicro: 1n })).toEqual({
      outcome: 'not-enough',
      availableMicro: 399n,
    });
    expect(await move(userId, -601n)).toEqual({ outcome: 'not-enough', availableMicro: 600n });
    expect(await move(userId, -600n)).toMatchObject({ outcome: 'moved' });
    expect(await balances(companyId, userId)).toEqual([1_000n, 0n]);
    expect(await audit()).toEqual([]);
  });

  test('P-19 a credit line is not moved, and credits are not moved to a user of another company', async () => {
    const userId = await addMember();
    await database.transaction((transaction) => setCompanyBilling(transaction, companyId, 'POSTPAID', null));
    expect(await move(userId, 1n)).toEqual({ outcome: 'not-enough', availableMicro: 0n });
    const other = await addTestCompany(database);
    await post(10n);
    expect(await move(await addMember(other), 1n)).toEqual({ outcome: 'other-company' });
    expect(await move(newId(), 1n)).toEqual({ outcome: 'other-company' });
  });

  test('P-19 granted credits that expire are not moved: moved to a user and back they would no longer expire', async () => {
    const userId = await addMember();
    const grantedAt = new Date(Date.UTC(2030, 0, 1));
    const expires = { at: new Date(Date.UTC(2100, 0, 1)), grantedAt, subject: null, label: 'Plan Pro' };
    const grant = { accountId: companyId, type: 'SUBSCRIPTION_GRANT', contra: 'grants', expires } as const;
    await database.transaction((transaction) =>
      postTransaction(transaction, { ...grant, amountMicro: 300n, sourceKind: 'test', sourceId: newId() }),
    );
    await post(100n);
    // What is spent counts against what expires first: 300 - 76 are left of the grant.
    await chargeCalls(database, [finishedCall(companyId)]);
    expect(await move(userId, 101n)).toEqual({ outcome: 'not-enough', availableMicro: 100n });
    expect(await move(userId, 100n)).toMatchObject({ outcome: 'moved' });
    expect(await move(userId, 1n)).toMatchObject({ outcome: 'not-enough' });
  });

  test('G-28 a call is charged to the paying user, counts for its key’s month, and is in the company’s usage', async () => {
    const [userId, keyId] = [await addMember(), newId()];
    await post(1_000n);
    await move(userId, 500n);
    const paid = finishedCall(companyId, { payerId: userId, keyId, monthlyLimitMicro: 100n });
    const charged = await chargeCalls(database, [paid, finishedCall(companyId), { ...paid, id: newId() }]);
    expect(await balances(companyId, userId)).toEqual([500n - COST, 500n - 2n * COST]);
    expect(ownCharges(charged)(paid)).toMatchObject({
      level: { accountId: userId, balanceMicro: 500n - 2n * COST },
      spending: { keyId, spentMicro: 2n * COST, version: 3n },
    });
    await chargeCalls(database, [paid]);
    expect(await balances(userId)).toEqual([500n - 2n * COST]);
    const [usage] = await database.query(
      `select sum(charge_micro)::bigint as micro from usage_days where company_id = $1
         and key_id = '00000000-0000-0000-0000-000000000000'`,
      [companyId],
    );
    expect(usage?.micro).toBe(3n * COST);
    expect(await audit()).toEqual([]);
  });

  test('G-33 withheld usage is charged to the user who paid the call', async () => {
    const userId = await addMember();
    await post(1_000n);
    await move(userId, 500n);
    const call = finishedCall(companyId, {
      payerId: userId,
      tokens: { promptTokens: 200, cachedTokens: 0, completionTokens: 0 },
      tokenBounds: { promptTokens: 100, completionTokens: 1 },
    });
    await chargeCalls(database, [call]);
    expect(await balances(companyId, userId)).toEqual([500n, 400n]);
    const posted = await database.transaction((transaction) =>
      postWithheldUsage(transaction, { callId: call.id, note: 'checked', now: new Date(0) }),
    );
    expect(posted).toMatchObject({ outcome: 'resolved', level: { accountId: userId } });
    expect(await balances(companyId, userId)).toEqual([500n, 300n]);
    expect(await audit()).toEqual([]);
  });

  test('P-19 when a user leaves the balance returns to the company, and so does a later charge', async () => {
    const userId = await addMember();
    await post(1_000n);
    await move(userId, 500n);
    const leave = () =>
      database.transaction((transaction) => returnUserCredits(transaction, { companyId, userId }));
    expect(await leave()).toMatchObject({ company: { balanceMicro: 1_000n }, user: { balanceMicro: 0n } });
    expect(await leave()).toBeNull();
    await database.query('update users set removed_at = now() where id = $1', [userId]);
    // It was running when the user left.
    await chargeCalls(database, [finishedCall(companyId, { payerId: userId })]);
    expect(await balances(companyId, userId)).toEqual([1_000n, -COST]);
    const clock = createManualClock();
    const parts = { database, sharedState: createInProcessState({ clock, log }), log };
    expect(await returnCreditsOfFormerUsers(parts)).toBe(1);
    expect(await returnCreditsOfFormerUsers(parts)).toBe(0);
    expect(await balances(companyId, userId)).toEqual([1_000n - COST, 0n]);
    expect(await audit()).toEqual([]);
  });
});

describe('G-29 P-19 balances of a company and its users, interleaved', () => {
  test.each([1, 2])(
    'seed %d: nothing is overdrawn beyond one call, and every balance is exact',
    async (seed) => {
      const random = createSeededRandom(seed);
      const clock = createManualClock(Date.UTC(2026, 0, 31, 12));
      const sharedState = createInProcessState({ clock, log });
      const limits = createLimits({
        ...{ sharedState, ownState: createInProcessState({ clock, log }), clock, log },
        addressRequestsPerMinute: 0,
      });
      const holds = createCreditHolds({ database, clock, log });
      const heldCredits = createHeldCredits({ sharedState, log });
      const users = [await addMember(), await addMember()];
      for (const userId of users) {
        await database.transaction((transaction) => openUserAccount(transaction, { userId, companyId }));
      }
      const payers: readonly (string | null)[] = [null, ...users];
      /** What the books must say, by account. */
      const model = new Map<string, bigint>([companyId, ...users].map((id) => [id, 0n]));
      const add = (id: string, micro: bigint) => model.set(id, (model.get(id) ?? 0n) + micro);
      const running: { payer: Payer; amount: bigint; reservation: CallReservation }[] = [];
      const heldBy = (userId: string | null) =>
        running.filter(({ payer }) => payer.userId === userId).reduce((sum, { amount }) => sum + amount, 0n);
      const key = {
        id: newId(),
        companyId,
        requestsPerMinute: 1e9,
        tokensPerMinute: 1e9,
        maxCallsInFlight: null,
      };

      async function grant(): Promise<void> {
        const amount = BigInt(1 + random.below(400));
        await publishLevel(sharedState, await post(amount));
        add(companyId, amount);
      }
      async function transfer(): Promise<void> {
        const userId = random.pick(users);
        const amount = BigInt(random.below(600) - 200);
        if (amount === 0n) return;
        const giver = amount > 0n ? null : userId;
        const heldMicro = (await heldCredits(companyId, giver)) ?? 0n;
        expect(heldMicro).toBe(heldBy(giver));
        const changes = { heldMicro, idempotencyKey: newId() };
        const moved = await move(userId, amount, changes);
        const has = (model.get(giver ?? companyId) ?? 0n) - heldMicro;
        expect(moved.outcome).toBe((amount > 0n ? amount : -amount) <= has ? 'moved' : 'not-enough');
        if (moved.outcome !== 'moved') return;
        add(companyId, -amount);
        add(userId, amount);
        await publishMoved(sharedState, moved, log);
        // A retry by a client that received no response.
        expect((await move(userId, amount, changes)).outcome).toBe('already-moved');
      }
      async function begin(): Promise<void> {
        const userId = random.pick(payers);
        const payer = { companyId, keyId: null, monthlyLimitMicro: null, startedAtMs: clock.now(), userId };
        const reserved = await limits.reserve(key, newId(), 0, holds.of(payer, Number(COST)));
        const balance = model.get(userId ?? companyId) ?? 0n;
        const refused = balance > 0n ? 'held' : 'not-payable';
        expect(reserved.outcome).toBe(balance - heldBy(userId) > 0n ? 'admitted' : refused);
        if (reserved.outcome === 'admitted') {
          running.push({ payer, amount: COST, reservation: reserved.reservation });
        }
      }
      async function end(): Promise<void> {
        const at = random.below(running.length);
        const [call] = running.splice(at, 1);
        if (call === undefined) return;
        const { payer, reservation } = call;
        if (random.below(4) === 0) return await reservation.end(0, []);
        const record = finishedCall(companyId, payer.userId === null ? {} : { payerId: payer.userId });
        const charged = ownCharges(await chargeCalls(database, [record]))(record);
        await chargeCalls(database, [record]);
        add(payer.userId ?? companyId, -COST);
        await reservation.end(0, holds.levelsAfter(payer, charged));
      }

      for (let step = 0; step < 160; step += 1) {
        await random.pick([grant, transfer, transfer, begin, begin, begin, end, end])();
        if (random.below(10) === 0) await clock.advance(random.below(8_000));
        for (const [id, micro] of model) expect(micro > -COST, id).toBe(true);
      }
      while (running.length > 0) await end();
      expect(await balances(companyId, ...users)).toEqual([companyId, ...users].map((id) => model.get(id)));
      for (const userId of payers) expect(await heldCredits(companyId, userId)).toBe(0n);
      expect(await audit()).toEqual([]);
    },
  );
});

describePostgres('with a server', () => {
  const server = usePostgres();

  test('P-19 transfers and charges of both payers at once: no deadlock, every balance exact', async () => {
    const company = await addTestCompany(server);
    const userId = await addTestUser(server, company);
    await postTo(server, company, 1_000_000n);
    const transfer = (amountMicro: bigint) => {
      const wanted = { companyId: company, userId, idempotencyKey: newId(), reason: 'test', heldMicro: 0n };
      return server.transaction((transaction) => transferToUser(transaction, { ...wanted, amountMicro }));
    };
    await transfer(100_000n);
    const charge = (payers: readonly (string | undefined)[]) =>
      chargeCalls(
        server,
        payers.map((payerId) => finishedCall(company, { payerId })),
      );
    await Promise.all(
      Array.from({ length: 40 }, async (_, n) => {
        if (n % 4 === 0) await transfer(n % 8 === 0 ? 500n : -400n);
        else await charge([[userId], [undefined], [userId, undefined, userId]][(n % 4) - 1] ?? []);
      }),
    );
    const held = await Promise.all([company, userId].map((id) => readLevel(server, id)));
    // Ten transfers of each kind of three: 5 to the user, 5 back; 10 groups of one, one and three calls.
    expect(held.map((level) => level?.balanceMicro)).toEqual([
      1_000_000n - 100_000n - 500n - 20n * COST,
      100_000n + 500n - 30n * COST,
    ]);
    expect(await audit(server)).toEqual([]);
  });
});

describe('calls past their retention', () => {
  test('P-19 that users paid for are removed, and the audit compares their sums with all accounts of the company', async () => {
    const userId = await addMember();
    await post(1_000n);
    await move(userId, 500n);
    await chargeCalls(database, [finishedCall(companyId, { payerId: userId }), finishedCall(companyId)]);
    const clock = createManualClock(Date.UTC(2060, 0, 1));
    expect(await retireCalls({ database, clock, log, keepMonths: 1 })).toBeGreaterThan(0);
    expect(await database.query('select 1 from calls where company_id = $1', [companyId])).toEqual([]);
    expect(await audit()).toEqual([]);
  });
});

/** Last, because the books are damaged by it. */
describe('the audit of credits of users', () => {
  test('P-19 the audit finds a transfer without its other side, and a call paid from another company’s credits', async () => {
    const userId = await addMember();
    await post(1_000n);
    await move(userId, 500n);
    expect(await audit()).toEqual([]);
    await postTo(database, userId, 5n, { sourceKind: 'credits-of-user' });
    expect((await audit()).join()).toContain(`adds 5 to account ${userId}`);
    const other = await addTestCompany(database);
    await chargeCalls(database, [finishedCall(other, { payerId: userId })]);
    expect((await audit()).join()).toContain(`which holds credits of company ${companyId}`);
  });
});
