import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { openPglite } from '../src/adapters/database/pglite/pglite.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import { adapterOf } from './database-postgres.ts';
import { type Client, compareClients, TABLES } from './database-statements.ts';
import type { Measurement, Row } from './frame/measurement.ts';
import { medianOf } from './frame/median.ts';

/** The engine is compiled further while it runs: after seconds it is several times as fast as at first. */
const LOAD = { manyAtOnce: 64, warmUpMs: 5_000 };
const HEAVY = 'select count(*) from generate_series(1, 3000000)';
const HEAVY_TIMES = 3;

export const databasePglite: Measurement = {
  name: 'database-pglite',
  what: 'the same on the embedded database, and how long a heavy statement keeps the process from all else',
  async run(context) {
    const database = await openPglite({
      folder: join(await context.embeddedFolder(), 'database'),
      log: createSilentLog(),
      maxWaiting: 2_000,
      statementTimeoutMs: 10_000,
    });
    context.whenEnding(database.close);
    const pglite = await PGlite.create({ dataDir: join(await context.embeddedFolder(), 'database') });
    context.whenEnding(() => pglite.close());
    await database.script(TABLES);
    await pglite.exec(TABLES);

    const direct = pgliteClient(pglite);
    const adapter = adapterOf(database);
    const rates = await compareClients(context, direct, adapter, LOAD);
    return [...rates, ...(await compareStalls(direct, adapter))];
  },
};

function pgliteClient(pglite: PGlite): Client {
  return {
    label: 'PGlite directly',
    query: (text, values) => pglite.query(text, [...values]),
    transaction: (work) => pglite.transaction((own) => work((text, values) => own.query(text, [...values]))),
  };
}

async function compareStalls(direct: Client, adapter: Client): Promise<Row[]> {
  const rows: Row[] = [];
  for (const client of [direct, adapter]) {
    const stalls: number[] = [];
    for (let time = 0; time < HEAVY_TIMES; time += 1) {
      stalls.push(await longestStall(() => client.query(HEAVY, [])));
    }
    rows.push({
      label: `longest stall, counting 3 million: ${client.label}`,
      unit: 'ms',
      ...medianOf(stalls),
    });
  }
  const [reference, ours] = rows;
  if (reference === undefined || ours === undefined) return rows;
  const beside = { reference: direct.label, ratio: ours.value / reference.value };
  return [reference, { ...ours, beside }];
}

/** The longest time that a timer of one millisecond was kept waiting while `work` ran. */
async function longestStall(work: () => Promise<unknown>): Promise<number> {
  let longestMs = 0;
  let last = performance.now();
  const look = () => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  try {
    await work();
    look();
  } finally {
    clearInterval(timer);
  }
  return longestMs;
}
