import { z } from 'zod';
import type { BreakerView, LastError } from './breaker.ts';

/** The topic on which every change is told, and where the last one of a service stands. */
export const BREAKERS_TOPIC = 'breakers';
export const viewKey = (name: string) => `breaker:${name}`;
export const trialKey = (name: string, epoch: number) => `breaker:${name}:trial:${epoch}`;

/** What is told to others, or kept for those who come later: their own view, and what the teller's clock said. */
export interface ToldView {
  readonly name: string;
  readonly view: BreakerView;
  readonly toldAtMs: number;
  /** What failed last, as far as the teller knows; other versions of this program may not tell. */
  readonly lastError: LastError | null;
}

export const LONGEST_NAME = 200;
const LONGEST_REASON = 200;

const toldView = z.object({
  name: z.string().min(1).max(LONGEST_NAME),
  state: z.enum(['closed', 'open']),
  epoch: z.int().nonnegative(),
  untilMs: z.int().nonnegative(),
  toldAtMs: z.int().nonnegative(),
  lastError: z
    .object({ reason: z.string().max(LONGEST_REASON), atMs: z.int().nonnegative() })
    .nullish()
    .catch(null),
});

export function writeToldView({ name, view, toldAtMs, lastError }: ToldView): string {
  return JSON.stringify({ name, ...view, toldAtMs, lastError });
}

/** Null for what is not a view: another version of this program may write to the same place. */
export function readToldView(text: string): ToldView | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const read = toldView.safeParse(value);
  if (!read.success) return null;
  const { name, toldAtMs, state, epoch, untilMs, lastError } = read.data;
  return { name, toldAtMs, view: { state, epoch, untilMs }, lastError: lastError ?? null };
}
