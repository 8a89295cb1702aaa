import type { Clock } from '../../../ports/clock.ts';
import type { Database, Transaction } from '../../../ports/database.ts';
import type { Listed, PaymentProvider, ProviderAnswer, WireObject } from '../../../ports/payment-provider.ts';
import { fieldsIn, minorIn } from '../../payments/provider-objects.ts';
import {
  type AuditRange,
  keepObject,
  ProviderPaused,
  type ReadObject,
  readCharge,
  readDispute,
  readInvoice,
  readNote,
  readRefund,
} from './read-object.ts';

/**
 * Reading copies the provider's objects into `audit_provider_objects`, page by page. Progress is stored after each
 * page, so a run that fails, is stopped or is rate limited continues from there, and only one page is in memory.
 */
export interface ReadParts {
  readonly database: Database;
  readonly provider: Pick<
    PaymentProvider,
    | 'listCharges'
    | 'listRefunds'
    | 'listDisputes'
    | 'listCreditNotes'
    | 'listInvoices'
    | 'listInvoiceLines'
    | 'retrieveCharge'
    | 'retrievePaymentIntent'
    | 'retrieveInvoice'
    | 'retrieveDispute'
    | 'retrieveCreditNote'
  >;
  readonly clock: Clock;
}

/**
 * In this order: refunds and disputes need the charges that were read before. `unlisted` are objects of ours that no
 * list contained.
 */
export const LISTINGS = ['charges', 'refunds', 'disputes', 'credit-notes', 'invoices', 'unlisted'] as const;
export type Listing = (typeof LISTINGS)[number];

const PAGE = 100;
const DAY_MS = 24 * 60 * 60_000;
/** A dispute is decided within about three months of being opened, long after its charge. */
const DISPUTES_BEFORE_MS = 180 * DAY_MS;

interface ReadPage {
  readonly after: string | null;
  readonly count: number;
}

/** Reads and stores one page of a list. The returned `after` is null for the last page. */
export async function readPage(
  parts: ReadParts,
  range: AuditRange,
  listing: Exclude<Listing, 'unlisted'>,
  after: string | null,
  signal: AbortSignal | undefined,
): Promise<ReadPage> {
  const page = { limit: PAGE, ...(after === null ? {} : { after }) };
  const { items, hasMore } = await request(parts, signal, () => listOf(parts, range, listing, page));
  const objects: ReadObject[] = [];
  for (const item of items) {
    const read = await readObject(parts, range, listing, item, signal);
    if (read !== null) objects.push(read);
  }
  if (listing === 'refunds') objects.push(...(await chargesOfRefunds(parts, range, objects, signal)));
  if (listing === 'disputes') objects.push(...(await chargesOf(parts, range, objects, signal)));
  const last = items.at(-1)?.id ?? null;
  await parts.database.transaction(async (transaction) => {
    for (const object of objects) await keepObject(transaction, range.id, object);
    await markRecent(transaction, range, objects);
  });
  return { after: hasMore && last !== after ? last : null, count: items.length };
}

function listOf(
  { provider }: ReadParts,
  { from, to }: AuditRange,
  listing: Exclude<Listing, 'unlisted'>,
  page: { limit: number; after?: string },
): Promise<ProviderAnswer<Listed<WireObject>>> {
  const [sinceMs, untilMs] = [from.getTime(), to.getTime()];
  switch (listing) {
    case 'charges':
      return provider.listCharges({ sinceMs, untilMs, ...page });
    // Without an upper limit: a refund newer than the range shows that its charge is still changing.
    case 'refunds':
      return provider.listRefunds({ sinceMs, ...page });
    case 'disputes':
      return provider.listDisputes({ sinceMs: Math.max(0, sinceMs - DISPUTES_BEFORE_MS), untilMs, ...page });
    case 'credit-notes':
      return provider.listCreditNotes({ sinceMs, untilMs, ...page });
    case 'invoices':
      return provider.listInvoices({ sinceMs, untilMs, ...page });
  }
}

