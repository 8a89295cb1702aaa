import { beforeAll, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { openCallPartitions } from '../../src/domain/calls/partitions/call-partitions.ts';
import { retireCalls } from '../../src/domain/calls/partitions/call-retention.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import type { FinishedCall } from '../../src/domain/calls/settlement/finished-call.ts';
import {
  dropWithheldUsage,
  listWithheldUsage,
  postWithheldUsage,
} from '../../src/domain/calls/settlement/withheld-usage.ts';
import { addUpUsageMonths } from '../../src/domain/calls/usage/usage-months.ts';
import { countBusyLots, expireCredits } from '../../src/domain/credits/expiry/expire-credits.ts';
import { settleInvoiceByHand, voidInvoice } from '../../src/domain/credits/invoices/invoice.ts';
import { invoiceFinishedMonths } from '../../src/domain/credits/invoices/monthly-invoices.ts';
import { setCompanyBilling } from '../../src/domain/credits/ledger/credit-account.ts';
import { transferToUser } from '../../src/domain/credits/ledger/user-account.ts';
import { settleByHand } from '../../src/domain/payments/postpaid-invoices.ts';
import { auditBooks } from '../../src/domain/reconciliation/audit.ts';
import { addLedgerDigests } from '../../src/domain/reconciliation/proofs/ledger-digests.ts';
import { TERMS } from '../contracts/monthly-invoices.contract.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { TEST_MS } from '../doubles/patience.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { addTestUser } from '../doubles/test-company.ts';
import { useDatabase } from '../setup/use-database.ts';
import { idAt } from './books-of-everything.ts';
import {
  type MadeCompany,
  type MadePurchase,
  makeCompany,
  makePurchase,
  openPayments,
} from './payments-under-test.ts';
import { paidSession, refundOf } from './purchase-facts.ts';

const CALLS = 100_000;
const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];
/** Calls with ids of the first moment are deleted by retention at the second, whose calls stay. */
const [RETIRED_AT, KEPT_AT] = [Date.UTC(2040, 0, 10), Date.UTC(2040, 3, 10)];
const MODELS = ['chat-default', 'chat-premium', 'chat-cheap', 'embed-default'];

const database = useDatabase();
const random = createSeededRandom(47);
const log = createSilentLog();
const { newId } = createSystemSecrets();
const chance = (percent: number) => random.below(100) < percent;

interface Customer extends MadeCompany {
  readonly keys: readonly string[];
  readonly users: readonly string[];
}

let payments: ReturnType<typeof openPayments>;
const customers: Customer[] = [];
const bought: { readonly customer: Customer; readonly purchase: MadePurchase; refunded: number }[] = [];
let charged = 0;
let months = 0;
/** When calls begin: from half a year ago until now. */
let nowMs = Date.now() - 190 * DAY_MS;

beforeAll(async () => {
  payments = openPayments(database);
  await openCallPartitions({ database, clock: createManualClock(RETIRED_AT), log, span: 'month' });
  await database.query('insert into usage_subject_limit (per_day) values (12)');
  for (let number = 0; number < 10; number += 1) {
    const company = await makeCompany(database);
    const users = [await addTestUser(database, company.id), await addTestUser(database, company.id)];
    customers.push({ ...company, users, keys: [newId(), newId(), newId()] });
    for (const userId of users) await move(company.id, userId);
  }
}, TEST_MS);

async function move(companyId: string, userId: string): Promise<void> {
  const given = {
    companyId,
    userId,
    amountMicro: BigInt(1 + random.below(500_000)),
    idempotencyKey: newId(),
  };
  await database.transaction((transaction) =>
    transferToUser(transaction, { ...given, reason: 'a share', heldMicro: 0n }),
  );
}

function drawTokens(): Pick<
  FinishedCall,
  'tokens' | 'tokenBounds' | 'hourWriteTokens' | 'hourWriteFactorMillionths'
> {
  const promptTokens = random.below(20_000);
  const cachedTokens = chance(40) ? random.below(promptTokens + 1) : 0;
  const cacheWriteTokens = chance(20) ? 1 + random.below(promptTokens - cachedTokens + 1) : undefined;
  const hourWriteTokens =
    cacheWriteTokens !== undefined && chance(40) ? random.below(cacheWriteTokens) : undefined;
  return {
    tokens: { promptTokens, cachedTokens, cacheWriteTokens, completionTokens: random.below(4_000) },
    ...(chance(1) ? { tokenBounds: { promptTokens: 5_000, completionTokens: 500 } } : {}),
    ...(hourWriteTokens === undefined ? {} : { hourWriteTokens, hourWriteFactorMillionths: 1_600_000 }),
  };
}

