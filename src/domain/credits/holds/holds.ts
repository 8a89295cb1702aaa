import type { Clock } from '../../../ports/clock.ts';
import { isDatabaseUnavailable, type Statements, type Transaction } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import type { SharedState } from '../../../ports/shared-state.ts';
import { firstDayOfMonth } from '../billing-month.ts';
import {
  type BudgetMonth,
  budgetHoldName,
  budgetLevel,
  budgetLevelName,
  budgetLevelsAfter,
  readBudgetSpending,
} from '../budgets/budget-levels.ts';
import type { BudgetSpending, CallBudget } from '../budgets/call-budgets.ts';
import {
  type AccountLevel,
  BALANCE_LEVEL,
  LEVEL_KEPT_MS,
  readLevel,
  type SharedLevel,
  sharedLevelOf,
  userBalanceLevel,
} from '../ledger/credit-account.ts';

/** Whose credits a call spends, and by when. */
export interface Payer {
  readonly companyId: string;
  /** Null for calls that the platform makes for the company. */
  readonly keyId: string | null;
  /** The key whose id its spending is held under: the first of its rotations. Undefined if that is the key itself. */
  readonly spendingKeyId?: string;
  readonly monthlyLimitMicro: bigint | null;
  readonly startedAtMs: number;
  /** The user whose balance pays; null if the company's does. */
  readonly userId: string | null;
  /** The company's budgets that the call is counted against; undefined if there are none. */
  readonly budgets?: readonly CallBudget[] | undefined;
}

/** What a call holds while it runs. `limits` reserves it in one step with the key's own limits. */
interface Hold {
  readonly of: 'balance' | 'key-spending' | 'budget';
  readonly name: string;
  readonly level: string;
  /** What a limit allows, added to a level of what was spent. */
  readonly plus?: number;
  readonly amount: number;
  readonly rule?: 'fits' | 'room';
  readonly maxAgeMs: number;
  readonly graceMs: number;
  read(): Promise<SharedLevel | null>;
}

/** The levels that a commit changed. */
interface ChangedLevels {
  readonly level: AccountLevel | null;
  readonly spending: {
    readonly month: string;
    readonly spentMicro: bigint;
    readonly version: bigint;
  } | null;
  /** Of the budgets that the call was admitted under. */
  readonly budgets?: readonly BudgetSpending[] | undefined;
}

export interface CreditHolds {
  /**
   * Holds against the balance of the company, or of the user who pays; against the rest of the key's monthly limit, if
   * it has one, and of each hard budget.
   */
  of(payer: Payer, amountMicro: number): readonly Hold[];
  levelsAfter(payer: Payer, changed: ChangedLevels): readonly SharedLevel[];
}

interface CreditHoldParts {
  readonly database: Statements;
  readonly clock: Clock;
  readonly log: Log;
  /** The maximum age of a level: the longest delay of a posting whose message was lost. */
  readonly maxAgeMs?: number;
  /** How long a known level stays usable while the database is unavailable. */
  readonly graceMs?: number;
}

const MAX_AGE_MS = 5_000;

/**
 * Holds against credits (G-29). The levels live in shared state beside what is held against them: every commit and
 * every posting writes them there with the account's version, and one that is missing or older than `maxAgeMs` is read
 * from the database. While that is unavailable the last known level serves for `graceMs`: what calls cost meanwhile stays
 * held, so the level is still bounded by what it was. That fails open for the grace time; afterwards it fails closed.
 */
