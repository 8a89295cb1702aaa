import type { Transaction } from '../../ports/database.ts';
import { isObject } from '../../ports/json-object.ts';
import type { WireObject } from '../../ports/payment-provider.ts';
import { findCompany, findCompanyByCustomer, linkProviderCustomer } from '../accounts/company.ts';
import { findPlan, findPlanByPrice } from '../catalog/plan.ts';
import { lockAccount } from '../credits/ledger/ledger.ts';
import { findByProviderId } from '../subscriptions/subscription.ts';

/**
 * Reads single fields of the provider's objects. A field that is missing, of another type, or longer than any of the
 * provider's is null.
 */
type Fields = Readonly<Record<string, unknown>>;

const LONGEST_TEXT = 2_000;
const LONGEST_ID = 200;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function fieldsIn(value: unknown): Fields {
  return isObject(value) ? value : {};
}

export function textIn(value: unknown, longest = LONGEST_TEXT): string | null {
  if (typeof value !== 'string' || value === '' || value.length > longest) return null;
  return value.includes('\u0000') ? null : value.toWellFormed();
}

/** A reference: the id, or the expanded object. */
export function idIn(value: unknown): string | null {
  const id = textIn(value, LONGEST_ID);
  return id ?? textIn(fieldsIn(value).id, LONGEST_ID);
}

export function wholeIn(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

/** Minor units; the fields read here never contain fractions of them. */
export function minorIn(value: unknown): bigint | null {
  const whole = wholeIn(value);
  return whole === null ? null : BigInt(whole);
}

/** An amount that is there and is none, unlike one that is missing. */
export function isUnreadable(amount: unknown): boolean {
  return amount !== undefined && amount !== null && minorIn(amount) === null;
}

export function currencyIn(value: unknown): string | null {
  const text = textIn(value, 3)?.toLowerCase() ?? null;
  return text !== null && /^[a-z]{3}$/.test(text) ? text : null;
}

/** Seconds since the epoch. */
export function momentIn(value: unknown): Date | null {
  const seconds = wholeIn(value);
  // Dates past the year 9999 cannot be stored.
  return seconds === null || seconds < 0 || seconds > 253_402_300_799 ? null : new Date(seconds * 1000);
}

export function listIn(value: unknown): readonly Fields[] {
  return listedIn(fieldsIn(value).data);
}

/** A plain array, as for discounts and taxes. */
export function listedIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.slice(0, 250).map(fieldsIn) : [];
}

/** An id of ours that we wrote into the metadata. It is trusted only as far as our own rows agree. */
export function ourIdIn(object: WireObject | Fields, name: OurIdName): string | null {
  const places = [object.metadata, fieldsIn(object.subscription_details).metadata];
  for (const place of places) {
    const id = textIn(fieldsIn(place)[name], 36);
    if (id !== null && UUID.test(id)) return id.toLowerCase();
  }
  return null;
}

type OurIdName = 'companyId' | 'purchaseId' | 'planId' | 'checkoutId' | 'invoiceId';

export function uuidIn(value: unknown): string | null {
  const text = textIn(value, 36);
  return text !== null && UUID.test(text) ? text.toLowerCase() : null;
}

interface CompanyHints {
  readonly customerId: string | null;
  readonly subscriptionId?: string | null;
  /** From the object's metadata. */
  readonly companyId: string | null;
}

/**
 * The owner of a provider object: the company of its customer; otherwise that of its subscription; otherwise the one
 * named in the metadata, unless that one has another customer.
 */
export async function companyOf(transaction: Transaction, hints: CompanyHints): Promise<string | null> {
  const { customerId, subscriptionId = null, companyId } = hints;
  const ofCustomer = customerId === null ? null : await findCompanyByCustomer(transaction, customerId);
  if (ofCustomer !== null) return ofCustomer.id;
  const subscription = subscriptionId === null ? null : await findByProviderId(transaction, subscriptionId);
  if (subscription !== null) return subscription.companyId;
  const named = companyId === null ? null : await findCompany(transaction, companyId);
  return named !== null && (named.providerCustomerId === null || customerId === null) ? named.id : null;
}

/**
 * All changes of an event to a company are made under this lock, which is taken first. So events of one company are
 * serialized. It is the row of the company's account, which all code locks before the company's own row, so there is no
 * deadlock.
 */
export async function lockCompany(transaction: Transaction, companyId: string): Promise<void> {
  await lockAccount(transaction, companyId);
}

/** Links a customer to a company if the company has none and no other company has this one. True if it did. */
export async function linkCustomer(
  transaction: Transaction,
  companyId: string,
  customerId: string | null,
): Promise<boolean> {
  if (customerId === null) return false;
  return await linkProviderCustomer(transaction, { companyId, customerId });
}

/** A checkout session that is paid, or required no payment. */
export function isPaidSession(session: WireObject): boolean {
  return session.payment_status === 'paid' || session.payment_status === 'no_payment_required';
}

/**
 * A dispute that the provider settles before it becomes a formal one is `prevented`. Where that returned the money to the
 * buyer it is as good as lost, otherwise it is closed.
 */
export function disputeStatusIn(dispute: WireObject): string | null {
  const status = textIn(dispute.status, 60);
  if (status !== 'prevented') return status;
  const moved = listedIn(dispute.balance_transactions).map(({ amount }) => minorIn(amount) ?? 0n);
  return moved.reduce((sum, amount) => sum + amount, 0n) < 0n ? 'lost' : 'warning_closed';
}

/** The price of a subscription's first item: we sell one plan at a time. */
export function priceOf(subscription: WireObject): string | null {
  const [item] = listIn(subscription.items);
  const price = item?.price ?? item?.plan ?? subscription.plan;
  return idIn(price);
}

/**
 * The plan of a provider object: by its price, or, if it names none, by the id in its metadata.
 */
export async function planOf(transaction: Transaction, object: WireObject): Promise<string | null> {
  return await planWithPrice(transaction, priceOf(object), ourIdIn(object, 'planId'));
}

async function planWithPrice(
  transaction: Transaction,
  priceId: string | null,
  planId: string | null,
): Promise<string | null> {
  if (priceId !== null) return (await findPlanByPrice(transaction, priceId))?.id ?? null;
  return planId === null ? null : ((await findPlan(transaction, planId))?.id ?? null);
}

/** The price of an invoice line. */
export function priceOfLine(line: Readonly<Record<string, unknown>>): string | null {
  return idIn(line.price) ?? idIn(fieldsIn(line.plan).id);
}
