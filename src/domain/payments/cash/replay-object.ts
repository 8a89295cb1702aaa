import type { Clock } from '../../../ports/clock.ts';
import type { Database, Statements, Transaction } from '../../../ports/database.ts';
import {
  type PaymentProvider,
  PROVIDER_API_VERSION,
  type ProviderAnswer,
  type ProviderEvent,
  type WireObject,
} from '../../../ports/payment-provider.ts';
import { listPlanRates } from '../../catalog/plan-rates.ts';
import { creditsOfMicro } from '../../credits/ledger/credit-account.ts';
import { postTransaction } from '../../credits/ledger/ledger.ts';
import type { PaymentEvents } from '../payment-events.ts';
import { grantedByInvoices } from '../plan-grants.ts';
import {
  countedMoney,
  type InvoiceMoney,
  type LineMovement,
  moveInvoice,
  moveLine,
  readInvoiceLines,
  readInvoiceMoney,
} from '../plan-lines.ts';
import { currencyIn, fieldsIn, idIn, listIn, lockCompany, minorIn, textIn } from '../provider-objects.ts';
import { CORRECTION_SOURCE } from './corrections.ts';

/**
 * Applies an object as the provider has it now, at any age: its events may be gone after thirty days. The effects are
 * those of the events, and each fact counts once.
 */
interface ReplayObjectParts {
  readonly database: Database;
  readonly provider: Pick<
    PaymentProvider,
    | 'retrieveCheckoutSession'
    | 'retrieveInvoice'
    | 'retrieveCharge'
    | 'retrieveDispute'
    | 'retrieveCreditNote'
    | 'listRefunds'
    | 'listInvoiceLines'
  >;
  readonly paymentEvents: Pick<PaymentEvents, 'receive'>;
  readonly clock: Clock;
}

type ReplayedObject =
  | {
      readonly outcome: 'applied';
      readonly did: string;
      /** The company whose credits were corrected after the event: its level must be published. */
      readonly companyId: string | null;
    }
  /** The event is stored with the reason. */
  | { readonly outcome: 'not-applied'; readonly message: string }
  | { readonly outcome: 'invalid'; readonly message: string }
  | { readonly outcome: 'provider-failed'; readonly message: string };

export async function replayObject(parts: ReplayObjectParts, id: string): Promise<ReplayedObject> {
  const { provider } = parts;
  const prefix = id.slice(0, id.indexOf('_'));
  switch (prefix) {
    case 'cs':
      return await replay(parts, await provider.retrieveCheckoutSession(id), 'checkout.session.completed');
    case 'in':
      return await replayInvoice(parts, id);
    case 'ch':
    case 'py':
      return await replayCharge(parts, id);
    case 'dp':
    case 'du':
      return await replay(parts, await provider.retrieveDispute(id), 'charge.dispute.updated');
    case 'cn':
      return await replay(parts, await provider.retrieveCreditNote(id), 'credit_note.created');
    default: {
      const message =
        'Only checkout sessions (cs_), invoices (in_), charges (ch_), disputes (dp_) and credit notes (cn_) can be replayed.';
      return { outcome: 'invalid', message };
    }
  }
}

