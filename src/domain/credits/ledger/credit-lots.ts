import type { Statements, Transaction } from '../../../ports/database.ts';
import type { AccountLevel } from './credit-account.ts';

/**
 * Credits that expire are lots: an amount and a moment (decisions/0053). Charges do not know of lots. What is left of each
 * follows from the postings of its account, in their order:
 *
 * - What is spent, or taken by an operator, counts against the lot that expires first; credits that never expire are last.
 * - What is taken back because its payment was refunded, disputed or credited counts against the lot of that payment
 *   first; where that payment brought credits that never expire, against those.
 * - A debt is paid by the next credits, whichever they are: a lot begins with what its account has above zero.
 *
 * So what is left of all lots is never more than the balance above zero. `left_micro` is that as of `counted_version` of
 * the account; a job advances both, so that a read sums only some minutes of charges.
 */
interface CountedLot {
  readonly version: bigint;
  readonly leftMicro: bigint;
  readonly countedVersion: bigint;
  readonly expiresAt: Date;
  readonly label: string | null;
}

/** The company's side of a transfer to one of its users; `turnpike audit` compares it with the other side. */
export const COMPANY_SIDE = 'credits-to-user';
/** Of a transfer that returns all that a user's account holds, including a debt. */
export const RETURN_PREFIX = 'return:';

/** Makes the credits of a posting expire. */
export interface Expiry {
  readonly at: Date;
  /** By the clock that decides when it expires. */
  readonly grantedAt: Date;
  /** What the credits belong to, if its end may move: `trial:sub_1`. */
  readonly subject: string | null;
  /** What they were granted for, for display; up to 300 characters. */
  readonly label: string;
}

/** The posting that granted credits. */
export interface GrantSource {
  readonly sourceKind: string;
  readonly sourceId: string;
}

/** Runs with the posting that grants it, which left the account at `level`. */
export async function insertLot(
  transaction: Transaction,
  level: AccountLevel,
  { amountMicro, expires }: { readonly amountMicro: bigint; readonly expires: Expiry },
): Promise<void> {
  const { accountId, version, balanceMicro } = level;
  // The part that paid a debt is already spent.
  const leftMicro = least(amountMicro, aboveZero(balanceMicro));
  await transaction.query(
    `insert into credit_lots (account_id, version, amount_micro, expires_at, subject, left_micro, counted_version,
       granted_at, label)
     values ($1, $2, $3, $4, $5, $6, $2, $7, $8)`,
    [
      ...[accountId, version, amountMicro, expires.at, expires.subject, leftMicro],
      ...[expires.grantedAt, expires.label.slice(0, LONGEST_LABEL)],
    ],
  );
}

const LONGEST_LABEL = 300;

/** Sums that can no longer change, with the range of versions that they cover. */
interface SpentSoFar {
  readonly version: bigint;
  readonly sums: ReadonlyMap<string, bigint>;
}

/**
 * What an account with lots has spent since they were counted. Versions are assigned under the account's lock, so this
 * is correct without it: call it before locking, and only the rest is added up while charges wait.
 */
export async function addUpSpent(statements: Statements, accountId: string): Promise<SpentSoFar> {
  const [account] = await statements.query<{ version: bigint }>(
    'select version from credit_accounts where id = $1',
    [accountId],
  );
  const version = account?.version ?? 0n;
  const sums = new Map<string, bigint>();
  for (const [after, until] of stretches(await openLots(statements, accountId, version), [version])) {
    sums.set(`${after}:${until}`, await spentBetween(statements, accountId, after, until));
  }
  return { version, sums };
}

/**
 * Updates the open lots of an account to what is left of them at a version. Requires the lock of the account or of the
 * lots.
 */
export async function countLots(
  transaction: Transaction,
  accountId: string,
  { spentSoFar, untilVersion }: { readonly spentSoFar?: SpentSoFar; readonly untilVersion: bigint },
): Promise<readonly CountedLot[]> {
  const lots = await openLots(transaction, accountId, untilVersion);
  const counted = await settle(transaction, accountId, lots, { spentSoFar, untilVersion });
  for (const [at, lot] of counted.entries()) {
    if (lot.countedVersion === lots[at]?.countedVersion) continue;
    await writeCounted(transaction, accountId, lot);
  }
  return counted;
}

/**
 * The same without writing it. The spending between two grants is taken from the lots that existed then, in the order
 * of their expiry.
 */
