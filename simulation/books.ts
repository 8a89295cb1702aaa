import type { Database } from '../src/ports/database.ts';
import { KEEP_IDEMPOTENCY_KEYS_MS } from './gateway-process.ts';

/** What is known of one try of a client's call. */
export interface Try {
  readonly requestId: string;
  readonly call: number;
  readonly account: string;
  readonly keyId: string;
  readonly limitMicro: bigint | null;
  readonly idempotencyKey: string | null;
  /** What it costs where it is charged. */
  readonly costMicro: bigint;
  /** The provider reports more than a call can use: at most that much is charged. */
  readonly isCapped: boolean;
  /** The process that serves it. */
  readonly process: string;
  readonly begunAtMs: number;
  /** More may be spent than the level allows: shared state was in trouble, its process died, its usage is wrong. */
  isExcused: boolean;
  /** The client has the whole answer. */
  isAcknowledged: boolean;
  /** Nothing of it runs any more. */
  isEnded: boolean;
  /** The database refuses its row, so it is set aside. */
  readonly isBad: boolean;
  /** The provider has answered to the end with usage, to a process that lives and a client that stayed. */
  mustBeChargedByMs: number | null;
  isOver: boolean;
}

interface Entry {
  readonly account: string;
  readonly version: bigint;
  readonly type: string;
  readonly amount: bigint;
  readonly after: bigint;
  readonly sourceKind: string;
  readonly sourceId: string;
  readonly createdAt: Date;
}

interface Account {
  balance: bigint;
  version: bigint;
  line: bigint | null;
  /** How far below zero it may be besides one estimate. */
  excused: bigint;
}

/**
 * Whether two tries under one idempotency key must not both be charged, the second now. A repeat after the key's time
 * is a call of its own; but of a call that waited in a journal meanwhile, the repeat takes the place.
 */
function isSecond(now: Try, before: Try): boolean {
  if (now === before || now.idempotencyKey === null) return false;
  return now.begunAtMs - before.begunAtMs < KEEP_IDEMPOTENCY_KEYS_MS;
}

export class Violation extends Error {}

interface BooksParts {
  readonly database: Database;
  /** The request ids of the calls in all journals. */
  journaled(): ReadonlySet<string>;
  nowMs(): number;
  largestHold(account: string): bigint;
  /** Calls are charged after they have ended, before anyone looks. */
  readonly areDeferred: boolean;
}