export function createCreditHolds(parts: CreditHoldParts): CreditHolds {
  const { database, maxAgeMs = MAX_AGE_MS, graceMs = LEVEL_KEPT_MS } = parts;
  const reads = createLevelReads<SharedLevel>(parts);

  async function readBalance(accountId: string, name: string): Promise<SharedLevel> {
    const level = await readLevel(database, accountId);
    if (level === null) throw new Error(`there is no credit account ${accountId}`);
    return sharedLevelOf(level, name);
  }

  async function readSpending(
    accountId: string,
    { keyId, month, limitMicro }: KeyMonth,
  ): Promise<SharedLevel> {
    const [row] = await database.query<{ version: bigint; spentMicro: bigint }>(SPENT, [
      accountId,
      keyId,
      month,
    ]);
    if (row === undefined) throw new Error(`there is no credit account ${accountId}`);
    return spendingLevel({ keyId, month, limitMicro }, row.spentMicro, row.version);
  }

  async function readBudget(of: BudgetMonth): Promise<SharedLevel> {
    return budgetLevel(of, await readBudgetSpending(database, of.companyId, of.budget, of.month));
  }

  return {
    of(payer, amount) {
      const accountId = payer.userId ?? payer.companyId;
      const name = balanceLevelOf(payer);
      // During an outage, calls do not each try the database.
      const ages = { maxAgeMs: reads.isAnswering() ? maxAgeMs : graceMs, graceMs };
      const readOwn = () => reads.read(accountId, () => readBalance(accountId, name));
      const balance: Hold = { of: 'balance', name, level: name, amount, ...ages, read: readOwn };
      const keyMonth = keyMonthOf(payer);
      if (keyMonth === null && payer.budgets === undefined) return [balance];
      // After an outage, the first read finds out whether the database answers; the others wait for it.
      const readBehind = (level: string, ask: () => Promise<SharedLevel>) => async () =>
        reads.isUnavailable() && (await readOwn()) === null
          ? null
          : await reads.read(`${accountId} ${level}`, ask);
      const all = [balance];
      if (keyMonth !== null) {
        const level = spendingLevelName(keyMonth);
        const read = readBehind(level, () => readSpending(accountId, keyMonth));
        const plus = Number(keyMonth.limitMicro < MOST_LIMIT_MICRO ? keyMonth.limitMicro : MOST_LIMIT_MICRO);
        all.push({ of: 'key-spending', name: spendingName(keyMonth), level, plus, amount, ...ages, read });
      }
      for (const budget of payer.budgets ?? []) {
        if (!budget.isHard) continue;
        const of = { companyId: payer.companyId, budget, month: firstDayOfMonth(payer.startedAtMs) };
        const level = budgetLevelName(of);
        const read = readBehind(level, () => readBudget(of));
        const plus = budget.mostMicro;
        all.push({ of: 'budget', name: budgetHoldName(of), level, plus, amount, ...ages, read });
      }
      return all;
    },
    levelsAfter(payer, { level, spending, budgets }) {
      const levels = level === null ? [] : [sharedLevelOf(level, balanceLevelOf(payer))];
      const keyMonth = spending === null ? null : keyMonthOf(payer);
      // A call is counted in the month in which it began, by both its hold and its commit.
      if (spending !== null && keyMonth?.month === spending.month) {
        levels.push(spendingLevel(keyMonth, spending.spentMicro, spending.version));
      }
      if (budgets === undefined || payer.budgets === undefined) return levels;
      return levels.concat(budgetLevelsAfter(payer.companyId, payer.budgets, budgets));
    },
  };
}

function balanceLevelOf({ userId }: Payer): string {
  return userId === null ? BALANCE_LEVEL : userBalanceLevel(userId);
}

/**
 * A key's spending in a month, together with the keys that it was rotated from and to, as its limit counts it; `month`
 * is its first day.
 */
export async function readKeyMonth(statements: Statements, keyId: string, month: string): Promise<bigint> {
  const [row] = await statements.query<{ spentMicro: bigint }>(
    'select key_spending($1, $2::date) as "spentMicro"',
    [keyId, month],
  );
  return row?.spentMicro ?? 0n;
}

/** Adds charges to a key that are not calls; `day` is any day of the month. */
export async function addKeySpending(
  transaction: Transaction,
  { keyId, day, chargeMicro }: { readonly keyId: string; readonly day: string; readonly chargeMicro: bigint },
): Promise<void> {
  await transaction.query(
    `insert into key_months as present (key_id, month, charge_micro)
     values ($1, date_trunc('month', $2::date)::date, $3)
     on conflict (key_id, month) do update set charge_micro = present.charge_micro + excluded.charge_micro`,
    [keyId, day, chargeMicro],
  );
}

