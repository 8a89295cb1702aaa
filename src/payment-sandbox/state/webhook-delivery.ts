import type Stripe from 'stripe';
import type { Clock, Timer } from '../../ports/clock.ts';
import type { Database, Row, Statements } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { ApproveHost } from '../../ports/outgoing-addresses.ts';
import { signWebhook } from '../../ports/webhooks/webhook-signature.ts';

/** Delivers events to their endpoints, one after the other, in order, with retries after failures. */
export interface WebhookDelivery {
  /** Called if there may be something to deliver. Resolves once nothing is due. */
  nudge(): Promise<void>;
  close(): Promise<void>;
}

const ATTEMPT_MS = 10_000;
/** The wait before each retry, about four hours in all. Each attempt is signed anew. */
const RETRY_AFTER_MS = [5, 30, 120, 600, 3_600, 10_800].map((seconds) => seconds * 1_000);
const STALE_SECONDS = 3_600;
/** The answer of an endpoint is only shown to operators. */
const LONGEST_ERROR = 300;
/** Used if nothing is pending, or if the database is unavailable. */
const LOOK_AGAIN_MS = 30_000;

interface WebhookDeliveryOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  /** Without it, events may be sent to any host. */
  readonly approveHost?: ApproveHost | null | undefined;
  /** The backend's own endpoint, which needs no approval. */
  readonly ownUrl: () => string;
}

export function createWebhookDelivery(options: WebhookDeliveryOptions): WebhookDelivery {
  const { database, clock, log, approveHost = null, ownUrl } = options;
  const closing = new AbortController();
  let running: Promise<void> | null = null;
  let wantsMore = false;
  let timer: Timer | null = null;

  function nudge(): Promise<void> {
    if (closing.signal.aborted) return Promise.resolve();
    wantsMore = true;
    running ??= run().then(() => {
      running = null;
      // Requested after the last poll, while the time of the next attempt was read.
      return wantsMore ? nudge() : undefined;
    });
    return running;
  }

  async function run(): Promise<void> {
    timer?.cancel();
    let waitMs = LOOK_AGAIN_MS;
    try {
      while (wantsMore && !closing.signal.aborted) {
        wantsMore = false;
        await deliverAllDue();
      }
      const earliest = await earliestAttempt(database);
      if (earliest !== null) waitMs = Math.max(1, earliest - clock.now());
    } catch (error) {
      if (!closing.signal.aborted) log.warn('the payment sandbox cannot reach its deliveries', { error });
    }
    if (!closing.signal.aborted) timer = clock.after(waitMs, () => void nudge());
  }

  async function deliverAllDue(): Promise<void> {
    for (;;) {
      const due = await takeDue(database, clock.now());
      if (due.length === 0 || closing.signal.aborted) return;
      await Promise.all(due.map(bring));
    }
  }

  async function bring(delivery: DueDelivery): Promise<void> {
    const { status, error } = await attempt(delivery);
    // Aborted by the shutdown: it is unknown whether the event arrived, so it is delivered again.
    if (closing.signal.aborted) return;
    const isDelivered = status !== null && status >= 200 && status < 300;
    const retryMs = delivery.url === null ? undefined : RETRY_AFTER_MS[delivery.attempts];
    const state = isDelivered ? 'delivered' : retryMs === undefined ? 'failed' : 'pending';
    const nextAttemptMs = clock.now() + (isDelivered ? 0 : (retryMs ?? 0));
    await markAttempt(database, delivery.id, { state, status, error, nextAttemptMs });
    if (!isDelivered)
      log.info('the payment sandbox’s event was not taken', { delivery: delivery.id, status });
  }

  async function attempt(delivery: DueDelivery): Promise<{ status: number | null; error: string | null }> {
    const { url, secret, event } = delivery;
    if (url === null || secret === null) return { status: null, error: 'the endpoint was deleted' };
    if (approveHost !== null && url !== ownUrl()) {
      const approval = await approveHost(new URL(url).hostname);
      if (approval.outcome !== 'approved') return { status: null, error: approval.problem };
    }
    const payload = JSON.stringify(event, null, 2);
    const ending = new AbortController();
    const end = () => ending.abort();
    const timeout = clock.after(ATTEMPT_MS, end);
    closing.signal.addEventListener('abort', end);
    try {
      const headers = {
        'content-type': 'application/json; charset=utf-8',
        'user-agent': 'Payment-Sandbox/1.0',
        'stripe-signature': signatureOf(payload, secret, clock.now(), delivery),
      };
      const { signal } = ending;
      const answer = await fetch(url, { method: 'POST', headers, body: payload, redirect: 'manual', signal });
      return { status: answer.status, error: answer.ok ? null : await beginningOf(answer) };
    } catch (error) {
      return { status: null, error: storable(error instanceof Error ? error.message : String(error)) };
    } finally {
      timeout.cancel();
      closing.signal.removeEventListener('abort', end);
    }
  }

  return {
    nudge,
    async close() {
      closing.abort();
      timer?.cancel();
      await running;
    },
  };
}

