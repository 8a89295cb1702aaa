import type { Clock } from '../../ports/clock.ts';
import type { Database, Statements } from '../../ports/database.ts';
import type { QueueDefinition, QueueWork } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { WebhookAnswer, WebhookSender } from '../../ports/webhooks/webhook-sender.ts';
import { CHUNK_ROWS, changeInChunks } from '../retention/change-in-chunks.ts';

export interface HookDelivery {
  readonly id: string;
  readonly calls: number;
  readonly state: 'WAITING' | 'DELIVERED' | 'FAILED';
  readonly attempts: number;
  readonly httpStatus: number | null;
  readonly error: string | null;
  readonly durationMs: number | null;
  readonly createdAt: Date;
  readonly settledAt: Date | null;
}

/** The receiver of records. */
export interface AfterHook {
  readonly url: string;
  /** Every request is signed with each of them. */
  readonly secrets: readonly string[];
}

export interface HookDeliveryParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly webhooks: Pick<WebhookSender, 'send'>;
  /** Null if there is no hook after calls: then pending deliveries fail. */
  readonly hook: AfterHook | null;
  readonly keepDays: number;
}

const TIMEOUT_MS = 10_000;
/** Longer than an attempt: after this another process sends it, if the first one stopped. */
export const ATTEMPT_MS = TIMEOUT_MS + 20_000;
const READ_BYTES = 300;
const MINUTE_MS = 60_000;
const LONGEST_PAUSE_MS = 240 * MINUTE_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;
const AT_ONCE = 20;
const MOST_RUNS = 50;

export const CALL_HOOK_QUEUE: QueueDefinition = {
  name: 'call-hook-deliveries',
  retries: 3,
  retryDelaySeconds: 30,
  retryDelayMaxSeconds: 300,
  runSeconds: 600,
  heartbeatSeconds: 60,
};

/** Retries deliveries that were not accepted, and removes old ones. */
export function callHookWork(parts: HookDeliveryParts): readonly QueueWork[] {
  return [
    {
      queue: CALL_HOOK_QUEUE,
      concurrency: 1,
      cron: '* * * * *',
      handler: async ({ signal }) => {
        await sendDue(parts, signal);
        await purge(parts, signal);
      },
    },
  ];
}

/** The newest first. `after` is the last id of the previous page. */
export async function listHookDeliveries(
  statements: Statements,
  { limit, after }: { readonly limit: number; readonly after: string | null },
): Promise<readonly HookDelivery[]> {
  return await statements.query<HookDelivery>(
    `select id, calls, state, attempts, http_status as "httpStatus", error, duration_ms as "durationMs",
       created_at as "createdAt", settled_at as "settledAt"
     from call_hook_deliveries where $1::uuid is null or id < $1 order by id desc limit $2`,
    [after, limit],
  );
}

/** Makes one attempt and records its result. True if it was accepted. */
export async function attemptDelivery(
  { database, clock, webhooks }: Pick<HookDeliveryParts, 'database' | 'clock' | 'webhooks'>,
  { url, secrets }: AfterHook,
  delivery: {
    readonly id: string;
    readonly payload: string;
    readonly attempts: number;
    readonly createdAt: Date;
  },
  signal?: AbortSignal,
): Promise<boolean> {
  const answer = await webhooks.send({
    ...{ url, body: delivery.payload, secrets, timeoutMs: TIMEOUT_MS, maxAnswerBytes: READ_BYTES },
    ...(signal === undefined ? {} : { signal }),
  });
  const attempts = delivery.attempts + 1;
  const isAccepted = answer.outcome === 'answered' && answer.status >= 200 && answer.status < 300;
  const isLast = clock.now() - delivery.createdAt.getTime() >= DAY_MS;
  const state = isAccepted ? 'DELIVERED' : isLast ? 'FAILED' : 'WAITING';
  const pauseMs = Math.min(2 ** (attempts - 1) * MINUTE_MS, LONGEST_PAUSE_MS);
  await database.query(
    `update call_hook_deliveries set state = $2, attempts = $3, http_status = $4, error = $5, duration_ms = $6,
       next_attempt_at = $7, payload = case when $2 = 'WAITING' then payload end,
       settled_at = case when $2 = 'WAITING' then null else $8::timestamptz end
     where id = $1 and state = 'WAITING'`,
    [
      ...[delivery.id, state, attempts, answer.outcome === 'answered' ? answer.status : null],
      ...[isAccepted ? null : problemOf(answer), answer.durationMs],
      ...[new Date(clock.now() + pauseMs), new Date(clock.now())],
    ],
  );
  return isAccepted;
}

async function sendDue(parts: HookDeliveryParts, signal: AbortSignal): Promise<void> {
  const { database, clock, hook, log } = parts;
  if (hook === null) return await giveUpAll(parts);
  for (let run = 0; run < MOST_RUNS && !signal.aborted; run += 1) {
    const now = clock.now();
    const due = await database.query<{ id: string; payload: string; attempts: number; createdAt: Date }>(
      `update call_hook_deliveries set next_attempt_at = $2
       where id = any (array(
         select id from call_hook_deliveries where state = 'WAITING' and next_attempt_at <= $1
         order by next_attempt_at limit ${AT_ONCE} for update skip locked))
       returning id, payload, attempts, created_at as "createdAt"`,
      [new Date(now), new Date(now + ATTEMPT_MS)],
    );
    const accepted = await Promise.all(due.map((one) => attemptDelivery(parts, hook, one, signal)));
    const isRefused = accepted.some((isAccepted) => !isAccepted);
    if (isRefused) log.warn('the hook after calls did not accept records; they are sent again later', {});
    if (due.length < AT_ONCE || isRefused) return;
  }
}

async function giveUpAll({ database, clock }: HookDeliveryParts): Promise<void> {
  const sql = `update call_hook_deliveries set state = 'FAILED', settled_at = $1, payload = null,
      error = 'there is no hook after calls any more'
    where id = any (array(
      select id from call_hook_deliveries where state = 'WAITING' order by id limit ${CHUNK_ROWS}
      for update skip locked))`;
  await changeInChunks(database, { sql, values: [new Date(clock.now())] });
}

async function purge({ database, clock, keepDays }: HookDeliveryParts, signal: AbortSignal): Promise<void> {
  const sql = `delete from call_hook_deliveries
    where id = any (array(
      select id from call_hook_deliveries where created_at <= $1 and state <> 'WAITING' order by created_at
      limit ${CHUNK_ROWS} for update skip locked))`;
  await changeInChunks(database, { sql, values: [new Date(clock.now() - keepDays * DAY_MS)], signal });
}

function problemOf(answer: WebhookAnswer): string {
  if (answer.outcome === 'failed') return answer.problem;
  const text = new TextDecoder().decode(answer.body).replace(/\p{Cc}+/gu, ' ');
  return text.toWellFormed().trim().slice(0, READ_BYTES) || 'the answer has no body';
}
