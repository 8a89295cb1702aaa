import type Stripe from 'stripe';
import type { SqlValue, Statements } from '../../ports/database.ts';

/** All types of objects that the sandbox stores, in the format of the pinned version, checked by the client's types. */
export interface Bodies {
  product: Stripe.Product;
  price: Stripe.Price;
  coupon: Stripe.Coupon;
  customer: Stripe.Customer;
  'checkout.session': Stripe.Checkout.Session;
  payment_intent: Stripe.PaymentIntent;
  charge: Stripe.Charge;
  refund: Stripe.Refund;
  dispute: Stripe.Dispute;
  subscription: Stripe.Subscription;
  invoice: Stripe.Invoice;
  invoiceitem: Stripe.InvoiceItem;
  credit_note: Stripe.CreditNote;
  event: Stripe.Event;
  webhook_endpoint: Stripe.WebhookEndpoint;
  'billing_portal.session': Stripe.BillingPortal.Session;
}

export type Kind = keyof Bodies;

/** What happens when a card is charged. `none` is a customer without a card. */
export type Card = 'works' | 'declines' | 'requires_action' | 'none';

export const cards: readonly Card[] = ['works', 'declines', 'requires_action', 'none'];

/** Data of an object that the provider has but does not show. */
interface Hidden {
  customer: { readonly card: Card };
  'checkout.session': {
    readonly lines: readonly Stripe.LineItem[];
    readonly paymentMetadata: Stripe.Metadata;
    /** For the subscription that the session starts. */
    readonly subscription:
      | (Trial & { readonly metadata: Stripe.Metadata; readonly automaticTax?: boolean })
      | null;
  };
  subscription: {
    /** The end of the period whose upcoming invoice was announced. */
    readonly upcomingSaidFor: number | null;
    readonly trialEndSaid: boolean;
    /** The share of its gross price that the current period costs, after its coupon: credits for unused time are net. */
    readonly paidShare?: PaidShare;
  };
  webhook_endpoint: { readonly secret: string };
}

/** A fraction of two amounts in minor units. */
export interface PaidShare {
  readonly net: number;
  readonly gross: number;
}

export interface Trial {
  readonly trialDays: number | null;
  readonly missingCard: Stripe.Subscription.TrialSettings.EndBehavior.MissingPaymentMethod;
}

export type HiddenOf<K extends Kind> = K extends keyof Hidden ? Hidden[K] : Readonly<Record<string, never>>;

export interface StoredObject<K extends Kind> {
  readonly body: Bodies[K];
  readonly hidden: HiddenOf<K>;
}

/** The sandbox's objects in the database. Changes must be made in a transaction. */
export interface ObjectStore {
  find<K extends Kind>(kind: K, id: string): Promise<StoredObject<K> | null>;
  /** Of any type. */
  findAny(id: string): Promise<Bodies[Kind] | null>;
  /** Inserts the object, or replaces the one with the same id. `dueAt` is when its next step is due; null is never. */
  put<K extends Kind>(kind: K, body: Bodies[K], rest: PutRest<K>): Promise<void>;
  remove(kind: Kind, id: string): Promise<void>;
  list<K extends Kind>(kind: K, asked?: ListQuery): Promise<ListedObjects<K>>;
  /** The object that has been due for the longest time. */
  nextDue(now: number): Promise<{ readonly kind: Kind; readonly id: string; readonly dueAt: number } | null>;
  earliestDue(): Promise<number | null>;
}

interface PutRest<K extends Kind> {
  readonly hidden: HiddenOf<K>;
  readonly dueAt?: number | null;
}

export interface ListQuery {
  /** Fields of the body with their required values. */
  readonly where?: Readonly<Record<string, string | boolean | null>>;
  readonly limit?: number;
  readonly startingAfter?: string | undefined;
  readonly endingBefore?: string | undefined;
  readonly createdFrom?: number | undefined;
  readonly createdUntil?: number | undefined;
  readonly anyOfTypes?: readonly string[] | undefined;
  readonly leavesOutCanceled?: boolean;
  /** For events only. */
  readonly delivered?: boolean | undefined;
}

export interface ListedObjects<K extends Kind> {
  readonly data: Bodies[K][];
  readonly hasMore: boolean;
}