/** Null if the object moves no money: a failed charge, a draft, or a credit note before payment. */
async function readObject(
  parts: ReadParts,
  range: AuditRange,
  listing: Exclude<Listing, 'unlisted'>,
  item: WireObject,
  signal: AbortSignal | undefined,
): Promise<ReadObject | null> {
  switch (listing) {
    case 'charges':
      return readCharge(item);
    case 'refunds':
      return readRefund(item, range);
    case 'disputes':
      return readDispute(item);
    case 'credit-notes':
      return readNote(item);
    case 'invoices':
      return await readInvoice(parts, item, range, signal);
  }
}

/**
 * Refunds are counted on their charges. Charges outside the range are retrieved; if a refund of a charge failed, its
 * refunded amount is summed from the provider's list of refunds.
 */
async function chargesOfRefunds(
  parts: ReadParts,
  range: AuditRange,
  refunds: readonly ReadObject[],
  signal: AbortSignal | undefined,
): Promise<readonly ReadObject[]> {
  const charges = new Map<string, ReadObject>();
  for (const charge of await chargesOf(parts, range, refunds, signal)) charges.set(charge.id, charge);
  const failed = refunds.filter(({ status }) => status === 'failed' || status === 'canceled');
  for (const chargeId of new Set(failed.flatMap(({ chargeId }) => chargeId ?? []))) {
    const charge =
      charges.get(chargeId) ??
      readCharge(await request(parts, signal, () => parts.provider.retrieveCharge(chargeId)));
    if (charge === null) continue;
    charges.set(chargeId, { ...charge, returnedMinor: await refundedOf(parts, chargeId, signal) });
  }
  return [...charges.values()];
}

async function refundedOf(
  parts: ReadParts,
  chargeId: string,
  signal: AbortSignal | undefined,
): Promise<bigint> {
  let [sum, after] = [0n, undefined as string | undefined];
  for (;;) {
    const page = { chargeId, limit: PAGE, ...(after === undefined ? {} : { after }) };
    const { items, hasMore } = await request(parts, signal, () => parts.provider.listRefunds(page));
    for (const { status, amount } of items) {
      if (status !== 'failed' && status !== 'canceled') sum += minorIn(amount) ?? 0n;
    }
    const next = items.at(-1)?.id;
    if (!hasMore || next === undefined || next === after) return sum;
    after = next;
  }
}

/** Retrieves the charges of these objects that were not read with the range. */
async function chargesOf(
  parts: ReadParts,
  range: AuditRange,
  objects: readonly ReadObject[],
  signal: AbortSignal | undefined,
): Promise<readonly ReadObject[]> {
  const chargeIds = [...new Set(objects.flatMap(({ chargeId }) => chargeId ?? []))];
  const known = await parts.database.query<{ id: string }>(
    `select object_id as id from audit_provider_objects where audit_id = $1 and kind = 'charge' and object_id = any($2::text[])`,
    [range.id, chargeIds],
  );
  const missing = chargeIds.filter((id) => known.every((one) => one.id !== id));
  const charges: ReadObject[] = [];
  for (const id of missing) {
    const charge = readCharge(await request(parts, signal, () => parts.provider.retrieveCharge(id)));
    if (charge !== null) charges.push(charge);
  }
  return charges;
}

/**
 * Reads our objects that no list contained, one by one: they may be older at the provider than here. Objects that the
 * provider does not have are skipped.
 */
export async function readUnlisted(
  parts: ReadParts,
  range: AuditRange,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { database, provider } = parts;
  const rows = await database.query<{ kind: ReadObject['kind'] | 'payment'; id: string }>(UNLISTED, [
    range.id,
    range.from,
    range.to,
  ]);
  const readers = {
    charge: async (id: string) => readFound(await provider.retrieveCharge(id), readCharge),
    payment: async (id: string) => {
      const found = await provider.retrievePaymentIntent(id);
      return readFound(found, (intent) => {
        const charge = fieldsIn(intent.latest_charge);
        return typeof charge.id === 'string' ? readCharge({ ...charge, payment_intent: intent.id }) : null;
      });
    },
    dispute: async (id: string) => readFound(await provider.retrieveDispute(id), readDispute),
    credit_note: async (id: string) => readFound(await provider.retrieveCreditNote(id), readNote),
    invoice: async (id: string) =>
      readFound(await provider.retrieveInvoice(id), (item) => readInvoice(parts, item, range, signal)),
    refund: async () => null,
  };
  for (const { kind, id } of rows) {
    const object = await requestKnown(parts, signal, () => readers[kind](id));
    if (object !== null) await keepObject(database, range.id, object);
  }
  return rows.length;
}