function signatureOf(
  payload: string,
  secret: string,
  nowMs: number,
  { flaw, attempts }: DueDelivery,
): string {
  const isSpoiled = attempts === 0;
  const staleMs = isSpoiled && flaw === 'stale_timestamp' ? STALE_SECONDS * 1_000 : 0;
  const key = isSpoiled && flaw === 'bad_signature' ? `${secret}-wrong` : secret;
  return signWebhook(payload, [key], nowMs - staleMs);
}

async function beginningOf({ body }: Response): Promise<string> {
  const reader = body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return storable(new TextDecoder().decode(value?.subarray(0, LONGEST_ERROR)));
}

/** The database can store neither the character 0 nor a lone surrogate. */
function storable(text: string): string {
  return text.replaceAll('\0', ' ').toWellFormed().slice(0, LONGEST_ERROR);
}

interface NewDelivery {
  readonly id: string;
  readonly eventId: string;
  readonly endpointId: string;
  readonly state: 'pending' | 'dropped';
  readonly flaw: 'bad_signature' | 'stale_timestamp' | null;
  readonly atOnce: boolean;
  readonly sendOrder: number;
  readonly madeAtMs: number;
  readonly nextAttemptMs: number;
}

interface DueDelivery {
  readonly id: string;
  readonly flaw: NewDelivery['flaw'];
  readonly at_once: boolean;
  readonly attempts: number;
  readonly event: Stripe.Event;
  /** Null if the endpoint has been deleted. */
  readonly url: string | null;
  readonly secret: string | null;
}

const TOGETHER = 100;

export async function addDelivery(statements: Statements, delivery: NewDelivery): Promise<void> {
  const { id, eventId, endpointId, state, flaw, atOnce, sendOrder, madeAtMs, nextAttemptMs } = delivery;
  await statements.query(
    `insert into payment_sandbox_deliveries
       (id, event_id, endpoint_id, state, flaw, at_once, send_order, next_attempt_at, made_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [id, eventId, endpointId, state, flaw, atOnce, sendOrder, new Date(nextAttemptMs), new Date(madeAtMs)],
  );
}

/** The held group is complete and can be sent. */
export async function releaseHeld(
  statements: Statements,
  group: 'reordered' | 'at-once',
  nowMs: number,
): Promise<void> {
  const condition = group === 'reordered' ? 'send_order < 0' : 'at_once';
  await statements.query(
    `update payment_sandbox_deliveries set next_attempt_at = $1
     where state = 'pending' and attempts = 0 and ${condition}`,
    [new Date(nowMs)],
  );
}

/** The deliveries to send now: the first one, or all that are to be sent concurrently. */
async function takeDue(statements: Statements, nowMs: number): Promise<DueDelivery[]> {
  const due = await statements.query<DueDelivery>(
    `select d.id, d.flaw, d.at_once, d.attempts, e.body as event, w.body ->> 'url' as url,
            w.hidden ->> 'secret' as secret
     from payment_sandbox_deliveries d
     join payment_sandbox_objects e on e.id = d.event_id
     left join payment_sandbox_objects w on w.id = d.endpoint_id
     where d.state = 'pending' and d.next_attempt_at <= $1
     order by d.send_order, d.sequence limit $2`,
    [new Date(nowMs), TOGETHER],
  );
  return due[0]?.at_once === true ? due.filter((one) => one.at_once) : due.slice(0, 1);
}

async function earliestAttempt(statements: Statements): Promise<number | null> {
  const rows = await statements.query<{ earliest: Date | null }>(
    `select min(next_attempt_at) as earliest from payment_sandbox_deliveries where state = 'pending'`,
  );
  return rows[0]?.earliest?.getTime() ?? null;
}

interface Attempted {
  readonly state: 'pending' | 'delivered' | 'failed';
  readonly status: number | null;
  readonly error: string | null;
  readonly nextAttemptMs: number;
}

async function markAttempt(statements: Statements, id: string, attempted: Attempted): Promise<void> {
  const { state, status, error, nextAttemptMs } = attempted;
  await statements.query(
    `update payment_sandbox_deliveries set state = $2, attempts = attempts + 1, last_status = $3,
       last_error = $4, next_attempt_at = $5 where id = $1`,
    [id, state, status, error, new Date(nextAttemptMs)],
  );
  if (state !== 'delivered') return;
  await statements.query(
    `update payment_sandbox_objects o
     set body = jsonb_set(o.body, '{pending_webhooks}', to_jsonb(
       (select count(distinct endpoint_id) from payment_sandbox_deliveries
        where event_id = o.id and state <> 'delivered')))
     from payment_sandbox_deliveries d where d.id = $1 and o.id = d.event_id`,
    [id],
  );
}

/** For display, newest first. */
export async function listDeliveries(statements: Statements, limit: number): Promise<Row[]> {
  return await statements.query(
    `select d.id, d.event_id, e.body ->> 'type' as event_type, e.body #>> '{data,object,id}' as object_id,
            d.endpoint_id, d.state, d.flaw, d.attempts, d.last_status, d.last_error,
            d.next_attempt_at, d.made_at
     from payment_sandbox_deliveries d join payment_sandbox_objects e on e.id = d.event_id
     order by d.sequence desc limit $1`,
    [limit],
  );
}
