import type { Clock, Timer } from '../../../ports/clock.ts';
import type { DatabaseFailure, Statements, Transaction } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import type { SharedState } from '../../../ports/shared-state.ts';
import { type CallBudget, type CompanyBudgets, companyBudgets } from '../budgets/call-budgets.ts';
import { INVOICE_COLUMNS, type Invoice } from '../invoices/invoice.ts';
import {
  type AccountLevel,
  COMPANIES_TOPIC,
  type CompanyBalance,
  LEVEL_COLUMNS,
  spendable,
} from '../ledger/credit-account.ts';

interface BillingStatusesParts {
  readonly database: Statements;
  readonly sharedState: SharedState;
  readonly clock: Clock;
  readonly log: Log;
  readonly maxEntries?: number;
  /** How old an answer of the database may be: the longest that a payment whose message was lost takes to count. */
  readonly freshMs?: number;
  /** How long the last known standing serves while the database is unavailable. */
  readonly graceMs?: number;
}

export interface BillingStatuses {
  /** At once where the answer is fresh, which for a company in steady use it always is. Null: it cannot be known. */
  find(companyId: string): BillingStatus | null | Promise<BillingStatus | null>;
  close(): Promise<void>;
}

interface Known {
  readonly standing: BillingStatus;
  /** When the database was asked, not when it answered. */
  readonly askedAtMs: number;
  /** A message said that it has changed: it serves only while the database is unavailable. */
  isOutdated: boolean;
}

/** A company that is being asked for. One that a message has overtaken is asked for again. */
interface Question {
  readonly answer: Promise<BillingStatus | null>;
  readonly resolve: (standing: BillingStatus | null | Promise<BillingStatus | null>) => void;
  isOvertaken: boolean;
}

const MAX_ENTRIES = 100_000;
const FRESH_MS = 1_000;
const GRACE_MS = 10 * 60_000;
/** Nothing waits for those that are asked ahead of time, so they gather. */
const GATHER_MS = 25;
const MOST_AT_ONCE = 500;
/** After so long without an answer the database counts as away, and for so long it is then left alone. */
const PATIENCE_MS = 1_000;

/**
 * The gateway's look at what companies owe. A message drops a company at once; without it no answer is used for
 * longer than `freshMs`, and one in use is asked for again in the background before anybody has to wait. Many
 * companies go in one statement, each at most once at a time. While the database is unavailable the last known standing
 * serves for `graceMs`: fails open for companies that fall due in that time and were not yet known to owe.
 */
