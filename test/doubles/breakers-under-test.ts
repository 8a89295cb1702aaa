import type { CallResult, Entry } from '../../src/domain/breakers/breaker.ts';
import { type Breakers, type BreakersParts, createBreakers } from '../../src/domain/breakers/breakers.ts';
import { createManualClock } from './manual-clock.ts';
import { createRecordingLog } from './recording-log.ts';
import { createSteeredMessages } from './steered-messages.ts';

export type Entered = Extract<Entry, { outcome: 'enter' }>;

/** Breakers of one process, on a clock and a shared state that a test holds in its hands. */
export async function openBreakers(own: Partial<BreakersParts> = {}) {
  const clock = createManualClock();
  const sharedState = createSteeredMessages(clock);
  const { log, entries } = createRecordingLog();
  const parts: BreakersParts = { sharedState, clock, log, ...own };
  const breakers = await createBreakers(parts);
  return { clock, sharedState, entries, parts, breakers };
}

/** A call that is let in. */
export async function entered(breakers: Breakers, name: string): Promise<Entered> {
  const entry = await breakers.enter(name);
  if (entry.outcome === 'rejected') throw new Error(`${name} was rejected`);
  return entry;
}

/** Calls one after the other, each ended before the next. */
export async function call(breakers: Breakers, name: string, ...results: CallResult[]): Promise<void> {
  for (const result of results) (await entered(breakers, name)).report(result);
}

export const FIVE_FAILURES = Array.from({ length: 5 }, () => 'failure' as const);