async function settle(
  statements: Statements,
  accountId: string,
  lots: readonly CountedLot[],
  {
    spentSoFar,
    untilVersion,
  }: { readonly spentSoFar?: SpentSoFar | undefined; readonly untilVersion: bigint },
): Promise<readonly CountedLot[]> {
  const left = lots.map(({ leftMicro }) => leftMicro);
  const ends = spentSoFar === undefined ? [untilVersion] : [spentSoFar.version, untilVersion];
  for (const [after, until] of stretches(lots, ends)) {
    const known = spentSoFar?.sums.get(`${after}:${until}`);
    let spent = known ?? (await spentBetween(statements, accountId, after, until));
    for (const [index, { countedVersion }] of lots.entries()) {
      if (countedVersion > after) continue;
      const taken = least(spent, left[index] ?? 0n);
      left[index] = (left[index] ?? 0n) - taken;
      spent -= taken;
    }
  }
  return lots.map((lot, index) => ({
    ...lot,
    leftMicro: left[index] ?? 0n,
    countedVersion: lot.countedVersion > untilVersion ? lot.countedVersion : untilVersion,
  }));
}

/**
 * Takes back what a payment granted, under the account's lock. `before` is the level without it; `grant` is the posting
 * of that payment, null if it granted nothing that is known by its source.
 */
export async function takeBack(
  transaction: Transaction,
  before: AccountLevel,
  { amountMicro, grant }: { readonly amountMicro: bigint; readonly grant: GrantSource | null },
): Promise<void> {
  const { accountId, balanceMicro, version } = before;
  const lots = await countLots(transaction, accountId, { untilVersion: version });
  if (lots.length === 0) return;
  const own = grant === null ? null : await findLotOf(transaction, grant);
  const lastingMicro = aboveZero(balanceMicro - lots.reduce((sum, { leftMicro }) => sum + leftMicro, 0n));
  let rest = own === null ? amountMicro - least(amountMicro, lastingMicro) : amountMicro;
  const isOwn = (lot: CountedLot) => own?.accountId === accountId && own.version === lot.version;
  for (const lot of [...lots.filter(isOwn), ...lots.filter((one) => !isOwn(one))]) {
    const taken = least(rest, lot.leftMicro);
    rest -= taken;
    await writeCounted(
      transaction,
      accountId,
      { ...lot, leftMicro: lot.leftMicro - taken, countedVersion: version + 1n },
      isOwn(lot) ? taken : 0n,
    );
  }
}

async function writeCounted(
  transaction: Transaction,
  accountId: string,
  { version, leftMicro, countedVersion }: CountedLot,
  takenBackMicro = 0n,
): Promise<void> {
  await transaction.query(
    `update credit_lots set left_micro = $3, counted_version = $4, taken_back_micro = taken_back_micro + $5
     where account_id = $1 and version = $2`,
    [accountId, version, leftMicro, countedVersion, takenBackMicro],
  );
}

/**
 * How much of an account's balance will expire, at its level under the lock. Call it before locking: it adds up earlier
 * spending first, and the returned function adds only the rest.
 */
export async function countExpiring(
  transaction: Transaction,
  accountId: string,
): Promise<(level: AccountLevel) => Promise<bigint>> {
  const spentSoFar = await addUpSpent(transaction, accountId);
  return async ({ version }) => {
    const lots = await countLots(transaction, accountId, { spentSoFar, untilVersion: version });
    return lots.reduce((sum, { leftMicro }) => sum + leftMicro, 0n);
  };
}

/** The credits expire at another time than was known: a trial was shortened or extended. */
export async function moveExpiry(
  transaction: Transaction,
  {
    accountId,
    subject,
    expiresAt,
  }: { readonly accountId: string; readonly subject: string; readonly expiresAt: Date },
): Promise<void> {
  await transaction.query(
    `update credit_lots set expires_at = $3
     where account_id = $1 and subject = $2 and expired_at is null and expires_at <> $3`,
    [accountId, subject, expiresAt],
  );
}

/** A lot for display. */
export interface CreditLot {
  readonly accountId: string;
  /** The version of the transaction that granted it. */
  readonly version: bigint;
  readonly amountMicro: bigint;
  readonly leftMicro: bigint;
  readonly expiresAt: Date;
  readonly grantedAt: Date;
  readonly label: string | null;
}

