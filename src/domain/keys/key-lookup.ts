import type { Clock, Timer } from '../../ports/clock.ts';
import { isDatabaseUnavailable, type Statements } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import { type ApiKey, KEY_COLUMNS, type Scope } from './api-key.ts';

/** The result of looking up a raw key. */
export type KeyLookup =
  | LiveKey
  /** Malformed, never minted, revoked or expired: clients cannot distinguish them (G-25). */
  | { readonly outcome: 'unknown' }
  /** The store is unavailable and the key was not known before: it may be valid, so it is not reported as unknown. */
  | { readonly outcome: 'unavailable' };

/** Limits for all keys of a company together, set by operators; null is no ceiling. */
interface CallCeilings {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly callsInFlight: number | null;
  readonly documentsPerDay: number | null;
}

/** A key with the ceilings that the gateway enforces for its company. */
export interface KeyInUse extends ApiKey {
  /** Null if the company has none. */
  readonly ceilings: CallCeilings | null;
}

/** A live key, with sets in addition to its lists for quick tests. */
export interface LiveKey {
  readonly outcome: 'live';
  readonly key: KeyInUse;
  readonly scopes: ReadonlySet<Scope>;
  /** Null allows every alias. */
  readonly models: ReadonlySet<string> | null;
}

export const UNKNOWN: KeyLookup = { outcome: 'unknown' };
export const UNAVAILABLE: KeyLookup = { outcome: 'unavailable' };

/**
 * Looks up keys in the store, many at a time.
 *
 * A lookup is queued, sent with others in one statement, and settled by its result. A request for the same key joins
 * it, unless it was sent too long ago for its result to count as fresh: then a new lookup replaces it. A message about
 * the key, or a gap in the messages, discards a lookup that was already sent, because its result may be older than the
 * message. The result of a replaced or discarded lookup is never used; its callers wait for another lookup of the key.
 */
interface BatchedLookUps {
  ask(hash: string, urgency: Urgency): Promise<KeyLookup>;
  /** True if the store was unavailable within the last second, or is not answering now. */
  isUnavailable(): boolean;
  discard(hash: string): void;
  discardAll(): void;
  close(): void;
}

/**
 * `ahead`: no call waits for it yet. `known`: a call waits, and the key was live before. `stranger`: a call waits for
 * any other key; these have their own queue, which is served last, so that a flood of random keys does not delay the
 * others.
 */
type Urgency = 'ahead' | 'known' | 'stranger';

interface LookUpParts {
  readonly database: Statements;
  readonly clock: Clock;
  readonly log: Log;
  readonly freshMs: number;
  /** Caches the result and returns it. `key` is null if there is no live key with that hash. */
  readonly settle: (hash: string, key: KeyInUse | null, askedAtMs: number) => KeyLookup;
  /** The result while the store is unavailable; null if there is none to use. */
  readonly settleWithoutStore: (hash: string) => KeyLookup | null;
}

interface LookUp {
  readonly hash: string;
  readonly urgency: Urgency;
  readonly attempt: number;
  readonly answer: Promise<KeyLookup>;
  readonly resolve: (answer: KeyLookup | Promise<KeyLookup>) => void;
  sentAtMs: number | null;
}

const MOST_IN_A_BATCH = 500;
/** While this many statements are running, keys are queued, so batches grow when the store slows down. */
const MOST_BATCHES = 2;
const MOST_WAITING_STRANGERS = 10_000;
/** No call waits for lookups ahead of time, so they are collected. While the store is unavailable they probe it. */
const GATHER_MS = 25;
const GATHER_DURING_OUTAGE_MS = 500;
/** After this long without an answer, known keys are handled as if the store were unavailable. */
const TIMEOUT_MS = 1_000;
/** After this long an unavailable store is asked first again: it may be back, and keys may have been revoked since. */
const UNAVAILABLE_MS = 1_000;
/** Each further attempt requires another message about the key, or another gap, during its lookup. */
const MOST_ATTEMPTS = 5;

