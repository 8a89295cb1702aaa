import type { Clock, Timer } from '../../../ports/clock.ts';
import { isDatabaseUnavailable, type Statements, type Transaction } from '../../../ports/database.ts';
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
  /** The maximum age of a status that was read: the longest delay of a payment whose message was lost. */
  readonly freshMs?: number;
  /** How long the last known status is used while the database is unavailable. */
  readonly graceMs?: number;
}

export interface BillingStatuses {
  /**
   * Synchronous if the status is fresh, which it always is for a company in steady use. Null: it cannot be determined.
   */
  find(companyId: string): BillingStatus | null | Promise<BillingStatus | null>;
  /**
   * For the end of a call: however old it is, unless a message has reported a change. Null if it is not in memory any more,
   * or cannot be read.
   */
  latest(companyId: string): BillingStatus | null | Promise<BillingStatus | null>;
  close(): Promise<void>;
}

interface Known {
  readonly status: BillingStatus;
  /** When the query was sent, not when it was answered. */
  readonly askedAtMs: number;
  /** A message reported a change: it is used only while the database is unavailable. */
  isOutdated: boolean;
}

/** A running query for a company. If a message arrives in the meantime, the company is read again. */
interface Question {
  readonly answer: Promise<BillingStatus | null>;
  readonly resolve: (status: BillingStatus | null | Promise<BillingStatus | null>) => void;
  isOvertaken: boolean;
}

const MAX_ENTRIES = 100_000;
const FRESH_MS = 1_000;
const GRACE_MS = 10 * 60_000;
/** Nothing waits for companies that are read in advance, so they are collected into one statement. */
const GATHER_MS = 25;
const MOST_AT_ONCE = 500;
/** After this long without an answer the database counts as unavailable, and is not queried for the same time. */
const TIMEOUT_MS = 1_000;

/**
 * The gateway's view of what companies owe. A message invalidates a company at once; without it no status is used for
 * longer than `freshMs`, and one in use is refreshed in the background before a call has to wait. Many companies are
 * read in one statement, each at most once at a time. While the database is unavailable the last known status is used
 * for `graceMs`: fails open for companies whose invoices fall due in that time.
 */
export async function createBillingStatuses(parts: BillingStatusesParts): Promise<BillingStatuses> {
  const { database, sharedState, clock, log, freshMs = FRESH_MS, graceMs = GRACE_MS } = parts;
  const maxEntries = parts.maxEntries ?? MAX_ENTRIES;
  const known = new Map<string, Known>();
  const waiting = new Map<string, Question>();
  const sent = new Map<string, Question>();
  let timer: Timer | null = null;
  let isSendDue = false;
  let isUnavailable = false;
  let retryAtMs = 0;

  function find(companyId: string): BillingStatus | null | Promise<BillingStatus | null> {
    const entry = known.get(companyId);
    if (entry === undefined) return ask(companyId, false);
    // Absolute, so that a clock that was set back does not make an entry younger.
    const ageMs = Math.abs(clock.now() - entry.askedAtMs);
    if (ageMs < freshMs / 2 && !entry.isOutdated) return entry.status;
    // While the database is unavailable, one query in the background finds out when it is back.
    if ((ageMs < freshMs && !entry.isOutdated) || (isUnavailable && ageMs < graceMs)) {
      void ask(companyId, true);
      return entry.status;
    }
    return ask(companyId, false);
  }

  function ask(companyId: string, isAhead: boolean): Promise<BillingStatus | null> {
    const question = waiting.get(companyId) ?? sent.get(companyId);
    if (question !== undefined && !question.isOvertaken) {
      if (!isAhead) sendSoon();
      return question.answer;
    }
    if (isPaused()) return Promise.resolve(lastKnown(companyId));
    const { promise: answer, resolve } = Promise.withResolvers<BillingStatus | null>();
    waiting.set(companyId, { answer, resolve, isOvertaken: false });
    if (isAhead) timer ??= clock.after(GATHER_MS, () => void send());
    else sendSoon();
    return answer;
  }

  /** After all calls of this turn have asked. */
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
    const timeout = clock.after(TIMEOUT_MS, () => {
      noteFailure(`no answer within ${TIMEOUT_MS} ms`);
      for (const [companyId, { resolve }] of batch) resolve(lastKnown(companyId));
    });
    try {
      const billingStatuses = await readBillingStatuses(database, [...batch.keys()]);
      noteAnswer();
      for (const [companyId, question] of batch) {
        const status = billingStatuses.get(companyId) ?? GOOD_BILLING_STATUS;
        if (question.isOvertaken) question.resolve(ask(companyId, false));
        else question.resolve(keep(companyId, { status, askedAtMs, isOutdated: false }));
      }
    } catch (error) {
      // A rejected statement is a bug of ours and does not pass by waiting. Fails closed.
      const isRefused = !isDatabaseUnavailable(error);
      if (isRefused) log.error('the look at what companies owe is refused', { error });
      else noteFailure(error);
      for (const [companyId, { resolve }] of batch) resolve(isRefused ? null : lastKnown(companyId));
    } finally {
      timeout.cancel();
      for (const [companyId, question] of batch) {
        if (sent.get(companyId) === question) sent.delete(companyId);
      }
    }
  }

  function keep(companyId: string, entry: Known): BillingStatus {
    known.delete(companyId);
    known.set(companyId, entry);
    if (known.size > maxEntries) {
      // Companies in use are read every second, so the first entry is the least recently used.
      const oldest = known.keys().next();
      if (!oldest.done) known.delete(oldest.value);
    }
    return entry.status;
  }

  function lastKnown(companyId: string): BillingStatus | null {
    const entry = known.get(companyId);
    if (entry === undefined || Math.abs(clock.now() - entry.askedAtMs) >= graceMs) return null;
    return entry.status;
  }

  function isPaused(): boolean {
    return clock.uptimeMs() < retryAtMs;
  }

  function noteFailure(error: unknown): void {
    retryAtMs = clock.uptimeMs() + TIMEOUT_MS;
    if (!isUnavailable)
      log.warn('what companies owe cannot be read; the last known serves for a while', { error });
    isUnavailable = true;
  }

  function noteAnswer(): void {
    if (isUnavailable) log.info('what companies owe can be read again');
    isUnavailable = false;
    retryAtMs = 0;
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
    latest(companyId) {
      const entry = known.get(companyId);
      return entry?.isOutdated === true ? find(companyId) : (entry?.status ?? null);
    },
    async close() {
      timer?.cancel();
      await subscription.close();
    },
  };
}

