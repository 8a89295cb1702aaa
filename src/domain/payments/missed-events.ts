import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { PaymentProvider, ProviderEvent } from '../../ports/payment-provider.ts';
import { LISTED_EVENT_KINDS } from './apply-event.ts';
import { readDisputes } from './disputes.ts';
import { knownEvents } from './event-inbox.ts';
import { inOurVersion, type ObjectLookUps } from './event-versions.ts';
import type { PaymentEvents } from './payment-events.ts';

export interface MissedEventsParts {
  readonly database: Database;
  readonly provider: ObjectLookUps &
    Pick<PaymentProvider, 'listEvents' | 'listDisputes' | 'listRefunds' | 'listCreditNotes'>;
  readonly paymentEvents: Pick<PaymentEvents, 'receive' | 'replay' | 'wake'>;
  readonly clock: Clock;
  readonly log: Log;
}

const PAGE = 100;
/** Pages in memory at a time; a range with more events is split in halves. */
const MOST_PAGES_HELD = 20;
const SECOND_MS = 1000;
const OVERLAP_MS = 60 * 60_000;
/** The provider keeps its events for this long. */
export const PROVIDER_KEEPS_EVENTS_MS = 30 * 24 * 60 * 60_000;

/**
 * Reads every event of the handled types since the last run, whether it was delivered or not: after a restore the
 * database has lost events that the provider counts as delivered. It reads from the oldest to the newest, in time
 * ranges that are each read completely, and stores the time of the newest event after each range. So a run that fails
 * or is stopped continues from there, and no number of events makes it skip any. The stored time is the provider's:
 * with our own clock set ahead, events until that time would be skipped. Returns how many were new.
 */
export async function receiveMissedEvents(parts: MissedEventsParts, signal?: AbortSignal): Promise<number> {
  const { database, clock, log } = parts;
  const now = clock.now();
  const [row] = await database.query<{ askedUntil: Date }>(
    'select asked_until as "askedUntil" from payment_reconciliation',
  );
  const from = Math.max(now - PROVIDER_KEEPS_EVENTS_MS, (row?.askedUntil.getTime() ?? 0) - OVERLAP_MS);
  let received = 0;
  const read = await readRanges(parts, { from, newest: now, until: undefined }, signal, async (range) => {
    const known = await knownEvents(
      database,
      range.events.map(({ id }) => id),
    );
    const missed = range.events.filter(({ id }) => !known.has(id));
    const { done, failures } = await receiveAll(parts, missed, signal);
    received += done;
    // The next run reads again what could not be stored.
    if (failures > 0) return 'stop';
    const newest = range.events.at(-1);
    if (newest === undefined) return 'go-on';
    await database.query(
      `insert into payment_reconciliation (asked_until) values ($1)
       on conflict (only_row) do update set asked_until = greatest(payment_reconciliation.asked_until, $1)`,
      [new Date(newest.createdAtMs)],
    );
    return 'go-on';
  });
  if (read.outcome === 'provider-failed') {
    log.warn('the payment provider did not list its events; the next run reads on', {
      message: read.message,
    });
  }
  return received;
}

type ReplayedPayments =
  | {
      readonly outcome: 'replayed';
      /** Events of the range that the provider has. */
      readonly events: number;
      /** How many of those, and of disputes and failed refunds, were applied now. */
      readonly applied: number;
    }
  | { readonly outcome: 'invalid'; readonly message: string }
  /** What was read before that is applied; running it again continues. */
  | { readonly outcome: 'provider-failed'; readonly message: string };

/**
 * Reads all events of a time range, both ends included, from the provider again and applies those that are not applied
 * yet: new ones, and those that wait or have failed here. Each fact counts once, no matter how often it is replayed.
 */
export async function replayPayments(
  parts: MissedEventsParts,
  { from, to }: { readonly from: Date; readonly to: Date },
  signal?: AbortSignal,
): Promise<ReplayedPayments> {
  const { log } = parts;
  const [fromMs, toMs] = [from.getTime(), to.getTime()];
  if (Number.isNaN(fromMs) || Number.isNaN(toMs) || fromMs < 0) {
    return { outcome: 'invalid', message: 'from and to must be times.' };
  }
  if (fromMs > toMs) return { outcome: 'invalid', message: 'from must not be after to.' };
  let [events, applied, failures] = [0, 0, 0];
  const requested = { from: fromMs, newest: toMs, until: toMs };
  const read = await readRanges(parts, requested, signal, async (range) => {
    events += range.events.length;
    const { done, failed } = await replayAll(parts, range.events, signal);
    applied += done;
    failures += failed;
    return 'go-on';
  });
  // Disputes and failed refunds have no events among those that are read.
  applied += await readDisputes(parts, signal);
  log.info('payments were replayed', { from, to, events, applied, failures });
  if (read.outcome === 'provider-failed') return read;
  if (failures > 0) {
    const message = `${failures} of ${events} events could not be stored or applied: the log says why. Run it again.`;
    return { outcome: 'provider-failed', message };
  }
  return { outcome: 'replayed', events, applied };
}