export function createBatchedLookUps(parts: LookUpParts): BatchedLookUps {
  const { database, clock, settle, settleWithoutStore } = parts;
  /** The current lookup of each key, by hash. */
  const current = new Map<string, LookUp>();
  const line = createLine();
  const store = createStoreState(parts.log, clock);
  let batches = 0;
  let gathering: Timer | null = null;
  let isSendDue = false;
  let closed = false;

  function ask(hash: string, urgency: Urgency, attempt = 1): Promise<KeyLookup> {
    const running = current.get(hash);
    if (running !== undefined && canJoin(running)) {
      if (urgency !== 'ahead' && running.sentAtMs === null) sendSoon();
      return running.answer;
    }
    if (closed || attempt > MOST_ATTEMPTS || !line.hasRoomFor(urgency)) return Promise.resolve(UNAVAILABLE);
    const { promise: answer, resolve } = Promise.withResolvers<KeyLookup>();
    const lookUp = { hash, urgency, attempt, answer, resolve, sentAtMs: null };
    current.set(hash, lookUp);
    line.add(lookUp);
    if (urgency === 'ahead') gather();
    else sendSoon();
    return answer;
  }

  function canJoin({ sentAtMs }: LookUp): boolean {
    return sentAtMs === null || Math.abs(clock.now() - sentAtMs) < parts.freshMs;
  }

  function gather(): void {
    gathering ??= clock.after(store.isAnswering() ? GATHER_MS : GATHER_DURING_OUTAGE_MS, send);
  }

  /** Sends after everything that is requested in the same turn. */
  function sendSoon(): void {
    if (isSendDue) return;
    isSendDue = true;
    queueMicrotask(send);
  }

  function send(): void {
    isSendDue = false;
    gathering?.cancel();
    gathering = null;
    while (batches < MOST_BATCHES && line.length() > 0) void sendBatch(line.take(MOST_IN_A_BATCH));
  }

  async function sendBatch(batch: readonly LookUp[]): Promise<void> {
    batches += 1;
    const sentAtMs = clock.now();
    for (const lookUp of batch) lookUp.sentAtMs = sentAtMs;
    const hashes = batch.map(({ hash }) => hash);
    const timeout = clock.after(TIMEOUT_MS, () => {
      store.noteTimeout(batch);
      leaveToMemory();
    });
    const found = await findLiveKeys(database, hashes, sentAtMs);
    timeout.cancel();
    batches -= 1;
    store.noteAnswer(batch, found);
    if (found.outcome === 'answered') {
      for (const lookUp of batch) settleOne(lookUp, found.keys.get(lookUp.hash) ?? null, sentAtMs);
    } else {
      // Queued lookups would fail the same way, only later.
      for (const lookUp of [...batch, ...line.take(line.length())]) fail(lookUp);
    }
    send();
  }

  function settleOne(lookUp: LookUp, key: KeyInUse | null, askedAtMs: number): void {
    const { hash, urgency, attempt, resolve } = lookUp;
    if (current.get(hash) === lookUp) {
      current.delete(hash);
      resolve(settle(hash, key, askedAtMs));
    } else {
      resolve(ask(hash, urgency, attempt + 1));
    }
  }

  function fail(lookUp: LookUp): void {
    if (current.get(lookUp.hash) === lookUp) current.delete(lookUp.hash);
    lookUp.resolve(answerWithoutStore(lookUp.hash) ?? UNAVAILABLE);
  }

  /** Null if the statement was refused: that is a fault of ours, which does not pass with time. Fails closed. */
  function answerWithoutStore(hash: string): KeyLookup | null {
    return store.isUnavailable() ? settleWithoutStore(hash) : null;
  }

  /** Answers the callers for whom there is a result without the store. The lookups continue. */
  function leaveToMemory(): void {
    for (const { hash, resolve } of current.values()) {
      const answer = answerWithoutStore(hash);
      if (answer !== null) resolve(answer);
    }
  }

  return {
    ask,
    isUnavailable: store.isUnavailable,
    discard(hash) {
      // A lookup that is still queued is sent after the message, so it sees the change.
      if (current.get(hash)?.sentAtMs != null) current.delete(hash);
    },
    discardAll() {
      for (const [hash, { sentAtMs }] of current) if (sentAtMs !== null) current.delete(hash);
    },
    close() {
      closed = true;
      gathering?.cancel();
      for (const lookUp of line.take(line.length())) fail(lookUp);
    },
  };
}

