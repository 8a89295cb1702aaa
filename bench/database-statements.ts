import type { BenchContext, Row } from './frame/measurement.ts';
import { compareRates } from './frame/rates.ts';

/** One way to reach one engine: through our adapter, or through the engine's own client. */
export interface Client {
  readonly label: string;
  query(text: string, values: readonly (string | number | readonly (string | number)[])[]): Promise<unknown>;
  transaction(work: (query: Client['query']) => Promise<void>): Promise<void>;
}

const ROWS_TO_FIND = 10_000;
const ROWS_AT_ONCE = 50;

export const TABLES = `
  create table found (id integer primary key, name text not null);
  insert into found select number, 'name ' || number from generate_series(1, ${ROWS_TO_FIND}) as number;
  create table written (id bigint generated always as identity primary key, amount integer not null, note text not null);
`;
const FIND = 'select id, name from found where id = $1';
const WRITE = 'insert into written (amount, note) values ($1, $2)';
const WRITE_MANY =
  'insert into written (amount, note) select * from unnest($1::integer[], $2::text[]) as added (amount, note)';

/** Prime to the number of rows, so that all of them are looked for, one after the other, far apart. */
const STEP = 7_919;
const AMOUNTS = Array.from({ length: ROWS_AT_ONCE }, (_, place) => place);
const NOTES = AMOUNTS.map((amount) => `note ${amount}`);

/** The same four kinds of work through both clients, one at a time and many at once. */
export async function compareClients(
  { signal }: BenchContext,
  reference: Client,
  ours: Client,
  { manyAtOnce, warmUpMs }: { manyAtOnce: number; warmUpMs: number },
): Promise<Row[]> {
  const rows: Row[] = [];
  for (const client of [reference, ours]) await warmUp(client, warmUpMs);
  for (const [what, work] of Object.entries(KINDS_OF_WORK)) {
    signal.throwIfAborted();
    for (const atOnce of [1, manyAtOnce]) {
      const wayOf = (client: Client) => ({ label: client.label, once: work(client) });
      const label = atOnce === 1 ? `${what}, one at a time` : `${what}, ${atOnce} at once`;
      const ways = [wayOf(reference), wayOf(ours)] as const;
      rows.push(...(await compareRates(label, ways, { signal, atOnce })));
    }
  }
  return rows;
}

/** A bit of everything. */
async function warmUp(client: Client, warmUpMs: number): Promise<void> {
  const kinds = Object.values(KINDS_OF_WORK).map((work) => work(client));
  const deadline = performance.now() + warmUpMs;
  while (performance.now() < deadline) for (const once of kinds) await once();
}

const KINDS_OF_WORK: Record<string, (client: Client) => () => Promise<unknown>> = {
  'select by key'(client) {
    const nextId = keys();
    return () => client.query(FIND, [nextId()]);
  },
  'insert of a row'(client) {
    const nextId = keys();
    return () => client.query(WRITE, [nextId(), 'a note']);
  },
  [`insert of ${ROWS_AT_ONCE} rows`]: (client) => () => client.query(WRITE_MANY, [AMOUNTS, NOTES]),
  'transaction of select and insert'(client) {
    const nextId = keys();
    return () =>
      client.transaction(async (query) => {
        await query(FIND, [nextId()]);
        await query(WRITE, [nextId(), 'a note']);
      });
  },
};

function keys(): () => number {
  let last = 0;
  return () => {
    last = (last + STEP) % ROWS_TO_FIND;
    return last + 1;
  };
}
