import type { Clock, Timer } from '../../../ports/clock.ts';
import type { Database, Statements } from '../../../ports/database.ts';
import type { Log } from '../../../ports/log.ts';
import { changeInChunks } from '../../retention/change-in-chunks.ts';

/** Requests that were refused before a key was known: no company has them, so they are counted by address and code. */
export interface AddressRefusals {
  note(address: string, code: string): void;
  /** Writes what waits. */
  close(): Promise<void>;
}

const WRITE_EVERY_MS = 1_000;
/** Addresses that a minute tells apart in one process; a flood from more of them is counted under no address. */
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
      // They are figures for operators: what cannot be written is not stored up against an outage.
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
  /** Empty for all addresses past the bound of a minute. */
  readonly address: string;
  readonly code: string;
  readonly count: bigint;
  readonly firstMinute: Date;
  readonly lastMinute: Date;
}

/** By address and code, the most refused first. */
export async function listRefusedAddresses(
  statements: Statements,
  { from, to, limit }: { readonly from: Date; readonly to: Date; readonly limit: number },
): Promise<readonly RefusedAddress[]> {
  return await statements.query<RefusedAddress>(
    `select address, code, sum(count)::bigint as count, min(minute) as "firstMinute", max(minute) as "lastMinute"
     from address_refusals where minute >= date_trunc('minute', $1::timestamptz) and minute < $2
     group by address, code order by 3 desc, address, code limit $3`,
    [from, to, limit],
  );
}

/** Addresses are personal data: they are stored only as long as an attack is investigated. */
export const ADDRESS_REFUSALS_KEEP_DAYS = 7;

export async function purgeAddressRefusals(
  database: Database,
  nowMs: number,
  signal?: AbortSignal,
): Promise<void> {
  await changeInChunks(database, {
    sql: `delete from address_refusals where ctid = any (array(
       select ctid from address_refusals where minute < $1 order by minute limit 1000 for update skip locked))`,
    values: [new Date(nowMs - ADDRESS_REFUSALS_KEEP_DAYS * 24 * 60 * MINUTE_MS)],
    signal,
  });
}
