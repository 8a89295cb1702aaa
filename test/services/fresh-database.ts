import { SQL } from 'bun';
import { givenDatabase } from './given.ts';

export interface FreshDatabase {
  readonly url: string;
  /** Ends the connections that are still open, too. */
  drop(): Promise<void>;
}

/** An own, empty database on the given server, so that test files do not disturb each other. */
export async function freshDatabase(): Promise<FreshDatabase> {
  const server = givenDatabase();
  if (server === null) {
    throw new Error('freshDatabase() without a server: skip where givenDatabase() is null');
  }
  const name = `turnpike_test_${process.pid}_${crypto.randomUUID().slice(0, 8)}`;
  // template1 cannot be copied while anybody is connected to it; nobody ever is to template0.
  await runOnServer(server, `CREATE DATABASE ${name} TEMPLATE template0`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: () => runOnServer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function runOnServer(server: string, statement: string): Promise<void> {
  const sql = new SQL({ url: server, max: 1 });
  try {
    await sql.unsafe(statement);
  } finally {
    await sql.close();
  }
}
