import { migrate } from '../src/adapters/database/migrate.ts';
import { openPostgres } from '../src/adapters/database/postgres.ts';
import type { Database } from '../src/ports/database.ts';
import type { ProviderEvent } from '../src/ports/payment-provider.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import {
  makeCompany,
  makePurchase,
  openPayments,
  type PaymentsUnderTest,
} from '../test/payments/payments-under-test.ts';
import { paidSession, refundOf } from '../test/payments/purchase-facts.ts';
import type { BenchContext, Measurement, Row } from './frame/measurement.ts';
import { medianOf } from './frame/median.ts';

const IN_PARALLEL = 200;
const EVENTS = 1_000;
const ROUNDS = 3;
const POOL_SIZE = 16;

/** Whatever is sent is acknowledged and in the books, or the measurement fails. */
export const webhook: Measurement = {
  name: 'webhook',
  what: `payment events a second kept and applied on PostgreSQL, ${IN_PARALLEL} in parallel, none of them lost`,
  async run(context) {
    const database = await openPostgres({
      url: await context.emptyDatabase(),
      log: createSilentLog(),
      applicationName: 'bench',
      poolSize: POOL_SIZE,
      maxWaiting: 10_000,
      connectTimeoutMs: 5_000,
      statementTimeoutMs: 60_000,
    });
    context.whenEnding(database.close);
    await migrate(database);
    const payments = openPayments(database);
    return [
      await measure(context, 'events kept alone, that do nothing here', payments, unknownEvents),
      await measure(context, 'purchases of as many companies, completed', payments, purchases),
      await measure(
        context,
        'the same event to all at once: 199 of 200 are duplicates',
        payments,
        duplicates,
      ),
      await measure(
        context,
        'refunds that come before their purchase, and the purchase',
        payments,
        refundsFirst,
      ),
    ];
  },
};

type Draw = (database: Database) => Promise<readonly ProviderEvent[]>;

async function measure(
  { signal }: BenchContext,
  label: string,
  payments: PaymentsUnderTest,
  draw: Draw,
): Promise<Row> {
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    signal.throwIfAborted();
    const events = await draw(payments.database);
    const begun = performance.now();
    await sendAll(payments, events);
    rates.push((events.length * 1_000) / (performance.now() - begun));
    await provePresent(payments.database, events);
  }
  return { label, unit: '/s', ...medianOf(rates) };
}

async function sendAll(payments: PaymentsUnderTest, events: readonly ProviderEvent[]): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let at = next++; at < events.length; at = next++) {
      const event = events[at];
      if (event !== undefined) await payments.receive(event);
    }
  };
  await Promise.all(Array.from({ length: IN_PARALLEL }, lane));
}

async function provePresent(database: Database, events: readonly ProviderEvent[]): Promise<void> {
  const ids = [...new Set(events.map(({ id }) => id))];
  const [row] = await database.query<{ done: bigint }>(
    `select count(*) as done from provider_events
     where provider_event_id = any($1::text[]) and status in ('PROCESSED', 'IGNORED')`,
    [ids],
  );
  if (row?.done !== BigInt(ids.length)) throw new Error(`${row?.done} of ${ids.length} events were applied`);
  const [purchases] = await database.query<{ lost: bigint }>(
    `select count(*) as lost from credit_pack_purchases as purchase
     where status <> 'COMPLETED' or not exists (
       select 1 from credit_transactions where source_kind = 'credit-pack-purchase' and source_id = purchase.id::text)`,
  );
  if (purchases?.lost !== 0n) throw new Error(`${purchases?.lost} purchases were lost`);
}

async function bought(database: Database) {
  const company = await makeCompany(database);
  const purchase = await makePurchase(database, company.id);
  return { company, purchase, paid: paidSession(company, purchase) };
}

const many = (count: number, database: Database) =>
  Promise.all(Array.from({ length: count }, () => bought(database)));

const purchases: Draw = async (database) => (await many(EVENTS, database)).map(({ paid }) => paid);

const duplicates: Draw = async (database) => {
  const few = await many(EVENTS / IN_PARALLEL, database);
  return few.flatMap(({ paid }) => Array.from({ length: IN_PARALLEL }, () => paid));
};

const refundsFirst: Draw = async (database) => {
  const pairs = await many(EVENTS / 2, database);
  const refunds = pairs.map(({ company, purchase }) => refundOf(company, purchase, 400));
  return [...refunds, ...pairs.map(({ paid }) => paid)];
};

const unknownEvents: Draw = async () => {
  const purchase = {
    id: crypto.randomUUID(),
    sessionId: 'cs_none',
    paymentId: 'pi_none',
    chargeId: 'ch_none',
  };
  return Array.from({ length: EVENTS }, () => ({
    ...paidSession({ id: crypto.randomUUID(), customerId: 'cus_none' }, purchase),
    type: 'customer.created',
  }));
};
