import type { Clock } from '../../../ports/clock.ts';
import type { Database, Statements } from '../../../ports/database.ts';
import type { Secrets } from '../../../ports/secrets.ts';
import { type Emission, emitEvent, enabledEndpoints } from './emit-event.ts';
import { createObjectStore, type ObjectStore } from './object-store.ts';
import { readAhead } from './settings.ts';
import { readSwitches, writeSwitches } from './switches.ts';
import type { Turn } from './turn.ts';

export interface WorldOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly baseUrl: () => string;
}

export interface World {
  /** Of several changes at once, one after the other; all of it or nothing. */
  change<T>(work: (turn: Turn, statements: Statements) => Promise<T>, how?: ChangeOptions): Promise<T>;
  readonly objects: ObjectStore;
  /** Seconds, by the sandbox's clock. */
  now(): Promise<number>;
  newId(prefix: string, length?: number): string;
}

export interface ChangeOptions {
  /** At another moment than now, in the sandbox's seconds. */
  readonly at?: number;
  readonly request?: Emission['request'];
}

/** Any number will do, as long as it stays the same: it names the lock of the sandbox's changes. */
const LOCK = 7_261_905;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ID_LENGTH = 24;

export function createWorld({ database, clock, secrets, baseUrl }: WorldOptions): World {
  function newId(prefix: string, length = ID_LENGTH): string {
    // 62 letters out of 256 values: the first eight are a little likelier, which an id can bear.
    const letters = [...secrets.randomBytes(length)].map((byte) => ALPHABET[byte % ALPHABET.length]);
    return `${prefix}${letters.join('')}`;
  }

  return {
    newId,
    objects: createObjectStore(database),
    now: async () => Math.floor(clock.now() / 1000) + (await readAhead(database)),

    change: (work, { at, request = null } = {}) =>
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
          emit: (type, object, previous) => emitEvent(emission, type, object, previous ?? null),
          async takeSwitch(name) {
            const switches = await readSwitches(transaction);
            if (switches[name] === 0) return false;
            await writeSwitches(transaction, { ...switches, [name]: switches[name] - 1 });
            return true;
          },
        };
        return await work(turn, transaction);
      }),
  };
}