export async function createBillingStatuses(parts: BillingStatusesParts): Promise<BillingStatuses> {
  const { database, sharedState, clock, log, freshMs = FRESH_MS, graceMs = GRACE_MS } = parts;
  const maxEntries = parts.maxEntries ?? MAX_ENTRIES;
  const known = new Map<string, Known>();
  const waiting = new Map<string, Question>();
  const sent = new Map<string, Question>();
  let timer: Timer | null = null;
  let isSendDue = false;
  let isAway = false;
  let leftAloneUntil = 0;

  function find(companyId: string): BillingStatus | null | Promise<BillingStatus | null> {
    const entry = known.get(companyId);
    if (entry === undefined) return ask(companyId, false);
    // A clock that was set back makes no entry younger than it is.
    const ageMs = Math.abs(clock.now() - entry.askedAtMs);
    if (ageMs < freshMs / 2 && !entry.isOutdated) return entry.standing;
    // While the database is unavailable, a look in the background finds out for all when it is back.
    if ((ageMs < freshMs && !entry.isOutdated) || (isAway && ageMs < graceMs)) {
      void ask(companyId, true);
      return entry.standing;
    }
    return ask(companyId, false);
  }

  function ask(companyId: string, isAhead: boolean): Promise<BillingStatus | null> {
    const asked = waiting.get(companyId) ?? sent.get(companyId);
    if (asked !== undefined && !asked.isOvertaken) {
      if (!isAhead) sendSoon();
      return asked.answer;
    }
    if (isLeftAlone()) return Promise.resolve(lastKnown(companyId));
    const { promise: answer, resolve } = Promise.withResolvers<BillingStatus | null>();
    waiting.set(companyId, { answer, resolve, isOvertaken: false });
    if (isAhead) timer ??= clock.after(GATHER_MS, () => void send());
    else sendSoon();
    return answer;
  }

  /** Behind everything that asks in the same turn. */
  function sendSoon(): void {
    if (isSendDue) return;
    isSendDue = true;
    queueMicrotask(() => void send());
  }

  async function send(): Promise<void> {
    isSendDue = false;
    timer?.cancel();
    timer = null;
    while (waiting.size > 0) {
      const batch = new Map([...waiting].slice(0, MOST_AT_ONCE));
      for (const [companyId, question] of batch) {
        waiting.delete(companyId);
        sent.set(companyId, question);
      }
      void readBatch(batch);
    }
  }

  async function readBatch(batch: ReadonlyMap<string, Question>): Promise<void> {
    const askedAtMs = clock.now();
    const patience = clock.after(PATIENCE_MS, () => {
      fallSilent(`no answer within ${PATIENCE_MS} ms`);
      for (const [companyId, { resolve }] of batch) resolve(lastKnown(companyId));
    });
    try {
      const standings = await readBillingStatuses(database, [...batch.keys()]);
      speak();
      for (const [companyId, question] of batch) {
        const standing = standings.get(companyId) ?? GOOD_BILLING_STATUS;
        if (question.isOvertaken) question.resolve(ask(companyId, false));
        else question.resolve(keep(companyId, { standing, askedAtMs, isOutdated: false }));
      }
    } catch (error) {
      // A refused statement is a fault of ours and passes with no time. Fails closed.
      const isRefused = (error as Partial<DatabaseFailure>).reason === 'refused';
      if (isRefused) log.error('the look at what companies owe is refused', { error });
      else fallSilent(error);
      for (const [companyId, { resolve }] of batch) resolve(isRefused ? null : lastKnown(companyId));
    } finally {
      patience.cancel();
      for (const [companyId, question] of batch) {
        if (sent.get(companyId) === question) sent.delete(companyId);
      }
    }
  }

  function keep(companyId: string, entry: Known): BillingStatus {
    known.delete(companyId);
    known.set(companyId, entry);
    if (known.size > maxEntries) {
      // A company in use is asked for every second, so the first is the one that was not used for longest.
      const oldest = known.keys().next();
      if (!oldest.done) known.delete(oldest.value);
    }
    return entry.standing;
  }

  function lastKnown(companyId: string): BillingStatus | null {
    const entry = known.get(companyId);
    if (entry === undefined || Math.abs(clock.now() - entry.askedAtMs) >= graceMs) return null;
    return entry.standing;
  }

  function isLeftAlone(): boolean {
    return clock.uptimeMs() < leftAloneUntil;
  }

  function fallSilent(error: unknown): void {
    leftAloneUntil = clock.uptimeMs() + PATIENCE_MS;
    if (!isAway) log.warn('what companies owe cannot be read; the last known serves for a while', { error });
    isAway = true;
  }

  function speak(): void {
    if (isAway) log.info('what companies owe can be read again');
    isAway = false;
    leftAloneUntil = 0;
  }

  const subscription = await sharedState.subscribe(
    COMPANIES_TOPIC,
    (companyId) => {
      const entry = known.get(companyId);
      if (entry !== undefined) entry.isOutdated = true;
      const question = sent.get(companyId);
      if (question !== undefined) question.isOvertaken = true;
    },
    () => {
      for (const entry of known.values()) entry.isOutdated = true;
      for (const question of sent.values()) question.isOvertaken = true;
    },
  );

  return {
    find,
    async close() {
      timer?.cancel();
      await subscription.close();
    },
  };
}

/** Whether a company's calls are held back for what it owes. */
interface BillingStatus {
  /** The earliest due date of its open invoices: from then on its keys open no model. Null where nothing is open. */
  readonly blockedFromMs: number | null;
  /**
   * Its account is below zero and its credit line. Balances of its users pay for nothing until that is settled: otherwise
   * credits could be moved to a user, refunded, and spent.
   */
  readonly isInDebt: boolean;
  /** Null without any, which costs its calls nothing. */
  readonly budgets: CompanyBudgets | null;
}

const GOOD_BILLING_STATUS: BillingStatus = { blockedFromMs: null, isInDebt: false, budgets: null };

/** Compared at each call: an invoice becomes due without an event. */
export function isBlocked({ blockedFromMs }: Pick<BillingStatus, 'blockedFromMs'>, nowMs: number): boolean {
  return blockedFromMs !== null && blockedFromMs <= nowMs;
}

/**
 * Companies with an unpaid invoice, a debt or budgets and how they stand; who is not among them stands well and has no budget. Only POSTPAID companies are
 * blocked by invoices (G-32): one that has been made PREPAID since pays before it calls.
 */