/** The books as the database has them, read as they grow, and what must hold for them. */
export function createBooks(parts: BooksParts) {
  const { database } = parts;
  let accounts = new Map<string, Account>();
  let charged = new Map<string, bigint>();
  let posted = new Map<string, bigint>();
  let spent = new Map<string, bigint>();
  const tries = new Map<string, Try>();
  const byCall = new Map<number, Try[]>();
  const postings = new Map<string, bigint>();
  let setAside = new Set<string>();
  const wanted = new Set<Try>();
  /** Tries that may still be charged, by account. */
  const open = new Map<string, Set<Try>>();

  async function read(): Promise<void> {
    const levels = await database.query<{
      id: string;
      balance: bigint;
      line: bigint | null;
      version: bigint;
    }>('select id, balance_micro as balance, line_micro as line, version from credit_accounts');
    for (const { id, balance, line, version } of levels) {
      const account = accounts.get(id) ?? { balance: 0n, version: 0n, line, excused: 0n };
      accounts.set(id, account);
      account.line = line;
      if (version > account.version) await readEntries(id, account);
      if (account.balance !== balance) {
        throw new Violation(`the entries of ${id} sum to ${account.balance}, its balance is ${balance}`);
      }
    }
    if (parts.areDeferred) await readSetAside();
  }

  /** Those that an operator has to repair. */
  async function readSetAside(): Promise<void> {
    const rows = await database.query<{ record: Uint8Array }>(
      'select record from set_aside_calls where resolved_at is null',
    );
    setAside = new Set(
      rows.map(({ record }) => String(JSON.parse(new TextDecoder().decode(record)).requestId)),
    );
  }

  async function readEntries(id: string, account: Account): Promise<void> {
    const entries = await database.query<Entry>(
      `select account_id as account, version, type, amount_micro as amount, balance_after_micro as after,
         source_kind as "sourceKind", source_id as "sourceId", created_at as "createdAt"
       from credit_transactions where account_id = $1 and version > $2 order by version`,
      [id, account.version],
    );
    const calls = entries.filter(({ sourceKind }) => sourceKind === 'call').map(({ sourceId }) => sourceId);
    const rows =
      calls.length === 0
        ? []
        : await database.query<{ id: string; requestId: string }>(
            'select id, request_id as "requestId" from calls where id = any($1::uuid[])',
            [calls],
          );
    const requestOf = new Map(rows.map((row) => [row.id, row.requestId]));
    for (const entry of entries) take(id, account, entry, requestOf.get(entry.sourceId));
  }

  function take(id: string, account: Account, entry: Entry, requestId: string | undefined): void {
    account.balance += entry.amount;
    account.version = entry.version;
    if (entry.after !== account.balance) {
      throw new Violation(
        `entry ${entry.version} of ${id} says ${entry.after}, the sum is ${account.balance}`,
      );
    }
    const source = `${entry.sourceKind} ${entry.sourceId}`;
    if (posted.has(source)) throw new Violation(`${source} is posted twice`);
    posted.set(source, entry.amount);
    if (entry.type === 'USAGE') takeCharge(account, entry, requestId);
    else if (entry.amount < 0n) account.excused -= entry.amount;
    checkOverdraft(id, account, source);
    if (isIdle(id)) account.excused = account.balance < 0n ? -account.balance : 0n;
  }

  function takeCharge(account: Account, { amount, sourceId }: Entry, requestId: string | undefined): void {
    const one = tries.get(requestId ?? '');
    if (requestId === undefined || one === undefined)
      throw new Violation(`call ${sourceId} was charged and was never made`);
    if (charged.has(requestId)) throw new Violation(`${requestId} is charged twice`);
    charged.set(requestId, -amount);
    const isRight = one.isCapped ? -amount <= one.costMicro : -amount === one.costMicro;
    if (!isRight) throw new Violation(`${requestId} costs ${one.costMicro}, charged are ${-amount}`);
    const other = (byCall.get(one.call) ?? []).find(
      (same) => isSecond(one, same) && charged.has(same.requestId),
    );
    if (other !== undefined) {
      throw new Violation(`${one.idempotencyKey} is charged twice: ${other.requestId} and ${requestId}`);
    }
    if (one.isExcused) account.excused -= amount;
    if (one.isOver) open.get(one.account)?.delete(one);
    checkSpending(one, -amount);
  }

  function checkSpending(one: Try, cost: bigint): void {
    if (one.limitMicro === null) return;
    const month = `${one.keyId} ${new Date(parts.nowMs()).toISOString().slice(0, 7)}`;
    const sum = (spent.get(month) ?? 0n) + (one.isExcused ? 0n : cost);
    spent.set(month, sum);
    if (sum > one.limitMicro + parts.largestHold(one.account)) {
      throw new Violation(`key ${one.keyId} has spent ${sum}, its limit is ${one.limitMicro}`);
    }
  }

  function checkOverdraft(id: string, { balance, line, excused }: Account, source: string): void {
    if (line === null) return;
    const below = -(balance + line);
    const bound = parts.largestHold(id) + excused;
    if (below > bound)
      throw new Violation(`${id} is overdrawn by ${below} after ${source}, at most ${bound} is explained`);
  }

  /** Only deferred charges are known to be out of the way of the next call. */
  function isOut({ isEnded, isBad }: Try): boolean {
    return parts.areDeferred && isEnded && !isBad;
  }

  function isIdle(account: string): boolean {
    return (open.get(account)?.size ?? 0) === 0;
  }

  function isWritten(one: Try, journaled: ReadonlySet<string>): boolean {
    const same = one.idempotencyKey === null ? [one] : (byCall.get(one.call) ?? [one]);
    return same.some(
      ({ requestId }) => charged.has(requestId) || journaled.has(requestId) || setAside.has(requestId),
    );
  }

  return {
    tries,
    begin(one: Try): void {
      tries.set(one.requestId, one);
      byCall.set(one.call, [...(byCall.get(one.call) ?? []), one]);
      const others = open.get(one.account) ?? new Set();
      open.set(one.account, others.add(one));
    },
    /** Its client has gone. It stays open while it is in a journal. */
    over(one: Try): void {
      one.isOver = true;
      if (!parts.journaled().has(one.requestId)) open.get(one.account)?.delete(one);
    },
    /** From now on it has to be in the books, or in a journal. */
    want: (one: Try) => void wanted.add(one),
    excuse(): void {
      for (const ones of open.values()) for (const one of ones) one.isExcused = true;
    },
    /** What the process has not acknowledged may be lost. */
    died(process: string): void {
      for (const one of tries.values())
        if (one.process === process && !charged.has(one.requestId)) one.isExcused = true;
      for (const one of wanted) if (one.process === process && !one.isAcknowledged) wanted.delete(one);
    },
    wantPosting: (source: string, amount: bigint) => void postings.set(source, amount),
    /** As it is when all that has ended is charged. */
    levelOf(account: string): bigint {
      let level = accounts.get(account)?.balance ?? 0n;
      for (const one of open.get(account) ?? []) {
        if (one.isAcknowledged && !charged.has(one.requestId)) level -= one.costMicro;
      }
      return level;
    },
    /** No other call of the account runs, or waits in a journal. */
    isIdleBut: (one: Try): boolean =>
      [...(open.get(one.account) ?? [])].every((other) => other === one || isOut(other)),
    /** What any caller can see: calls without an idempotency key, of which a repeat has no row. */
    acknowledged: (): readonly string[] =>
      [...tries.values()]
        .filter(
          ({ isAcknowledged, isBad, idempotencyKey }) => isAcknowledged && !isBad && idempotencyKey === null,
        )
        .map(({ requestId }) => requestId),
    lineOf: (account: string) => accounts.get(account)?.line ?? null,
    /** All that was posted but for usage. */
    isCharged: (requestId: string) => charged.has(requestId),
    read,
    /** The database has lost commits: what was read from it is outdated, and what is lost is excused. */
    async stepBack(): Promise<void> {
      const before = { charged, posted };
      accounts = new Map();
      [charged, posted, spent] = [new Map(), new Map(), new Map()];
      for (const one of tries.values()) one.isExcused = true;
      await read();
      const journaled = parts.journaled();
      for (const one of wanted)
        if (before.charged.has(one.requestId) && !isWritten(one, journaled)) wanted.delete(one);
      for (const one of [...wanted])
        if (one.idempotencyKey !== null && !isWritten(one, journaled)) wanted.delete(one);
      for (const source of postings.keys()) if (!posted.has(source)) postings.delete(source);
    },
    /** In memory: after every step. */
    check(): void {
      const nowMs = parts.nowMs();
      let journaled: ReadonlySet<string> | null = null;
      for (const one of wanted) {
        if (one.costMicro === 0n || charged.has(one.requestId)) {
          wanted.delete(one);
          continue;
        }
        if (!one.isAcknowledged && nowMs < (one.mustBeChargedByMs ?? 0)) continue;
        journaled ??= parts.journaled();
        if (isWritten(one, journaled)) continue;
        const why = one.isAcknowledged ? 'its client has the whole answer' : 'its provider has answered';
        throw new Violation(`${one.requestId} is neither charged nor in a journal, and ${why}`);
      }
      for (const [source, amount] of postings) {
        if (posted.get(source) !== amount)
          throw new Violation(`${source} was acknowledged and is not in the ledger`);
      }
    },
  };
}

export type Books = ReturnType<typeof createBooks>;