interface EventRange {
  readonly from: number;
  /** No event is expected after this time; the range is split relative to it. */
  readonly newest: number;
  /** Undefined reads up to the newest event, even if the provider's clock is ahead of ours. */
  readonly until: number | undefined;
}

interface ReadRange {
  /** Oldest first. */
  readonly events: readonly ProviderEvent[];
}

type ReadOutcome =
  | { readonly outcome: 'read' | 'stopped' }
  | { readonly outcome: 'provider-failed'; readonly message: string };

/** Proceeds from the oldest to the newest event. The provider lists the newest first, so a range is read completely. */
async function readRanges(
  parts: MissedEventsParts,
  { from, newest, until }: EventRange,
  signal: AbortSignal | undefined,
  take: (range: ReadRange) => Promise<'go-on' | 'stop'>,
): Promise<ReadOutcome> {
  let start = from;
  let end = newest;
  for (;;) {
    const isLast = end >= newest;
    const isShortest = Math.floor(start / SECOND_MS) >= Math.floor(end / SECOND_MS);
    const read = await readRange(parts, { start, end: isLast ? until : end, isWhole: isShortest }, signal);
    if (read.outcome === 'provider-failed') return read;
    if (read.outcome === 'too-many') {
      end = start + Math.floor((end - start) / 2);
      continue;
    }
    if ((await take({ events: read.events })) === 'stop') return { outcome: 'stopped' };
    if (isLast) return { outcome: 'read' };
    // The provider's times are whole seconds, and the second of `end` was read.
    start = (Math.floor(end / SECOND_MS) + 1) * SECOND_MS;
    end = newest;
  }
}

type ReadEvents =
  | { readonly outcome: 'read'; readonly events: readonly ProviderEvent[] }
  | { readonly outcome: 'too-many' }
  | { readonly outcome: 'provider-failed'; readonly message: string };

async function readRange(
  { provider }: MissedEventsParts,
  { start, end, isWhole }: { readonly start: number; readonly end: number | undefined; isWhole: boolean },
  signal: AbortSignal | undefined,
): Promise<ReadEvents> {
  const events: ProviderEvent[] = [];
  let after: string | undefined;
  for (let page = 0; isWhole || page < MOST_PAGES_HELD; page += 1) {
    signal?.throwIfAborted();
    const listed = await provider.listEvents({
      sinceMs: start,
      ...(end === undefined ? {} : { untilMs: end }),
      eventKinds: LISTED_EVENT_KINDS,
      limit: PAGE,
      ...(after === undefined ? {} : { after }),
    });
    if (listed.outcome === 'failed') return { outcome: 'provider-failed', message: listed.failure.message };
    const { items, hasMore, lastId } = listed.value;
    events.push(...items);
    const next = lastId ?? items.at(-1)?.id;
    if (!hasMore || next === undefined || next === after) {
      return { outcome: 'read', events: events.reverse() };
    }
    after = next;
  }
  return { outcome: 'too-many' };
}

/** How many were new, and how many could not be stored or applied: the provider did not answer, or a fault of ours. */
async function receiveAll(
  parts: MissedEventsParts,
  events: readonly ProviderEvent[],
  signal: AbortSignal | undefined,
): Promise<{ readonly done: number; readonly failures: number }> {
  let [done, failures] = [0, 0];
  for (const event of events) {
    signal?.throwIfAborted();
    try {
      const { outcome } = await receive(parts, event);
      if (outcome !== 'duplicate') done += 1;
    } catch (error) {
      failures += 1;
      parts.log.warn('an event that the provider listed could not be applied', { eventId: event.id, error });
    }
  }
  return { done, failures };
}

async function receive({ provider, paymentEvents }: MissedEventsParts, listed: ProviderEvent) {
  const event = await inOurVersion(provider, listed);
  if (event.outcome === 'failed') {
    throw new Error(`the payment provider did not return its object: ${event.failure.message}`);
  }
  return await paymentEvents.receive(event.value);
}

async function replayAll(
  parts: MissedEventsParts,
  events: readonly ProviderEvent[],
  signal: AbortSignal | undefined,
): Promise<{ readonly done: number; readonly failed: number }> {
  const { database, paymentEvents, log } = parts;
  const known = await knownEvents(
    database,
    events.map(({ id }) => id),
  );
  let [done, failed] = [0, 0];
  for (const event of events) {
    signal?.throwIfAborted();
    try {
      const isKnown = known.has(event.id);
      const received = isKnown ? await paymentEvents.receive(event) : await receive(parts, event);
      if (received.outcome === 'processed') done += 1;
      if (received.outcome !== 'duplicate') continue;
      const replayed = await paymentEvents.replay(received.id);
      if (replayed.outcome === 'replayed' && replayed.event.status === 'PROCESSED') done += 1;
    } catch (error) {
      failed += 1;
      log.warn('an event that the provider listed could not be replayed', { eventId: event.id, error });
    }
  }
  return { done, failed };
}
