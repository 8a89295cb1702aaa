import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { addTestCompany, addTestUser } from '../../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../../adapters/shared-state/in-process.ts';
import { createMailOutbox } from '../../mail/outbox.ts';
import { runCheck } from '../../reconciliation/audit-check.ts';
import { balanceCheck, expiredCreditsCheck } from '../../reconciliation/ledger-checks.ts';
import { setAlertSettings } from '../alerts/alert-settings.ts';
import { readLevel } from '../ledger/credit-account.ts';
import { listLots, moveExpiry } from '../ledger/credit-lots.ts';
import { listTransactions, type Posting, postTransaction } from '../ledger/ledger.ts';
import { countBusyLots, expireCredits } from './expire-credits.ts';
import { noticeExpiry } from './expiry-mails.ts';

const DAY_MS = 86_400_000;
const START = Date.UTC(2030, 0, 1);
const { newId } = createSystemSecrets();
const database = useDatabase();
const clock = createManualClock(START);
const log = createSilentLog();
const sharedState = createInProcessState({ clock, log });
const expire = () => expireCredits({ database, sharedState, clock, log });

const company = () => addTestCompany(database);

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
  expires: {
    at: new Date(clock.now() + days * DAY_MS),
    grantedAt: new Date(clock.now()),
    subject,
    label: 'Plan Pro',
  },
});
const PACK = { type: 'PACK_PURCHASE', contra: 'sales' } as const;
/** The payment of the grant with this source id is returned. */
const takingBack = (sourceId: string) =>
  ({
    type: 'REFUND',
    contra: 'sales',
    takesBack: { grant: { sourceKind: 'test', sourceId } },
  }) as const;
const left = async (id: string) =>
  (await listLots(database, id, { first: 100 })).map(({ leftMicro }) => leftMicro);
const balance = async (id: string) => (await readLevel(database, id))?.balanceMicro;
const expiries = async (id: string) =>
  (await listTransactions(database, id, { first: 100 }))
    .filter(({ type }) => type === 'EXPIRY')
    .map(({ amountMicro }) => amountMicro);