function drawCall(): FinishedCall {
  const { id, keys, users } = random.pick(customers);
  const isFailed = chance(5);
  return finishedCall(id, {
    id: idAt(charged < CALLS / 3 ? RETIRED_AT : KEPT_AT),
    keyId: chance(95) ? random.pick(keys) : null,
    alias: `${random.pick(['svc', 'other'])}/${random.pick(MODELS)}`,
    startedAtMs: nowMs - random.below(HOUR_MS / 2),
    ...(isFailed ? { outcome: 'FAILED', reason: 'broken', tokens: null } : drawTokens()),
    ...(chance(10) ? { payerId: random.pick(users) } : {}),
    ...(chance(10) ? { surchargeMicro: random.below(9_000), toolUses: { web_search: 1 } } : {}),
    ...(chance(10) ? { chargeShareMillionths: random.below(1_000_001) } : {}),
    ...(chance(10) ? { priceFactorMillionths: 500_000, tier: 'flex' } : {}),
    ...(chance(5) ? { priceFactorMillionths: 1_250_000, completionFactorMillionths: 2_000_000 } : {}),
    ...(chance(10) ? { servedBy: 'svc/chat-cheap' } : {}),
    ...(chance(50) ? { costMicro: random.below(90_000) } : {}),
    ...(chance(30) ? { project: `project ${random.below(9)}` } : {}),
    ...(chance(30) ? { endUser: `user ${random.below(40)}` } : {}),
    ...(chance(20) ? { tags: [`tag ${random.below(9)}`, `other ${random.below(9)}`] } : {}),
  });
}

const DEEDS: readonly (() => Promise<void>)[] = [
  async function buy() {
    const customer = random.pick(customers);
    const expireAfterDays = random.pick([null, 20, 60]);
    const purchase = await makePurchase(database, customer.id, {
      credits: BigInt(20 + random.below(180)),
      expireAfterDays,
    });
    await payments.receive(paidSession(customer, purchase));
    bought.push({ customer, purchase, refunded: 0 });
  },
  async function refund() {
    // Mostly one whose credits have not expired.
    const one = bought.at(-1 - random.below(4));
    if (one === undefined) return;
    one.refunded = Math.min(1_000, one.refunded + 1 + random.below(400));
    await payments.receive(refundOf(one.customer, one.purchase, one.refunded));
  },
  async function passDays() {
    await payments.clock.advance((1 + random.below(15)) * DAY_MS);
    const { clock, sharedState } = payments;
    await expireCredits({ database, sharedState, clock, log });
    await countBusyLots({ database, clock }, { from: 1 + random.below(50) });
  },
  async function moveCredits() {
    const { id, users } = random.pick(customers);
    await move(id, random.pick(users));
  },
  async function changeBilling() {
    const { id } = random.pick(customers);
    const mode = random.pick(['PREPAID', 'POSTPAID'] as const);
    await database.transaction((transaction) =>
      setCompanyBilling(transaction, id, mode, BigInt(random.below(9_000))),
    );
  },
  async function invoice() {
    months += 1;
    const clock = createManualClock(
      Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() + months, 2),
    );
    const parts = {
      database,
      log,
      sharedState: payments.sharedState,
      jobQueue: { enqueue: async () => null },
    };
    await invoiceFinishedMonths({ ...parts, clock, secrets: { newId }, terms: TERMS });
    const open = await database.query<{ id: string }>(
      "select id from invoices where status = 'OPEN' order by id",
    );
    for (const { id } of open.filter(() => chance(60))) {
      if (chance(20))
        await database.transaction((transaction) =>
          voidInvoice(transaction, { invoiceId: id, reason: 'a mistake' }),
        );
      else
        await settleByHand(parts, id, (transaction) =>
          settleInvoiceByHand(transaction, { invoiceId: id, paidAt: new Date() }),
        );
    }
  },
  async function resolveWithheld() {
    const rows = await listWithheldUsage(database, { limit: 5, after: null, onlyOpen: true });
    for (const { callId } of rows) {
      const resolve = random.pick([postWithheldUsage, dropWithheldUsage]);
      await database.transaction((transaction) =>
        resolve(transaction, { callId, note: 'checked', now: new Date() }),
      );
    }
  },
  async function changePrice() {
    nowMs += HOUR_MS;
    const price = () => random.below(9_000_000);
    await database.query(
      `insert into model_prices (id, alias, prompt_micro, cached_micro, completion_micro, cache_write_micro, in_force_from)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [
        newId(),
        random.pick(MODELS),
        price(),
        price(),
        price(),
        random.pick([null, price()]),
        new Date(nowMs),
      ],
    );
    nowMs += HOUR_MS;
  },
  async function addUp() {
    await addUpUsageMonths({ database, clock: createManualClock(Date.now()), log });
    await addLedgerDigests({ database, clock: createManualClock(Date.now()), log }, { span: 100 });
  },
];

test(
  'P-19 a healthy database of 100,000 random calls has no fault',
  async () => {
    while (charged < CALLS) {
      nowMs += HOUR_MS * 2;
      const calls = Array.from({ length: 1 + random.below(200) }, drawCall);
      await chargeCalls(database, calls);
      charged += calls.length;
      if (chance(40)) await random.pick(DEEDS)();
    }
    await addUpUsageMonths({ database, clock: createManualClock(Date.now()), log });
    expect(
      await retireCalls({ database, clock: createManualClock(KEPT_AT), log, keepMonths: 1 }),
    ).toBeGreaterThan(0);
    for (const deed of DEEDS) await deed();
    for (const isExact of [true, false]) {
      const found: string[] = [];
      for await (const { faults } of auditBooks(database, { isExact })) found.push(...faults.slice(0, 5));
      expect(found).toEqual([]);
    }
  },
  2 * TEST_MS,
);