interface KeyMonth {
  /** The first of its rotations. */
  readonly keyId: string;
  /** Its first day, UTC. */
  readonly month: string;
  readonly limitMicro: bigint;
}

function keyMonthOf({ keyId, spendingKeyId, monthlyLimitMicro, startedAtMs }: Payer): KeyMonth | null {
  if (keyId === null || monthlyLimitMicro === null) return null;
  return {
    keyId: spendingKeyId ?? keyId,
    limitMicro: monthlyLimitMicro,
    month: firstDayOfMonth(startedAtMs),
  };
}

/** Without the limit: what running calls hold also counts against a limit that was changed in the meantime. */
function spendingName({ keyId, month }: KeyMonth): string {
  return `spending ${keyId} ${month}`;
}

/**
 * Without the limit, which a hold adds: a call counts against a limit that was changed while it ran, and against that of
 * a rotation of its key, as soon as it is charged.
 */
function spendingLevelName({ keyId, month }: KeyMonth): string {
  return `spent ${keyId} ${month}`;
}

/** What was spent, below zero. */
function spendingLevel(keyMonth: KeyMonth, spentMicro: bigint, version: bigint): SharedLevel {
  const value = -Number(spentMicro < MOST_LIMIT_MICRO ? spentMicro : MOST_LIMIT_MICRO);
  return { name: spendingLevelName(keyMonth), value, version: Number(version), ttlMs: LEVEL_KEPT_MS };
}

/** Shared state's amounts end at 2^53: nine billion credits. */
const MOST_LIMIT_MICRO = BigInt(Number.MAX_SAFE_INTEGER);

/** In one statement, so that both are consistent. */
const SPENT = `select account.version, key_spending($2, $3::date) as "spentMicro"
  from credit_accounts as account where account.id = $1`;

/** After this long without an answer the database counts as unavailable: the call uses what is known. */
const TIMEOUT_MS = 1_000;
/** How long an unavailable database is not queried. Then one call tries it again. */
const RETRY_DELAY_MS = 1_000;

interface LevelReads<Level> {
  /** False right after the database did not answer. */
  isAnswering(): boolean;
  /** The database did not answer the last query. */
  isUnavailable(): boolean;
  /** Null if the database is unavailable. Concurrent callers with the same name share one query. */
  read(name: string, ask: () => Promise<Level>): Promise<Level | null>;
}

/**
 * Reads levels, each by one query at a time, and remembers for a moment that the database is unavailable, so that an
 * unresponsive one does not delay every call. A statement that the database rejects is a bug of ours and does not pass
 * by waiting: the call rejects. Fails closed.
 */
function createLevelReads<Level>({ clock, log }: { clock: Clock; log: Log }): LevelReads<Level> {
  const running = new Map<string, Promise<Level | null>>();
  let isUnavailable = false;
  let retryAtMs = 0;

  function noteFailure(error: unknown): void {
    retryAtMs = clock.uptimeMs() + RETRY_DELAY_MS;
    if (!isUnavailable)
      log.warn('credit levels cannot be read; the last known ones serve for a while', { error });
    isUnavailable = true;
  }

  async function askOnce(ask: () => Promise<Level>): Promise<Level | null> {
    const late = Promise.withResolvers<null>();
    const timeout = clock.after(TIMEOUT_MS, () => {
      noteFailure(`no answer within ${TIMEOUT_MS} ms`);
      late.resolve(null);
    });
    const answer = ask().then(
      (level) => {
        if (isUnavailable) log.info('credit levels can be read again');
        isUnavailable = false;
        retryAtMs = 0;
        return level;
      },
      (error: unknown) => {
        if (!isDatabaseUnavailable(error)) throw error;
        noteFailure(error);
        return null;
      },
    );
    try {
      return await Promise.race([answer, late.promise]);
    } finally {
      timeout.cancel();
    }
  }

  return {
    isAnswering: () => clock.uptimeMs() >= retryAtMs,
    isUnavailable: () => isUnavailable,
    async read(name, ask) {
      const known = running.get(name);
      if (known !== undefined) return await known;
      const nowMs = clock.uptimeMs();
      if (nowMs < retryAtMs) return null;
      // After an outage, one call tries for all.
      if (isUnavailable) retryAtMs = nowMs + TIMEOUT_MS;
      const reading = askOnce(ask).finally(() => running.delete(name));
      running.set(name, reading);
      return await reading;
    },
  };
}

