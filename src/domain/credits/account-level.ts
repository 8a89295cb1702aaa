import type { Statements } from '../../ports/database.ts';

/** What an account holds, at one of its versions: of two levels the one with the higher version is newer. */
export interface AccountLevel {
  readonly accountId: string;
  /** May be below zero. */
  readonly balanceMicro: bigint;
  /** How far below zero calls are still admitted: 0 where prepaid, null for no end. */
  readonly lineMicro: bigint | null;
  readonly version: bigint;
}

const MOST = BigInt(Number.MAX_SAFE_INTEGER);

/** Balance and line together, for shared state, whose amounts end at ±(2^53 - 1): nine billion credits. */
export function spendable({ balanceMicro, lineMicro }: AccountLevel): number {
  if (lineMicro === null) return Number(MOST);
  const whole = balanceMicro + lineMicro;
  if (whole > MOST) return Number(MOST);
  return Number(whole < -MOST ? -MOST : whole);
}

/** Null where there is no such account. */
export async function readLevel(statements: Statements, accountId: string): Promise<AccountLevel | null> {
  const rows = await statements.query<AccountLevel>(
    `select ${LEVEL_COLUMNS} from credit_accounts where id = $1`,
    [accountId],
  );
  return rows[0] ?? null;
}

export const LEVEL_COLUMNS = `id as "accountId", balance_micro as "balanceMicro", line_micro as "lineMicro", version`;
