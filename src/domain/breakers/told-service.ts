import type { Clock } from '../../ports/clock.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import type { BreakerState, LastError } from './breaker.ts';
import { BREAKERS_TOPIC, readToldView, viewKey, writeToldView } from './told-view.ts';

export interface ToldServiceParts {
  readonly sharedState: Pick<SharedState, 'get' | 'set' | 'publish'>;
  readonly clock: Clock;
}

/** A service as all processes agree on it, for a process that calls none itself. */
export interface ToldService {
  readonly state: BreakerState;
  readonly lastError: LastError | null;
  /** Past while it is half-open, null while it is closed. */
  readonly nextTryAtMs: number | null;
}

/** As long as the processes themselves keep what they tell. */
const KEPT_MS = 24 * 3_600_000;

/** Null where nobody has told anything of it lately: then it was not opened. */
export async function readToldService(
  { sharedState, clock }: ToldServiceParts,
  name: string,
): Promise<ToldService | null> {
  const kept = await sharedState.get(viewKey(name));
  const told = kept === null ? null : readToldView(kept);
  if (told === null) return null;
  const { lastError, view } = told;
  if (view.state === 'closed') return { state: 'closed', lastError, nextTryAtMs: null };
  const state = clock.now() >= view.untilMs ? 'half-open' : 'open';
  return { state, lastError, nextTryAtMs: view.untilMs };
}

/**
 * A person says that the service is well again: it is closed everywhere, by a view of a later epoch, which every
 * process takes over at the message or within half a second. A process that finds it failing meanwhile opens it anew.
 */
export async function resetToldService(
  { sharedState, clock }: ToldServiceParts,
  name: string,
): Promise<{ readonly outcome: 'reset' | 'closed-before' }> {
  const kept = await sharedState.get(viewKey(name));
  const told = kept === null ? null : readToldView(kept);
  if (told === null || told.view.state === 'closed') return { outcome: 'closed-before' };
  const view = { state: 'closed', epoch: Math.max(clock.now(), told.view.epoch + 1), untilMs: 0 } as const;
  const text = writeToldView({ name, view, toldAtMs: clock.now(), lastError: told.lastError });
  await sharedState.set(viewKey(name), text, KEPT_MS);
  await sharedState.publish(BREAKERS_TOPIC, text);
  return { outcome: 'reset' };
}