export function createObjectStore({ query }: Statements): ObjectStore {
  return {
    async find<K extends Kind>(kind: K, id: string) {
      const rows = await query<{ body: Bodies[K]; hidden: HiddenOf<K> }>(
        'select body, hidden from payment_sandbox_objects where id = $1 and kind = $2',
        [id, kind],
      );
      return rows[0] ?? null;
    },

    async findAny(id) {
      const text = 'select body from payment_sandbox_objects where id = $1';
      const rows = await query<{ body: Bodies[Kind] }>(text, [id]);
      return rows[0]?.body ?? null;
    },

    async put(kind, body, { hidden, dueAt = null }) {
      const created = 'created' in body ? body.created : body.date;
      await query(
        `insert into payment_sandbox_objects (id, kind, created, body, hidden, due_at)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (id) do update set body = excluded.body, hidden = excluded.hidden, due_at = excluded.due_at`,
        [body.id, kind, BigInt(created), { ...body }, { ...hidden }, dueAt === null ? null : BigInt(dueAt)],
      );
    },

    async remove(kind, id) {
      await query('delete from payment_sandbox_objects where id = $1 and kind = $2', [id, kind]);
    },

    async list<K extends Kind>(kind: K, asked: ListQuery = {}) {
      const limit = asked.limit ?? 10;
      const { text, values } = listStatement(kind, asked, limit + 1);
      const rows = await query<{ body: Bodies[K] }>(text, values);
      const page = rows.slice(0, limit).map((row) => row.body);
      // Backward pages are read in ascending order; a page is always shown newest first.
      const data = asked.endingBefore === undefined ? page : page.reverse();
      return { data, hasMore: rows.length > limit };
    },

    async nextDue(now) {
      const rows = await query<{ kind: Kind; id: string; due_at: bigint }>(
        `select kind, id, due_at from payment_sandbox_objects
         where due_at <= $1 order by due_at, sequence limit 1`,
        [BigInt(now)],
      );
      const row = rows[0];
      return row === undefined ? null : { kind: row.kind, id: row.id, dueAt: Number(row.due_at) };
    },

    async earliestDue() {
      const rows = await query<{ due_at: bigint | null }>(
        'select min(due_at) as due_at from payment_sandbox_objects',
      );
      const earliest = rows[0]?.due_at ?? null;
      return earliest === null ? null : Number(earliest);
    },
  };
}

function listStatement(kind: Kind, asked: ListQuery, count: number): { text: string; values: SqlValue[] } {
  const values: SqlValue[] = [kind, { ...asked.where }];
  const conditions = ['kind = $1', 'body @> $2'];
  const add = (condition: (place: string) => string, value: SqlValue) => {
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  const beside = (sign: string) => (place: string) =>
    `sequence ${sign} (select sequence from payment_sandbox_objects where id = ${place})`;
  if (asked.startingAfter !== undefined) add(beside('<'), asked.startingAfter);
  if (asked.endingBefore !== undefined) add(beside('>'), asked.endingBefore);
  if (asked.createdFrom !== undefined) add((place) => `created >= ${place}`, BigInt(asked.createdFrom));
  if (asked.createdUntil !== undefined) add((place) => `created <= ${place}`, BigInt(asked.createdUntil));
  if (asked.anyOfTypes !== undefined)
    add((place) => `body ->> 'type' = any(${place}::text[])`, asked.anyOfTypes);
  if (asked.leavesOutCanceled === true) conditions.push("body ->> 'status' <> 'canceled'");
  if (asked.delivered !== undefined) {
    const undelivered = `exists (select 1 from payment_sandbox_deliveries
      where event_id = payment_sandbox_objects.id and state <> 'delivered')`;
    conditions.push(asked.delivered ? `not ${undelivered}` : undelivered);
  }
  values.push(count);
  const direction = asked.endingBefore === undefined ? 'desc' : 'asc';
  const text = `select body from payment_sandbox_objects where ${conditions.join(' and ')}
    order by sequence ${direction} limit $${values.length}`;
  return { text, values };
}

/** The persistent settings of the sandbox: how far its clock was moved, and its switches. */
export async function readSetting<T>(statements: Statements, name: string): Promise<T | null> {
  const text = 'select value from payment_sandbox_settings where name = $1';
  const rows = await statements.query<{ value: T }>(text, [name]);
  return rows[0]?.value ?? null;
}

export async function writeSetting(
  statements: Statements,
  name: string,
  value: Readonly<Record<string, unknown>>,
): Promise<void> {
  await statements.query(
    `insert into payment_sandbox_settings (name, value) values ($1, $2)
     on conflict (name) do update set value = excluded.value`,
    [name, value],
  );
}

/** By how many seconds the sandbox's clock is ahead of the real one. */
export async function readAhead(statements: Statements): Promise<number> {
  return (await readSetting<{ seconds: number }>(statements, 'clock'))?.seconds ?? 0;
}

export async function writeAhead(statements: Statements, seconds: number): Promise<void> {
  await writeSetting(statements, 'clock', { seconds });
}
