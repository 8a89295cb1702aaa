import type { Timer } from '../../ports/clock.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { readCharges } from '../calls/call-charges.ts';
import type { FinishedCall } from '../calls/settlement/finished-call.ts';
import { creditsAsNumber } from '../credits/ledger/credit-account.ts';
import { type AfterHook, ATTEMPT_MS, attemptDelivery, type HookDeliveryParts } from './hook-deliveries.ts';

/** Delivers finished calls to the operator's hook, in the background. */
export interface AfterCalls {
  /** Never throws and never waits. */
  note(call: FinishedCall): void;
  counts(): { readonly delivered: number; readonly deferred: number; readonly dropped: number };
  /** Sends the pending records. */
  close(): Promise<void>;
}

interface AfterCallsParts extends Pick<HookDeliveryParts, 'database' | 'clock' | 'log' | 'webhooks'> {
  readonly secrets: Pick<Secrets, 'newId'>;
  readonly hook: AfterHook;
}

/** Calls in one request, and how long the first of them waits for more. */
const BATCH = 100;
const GATHER_MS = 250;
/** About 10 MB. */
const MOST_WAITING = 10_000;
const AGAIN_MS = 2_000;
/**
 * Concurrent requests. While a hook is slow, further batches wait in the table for the job, so that memory is freed as fast
 * as the database stores them.
 */
const MOST_ATTEMPTS = 4;

export function createAfterCalls(parts: AfterCallsParts): AfterCalls {
  const { database, clock, log, hook, secrets } = parts;
  const waiting: FinishedCall[] = [];
  const counts = { delivered: 0, deferred: 0, dropped: 0 };
  const attempts = new Set<Promise<void>>();
  let timer: Timer | null = null;
  let running: Promise<void> | null = null;
  let isClosing = false;

  function later(delayMs: number): void {
    timer ??= clock.after(delayMs, () => {
      timer = null;
      start();
    });
  }

  function start(): void {
    running ??= work().finally(() => {
      running = null;
      if (waiting.length > 0 && !isClosing) later(GATHER_MS);
    });
  }

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, BATCH);
      try {
        await deliver(batch);
        waiting.splice(0, batch.length);
      } catch (error) {
        log.warn('records of calls for the hook after them cannot be stored yet', {
          calls: batch.length,
          error,
        });
        if (isClosing) counts.dropped += waiting.splice(0).length;
        else await clock.sleep(AGAIN_MS);
      }
      if (waiting.length < BATCH && !isClosing) return;
    }
  }

  /** Rejects if the batch was not stored in the table. */
  async function deliver(batch: readonly FinishedCall[]): Promise<void> {
    const charges = await readCharges(
      database,
      batch.map(({ id }) => id),
    );
    const id = secrets.newId();
    const isBusy = attempts.size >= MOST_ATTEMPTS;
    const createdAt = new Date(clock.now());
    const records = batch.map((call) => recordOf(call, charges.get(call.id) ?? null));
    const payload = JSON.stringify({
      ...{ id, object: 'call_hook.after', created_at: createdAt.toISOString(), calls: records },
    });
    await database.query(
      `insert into call_hook_deliveries (id, calls, payload, next_attempt_at, created_at)
       values ($1, $2, $3, $4, $5)`,
      [id, batch.length, payload, new Date(clock.now() + (isBusy ? 0 : ATTEMPT_MS)), createdAt],
    );
    if (isBusy) {
      counts.deferred += batch.length;
      return;
    }
    // If this attempt fails for any reason, the job sends it later.
    const attempt = attemptDelivery(parts, hook, { id, payload, attempts: 0, createdAt })
      .catch(() => false)
      .then((isAccepted) => {
        counts[isAccepted ? 'delivered' : 'deferred'] += batch.length;
        attempts.delete(attempt);
      });
    attempts.add(attempt);
  }

  return {
    note(call) {
      // Reads and repeats of stored answers call no model.
      if (call.alias === null) return;
      if (waiting.length >= MOST_WAITING) {
        counts.dropped += 1;
        return;
      }
      waiting.push(call);
      if (waiting.length === BATCH) {
        timer?.cancel();
        timer = null;
        start();
      } else if (running === null) later(GATHER_MS);
    },
    counts: () => counts,
    async close() {
      isClosing = true;
      timer?.cancel();
      start();
      await running;
      await Promise.all(attempts);
    },
  };
}

/** With the field names of `GET /llm/v1/usage/calls`. */
function recordOf(call: FinishedCall, chargeMicro: bigint | null) {
  const { tokens } = call;
  return {
    id: call.id,
    request_id: call.requestId,
    created_at: new Date(call.startedAtMs).toISOString(),
    company_id: call.companyId,
    key_id: call.keyId,
    project: call.project ?? null,
    endpoint: call.endpoint,
    model: call.alias,
    served_by: call.servedBy ?? null,
    outcome: call.outcome,
    status: call.httpStatus,
    code: call.reason,
    stream: call.streamed,
    prompt_tokens: tokens?.promptTokens ?? 0,
    cached_tokens: tokens?.cachedTokens ?? 0,
    completion_tokens: tokens?.completionTokens ?? 0,
    /** Null if it is not charged yet, because it waits in the journal. */
    credits: chargeMicro === null ? null : creditsAsNumber(chargeMicro),
    first_token_ms: call.firstByteMs,
    duration_ms: call.durationMs,
    user: call.endUser ?? null,
    tags: call.tags ?? [],
  };
}