async function readBillingStatuses(
  statements: Statements,
  companyIds: readonly string[],
): Promise<ReadonlyMap<string, BillingStatus>> {
  const rows = await statements.query<StatusRow>(
    `with owed as (
       select invoice.company_id, min(invoice.due_at) as due_at
       from invoices as invoice join companies as company on company.id = invoice.company_id
       where invoice.company_id = any($1::uuid[]) and invoice.status in ('OPEN', 'UNCOLLECTIBLE')
         and invoice.due_at is not null
         and company.billing_mode = 'POSTPAID'
       group by invoice.company_id),
     budgeted as (
       select company_id, json_agg(json_build_object('id', id, 'scope', scope, 'subject', subject, 'mostMicro', monthly_micro,
         'isHard', is_hard)) as list
       from budgets where company_id = any($1::uuid[]) group by company_id)
     select id as "companyId", due_at as "dueAt", coalesce(balance_micro < -line_micro, false) as "isInDebt",
       list as budgets
     from credit_accounts left join owed on owed.company_id = id left join budgeted on budgeted.company_id = id
     where id = any($1::uuid[]) and (due_at is not null or balance_micro < -line_micro or list is not null)`,
    [companyIds],
  );
  return new Map(
    rows.map(({ companyId, dueAt, isInDebt, budgets }) => [
      companyId,
      {
        blockedFromMs: dueAt?.getTime() ?? null,
        isInDebt,
        budgets: budgets === null ? null : companyBudgets(budgets),
      },
    ]),
  );
}

interface StatusRow {
  readonly companyId: string;
  readonly dueAt: Date | null;
  readonly isInDebt: boolean;
  readonly budgets: readonly CallBudget[] | null;
}

/**
 * From when on the company's invoices block it: the earliest due date of those that are unpaid, which may lie ahead.
 * Null where nothing blocks it, and for a PREPAID company, whose calls depend on its balance alone.
 */
export async function overdueSince(statements: Statements, companyId: string): Promise<Date | null> {
  const dueMs = (await readBillingStatuses(statements, [companyId])).get(companyId)?.blockedFromMs ?? null;
  return dueMs === null ? null : new Date(dueMs);
}

/**
 * Invoices that block their company from now on and whose admins have not been mailed. Each is returned to one caller,
 * once, provided that its transaction commits: the caller mails the invoice in the same transaction.
 */
export async function takeOverdueInvoices(
  transaction: Transaction,
  { now, limit }: { readonly now: Date; readonly limit: number },
): Promise<readonly Invoice[]> {
  return await transaction.query<Invoice>(
    `update invoices set overdue_mailed_at = $1
     where id = any (array(
       select invoice.id from invoices as invoice join companies as company on company.id = invoice.company_id
       where invoice.status in ('OPEN', 'UNCOLLECTIBLE') and invoice.overdue_mailed_at is null and invoice.due_at <= $1
         and company.billing_mode = 'POSTPAID'
       order by invoice.due_at, invoice.id limit $2 for update of invoice skip locked))
     returning ${INVOICE_COLUMNS}`,
    [now, limit],
  );
}

/** Whether a company's calls are answered, in a word: refused with 403 where OVERDUE, with 402 where OUT_OF_CREDITS. */
export type BillingStatusWord = 'GOOD' | 'OUT_OF_CREDITS' | 'OVERDUE';

interface CompanyBillingStatus {
  readonly balance: CompanyBalance;
  readonly word: BillingStatusWord;
}

/** Of many companies at once. A company without an account is not among them. */
export async function readCompanyBillingStatuses(
  statements: Statements,
  companyIds: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, CompanyBillingStatus>> {
  const accounts = await statements.query<AccountLevel & { readonly updatedAt: Date }>(
    `select ${LEVEL_COLUMNS}, updated_at as "updatedAt" from credit_accounts where id = any($1::uuid[])`,
    [companyIds],
  );
  const owed = await readBillingStatuses(statements, companyIds);
  return new Map(
    accounts.map((account) => {
      const { accountId, balanceMicro, updatedAt } = account;
      const isOverdue = isBlocked(owed.get(accountId) ?? GOOD_BILLING_STATUS, nowMs);
      const word = isOverdue ? 'OVERDUE' : spendable(account) > 0 ? 'GOOD' : 'OUT_OF_CREDITS';
      return [accountId, { balance: { companyId: accountId, balanceMicro, updatedAt }, word }];
    }),
  );
}
