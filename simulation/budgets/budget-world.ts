import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { createHeldCredits } from '../../src/domain/credits/holds/holds.ts';
import { createCipher } from '../../src/domain/models/cipher.ts';
import { setAliasTargets } from '../../src/domain/models/targets.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Database } from '../../src/ports/database.ts';
import type { SharedState } from '../../src/ports/shared-state.ts';
import { createManualClock, type ManualClock } from '../../test/doubles/manual-clock.ts';
import { createMemoryJournal } from '../../test/doubles/memory-journal.ts';
import type { SeededRandom } from '../../test/doubles/seeded-random.ts';
import { createSilentLog } from '../../test/doubles/silent-log.ts';
import { createSimulatedSecrets } from '../frame/secrets.ts';
import { openGatewayProcess } from '../gateway-process.ts';
import { createHeldUpstream, type Tokens } from './upstream.ts';

export const ALIAS = 'svc/chat-default';
/** Odd, so that every charge is rounded. Micro-credits for a million tokens. */
export const PROMPT_PRICE = 1_300_001;
export const COMPLETION_PRICE = 4_700_003;
export const MEMBERS = 2;
const START_MS = Date.UTC(2030, 0, 31, 23, 50);
const HOP_MS = 500;

/** Shared state that can be lost, as by FLUSHALL; messages still arrive. */
export interface LosableState extends SharedState {
  lose(): Promise<void>;
}

export function createLosableState(clock: Pick<Clock, 'uptimeMs'>): LosableState {
  const messages = createInProcessState({ clock });
  let state = createInProcessState({ clock });
  return {
    ...messages,
    reserve: (tag, claims) => state.reserve(tag, claims),
    settle: (tag, settlements) => state.settle(tag, settlements),
    get: (key) => state.get(key),
    set: (key, value, ttlMs) => state.set(key, value, ttlMs),
    setIfAbsent: (key, value, ttlMs) => state.setIfAbsent(key, value, ttlMs),
    delete: (key) => state.delete(key),
    async lose() {
      state = createInProcessState({ clock });
    },
  };
}

export interface BudgetWorldOptions {
  /** As on the embedded engine: one gateway, whose charges are deferred. */
  readonly isDeferred: boolean;
  readonly cacheShareMillionths: number;
  readonly sharedState?: LosableState | undefined;
}

export type BudgetWorld = Awaited<ReturnType<typeof openBudgetWorld>>;

/** A company with members, and the gateways that it calls, in one process and on one clock. */
export async function openBudgetWorld(
  given: Database,
  random: SeededRandom,
  { isDeferred, cacheShareMillionths, sharedState: givenState }: BudgetWorldOptions,
) {
  const manual = createManualClock(START_MS);
  const clock = isDeferred ? manual : withShortWaits(manual);
  const statements = countingStatements(given);
  const { database } = statements;
  const log = createSilentLog();
  const secrets = createSimulatedSecrets(clock, random);
  const sharedState = givenState ?? createLosableState(clock);
  const companyId = secrets.newId();
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  const members = Array.from({ length: MEMBERS }, secrets.newId);
  for (const [at, id] of members.entries()) {
    await database.query(
      `insert into users (id, company_id, email, password_hash, role) values ($1, $2, $3, 'none', 'MEMBER')`,
      [id, companyId, `member-${at}-${id}@example.com`],
    );
  }
  const cipher = createCipher({ masterKeys: ['a master key of sufficient length'], secrets });
  await setAliasTargets({ database, sharedState, secrets, cipher, prefix: 'svc' }, ALIAS, [
    { baseUrl: 'http://models.simulated/v1', model: 'x', apiKey: null, weight: 1 },
  ]);
  await database.query(
    `insert into model_prices (id, alias, prompt_micro, cached_micro, completion_micro, in_force_from)
     values ($1, 'chat-default', $2, $2, $3, '2029-01-01') on conflict do nothing`,
    [secrets.newId(), PROMPT_PRICE, COMPLETION_PRICE],
  );
  const upstream = createHeldUpstream(tokensOfCached);
  const ports = {
    database,
    sharedState,
    clock,
    secrets,
    log,
    upstream,
    cacheShareMillionths,
    countsAhead: false,
  };
  const gateways = [];
  for (let gateway = 0; gateway < (isDeferred ? 1 : 2); gateway += 1) {
    const deferring = isDeferred ? deferringOf(given) : undefined;
    gateways.push(await openGatewayProcess({ ...ports, journal: createMemoryJournal(), deferring }));
  }

  return {
    ...{ companyId, members, database, sharedState, clock, secrets, log, upstream, gateways },
    heldCredits: createHeldCredits({ sharedState, log }),
    nowMs: () => manual.now(),
    idle: statements.idle,
    /** In small steps, with all statements answered in between: no statement seems to take long. */
    async pass(ms: number): Promise<void> {
      for (let leftMs = ms; leftMs > 0; leftMs -= HOP_MS) {
        await statements.idle();
        await manual.advance(Math.min(HOP_MS, leftMs));
      }
      await statements.idle();
    },
    /** The wall clock alone: a day of timers would take long. */
    leap: (ms: number) => manual.step(ms),
    /** Timers of the gateways do not fire any more, and nothing is asked of the database. */
    close: statements.idle,
  };
}

/** The usage of a body that is sent again and again. */
export function tokensOfCached(variant: number): Tokens {
  return { prompt: 20 + variant, completion: 3 + variant };
}

/** The gateways wait for each other for a tenth of a second after a loss, which nobody has to advance. */
function withShortWaits(manual: ManualClock): Clock {
  return {
    ...manual,
    after(ms, work) {
      if (ms > 100) return manual.after(ms, work);
      const immediate = setImmediate(work);
      return { cancel: () => clearImmediate(immediate) };
    },
  };
}

function deferringOf({ deferred }: Database) {
  if (deferred === undefined) throw new Error('this database defers nothing');
  const segment = { clear() {} };
  return {
    writes: deferred,
    writeAheadLog: { append: () => true, rotate: () => segment, close() {} },
    left: () => ({ entries: [], ...segment }),
  };
}

function countingStatements(given: Database) {
  let running = 0;
  const counted = async <T>(work: () => Promise<T>): Promise<T> => {
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
    }
  };
  const database: Database = {
    ...given,
    query: (text, values, options) => counted(() => given.query(text, values, options)),
    script: (text) => counted(() => given.script(text)),
    transaction: (work, options) => counted(() => given.transaction(work, options)),
  };
  /** Nothing is asked of the database, and nothing follows from its last answer. */
  async function idle(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      if (running > 0) quiet = -1;
    }
  }
  return { database, idle };
}