/** Micro-credits per million tokens. */
interface EstimatePrices {
  readonly promptMicro: bigint;
  readonly completionMicro: bigint;
  readonly cacheWriteMicro?: bigint | null | undefined;
}

const TOKENS_PER_PRICE = 1_000_000;
/**
 * Both factors of an estimate come from the client. Held amounts are summed within 2^53, so a single one is limited
 * such that 500 of them fit: 17 million credits.
 */
const MOST_HELD_MICRO = 2 ** 44;

/**
 * What a call is expected to cost, in micro-credits, rounded up. Cached prompt tokens are cheaper and not known
 * beforehand, so all of the prompt counts whole. The factor is that of the dearest tier that may serve it. The factor of
 * hour writes is given if the prompt may be written to the provider's cache for an hour, and that of the completion if it
 * differs from that of the prompt.
 */
export function estimateCost(
  price: EstimatePrices | null,
  { promptTokens, completionTokens }: { readonly promptTokens: number; readonly completionTokens: number },
  factorMillionths = 1_000_000,
  hourWriteFactorMillionths = 1_000_000,
  completionFactorMillionths = factorMillionths,
): number {
  if (price === null) return 0;
  // The whole prompt may be written to the provider's cache.
  const written =
    (Number(price.cacheWriteMicro ?? price.promptMicro) * hourWriteFactorMillionths) / 1_000_000;
  const dearest = Math.max(Number(price.promptMicro), written);
  const prompt = promptTokens * dearest;
  const completion = completionTokens * Number(price.completionMicro);
  if (completionFactorMillionths !== factorMillionths) {
    const both = prompt * factorMillionths + completion * completionFactorMillionths;
    return Math.min(Math.ceil(both / TOKENS_PER_PRICE / 1_000_000), MOST_HELD_MICRO);
  }
  const cost = (prompt + completion) / TOKENS_PER_PRICE;
  const due = factorMillionths === 1_000_000 ? cost : (cost * factorMillionths) / 1_000_000;
  return Math.min(Math.ceil(due), MOST_HELD_MICRO);
}

export type HeldCredits = (companyId: string, userId?: string | null) => Promise<bigint | null>;

/** A probe: an entry of no call that holds nothing and expires at once. */
const LOOK = { entry: 'look', amount: 0, ttlMs: 1, rule: 'room', limit: Number.MAX_SAFE_INTEGER } as const;

/**
 * What a company's running calls hold against its balance, or against that of one of its users, in micro-credits. For
 * display only. Null while shared state is unavailable: each process then knows only its own calls.
 */
export function createHeldCredits(parts: {
  readonly sharedState: SharedState;
  readonly log: Log;
  /** Credits of ended calls are held until they are charged. */
  readonly chargeDeferred?: (() => Promise<unknown>) | undefined;
}): HeldCredits {
  const { sharedState, log, chargeDeferred } = parts;
  return async (companyId, userId = null) => {
    const name = userId === null ? BALANCE_LEVEL : userBalanceLevel(userId);
    try {
      await chargeDeferred?.();
      const looked = await sharedState.reserve(companyId, [{ kind: 'held', name, ...LOOK }]);
      return looked.outcome === 'level-unknown' ? null : BigInt(looked.limitStates[0]?.used ?? 0);
    } catch (error) {
      log.debug('what calls in flight hold cannot be seen', { companyId, error });
      return null;
    }
  };
}