/** Far more than differ on any day. Objects beyond this limit are reported as missing. */
const MOST_UNLISTED = 1_000;

const UNLISTED = `with unlisted as (
    select 'payment' as kind, provider_payment_intent_id as id from credit_pack_purchases
    where status = 'COMPLETED' and completed_at between $2 and $3 and provider_payment_intent_id is not null
      and not exists (select 1 from audit_provider_objects as read where audit_id = $1 and kind = 'charge'
        and read.payment_id = provider_payment_intent_id)
    union
    select 'charge', charge_id from charge_refunds as refund
    where updated_at between $2 and $3 and not starts_with(charge_id, 'cn_')
      and not exists (select 1 from payment_disputes where dispute_id = refund.charge_id)
    union
    select 'credit_note', charge_id from charge_refunds where updated_at between $2 and $3 and starts_with(charge_id, 'cn_')
    union
    select 'dispute', dispute_id from payment_disputes where updated_at between $2 and $3
    union
    select 'invoice', provider_invoice_id from invoices
    where provider_invoice_id is not null and status <> 'DRAFT' and coalesce(paid_at, created_at) between $2 and $3)
  select kind, id from unlisted
  where not exists (select 1 from audit_provider_objects as read where audit_id = $1 and read.kind = unlisted.kind
    and read.object_id = unlisted.id)
  order by kind, id limit ${MOST_UNLISTED}`;

type Found<T> =
  | { readonly outcome: 'done'; readonly value: T | null }
  | Extract<ProviderAnswer<T>, { outcome: 'failed' }>;

async function readFound(
  answer: ProviderAnswer<WireObject>,
  read: (item: WireObject) => ReadObject | null | Promise<ReadObject | null>,
): Promise<Found<ReadObject>> {
  if (answer.outcome === 'done') return { outcome: 'done', value: await read(answer.value) };
  return answer.failure.reason === 'not-found' ? { outcome: 'done', value: null } : answer;
}

async function requestKnown(
  parts: ReadParts,
  signal: AbortSignal | undefined,
  ask: () => Promise<Found<ReadObject> | null>,
): Promise<ReadObject | null> {
  return await request<ReadObject | null>(
    parts,
    signal,
    async () => (await ask()) ?? { outcome: 'done', value: null },
  );
}

const FIRST_WAIT_MS = 2_000;
const MOST_TRIES = 6;

/** Retries while the provider limits requests or is unavailable. The waits double and take about a minute in total. */
async function request<T>(
  { clock }: ReadParts,
  signal: AbortSignal | undefined,
  ask: () => Promise<ProviderAnswer<T>>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    const answer = await ask();
    if (answer.outcome === 'done') return answer.value;
    const { reason, message } = answer.failure;
    const isPassing = reason === 'rate-limited' || reason === 'unavailable';
    if (!isPassing || attempt === MOST_TRIES) throw new ProviderPaused(message);
    await clock.sleep(FIRST_WAIT_MS * 2 ** (attempt - 1), signal);
  }
}

async function markRecent(
  transaction: Transaction,
  { id }: AuditRange,
  objects: readonly ReadObject[],
): Promise<void> {
  const charges = objects.flatMap(({ kind, isRecent, chargeId }) =>
    kind === 'refund' && isRecent === true && chargeId != null ? [chargeId] : [],
  );
  if (charges.length === 0) return;
  await transaction.query(
    `update audit_provider_objects set is_recent = true where audit_id = $1 and kind = 'charge' and object_id = any($2::text[])`,
    [id, charges],
  );
}
