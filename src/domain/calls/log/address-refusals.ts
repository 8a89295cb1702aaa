import type { Clock, Timer } from '../../../ports/clock.ts';
import type { Database, Statements } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import { changeInChunks } from '../../retention/change-in-chunks.ts';

/**
 * Requests refused before a key was known belong to no company, so they are counted by address and code; so are those beyond
 * the limit of their address.
 */
export interface AddressRefusals {
  note(address: string, code: string): void;
  /** Writes the pending counts. */
  close(): Promise<void>;
}

const WRITE_EVERY_MS = 1_000;
/** The most counts that one process keeps between two writes; beyond that, requests are counted without their address. */
const MOST_ADDRESSES = 1_000;
const MINUTE_MS = 60_000;

export function createAddressRefusals(parts: {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}): AddressRefusals {
  const { database, clock, log } = parts;
  let counts = new Map<string, Counted>();
  let timer: Timer | null = null;
  let writing: Promise<void> | null = null;
  let isFailing = false;

  async function write(): Promise<void> {
    const waiting = [...counts.values()];
    if (waiting.length === 0) return;
    counts = new Map();
    try {
      await addRefusals(database, waiting);
      isFailing = false;
    } catch (error) {
      // These are statistics for operators: counts that cannot be written are dropped, not kept through an outage.
      if (!isFailing) log.warn('counts of refused addresses were dropped', { error });
      isFailing = true;
    }
  }
  function arm(): void {
    timer ??= clock.after(WRITE_EVERY_MS, () => {
      timer = null;
      writing = write();
    });
  }
  return {
    note(address, code) {
      const minuteMs = Math.floor(clock.now() / MINUTE_MS) * MINUTE_MS;
      const own = `${minuteMs} ${code} ${address}`;
      const shown = counts.has(own) || counts.size < MOST_ADDRESSES ? address : '';
      const name = shown === '' ? `${minuteMs} ${code} ` : own;
      const known = counts.get(name);
      if (known === undefined) counts.set(name, { minuteMs, address: shown, code, count: 1 });
      else known.count += 1;
      arm();
    },
    async close() {
      timer?.cancel();
      await writing;
      await write();
    },
  };
}

interface Counted {
  readonly minuteMs: number;
  readonly address: string;
  readonly code: string;
  count: number;
}

async function addRefusals(statements: Statements, counted: readonly Counted[]): Promise<void> {
  const rows = counted.map(({ minuteMs, address, code, count }) => {
    return { minute: new Date(minuteMs).toISOString(), address: address.slice(0, 100), code, count };
  });
  await statements.query(
    `insert into address_refusals as present (minute, address, code, count)
     select minute, address, code, sum(count) from json_to_recordset($1::text::json)
       as given (minute timestamptz, address text, code text, count bigint)
     group by 1, 2, 3 order by 1, 2, 3
     on conflict (minute, address, code) do update set count = present.count + excluded.count`,
    [JSON.stringify(rows)],
  );
}

export interface RefusedAddress {
  /** Empty for all addresses beyond MOST_ADDRESSES. */
  readonly address: string;
  readonly code: string;
  readonly count: bigint;
  readonly firstMinute: Date;
  readonly lastMinute: Date;
}

/**
 * By address and code, the most refused first. Days that are added up and lie wholly within the period are read from their
 * sums, the others minute by minute.
 */
export async function listRefusedAddresses(
  statements: Statements,
  { from, to, limit }: { readonly from: Date; readonly to: Date; readonly limit: number },
): Promise<readonly RefusedAddress[]> {
  return await statements.query<RefusedAddress>(
    `with days as materialized (
       select begins at time zone 'utc' as begins, (begins + interval '1 day') at time zone 'utc' as ends, done.day as done_day
       from generate_series(date_trunc('day', $1::timestamptz at time zone 'utc'), $2::timestamptz at time zone 'utc',
         interval '1 day') as begins
       left join address_refusal_days_done as done on done.day = begins::date
         and begins >= $1::timestamptz at time zone 'utc'
         and begins + interval '1 day' <= $2::timestamptz at time zone 'utc')
     select address, code, sum(count)::bigint as count, min(first_minute) as "firstMinute", max(last_minute) as "lastMinute"
     from (
       select address, code, count, minute as first_minute, minute as last_minute
       from days, address_refusals
       where done_day is null and minute >= greatest(date_trunc('minute', $1::timestamptz), begins)
         and minute < least($2::timestamptz, ends)
       union all
       select address, code, count, first_minute, last_minute from address_refusal_days
       where day = any (array(select done_day from days where done_day is not null))) as rows
     group by address, code order by 3 desc, address, code limit $3`,
    [from, to, limit],
  );
}

/** Addresses are personal data: they are stored only for as long as it takes to investigate an attack. */
const ADDRESS_REFUSALS_KEEP_DAYS = 7;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** By then every process has written its counts of the day. */
const ADDED_UP_AFTER_MS = 60 * MINUTE_MS;

/**
 * Adds up every day that is over and still stored completely. It may run at any time and be killed at any point; without it
 * the list is correct, only slower. Returns the number of days added up.
 */
export async function addUpAddressRefusals(
  database: Database,
  nowMs: number,
  signal?: AbortSignal,
): Promise<number> {
  const firstMs = Math.ceil((nowMs - ADDRESS_REFUSALS_KEEP_DAYS * DAY_MS) / DAY_MS) * DAY_MS;
  let added = 0;
  for (let dayMs = firstMs; dayMs + DAY_MS + ADDED_UP_AFTER_MS <= nowMs; dayMs += DAY_MS) {
    signal?.throwIfAborted();
    const [row] = await database.query<{ added: bigint }>(ADD_UP_DAY, [
      new Date(dayMs).toISOString().slice(0, 10),
    ]);
    added += Number(row?.added ?? 0);
  }
  return added;
}

/** If two processes add up the same day, the second waits for the first on the day's row and adds nothing. */
const ADD_UP_DAY = `with done as (
    insert into address_refusal_days_done (day) values ($1::date) on conflict do nothing returning day),
  added as (
    insert into address_refusal_days (day, address, code, count, first_minute, last_minute)
    select day, address, code, sum(count), min(minute), max(minute) from done, address_refusals
    where minute >= $1::date::timestamp at time zone 'utc'
      and minute < ($1::date + interval '1 day') at time zone 'utc'
    group by 1, 2, 3 order by 1, 2, 3)
  select count(*) as added from done`;

export async function purgeAddressRefusals(
  database: Database,
  nowMs: number,
  signal?: AbortSignal,
): Promise<void> {
  const before = new Date(nowMs - ADDRESS_REFUSALS_KEEP_DAYS * DAY_MS);
  // First deletes the sums of days that are no longer stored completely: the rest of such a day is read minute by minute.
  await database.query(
    `with reopened as (delete from address_refusal_days_done where day < $1::date)
     delete from address_refusal_days where day < $1::date`,
    [new Date(before.getTime() + DAY_MS - 1).toISOString().slice(0, 10)],
  );
  await changeInChunks(database, {
    sql: `delete from address_refusals where ctid = any (array(
       select ctid from address_refusals where minute < $1 order by minute limit 1000 for update skip locked))`,
    values: [before],
    signal,
  });
}