describe('granted credits that expire', () => {
  test('the rest is expired at its time, once, however often the job runs', async () => {
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

  test('their expiry can be moved to an earlier or later time', async () => {
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

  test('attack: buying credits that never expire and having them refunded does not extend those that expire', async () => {
    const id = await company();
    const pack = newId();
    await post(id, 50n, after(5));
    await post(id, 100n, { ...PACK, sourceId: pack });
    await post(id, -100n, takingBack(pack));
    expect(await left(id)).toEqual([50n]);
    await clock.advance(5 * DAY_MS);
    await expire();
    expect(await balance(id)).toBe(0n);
  });

  test('the statement of an expiry has the expired amount, and its grant the time', async () => {
    const id = await company();
    await post(id, 100n, after(3));
    const at = new Date(clock.now() + 3 * DAY_MS);
    await clock.advance(3 * DAY_MS);
    await expire();
    const [expiry, grant] = await listTransactions(database, id, { first: 2 });
    expect(grant).toMatchObject({ type: 'SUBSCRIPTION_GRANT', expiresAt: at });
    expect(expiry).toMatchObject({
      ...{ type: 'EXPIRY', amountMicro: -100n, reason: 'expired: Plan Pro', expiresAt: null },
      ...{ sourceKind: 'credit-lot', sourceId: `${id}:${grant?.version}` },
    });
  });

  test('an account that fails does not block the expiry of others', async () => {
    const [broken, id] = ['00000000-0000-4000-8000-000000000001', await company()];
    await database.query(
      `insert into credit_lots (account_id, version, amount_micro, expires_at, left_micro, counted_version)
       values ($1, 1, 5, $2, 5, 1)`,
      [broken, new Date(clock.now())],
    );
    await post(id, 10n, after(1));
    await clock.advance(DAY_MS);
    await expect(expire()).rejects.toThrow('the credits of 1 accounts could not expire');
    await database.query('delete from credit_lots where account_id = $1', [broken]);
    expect(await balance(id)).toBe(0n);
  });

  test('nothing expires early by a clock that is ahead of the database', async () => {
    const id = await company();
    await post(id, 10n, after(1));
    await clock.advance(DAY_MS);
    expect(await expireCredits({ database, sharedState, clock, log, mostAheadMs: 300_000 })).toBe(0);
    expect(await balance(id)).toBe(10n);
    await expire();
  });

  test('lots of busy accounts are summed in advance, with the same result', async () => {
    const id = await company();
    await post(id, 40n, after(30));
    for (let call = 0; call < 5; call += 1) await post(id, -3n);
    const counted = () =>
      database.query('select left_micro, counted_version from credit_lots where account_id = $1', [id]);
    expect(await countBusyLots({ database, clock }, { from: 6 })).toBe(0);
    expect(await countBusyLots({ database, clock }, { from: 5 })).toBe(1);
    expect(await counted()).toEqual([{ left_micro: 25n, counted_version: 6n }]);
    await post(id, -1n);
    expect(await left(id)).toEqual([24n]);
    expect(await counted()).toEqual([{ left_micro: 25n, counted_version: 6n }]);
  });

  test('random grants, usage, refunds and runs agree with a plain model of lots', async () => {
    for (const seed of [1, 2]) await play(seed);
    for (const check of [balanceCheck, expiredCreditsCheck]) {
      expect(await runCheck(database, check)).toEqual({ faults: [], isCut: false });
    }
  });
});

describe('mails about credits that expire', () => {
  const jobQueue = { enqueue: async () => newId() };
  const secrets = createSystemSecrets();
  const mail = createMailOutbox({ jobQueue, secrets, clock, log, messageIdDomain: 'mail.example' });
  const notice = (expiryNoticeDays = 7) => noticeExpiry({ database, clock, mail, expiryNoticeDays });
  type Row = { readonly kind: string; readonly data: { totalMicro: string; lots: { label: string }[] } };
  const mails = (companyId: string) =>
    database.query<Row>('select kind, data from mail_outbox where company_id = $1 order by created_at, id', [
      companyId,
    ]);
  async function withAdmin(): Promise<string> {
    const id = await company();
    await addTestUser(database, id, `${id}@example.com`, 'COMPANY_ADMIN');
    return id;
  }

  test('one some days before, with the rest, and one when they have expired; each once', async () => {
    const id = await withAdmin();
    await post(id, 100n, after(30));
    await post(id, 50n, after(29));
    await post(id, 500n, PACK);
    await notice();
    await clock.advance(23 * DAY_MS);
    await post(id, -60n);
    await notice(0);
    expect(await mails(id)).toEqual([]);
    await Promise.all([notice(), notice()]);
    await notice();
    // The one of 29 days is used up.
    expect((await mails(id)).map(({ kind, data }) => [kind, data.totalMicro, data.lots.length])).toEqual([
      ['credits-expiring', '90', 1],
    ]);
    await clock.advance(7 * DAY_MS);
    for (let run = 0; run < 2; run += 1) await expireCredits({ database, sharedState, clock, log, mail });
    const [, expired] = await mails(id);
    expect(expired).toMatchObject({
      kind: 'credits-expired',
      data: { totalMicro: '90', lots: [{ label: 'Plan Pro', creditsMicro: '90' }] },
    });
    expect(await mails(id)).toHaveLength(2);
  });

  test('for credits that last for some days after half of their time, and for a trial not before its end', async () => {
    const [short, trial] = [await withAdmin(), await withAdmin()];
    await post(short, 10n, after(6));
    await post(trial, 10n, after(6, 'trial:sub_9'));
    await notice();
    expect(await mails(short)).toEqual([]);
    await clock.advance(3 * DAY_MS);
    await notice();
    expect((await mails(short)).map(({ kind }) => kind)).toEqual(['credits-expiring']);
    expect(await mails(trial)).toEqual([]);
    await clock.advance(3 * DAY_MS);
    await expireCredits({ database, sharedState, clock, log, mail });
    expect((await mails(trial)).map(({ kind }) => kind)).toEqual(['credits-expired']);
  });

  test('none to a company with alerts switched off', async () => {
    const id = await withAdmin();
    const off = {
      version: null,
      isOn: false,
      isMailed: true,
      balanceThresholdsMicro: null,
      limitPercents: null,
      receivers: null,
    };
    await database.transaction((within) => setAlertSettings(within, id, off, new Date(clock.now())));
    await post(id, 10n, after(10));
    await clock.advance(6 * DAY_MS);
    await notice();
    await clock.advance(4 * DAY_MS);
    await expireCredits({ database, sharedState, clock, log, mail });
    expect([await balance(id), await mails(id)]).toEqual([0n, []]);
  });
});

/** Every credit is of a lot, or lasts; below zero there are no lots. */
async function play(seed: number): Promise<void> {
  const random = createSeededRandom(seed);
  const id = await company();
  const lots: { left: bigint; at: number; source: string }[] = [];
  const sources: string[] = [];
  let lasting = 0n;
  const inOrder = () => lots.filter((lot) => lot.left > 0n).toSorted((one, other) => one.at - other.at);
  const take = (amount: bigint, from: { left: bigint }[]) =>
    from.reduce((rest, lot) => {
      const taken = rest < lot.left ? rest : lot.left;
      lot.left -= taken;
      return rest - taken;
    }, amount);
  for (let step = 0; step < 40; step += 1) {
    const amount = BigInt(1 + random.below(100));
    const sourceId = newId();
    switch (random.below(6)) {
      case 0: {
        const days = 1 + random.below(20);
        await post(id, amount, { ...after(days), sourceId });
        const paid = lasting < 0n ? (amount < -lasting ? amount : -lasting) : 0n;
        lasting += paid;
        lots.push({ left: amount - paid, at: clock.now() + days * DAY_MS, source: sourceId });
        sources.push(sourceId);
        break;
      }
      case 1:
        await post(id, amount, { ...PACK, sourceId });
        lasting += amount;
        sources.push(sourceId);
        break;
      case 2:
      case 3:
        await post(id, -amount);
        lasting -= take(amount, inOrder());
        break;
      case 4: {
        const source = sources[random.below(Math.max(1, sources.length))];
        if (source === undefined) break;
        await post(id, -amount, takingBack(source));
        const own = lots.filter((lot) => lot.source === source);
        const first = lasting < 0n || own.length > 0 ? 0n : amount < lasting ? amount : lasting;
        lasting -= first + take(amount - first, [...own.filter((lot) => lot.left > 0n), ...inOrder()]);
        break;
      }
      default:
        await clock.advance(random.below(6) * DAY_MS);
        if (random.below(2) === 0) await countBusyLots({ database, clock }, { from: 1 });
        else {
          await expire();
          for (const lot of lots) if (lot.at <= clock.now()) lot.left = 0n;
        }
    }
    const open = inOrder();
    const held = open.reduce((sum, lot) => sum + lot.left, lasting);
    const expected = [seed, step, held, open.map((lot) => lot.left).sort()];
    expect([seed, step, await balance(id), (await left(id)).sort()]).toEqual(expected);
  }
}
