import type { SqlValue, Statements } from '../../../ports/database.ts';
import type { Bodies, HiddenOf, Kept, Kind } from './object-kinds.ts';

/** The sandbox's objects in the database, on whatever runs its statements: a transaction where anything changes. */
export interface ObjectStore {
  find<K extends Kind>(kind: K, id: string): Promise<Kept<K> | null>;
  /** Of whatever kind. */
  findAny(id: string): Promise<Bodies[Kind] | null>;
  /** New, or in the place of the one with its id. `dueAt` is when something is to happen to it; null is never. */
  put<K extends Kind>(kind: K, body: Bodies[K], rest: PutRest<K>): Promise<void>;
  remove(kind: Kind, id: string): Promise<void>;
  list<K extends Kind>(kind: K, asked?: AskedList): Promise<ListedObjects<K>>;
  /** The one for which it is highest time. */
  nextDue(now: number): Promise<{ readonly kind: Kind; readonly id: string; readonly dueAt: number } | null>;
  earliestDue(): Promise<number | null>;
}

export interface PutRest<K extends Kind> {
  readonly hidden: HiddenOf<K>;
  readonly dueAt?: number | null;
}

export interface AskedList {
  /** Fields of the body with the values they must have. */
  readonly where?: Readonly<Record<string, string | boolean | null>>;
  readonly limit?: number;
  readonly startingAfter?: string | undefined;
  readonly endingBefore?: string | undefined;
  readonly createdFrom?: number | undefined;
  readonly createdUntil?: number | undefined;
  readonly anyOfTypes?: readonly string[] | undefined;
  readonly leavesOutCanceled?: boolean;
  /** Events only. */
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

    async list<K extends Kind>(kind: K, asked: AskedList = {}) {
      const limit = asked.limit ?? 10;
      const { text, values } = listStatement(kind, asked, limit + 1);
      const rows = await query<{ body: Bodies[K] }>(text, values);
      const page = rows.slice(0, limit).map((row) => row.body);
      // Backwards the database counts upwards; a page is always shown newest first.
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

function listStatement(kind: Kind, asked: AskedList, count: number): { text: string; values: SqlValue[] } {
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