/** Whether a company's calls are refused for what it owes, or because it is suspended. */
export interface BillingStatus {
  /** Why operators have suspended it; null if they have not. */
  readonly suspendedFor: string | null;
  /**
   * The earliest due date of its open invoices: from then on its keys cannot call models. Null if no invoice is open.
   */
  readonly blockedFromMs: number | null;
  /**
   * Its account is below zero and its credit line. Balances of its users pay for nothing until that is settled:
   * otherwise credits could be moved to a user, refunded, and spent.
   */
  readonly isInDebt: boolean;
  /** Null if there are none, which costs its calls nothing. */
  readonly budgets: CompanyBudgets | null;
}

const GOOD_BILLING_STATUS: BillingStatus = {
  ...{ suspendedFor: null, blockedFromMs: null, isInDebt: false, budgets: null },
};

/** Compared at each call: an invoice becomes due without an event. */
export function isBlocked({ blockedFromMs }: Pick<BillingStatus, 'blockedFromMs'>, nowMs: number): boolean {
  return blockedFromMs !== null && blockedFromMs <= nowMs;
}

/**
 * The status of companies with a suspension, an unpaid invoice, a debt or budgets; all others are in good standing and have
 * no budget. Only POSTPAID companies are blocked by invoices (G-32): one that has become PREPAID since pays before it
 * calls.
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
       from budgets where company_id = any($1::uuid[]) group by company_id),
     suspended as (
       select id as company_id, suspension_reason from companies
       where id = any($1::uuid[]) and suspended_at is not null)
     select id as "companyId", due_at as "dueAt", coalesce(balance_micro < -line_micro, false) as "isInDebt",
       list as budgets, suspension_reason as "suspendedFor"
     from credit_accounts left join owed on owed.company_id = id left join budgeted on budgeted.company_id = id
       left join suspended on suspended.company_id = id
     where id = any($1::uuid[]) and (due_at is not null or balance_micro < -line_micro or list is not null
       or suspension_reason is not null)`,
    [companyIds],
  );
  return new Map(
    rows.map(({ companyId, dueAt, isInDebt, budgets, suspendedFor }) => [
      companyId,
      {
        suspendedFor,
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
  readonly suspendedFor: string | null;
}

/**
 * When the company's invoices begin to block it: the earliest due date of the unpaid ones, which may be in the future.
 * Null if nothing blocks it, and for a PREPAID company, whose calls depend on its balance alone.
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

/** Whether a company's calls are answered: refused with 403 if SUSPENDED or OVERDUE, with 402 if OUT_OF_CREDITS. */
export type BillingStatusName = 'GOOD' | 'OUT_OF_CREDITS' | 'OVERDUE' | 'SUSPENDED';

interface CompanyBillingStatus {
  readonly balance: CompanyBalance;
  readonly word: BillingStatusName;
}

/** For many companies at once. Companies without an account are left out. */
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
      const status = owed.get(accountId) ?? GOOD_BILLING_STATUS;
      const word = wordOf(status, account, nowMs);
      return [accountId, { balance: { companyId: accountId, balanceMicro, updatedAt }, word }];
    }),
  );
}

function wordOf(status: BillingStatus, account: AccountLevel, nowMs: number): BillingStatusName {
  if (status.suspendedFor !== null) return 'SUSPENDED';
  if (isBlocked(status, nowMs)) return 'OVERDUE';
  return spendable(account) > 0 ? 'GOOD' : 'OUT_OF_CREDITS';
}
