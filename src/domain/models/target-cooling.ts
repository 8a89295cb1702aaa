import { z } from 'zod';
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SharedState } from '../../ports/shared-state.ts';

interface TargetCoolingParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  readonly sharedState: Pick<SharedState, 'publish' | 'subscribe'>;
}

/** A target whose provider limits its rate (429), is overloaded (529) or refuses its key (401, 402, 403, 407). */
export interface Cooling {
  /** The status, for example 429. */
  readonly reason: string;
  readonly untilMs: number;
}

/**
 * Cooling targets, each one model with one key at one provider. Until their time has passed they are tried last in
 * every process, and readiness shows them. Cooling never refuses a call: some of these statuses are caused by a single
 * request (a 429 for a prompt above the whole rate, a 403 for its content), and one client must not block a model for
 * others.
 */
export interface TargetCooling {
  /** `waitMs` is the provider's wait time; null if it gave none. */
  cool(targetId: string, reason: string, waitMs: number | null): void;
  /** The key works again, which ends cooling except after a 429: calls within the rate may still succeed. */
  noteSuccess(targetId: string): void;
  /** 0 if it is not cooling. */
  untilMs(targetId: string): number;
  isEmpty(): boolean;
  /** Forgets all targets but these, which limits memory. */
  keepOnly(targetIds: ReadonlySet<string>): void;
  of(targetId: string): Cooling | null;
  close(): Promise<void>;
}

/** Used if a 429 or 529 gives no time. Most limits are per minute and refill gradually. */
export const RATE_LIMITED_MS = 5_000;
/** Until a refused key is tried again; an operator has to act in the meantime. */
const REFUSED_MS = 60_000;
const LONGEST_MS = 3_600_000;
/** The same status is published again only if the target cools at least a second longer. */
const SHARE_AGAIN_MS = 1_000;
const TOPIC = 'target-cooling';
const RATE_LIMITED = '429';
const OVERLOADED = '529';

const message = z.object({
  targetId: z.string().min(1).max(100),
  reason: z.string().regex(/^\d{3}$/),
  /** A duration, because the clocks of machines differ. */
  forMs: z.int().nonnegative().max(LONGEST_MS),
});

export async function createTargetCooling({
  clock,
  log,
  sharedState,
}: TargetCoolingParts): Promise<TargetCooling> {
  const cooling = new Map<string, Cooling>();
  let known: ReadonlySet<string> = new Set();
  /** Our own messages that have not been received yet. They are ignored: by then the target may be free again. */
  const published = new Set<string>();

  /** True if this is news. */
  function note({ targetId, reason, forMs }: z.output<typeof message>): boolean {
    // A call may end after its target was replaced.
    if (!known.has(targetId)) return false;
    const nowMs = clock.now();
    const before = cooling.get(targetId);
    const untilMs = nowMs + forMs;
    const isKnown = before?.reason === reason && before.untilMs > nowMs;
    if (isKnown && untilMs < before.untilMs + SHARE_AGAIN_MS) return false;
    cooling.set(targetId, { reason, untilMs });
    return true;
  }

  const subscription = await sharedState.subscribe(
    TOPIC,
    (text) => {
      if (published.delete(text)) return;
      const read = readMessage(text);
      if (read !== null) note(read);
    },
    () => published.clear(),
  );

  return {
    cool(targetId, reason, waitMs) {
      const forMs = coolingMs(reason, waitMs);
      const news = { targetId, reason, forMs };
      if (!note(news)) return;
      log.warn('a model target cools: it is tried last', {
        targetId,
        reason,
        seconds: Math.ceil(forMs / 1_000),
      });
      // If the message is lost, the other processes find out on their own.
      const text = JSON.stringify(news);
      published.add(text);
      sharedState.publish(TOPIC, text).catch(() => published.delete(text));
    },
    noteSuccess(targetId) {
      if (cooling.size === 0) return;
      const { reason, untilMs } = cooling.get(targetId) ?? { reason: RATE_LIMITED, untilMs: 0 };
      if (reason !== RATE_LIMITED || untilMs <= clock.now()) cooling.delete(targetId);
    },
    untilMs: (targetId) => cooling.get(targetId)?.untilMs ?? 0,
    isEmpty: () => cooling.size === 0,
    keepOnly(targetIds) {
      known = targetIds;
      for (const id of cooling.keys()) if (!targetIds.has(id)) cooling.delete(id);
    },
    of(targetId) {
      const found = cooling.get(targetId);
      return found !== undefined && found.untilMs > clock.now() ? found : null;
    },
    close: subscription.close,
  };
}

/** How long a target cools after this status; `waitMs` is the provider's wait time. */
export function coolingMs(reason: string, waitMs: number | null): number {
  const isShort = reason === RATE_LIMITED || reason === OVERLOADED;
  const usualMs = isShort ? RATE_LIMITED_MS : REFUSED_MS;
  return Math.min(Math.max(1, waitMs ?? usualMs), LONGEST_MS);
}

/** Null for a message that only another version of this program understands. */
function readMessage(text: string): z.output<typeof message> | null {
  try {
    return message.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}
