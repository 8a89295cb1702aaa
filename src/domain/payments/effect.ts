import type { Transaction } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { WireObject } from '../../ports/payment-provider.ts';
import { findCompany } from '../accounts/company.ts';
import { listAdmins, listSuperAdmins } from '../accounts/members.ts';
import { fromMinorUnits } from '../catalog/currency.ts';
import { type Posting, postTransaction } from '../credits/ledger/ledger.ts';
import type { MailOutbox, MailToSend } from '../mail/outbox.ts';
import { versionByProviderId } from '../subscriptions/subscription.ts';

/** What an event type does, all within the transaction that also marks the event. */
export type Effect = (event: StoredPaymentEvent, context: EffectContext) => Promise<EffectOutcome>;

/** An event as the inbox stores it. */
export interface StoredPaymentEvent {
  /** Our own id. */
  readonly id: string;
  readonly providerEventId: string;
  readonly type: string;
  /** The provider's time, in whole seconds. */
  readonly happenedAt: Date;
  readonly object: WireObject;
  readonly previousAttributes: Readonly<Record<string, unknown>> | null;
}

export interface EffectContext {
  readonly transaction: Transaction;
  /** Subscriptions as the provider has them, by id. */
  readonly subscriptions: ReadonlyMap<string, RequestedSubscription>;
  /** All lines of requested invoices, by invoice id: null if the provider did not list them. */
  readonly invoiceLines: ReadonlyMap<string, readonly WireObject[] | null>;
  readonly mailAdmins: MailAdmins;
  readonly mailSuperAdmins: MailSuperAdmins;
  readonly now: Date;
  readonly newId: () => string;
  readonly log: Log;
  readonly pastDueGraceMs: number;
}

/** The state of a subscription that was requested from the provider. */
interface RequestedSubscription {
  /** Null if the provider does not have it, or does not answer. */
  readonly state: WireObject | null;
  /** The version of our row before the provider was asked; null if we had none. */
  readonly seen: string | null;
}

/**
 * The requested state, unless our row has changed since then: another event, or the answer to a change of plan, may be newer.
 * Call it under the company's lock.
 */
export async function requestedState(
  { transaction, subscriptions }: Pick<EffectContext, 'transaction' | 'subscriptions'>,
  subscriptionId: string,
): Promise<WireObject | null> {
  const requested = subscriptions.get(subscriptionId);
  if (requested === undefined || requested.state === null) return null;
  return (await versionByProviderId(transaction, subscriptionId)) === requested.seen ? requested.state : null;
}

/** Call it under the company's lock, before anything is changed. */
export async function askForSubscription(
  { transaction }: Pick<EffectContext, 'transaction'>,
  subscriptionId: string,
): Promise<EffectOutcome> {
  return {
    outcome: 'ask',
    subscriptionId,
    seen: await versionByProviderId(transaction, subscriptionId),
  };
}

/** The outcome of an event. An effect decides before it writes: only `applied` may have changed anything. */
export type EffectOutcome =
  | {
      readonly outcome: 'applied';
      /** A short description for the list of events. */
      readonly did: string;
      /** The company whose balance, invoices or subscription may have changed. */
      readonly companyId: string | null;
      /** What other events may have waited for. */
      readonly arrived?: readonly WaitKey[];
    }
  /** Not yet: applied once one of these has arrived. */
  | { readonly outcome: 'deferred'; readonly reason: string; readonly waitsFor: readonly WaitKey[] }
  /** Cannot be applied: an operator has to look at it. */
  | { readonly outcome: 'failed'; readonly reason: string; readonly companyId?: string }
  /** The current state of this subscription must be requested from the provider first. Nothing was changed. */
  | { readonly outcome: 'ask'; readonly subscriptionId: string; readonly seen: string | null }
  /** The event shows only some of the invoice's lines. Nothing was changed. */
  | { readonly outcome: 'ask-lines'; readonly invoiceId: string };

