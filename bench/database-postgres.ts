import { SQL } from 'bun';
import { openPostgres } from '../src/adapters/database/postgres.ts';
import type { Database } from '../src/ports/database.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import { type Client, compareClients, TABLES } from './database-statements.ts';
import type { Measurement } from './frame/measurement.ts';

/** The default of the settings. */
const POOL_SIZE = 10;
const LOAD = { manyAtOnce: 64, warmUpMs: 500 };

export const databasePostgres: Measurement = {
  name: 'database-postgres',
  what: `statements and transactions a second on PostgreSQL, both with ${POOL_SIZE} connections`,
  async run(context) {
    const url = await context.emptyDatabase();
    const database = await openPostgres({
      url,
      log: createSilentLog(),
      applicationName: 'turnpike bench',
      poolSize: POOL_SIZE,
      maxWaiting: 2_000,
      connectTimeoutMs: 5_000,
      statementTimeoutMs: 10_000,
    });
    context.whenEnding(database.close);
    const sql = new SQL({ url, adapter: 'postgres', max: POOL_SIZE, bigint: true, idleTimeout: 0 });
    context.whenEnding(() => sql.close({ timeout: 0 }));
    await database.script(TABLES);
    return await compareClients(context, bunSql(sql), adapterOf(database), LOAD);
  },
};

function bunSql(sql: SQL): Client {
  return {
    label: "Bun's SQL",
    query: (text, values) => sql.unsafe(text, [...values]),
    async transaction(work) {
      await sql.begin((connection) => work((text, values) => connection.unsafe(text, [...values])));
    },
  };
}

export function adapterOf(database: Database): Client {
  return {
    label: 'our adapter',
    query: (text, values) => database.query(text, values),
    transaction: (work) =>
      database.transaction((transaction) => work((text, values) => transaction.query(text, values))),
  };
}