async function replay(
  { paymentEvents, clock }: ReplayObjectParts,
  answer: ProviderAnswer<WireObject>,
  type: string,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<ReplayedObject> {
  if (answer.outcome === 'failed') return { outcome: 'provider-failed', message: answer.failure.message };
  const object: WireObject = { ...answer.value, ...changes };
  const id = idIn(object.id);
  if (id === null) return { outcome: 'provider-failed', message: 'The payment provider sent no object.' };
  const received = await paymentEvents.receive(eventOf(type, id, object, clock.now()));
  if (received.outcome === 'processed')
    return { outcome: 'applied', did: `${id} was applied as ${type}`, companyId: null };
  const message = `${id} could not be applied: turnpike payment-events ${received.outcome.toUpperCase()} says why.`;
  return { outcome: 'not-applied', message };
}

/** With a new id each time; its effect recognizes what was already applied. */
function eventOf(type: string, objectId: string, object: WireObject, nowMs: number): ProviderEvent {
  const created = Math.floor(nowMs / 1000);
  const id = `replayed_${objectId}_${nowMs}`;
  const head = { id, object: 'event', type, created, api_version: PROVIDER_API_VERSION };
  return {
    ...{ id, type, object, previousAttributes: null, payload: { ...head, data: { object } } },
    apiVersion: PROVIDER_API_VERSION,
    createdAtMs: created * 1000,
    livemode: object.livemode === true,
  };
}

const PAGE = 100;
const MOST_PAGES = 50;

/** What of the charge is refunded, and which refunds have failed: both are counted at the provider. */
async function replayCharge(parts: ReplayObjectParts, id: string): Promise<ReplayedObject> {
  const { provider, clock } = parts;
  const charge = await provider.retrieveCharge(id);
  if (charge.outcome === 'failed') return { outcome: 'provider-failed', message: charge.failure.message };
  const countedAt = Math.floor(clock.now() / 1000);
  const refunds = await listEvery((page) => provider.listRefunds({ chargeId: id, ...page }));
  if (refunds === null) {
    return { outcome: 'provider-failed', message: `The payment provider did not list the refunds of ${id}.` };
  }
  const failed = refunds.filter(({ status }) => status === 'failed' || status === 'canceled');
  const left = refunds
    .filter((refund) => !failed.includes(refund))
    .reduce((sum, { amount }) => sum + (minorIn(amount) ?? 0n), 0n);
  let outcome: ReplayedObject = { outcome: 'applied', did: `of ${id} nothing was refunded`, companyId: null };
  if (left > 0n) outcome = await replay(parts, charge, 'charge.refunded', { amount_refunded: Number(left) });
  for (const refund of outcome.outcome === 'applied' ? failed : []) {
    const answer = {
      outcome: 'done',
      value: { payment_intent: charge.value.payment_intent, ...refund },
    } as const;
    const counted = { refunded_in_all: Number(left), counted_at: countedAt };
    outcome = await replay(parts, answer, 'charge.refund.updated', counted);
    if (outcome.outcome !== 'applied') break;
  }
  return outcome;
}

async function listEvery(
  list: (page: { limit: number; after?: string }) => ReturnType<PaymentProvider['listRefunds']>,
): Promise<readonly WireObject[] | null> {
  const items: WireObject[] = [];
  let after: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const listed = await list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    if (listed.outcome === 'failed') return null;
    items.push(...listed.value.items);
    after = listed.value.items.at(-1)?.id;
    if (!listed.value.hasMore) return items;
    if (after === undefined) return null;
  }
  return null;
}

/** A paid invoice whose lines were counted differently is counted again. */
async function replayInvoice(parts: ReplayObjectParts, id: string): Promise<ReplayedObject> {
  const invoice = await parts.provider.retrieveInvoice(id);
  if (invoice.outcome === 'failed') return { outcome: 'provider-failed', message: invoice.failure.message };
  const isPaid = textIn(invoice.value.status) === 'paid';
  const replayed = await replay(parts, invoice, isPaid ? 'invoice.paid' : 'invoice.finalized');
  if (replayed.outcome !== 'applied' || !isPaid) return replayed;
  const lines = await linesOf(parts, invoice.value);
  if (lines === null) {
    return { outcome: 'provider-failed', message: `The payment provider did not list the lines of ${id}.` };
  }
  const { database, clock } = parts;
  const recounted = await database.transaction((transaction) =>
    recountInvoice(transaction, id, invoice.value, lines, clock.now()),
  );
  if (recounted === null) return replayed;
  const { deltaMicro, companyId } = recounted;
  return {
    outcome: 'applied',
    did: `${replayed.did}, and its credits were corrected by ${creditsOfMicro(deltaMicro)}`,
    companyId,
  };
}

/** All lines; null if the provider does not list them. */
export async function linesOf(
  { provider }: { readonly provider: Pick<PaymentProvider, 'listInvoiceLines'> },
  invoice: WireObject,
): Promise<readonly Readonly<Record<string, unknown>>[] | null> {
  const shown = fieldsIn(invoice.lines);
  if (shown.has_more !== true) return listIn(shown);
  return await listEvery((page) => provider.listInvoiceLines(String(invoice.id), page));
}

interface CountedLines {
  readonly movements: readonly LineMovement[];
  readonly money: InvoiceMoney;
  readonly movedMicro: bigint;
}

/** The credits that the lines of an invoice are worth at our rates; null if a plan's line has no price that we know. */
export async function countLines(
  statements: Statements,
  invoice: WireObject,
  lines: readonly Readonly<Record<string, unknown>>[],
): Promise<CountedLines | null> {
  const currency = currencyIn(invoice.currency);
  const movements: LineMovement[] = [];
  for (const line of readInvoiceLines(lines)) {
    if (line.priceId === null && !line.isItem) return null;
    const rates = line.priceId === null ? [] : await listPlanRates(statements, line.priceId);
    const rate = rates.find((one) => one.currency === currency) ?? null;
    if (rate === null && rates.length > 0) return null;
    movements.push(moveLine(line, rate));
  }
  if (!movements.some(({ kind }) => kind === 'PERIOD' || kind === 'PRORATION')) return null;
  const money = readInvoiceMoney(invoice);
  return { movements, money, movedMicro: moveInvoice(movements, money) };
}

