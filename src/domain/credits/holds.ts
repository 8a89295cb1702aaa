import type { Clock } from '../../ports/clock.ts';
import type { Statements } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import { type AccountLevel, readLevel, spendable } from './account-level.ts';
import { createLevelReads } from './hold-levels.ts';
import { BALANCE_LEVEL, KEPT_MS, levelOf, type SharedLevel } from './publish-level.ts';

/** Whose credits a call spends, and by when. */
export interface Payer {
  readonly companyId: string;
  /** Null where the platform calls for the company. */
  readonly keyId: string | null;
  readonly monthlyLimitMicro: bigint | null;
  readonly startedAtMs: number;
}

/** What a call holds while it runs; `limits` takes it in one step with the key's own. */
export interface Hold {
  readonly of: 'balance' | 'key-spending';
  readonly name: string;
  readonly amount: number;
  readonly maxAgeMs: number;
  readonly graceMs: number;
  read(): Promise<SharedLevel | null>;
}

/** What a commit says of the levels that it changed. */
export interface ChangedLevels {
  readonly level: AccountLevel | null;
  readonly spending: {
    readonly month: string;
    readonly spentMicro: bigint;
    readonly version: bigint;
  } | null;
}

export interface CreditHolds {
  /** The company's balance, and where the key has a monthly limit what is left of it. */
  of(payer: Payer, amountMicro: number): readonly Hold[];
  levelsAfter(payer: Payer, changed: ChangedLevels): readonly SharedLevel[];
}

export interface CreditHoldParts {
  readonly database: Statements;
  readonly clock: Clock;
  readonly log: Log;
  /** How old a level may be: the longest that a posting whose message was lost takes to count. */
  readonly maxAgeMs?: number;
  /** How long a level that was known stays usable while the database is away. */
  readonly graceMs?: number;
}

const MAX_AGE_MS = 5_000;

/**
 * Holds against credits (G-29). The levels live in shared state beside what is held against them: every commit and
 * every posting writes them there with the account's version, and one that is missing or older than `maxAgeMs` is read
 * from the database. While that is away the last known level serves for `graceMs`: what calls cost meanwhile stays
 * held, so the level is still bounded by what it was. That fails open for the grace time; afterwards it fails closed.
 */
export function createCreditHolds(parts: CreditHoldParts): CreditHolds {
  const { database, maxAgeMs = MAX_AGE_MS, graceMs = KEPT_MS } = parts;
  const reads = createLevelReads<SharedLevel>(parts);

  async function readBalance(companyId: string): Promise<SharedLevel> {
    const level = await readLevel(database, companyId);
    if (level === null) throw new Error(`the company ${companyId} has no credit account`);
    return levelOf(level);
  }

  async function readSpending(
    companyId: string,
    { keyId, month, limitMicro }: KeyMonth,
  ): Promise<SharedLevel> {
    const [row] = await database.query<{ version: bigint; spentMicro: bigint }>(SPENT, [
      companyId,
      keyId,
      month,
    ]);
    if (row === undefined) throw new Error(`the company ${companyId} has no credit account`);
    return spendingLevel({ keyId, month, limitMicro }, row.spentMicro, row.version);
  }

  return {
    of(payer, amount) {
      const { companyId } = payer;
      // Not tried for nothing by every call of an outage.
      const ages = { maxAgeMs: reads.isAnswering() ? maxAgeMs : graceMs, graceMs };
      const balance: Hold = {
        of: 'balance',
        name: BALANCE_LEVEL,
        amount,
        ...ages,
        read: () => reads.read(companyId, () => readBalance(companyId)),
      };
      const keyMonth = keyMonthOf(payer);
      if (keyMonth === null) return [balance];
      const name = spendingName(keyMonth);
      const read = () => reads.read(`${companyId} ${name}`, () => readSpending(companyId, keyMonth));
      return [balance, { of: 'key-spending', name, amount, ...ages, read }];
    },
    levelsAfter(payer, { level, spending }) {
      const levels = level === null ? [] : [levelOf(level)];
      const keyMonth = spending === null ? null : keyMonthOf(payer);
      // A call is counted in the month it began in, by the commit as by its hold.
      if (spending !== null && keyMonth?.month === spending.month) {
        levels.push(spendingLevel(keyMonth, spending.spentMicro, spending.version));
      }
      return levels;
    },
  };
}

interface KeyMonth {
  readonly keyId: string;
  /** Its first day, UTC. */
  readonly month: string;
  readonly limitMicro: bigint;
}

function keyMonthOf({ keyId, monthlyLimitMicro, startedAtMs }: Payer): KeyMonth | null {
  if (keyId === null || monthlyLimitMicro === null) return null;
  return { keyId, limitMicro: monthlyLimitMicro, month: monthOf(startedAtMs) };
}

export function monthOf(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 7)}-01`;
}

/** The limit is in it: one that was changed is another level. */
function spendingName({ keyId, month, limitMicro }: KeyMonth): string {
  return `spend-left ${keyId} ${month} ${limitMicro}`;
}

function spendingLevel(keyMonth: KeyMonth, spentMicro: bigint, version: bigint): SharedLevel {
  const { keyId: accountId, limitMicro } = keyMonth;
  const value = spendable({ accountId, balanceMicro: limitMicro - spentMicro, lineMicro: 0n, version });
  return { name: spendingName(keyMonth), value, version: Number(version), ttlMs: KEPT_MS };
}

/** In one statement, so that both are of one moment. */
const SPENT = `select account.version, coalesce(spent.charge_micro, 0)::bigint as "spentMicro"
  from credit_accounts as account
  left join key_months as spent on spent.key_id = $2 and spent.month = $3::date
  where account.id = $1`;