type FoundKeys =
  | { readonly outcome: 'answered'; readonly keys: ReadonlyMap<string, KeyInUse> }
  /** The store is unavailable: it is unknown which keys are live. */
  | { readonly outcome: 'unavailable'; readonly error: unknown }
  /** The statement itself was refused; waiting does not help. */
  | { readonly outcome: 'broken'; readonly error: unknown };

/** Null for a company without ceilings, so that its calls skip the checks. */
const CEILINGS = `(select json_build_object('requestsPerMinute', own.requests_per_minute,
    'tokensPerMinute', own.tokens_per_minute, 'callsInFlight', own.calls_in_flight,
    'documentsPerDay', own.documents_per_day)
  from company_ceilings as own where own.company_id = api_keys.company_id
    and coalesce(own.requests_per_minute, own.tokens_per_minute, own.calls_in_flight, own.documents_per_day)
      is not null) as ceilings`;

/**
 * Finds the live keys with these hashes in one statement. The statement itself excludes revoked and expired keys, so
 * they cannot be distinguished from keys that never existed, by the result or by its time (G-25).
 */
export async function findLiveKeys(
  statements: Statements,
  hashes: readonly string[],
  nowMs: number,
): Promise<FoundKeys> {
  try {
    const rows = await statements.query<KeyInUse & { hash: string }>(
      `select encode(sha256, 'hex') as hash, ${KEY_COLUMNS}, ${CEILINGS} from api_keys
       where sha256 = any(array(select decode(asked.hash, 'hex') from unnest($1::text[]) as asked (hash)))
         and revoked_at is null and (expires_at is null or expires_at > $2)`,
      [hashes, new Date(nowMs)],
      { isIndependent: true },
    );
    return { outcome: 'answered', keys: new Map(rows.map(({ hash, ...key }) => [hash, key])) };
  } catch (error) {
    return { outcome: isDatabaseUnavailable(error) ? 'unavailable' : 'broken', error };
  }
}

function createLine() {
  const known: LookUp[] = [];
  const strangers: LookUp[] = [];
  return {
    length: () => known.length + strangers.length,
    hasRoomFor: (urgency: Urgency) => urgency !== 'stranger' || strangers.length < MOST_WAITING_STRANGERS,
    add: (lookUp: LookUp) => void (lookUp.urgency === 'stranger' ? strangers : known).push(lookUp),
    take(most: number): LookUp[] {
      const taken = known.splice(0, most);
      return taken.concat(strangers.splice(0, most - taken.length));
    },
  };
}

/** How the store answered last. A change is logged. */
function createStoreState(log: Log, clock: Clock) {
  const silent = new Set<readonly LookUp[]>();
  let last: FoundKeys['outcome'] = 'answered';
  let lastAtMs = 0;

  function note(found: FoundKeys): void {
    lastAtMs = clock.uptimeMs();
    if (found.outcome === last) return;
    last = found.outcome;
    if (found.outcome === 'answered') {
      log.info('keys can be looked up again');
    } else if (found.outcome === 'unavailable') {
      log.warn('keys cannot be looked up; those in use stay valid for a while', { error: found.error });
    } else {
      log.error('the look-up of keys is refused', { error: found.error });
    }
  }

  return {
    isAnswering: () => last === 'answered',
    isUnavailable: () =>
      last === 'unavailable' && (silent.size > 0 || clock.uptimeMs() - lastAtMs < UNAVAILABLE_MS),
    noteTimeout(batch: readonly LookUp[]): void {
      silent.add(batch);
      note({ outcome: 'unavailable', error: `no answer within ${TIMEOUT_MS} ms` });
    },
    noteAnswer(batch: readonly LookUp[], found: FoundKeys): void {
      silent.delete(batch);
      note(found);
    },
  };
}
