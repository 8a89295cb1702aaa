import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import {
  type Listed,
  type Page,
  type PaymentProvider,
  PROVIDER_API_VERSION,
  type ProviderAnswer,
  type ProviderEvent,
  type WireObject,
} from '../../ports/payment-provider.ts';
import { knownEvents } from './event-inbox.ts';
import type { PaymentEvents } from './payment-events.ts';
import { disputeStatusIn, idIn, minorIn, textIn } from './provider-objects.ts';

export interface DisputeParts {
  readonly database: Database;
  readonly provider: Pick<PaymentProvider, 'listDisputes' | 'listRefunds' | 'listCreditNotes'>;
  readonly paymentEvents: Pick<PaymentEvents, 'receive'>;
  readonly clock: Clock;
  readonly log: Log;
}

const DAY_MS = 24 * 60 * 60_000;
/** A dispute is decided within about three months of being opened. */
const DISPUTES_FOR_MS = 180 * DAY_MS;
/** A bank returns a refund within 30 days. */
const REFUNDS_FOR_MS = 60 * DAY_MS;
/** A credit note for a paid invoice does not change once issued: this is how long the job may not have run. */
const CREDIT_NOTES_FOR_MS = 60 * DAY_MS;
const PAGE = 100;

/**
 * Reads disputes, failed refunds and credit notes of paid invoices from the provider; their events are not among the
 * fourteen that are registered. Each state becomes an event of the inbox, once, and is applied like one that was sent.
 * Returns how many were new.
 */
export async function readDisputes(parts: DisputeParts, signal?: AbortSignal): Promise<number> {
  const { provider, clock } = parts;
  const now = clock.now();
  const disputes = await listAll(parts, signal, 'disputes', (page) =>
    provider.listDisputes({ sinceMs: now - DISPUTES_FOR_MS, ...page }),
  );
  const refunds = await listAll(parts, signal, 'refunds', (page) =>
    provider.listRefunds({ sinceMs: now - REFUNDS_FOR_MS, ...page }),
  );
  const notes = await listAll(parts, signal, 'credit notes', (page) =>
    provider.listCreditNotes({ sinceMs: now - CREDIT_NOTES_FOR_MS, ...page }),
  );
  const steps = await decidedDisputes(parts.database);
  const events = [
    ...disputes.items.map((dispute) =>
      eventOf('charge.dispute.updated', dispute, now, steps.get(String(dispute.id))),
    ),
    ...refunds.items.filter(hasFailed).map((refund) => eventOf('charge.refund.updated', refund, now)),
    ...notes.items.filter(isAfterPayment).map((note) => eventOf('credit_note.created', note, now)),
  ].filter((event) => event !== null);
  const known = await knownEvents(
    parts.database,
    events.map(({ id }) => id),
  );
  let received = 0;
  for (const event of events.filter(({ id }) => !known.has(id))) {
    signal?.throwIfAborted();
    received += await receive(parts, event, signal);
  }
  return received;
}

async function receive(
  parts: DisputeParts,
  event: ProviderEvent,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { paymentEvents, log } = parts;
  const counted = event.type === 'charge.refund.updated' ? await countRefunds(parts, event, signal) : event;
  if (counted === null) return 0;
  try {
    await paymentEvents.receive(counted);
    return 1;
  } catch (error) {
    log.warn('a dispute, failed refund or credit note could not be applied; it is tried again', {
      eventId: event.id,
      error,
    });
    return 0;
  }
}

/** With the refunded amount of the charge without the failed refunds, as of now. Null if it cannot be read. */
async function countRefunds(
  parts: DisputeParts,
  event: ProviderEvent,
  signal: AbortSignal | undefined,
): Promise<ProviderEvent | null> {
  const chargeId = idIn(event.object.charge);
  if (chargeId === null) return null;
  const countedAt = Math.floor(parts.clock.now() / 1000);
  const { items, isWhole } = await listAll(parts, signal, 'refunds of a charge', (page) =>
    parts.provider.listRefunds({ chargeId, ...page }),
  );
  if (!isWhole) return null;
  const sum = items
    .filter((refund) => !hasFailed(refund))
    .reduce((total, { amount }) => total + (minorIn(amount) ?? 0n), 0n);
  const object = { ...event.object, refunded_in_all: Number(sum), counted_at: countedAt };
  return { ...event, object, payload: { ...event.payload, data: { object } } };
}

function hasFailed({ status }: WireObject): boolean {
  return status === 'failed' || status === 'canceled';
}

function isAfterPayment({ type }: WireObject): boolean {
  return type === 'post_payment';
}

/** All of them; after a failure of the provider, what was read before. */
async function listAll(
  { log }: DisputeParts,
  signal: AbortSignal | undefined,
  what: string,
  list: (page: Page) => Promise<ProviderAnswer<Listed<WireObject>>>,
): Promise<{ readonly items: readonly WireObject[]; readonly isWhole: boolean }> {
  const items: WireObject[] = [];
  let after: string | undefined;
  for (;;) {
    signal?.throwIfAborted();
    const listed = await list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    if (listed.outcome === 'failed') {
      log.warn('the payment provider did not list what was asked for', {
        what,
        reason: listed.failure.reason,
      });
      return { items, isWhole: false };
    }
    items.push(...listed.value.items);
    const next = listed.value.items.at(-1)?.id;
    if (!listed.value.hasMore || next === undefined || next === after) return { items, isWhole: true };
    after = next;
  }
}

/**
 * Decisions of disputes that were reversed before, with what the id of the next one contains: otherwise it would have the id
 * of the first.
 */
async function decidedDisputes(
  database: Database,
): Promise<ReadonlyMap<string, { readonly status: string; readonly step: string }>> {
  const rows = await database.query<{ id: string; status: string; step: string }>(
    `select dispute_id as id, status, (extract(epoch from status_at) * 1000)::bigint::text as step from payment_disputes
     where status in ('won', 'lost') and status_at is not null and exists (select 1 from provider_events
       where provider_event_id = format('reconciled_%s_%s', dispute_id, case status when 'won' then 'lost' else 'won' end))`,
  );
  return new Map(rows.map(({ id, ...decided }) => [id, decided]));
}

/** Its id consists of the object and its state, so that each state is applied once. */
function eventOf(
  type: string,
  object: WireObject,
  nowMs: number,
  decided?: { readonly status: string; readonly step: string },
): ProviderEvent | null {
  const isDispute = type === 'charge.dispute.updated';
  const status = isDispute ? disputeStatusIn(object) : textIn(object.status, 60);
  const objectId = idIn(object.id);
  if (objectId === null || status === null) return null;
  const isReversed =
    (status === 'won' || status === 'lost') && decided !== undefined && decided.status !== status;
  const id = `reconciled_${objectId}_${status}${isReversed ? `_${decided.step}` : ''}`;
  const created = Math.floor(nowMs / 1000);
  const head = { id, object: 'event', type, created, api_version: PROVIDER_API_VERSION };
  return {
    ...{ id, type, object, previousAttributes: null, payload: { ...head, data: { object } } },
    apiVersion: PROVIDER_API_VERSION,
    createdAtMs: created * 1000,
    livemode: object.livemode === true,
  };
}