/**
 * Corrects the grant of an invoice to what its lines are worth at their frozen rates. A line that was counted
 * differently gets a new reading beside the old one; the resulting difference in what the company's invoices grant in
 * total is posted as a correction. Null if there is no difference.
 */
async function recountInvoice(
  transaction: Transaction,
  id: string,
  invoice: WireObject,
  lines: readonly Readonly<Record<string, unknown>>[],
  nowMs: number,
): Promise<{ readonly deltaMicro: bigint; readonly companyId: string } | null> {
  const [grant] = await transaction.query<{ companyId: string }>(
    'select company_id as "companyId" from plan_grants where provider_invoice_id = $1 and moved_micro is not null',
    [id],
  );
  const counted = grant === undefined ? null : await countLines(transaction, invoice, lines);
  if (grant === undefined || counted === null) return null;
  const { companyId } = grant;
  await lockCompany(transaction, companyId);
  for (const movement of counted.movements) await keepReading(transaction, id, companyId, movement, nowMs);
  const money = countedMoney(counted.movements, counted.money);
  await transaction.query(
    `update plan_grants set moved_micro = $2, lines_minor = $3, best_price_minor = $4, best_credits_micro = $5,
       credited_minor = $6, amount_minor = $7 where provider_invoice_id = $1`,
    [
      ...[id, counted.movedMicro, money.linesMinor, money.best.priceMinor, money.best.creditsMicro],
      ...[money.creditedMinor, counted.money.paidMinor > 0n ? counted.money.paidMinor : 0n],
    ],
  );
  const [sum] = await transaction.query<{ micro: bigint }>(
    `select (select coalesce(sum(credits_micro), 0) from plan_grants where company_id = $1)::bigint
       + (select coalesce(sum(credits_micro), 0) from balance_uses where company_id = $1)::bigint
       - (select coalesce(sum(coalesce(taken_micro, refunded_micro)), 0) from charge_refunds
          where company_id = $1 and source_kind = 'PLAN_GRANT')::bigint as micro`,
    [companyId],
  );
  const deltaMicro = (await grantedByInvoices(transaction, companyId)) - (sum?.micro ?? 0n);
  if (deltaMicro === 0n) return null;
  const posted = await postTransaction(transaction, {
    ...{ accountId: companyId, type: 'ADJUSTMENT', amountMicro: deltaMicro, contra: 'adjustments' },
    ...{ sourceKind: CORRECTION_SOURCE, sourceId: `plan-invoice/${id}/recount-${nowMs}` },
    reason: `invoice ${id} was counted again`,
  });
  if (posted.outcome !== 'posted')
    throw new Error(`the recount of ${id} cannot be posted: ${posted.outcome}`);
  await transaction.query(
    'update plan_grants set credits_micro = credits_micro + $2 where provider_invoice_id = $1',
    [id, deltaMicro],
  );
  return { deltaMicro, companyId };
}

/** Lines are append-only: the last of several readings counts. */
async function keepReading(
  transaction: Transaction,
  invoiceId: string,
  companyId: string,
  { line, kind, rate, movedMicro }: LineMovement,
  nowMs: number,
): Promise<void> {
  if (kind !== 'PERIOD' && kind !== 'PRORATION') return;
  const readings = await transaction.query<{ minor: bigint; micro: bigint; price: string | null }>(
    `select amount_minor as minor, moved_micro as micro, provider_price_id as price from plan_grant_lines
     where provider_invoice_id = $1 and split_part(provider_line_id, '#', 1) = $2
     order by created_at desc, provider_line_id desc`,
    [invoiceId, line.id],
  );
  const [last] = readings;
  if (last?.minor === line.netMinor && last.micro === movedMicro && last.price === line.priceId) return;
  const id = readings.length === 0 ? line.id : `${line.id}#${readings.length + 1}`;
  await transaction.query(
    `insert into plan_grant_lines (provider_invoice_id, provider_line_id, company_id, kind, provider_price_id, plan_id,
       amount_minor, currency, moved_micro, description, period_start, period_end, created_at)
     select $1, $2, $3, $4, $5, $6, $7, currency, $8, $9, $10, $11, $12 from plan_grants where provider_invoice_id = $1`,
    [
      ...[invoiceId, id, companyId, kind, line.priceId, rate?.planId ?? null, line.netMinor, movedMicro],
      ...[line.description, line.periodStart, line.periodEnd, new Date(nowMs)],
    ],
  );
}
