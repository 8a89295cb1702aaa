import type Stripe from 'stripe';
import type { Bodies, HiddenOf, Kept, Kind } from './object-kinds.ts';
import type { ObjectStore } from './object-store.ts';
import { noSuch } from './refusal.ts';

/** One change of the sandbox's world: everything in it is kept together with its events, or not at all. */
export interface Turn {
  readonly objects: ObjectStore;
  /** Seconds, by the sandbox's clock. */
  readonly now: number;
  /** Where a person reaches the sandbox's pages. */
  readonly baseUrl: string;
  /** A prefix and random letters and digits, as the provider's ids look. */
  newId(prefix: string, length?: number): string;
  emit(type: Stripe.Event.Type, object: object, previous?: object): Promise<void>;
  /** True as many times as the switch was set to; then false. */
  takeSwitch(name: 'finalization_failure'): Promise<boolean>;
}

export async function need<K extends Kind>(
  turn: Pick<Turn, 'objects'>,
  kind: K,
  id: string,
  param: string,
  status: 400 | 404 = 400,
): Promise<Kept<K>> {
  const found = await turn.objects.find(kind, id);
  if (found === null) throw noSuch(kind, id, param, status);
  return found;
}

/** Keeps the object as it is now and says what it was before. Nothing is said where nothing changed. */
export async function keepUpdate<K extends Kind>(
  turn: Turn,
  kind: K,
  before: Bodies[K],
  after: Bodies[K],
  rest: { hidden: HiddenOf<K>; dueAt?: number | null; event: Stripe.Event.Type },
): Promise<void> {
  await turn.objects.put(kind, after, rest);
  const previous = differences(before, after);
  if (Object.keys(previous).length > 0) await turn.emit(rest.event, after, previous);
}

/** The old values of what changed; of a nested object only its changed parts, of a list all of it. */
export function differences(before: object, after: object): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  const newer = after as Record<string, unknown>;
  for (const [name, old] of Object.entries(before)) {
    const now = newer[name];
    if (JSON.stringify(old) === JSON.stringify(now)) continue;
    const isNested = isPlain(old) && isPlain(now);
    found[name] = isNested ? differences(old, now) : old;
  }
  for (const name of Object.keys(after)) if (!(name in before)) found[name] = null;
  return found;
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object of the wire refers to another by its id, or has it in it where that was asked for. */
export function idIn(reference: string | { readonly id: string } | null): string | null {
  return typeof reference === 'string' || reference === null ? reference : reference.id;
}
