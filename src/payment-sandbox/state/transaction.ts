import type Stripe from 'stripe';
import type { Clock } from '../../ports/clock.ts';
import type { Database, Statements } from '../../ports/database.ts';
import { isObject } from '../../ports/json-object.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { noSuch } from '../api-errors.ts';
import { shown } from '../objects/billing.ts';
import { type Emission, emitEvent, enabledEndpoints, readSwitches, writeSwitches } from './events.ts';
import {
  type Bodies,
  createObjectStore,
  type HiddenOf,
  type Kind,
  type ObjectStore,
  readAhead,
  type StoredObject,
} from './object-store.ts';

export interface World {
  /** Runs as one transaction; concurrent changes are serialized. */
  change<T>(work: (turn: Turn, statements: Statements) => Promise<T>, how?: ChangeOptions): Promise<T>;
  /** The result that a change would have: it is made and rolled back. */
  preview<T>(work: (turn: Turn) => Promise<T>): Promise<T>;
  readonly objects: ObjectStore;
  /** In seconds, by the sandbox's clock. */
  now(): Promise<number>;
  newId(prefix: string, length?: number): string;
}

interface ChangeOptions {
  /** The time of the change if it is not now, in seconds of the sandbox's clock. */
  readonly at?: number;
  readonly request?: Emission['request'];
}

/** One change of the sandbox: its objects and events are stored together, or not at all. */
export interface Turn {
  readonly objects: ObjectStore;
  /** In seconds, by the sandbox's clock. */
  readonly now: number;
  /** The address of the sandbox's pages for users. */
  readonly baseUrl: string;
  /** A prefix and random letters and digits, like the provider's ids. */
  newId(prefix: string, length?: number): string;
  emit(type: Stripe.Event.Type, object: object, previous?: object): Promise<void>;
  /** True as many times as the switch was set to, then false. */
  takeSwitch(name: 'finalization_failure'): Promise<boolean>;
}

interface WorldOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly baseUrl: () => string;
}

/** The advisory lock of the sandbox's changes: an arbitrary number, which must not change. */
const LOCK = 7_261_907;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 24;

export function createWorld({ database, clock, secrets, baseUrl }: WorldOptions): World {
  function newId(prefix: string, length = ID_LENGTH): string {
    // 62 characters for 256 values: the first eight are slightly more likely, which is harmless for an id.
    const letters = [...secrets.randomBytes(length)].map((byte) => ALPHABET[byte % ALPHABET.length]);
    return `${prefix}${letters.join('')}`;
  }

  const change: World['change'] = (work, { at, request = null } = {}) =>
    database.transaction(async (transaction) => {
      await transaction.query('select pg_advisory_xact_lock($1)', [LOCK]);
      const realNowMs = clock.now();
      const now = at ?? Math.floor(realNowMs / 1000) + (await readAhead(transaction));
      const objects = createObjectStore(transaction);
      let listed: ReturnType<Emission['endpoints']> | null = null;
      const endpoints = () => {
        listed ??= enabledEndpoints(objects);
        return listed;
      };
      const statements = transaction;
      const emission: Emission = { objects, statements, now, realNowMs, request, newId, endpoints };
      const turn: Turn = {
        objects,
        now,
        baseUrl: baseUrl(),
        newId,
        emit: (type, object, previous) => emitEvent(emission, type, shown(object), previous ?? null),
        async takeSwitch(name) {
          const switches = await readSwitches(transaction);
          if (switches[name] === 0) return false;
          await writeSwitches(transaction, { ...switches, [name]: switches[name] - 1 });
          return true;
        },
      };
      return await work(turn, transaction);
    });

  return {
    newId,
    objects: createObjectStore(database),
    now: async () => Math.floor(clock.now() / 1000) + (await readAhead(database)),
    change,

    async preview(work) {
      const found: { value?: Awaited<ReturnType<typeof work>> } = {};
      const taken = new Error('a preview is taken back');
      await change(async (turn) => {
        found.value = await work(turn);
        throw taken;
      }).catch((error: unknown) => {
        if (error !== taken) throw error;
      });
      return found.value as Awaited<ReturnType<typeof work>>;
    },
  };
}

export async function need<K extends Kind>(
  turn: Pick<Turn, 'objects'>,
  kind: K,
  id: string,
  param: string,
  status: 400 | 404 = 400,
): Promise<StoredObject<K>> {
  const found = await turn.objects.find(kind, id);
  if (found === null) throw noSuch(kind, id, param, status);
  return found;
}

/** Stores the object and emits the previous values. No event is emitted if nothing changed. */
export async function storeUpdate<K extends Kind>(
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

/** The old values of changed fields; for a nested object only its changed parts, for a list all of it. */
export function differences(before: object, after: object): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  const newer = after as Record<string, unknown>;
  for (const [name, old] of Object.entries(before)) {
    const now = newer[name];
    if (JSON.stringify(old) === JSON.stringify(now)) continue;
    const isNested = isObject(old) && isObject(now);
    found[name] = isNested ? differences(old, now) : old;
  }
  for (const name of Object.keys(after)) if (!(name in before)) found[name] = null;
  return found;
}

/** Objects of the API refer to others by id, or contain them if that was requested. */
export function idIn(reference: string | { readonly id: string } | null): string | null {
  return typeof reference === 'string' || reference === null ? reference : reference.id;
}