/** The lots of an account that have something left, in the order of their expiry. */
export async function listLots(
  statements: Statements,
  accountId: string,
  { first }: { readonly first: number },
): Promise<readonly CreditLot[]> {
  const [account] = await statements.query<{ version: bigint }>(
    'select version from credit_accounts where id = $1',
    [accountId],
  );
  if (account === undefined) return [];
  const lots = await openLots(statements, accountId, account.version);
  const counted = await settle(statements, accountId, lots, { untilVersion: account.version });
  const shown = counted.filter(({ leftMicro }) => leftMicro > 0n).slice(0, first);
  const granted = await statements.query<{ version: bigint; amountMicro: bigint; grantedAt: Date }>(
    `select lot.version, lot.amount_micro as "amountMicro", coalesce(lot.granted_at, posted.created_at) as "grantedAt"
     from credit_lots as lot join credit_transactions as posted using (account_id, version)
     where lot.account_id = $1 and lot.version = any($2::bigint[])`,
    [accountId, shown.map(({ version }) => version)],
  );
  const byVersion = new Map(granted.map((row) => [row.version, row]));
  return shown.flatMap(({ version, leftMicro, expiresAt, label }) => {
    const row = byVersion.get(version);
    return row === undefined ? [] : [{ accountId, leftMicro, expiresAt, label, ...row }];
  });
}

interface LotOfSource {
  readonly accountId: string;
  readonly version: bigint;
  readonly expiresAt: Date;
  readonly grantedAt: Date;
  readonly subject: string | null;
  readonly label: string | null;
  /** What its expiry took; 0 before that. */
  readonly expiredMicro: bigint;
  /** What returns of its payment took of it, before it expired. */
  readonly takenBackMicro: bigint;
}

/** The lot of a posting; null if its credits never expire, or if there is no such posting. */
export async function findLotOf(
  statements: Statements,
  { sourceKind, sourceId }: GrantSource,
): Promise<LotOfSource | null> {
  const [row] = await statements.query<LotOfSource>(
    `select account_id as "accountId", version, expires_at as "expiresAt", subject, label,
       coalesce(granted_at, posted.created_at) as "grantedAt", coalesce(expired_micro, 0) as "expiredMicro",
       taken_back_micro as "takenBackMicro"
     from credit_transactions as posted join credit_lots using (account_id, version)
     where source_kind = $1 and source_id = $2`,
    [sourceKind, sourceId],
  );
  return row ?? null;
}

/** From each lot's counted version to the next, and finally to the end; none before the first lot. */
function stretches(lots: readonly CountedLot[], ends: readonly bigint[]): [bigint, bigint][] {
  const starts = lots.map(({ countedVersion }) => countedVersion);
  const first = starts.reduce((soFar, start) => least(soFar, start), starts[0] ?? 0n);
  const marks = [...new Set([...starts, ...ends])]
    .filter((version) => lots.length > 0 && version >= first)
    .sort((one, other) => (one < other ? -1 : 1));
  return marks.slice(1).map((until, at) => [marks[at] ?? 0n, until]);
}

/** In the order of their expiry. */
async function openLots(
  statements: Statements,
  accountId: string,
  untilVersion: bigint,
): Promise<readonly CountedLot[]> {
  return await statements.query<CountedLot>(
    `select version, left_micro as "leftMicro", counted_version as "countedVersion", expires_at as "expiresAt", label
     from credit_lots where account_id = $1 and expired_at is null and version <= $2
     order by expires_at, version`,
    [accountId, untilVersion],
  );
}

/**
 * Transfers to users are excluded: only credits that do not expire are moved. A debt that a user leaves behind counts
 * as spent.
 */
async function spentBetween(
  statements: Statements,
  accountId: string,
  afterVersion: bigint,
  untilVersion: bigint,
): Promise<bigint> {
  const [row] = await statements.query<{ spent: bigint }>(
    `select coalesce(sum(-amount_micro), 0)::bigint as spent from credit_transactions
     where account_id = $1 and version > $2 and version <= $3 and amount_micro < 0 and type <> 'EXPIRY'
       and (source_kind <> $4 or starts_with(source_id, $5))`,
    [accountId, afterVersion, untilVersion, COMPANY_SIDE, RETURN_PREFIX],
  );
  return row?.spent ?? 0n;
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

function aboveZero(micro: bigint): bigint {
  return micro > 0n ? micro : 0n;
}