type WaitKind = 'customer' | 'session' | 'purchase' | 'payment' | 'invoice' | 'subscription' | 'price';
/** For example `customer:cus_1`. */
export type WaitKey = `${WaitKind}:${string}`;

/** Leaves out unknown ids. */
export function waitKeys(known: Partial<Record<WaitKind, string | null>>): WaitKey[] {
  return Object.entries(known).flatMap(([kind, id]) => (id ? [`${kind}:${id}` as WaitKey] : []));
}

/**
 * Posts credits of an effect. The same source with another amount or account would be an error in our books: it throws.
 */
export async function post({ transaction }: EffectContext, posting: Posting): Promise<void> {
  const posted = await postTransaction(transaction, posting);
  if (posted.outcome === 'posted') return;
  const why = posted.outcome === 'wrong-amount' ? posted.problem : posted.outcome;
  throw new Error(`${posting.sourceKind} ${posting.sourceId} cannot be posted: ${why}`);
}

/** Mails a fact to all billing contacts of a company, once each, if the transaction commits. */
type MailAdmins = (params: Announcement) => Promise<void>;

type Kinds =
  | 'receipt'
  | 'payment-failed'
  | 'payment-action-required'
  | 'trial-ending'
  | 'upcoming-invoice'
  | 'invoice-issued'
  | 'invoice-overdue'
  | 'payment-dispute'
  | 'refund-failed';
type DataOf<Kind extends Kinds> = Extract<MailToSend, { kind: Kind }>['data'];

type Announcement = {
  [Kind in Kinds]: {
    readonly kind: Kind;
    readonly companyId: string;
    /** The company's name is added. */
    readonly data: Omit<DataOf<Kind>, 'companyName'>;
    /** Identifies the event; it is mailed once. */
    readonly fact: string;
  };
}[Kinds];

export function createAdminMailer(transaction: Transaction, outbox: Pick<MailOutbox, 'send'>): MailAdmins {
  return async ({ kind, companyId, data, fact }) => {
    for (const { companyName, email } of await billingRecipients(transaction, companyId)) {
      const dedupeKey = `${fact}:${email}`;
      // `kind` and `data` match by their type; combined with the name, the compiler can no longer tell.
      const mail = { kind, to: email, companyId, dedupeKey, data: { ...data, companyName } } as MailToSend;
      await outbox.send(mail, transaction);
    }
  };
}

/** The admins, and the company's billing address if it is another one. */
async function billingRecipients(
  transaction: Transaction,
  companyId: string,
): Promise<readonly { readonly email: string; readonly companyName: string }[]> {
  const admins = await listAdmins(transaction, companyId);
  const company = await findCompany(transaction, companyId);
  const email = company?.billingEmail ?? null;
  if (company === null || email === null) return admins;
  const isAdmins = admins.some((admin) => admin.email.toLowerCase() === email.toLowerCase());
  return isAdmins ? admins : [...admins, { email, companyName: company.name }];
}

/** Mails the super admins about money that needs their attention, once each, if the transaction commits. */
type MailSuperAdmins = (params: {
  readonly companyId: string;
  readonly fact: string;
  readonly problem: ProblemMail['problem'];
  readonly data: Omit<ProblemMail, 'companyName' | 'problem'>;
}) => Promise<void>;

type ProblemMail = Extract<MailToSend, { kind: 'payment-problem' }>['data'];

export function createSuperAdminMailer(
  transaction: Transaction,
  outbox: Pick<MailOutbox, 'send'>,
): MailSuperAdmins {
  return async ({ companyId, fact, problem, data }) => {
    const companyName = (await findCompany(transaction, companyId))?.name ?? companyId;
    for (const to of await listSuperAdmins(transaction)) {
      const mail = { kind: 'payment-problem' as const, to, dedupeKey: `${fact}:${to}` };
      await outbox.send({ ...mail, data: { ...data, companyName, problem } }, transaction);
    }
  };
}

/** As mails show money. */
export function amountOf(minor: bigint, currency: string): { value: string; currency: string } {
  return { value: fromMinorUnits(minor, currency), currency };
}
