import type { Db } from 'pg-boss';
import type {
  Database,
  DatabaseFailure,
  Row,
  SqlValue,
  Statements,
  Transaction,
} from '../../ports/database.ts';

/** pg-boss ships its installation and maintenance as scripts of this shape. */
const OWN_TRANSACTION = /^\s*BEGIN;([\s\S]*?)COMMIT;\s*$/;
const JSON_PARAMETER = /\$(\d+)::jsonb?\b/g;
/**
 * They may exceed our statement time-out: installing the schema does, and so does waiting for another process that installs
 * it (pg-boss stops waiting after 30 s).
 */
const SCRIPT_TIMEOUT_MS = 60_000;

export interface BossDatabase extends Db {
  /** The same statements in one of our transactions. */
  within(transaction: Transaction): Db;
  /** The channel of notifications, once pg-boss has asked to listen. */
  channel(): string | null;
  isListening(): boolean;
}

interface NotificationHandlers {
  onNotice(payload: string): void;
  onReconnect(): void;
}

/** Our database in the interface of pg-boss, for both engines. */
export function createBossDatabase(database: Database, handlers: NotificationHandlers): BossDatabase {
  let channel: string | null = null;
  let listening = false;
  return {
    async executeSql(text, values = []) {
      const script = OWN_TRANSACTION.exec(text)?.[1];
      if (script === undefined) return await execute(database, text, values);
      const work = (transaction: Transaction) => execute(transaction, script, values);
      return await database.transaction(work, { timeoutMs: SCRIPT_TIMEOUT_MS }).catch(rethrow);
    },
    async listen(name, onNotification, onReconnect) {
      channel = name;
      const onMessage = (payload: string) => {
        onNotification(payload);
        handlers.onNotice(payload);
      };
      const listener = await database.listen(name, onMessage, () => {
        onReconnect();
        handlers.onReconnect();
      });
      listening = true;
      return {
        async close() {
          listening = false;
          await listener.close();
        },
      };
    },
    /**
     * pg-boss uses this only when a test moves its clock. It affects one session: PGlite has no other, and on PostgreSQL such
     * a test uses a pool of one connection.
     */
    async setSessionStatements(statements) {
      for (const statement of statements) await database.script(statement);
    },
    within: (transaction) => ({ executeSql: (text, values = []) => execute(transaction, text, values) }),
    channel: () => channel,
    isListening: () => listening,
  };
}

async function execute(
  statements: Statements,
  text: string,
  values: readonly unknown[],
): Promise<{ rows: Row[] }> {
  try {
    const rows =
      values.length === 0
        ? await statements.script(text)
        : await statements.query(text, parameters(text, values));
    for (const row of rows) bigintsToText(row);
    return { rows };
  } catch (error) {
    throw withCode(error);
  }
}

/** pg-boss passes some JSON as text, which only one of our engines parses. */
function parameters(text: string, values: readonly unknown[]): SqlValue[] {
  const json = new Set([...text.matchAll(JSON_PARAMETER)].map((match) => Number(match[1]) - 1));
  return values.map((value, position) => {
    const isJsonText = json.has(position) && typeof value === 'string';
    return (isJsonText ? JSON.parse(value) : (value ?? null)) as SqlValue;
  });
}

/** pg-boss expects bigint as text. */
function bigintsToText(row: Row): void {
  for (const [column, value] of Object.entries(row)) {
    if (typeof value === 'bigint') row[column] = String(value);
  }
}

/** pg-boss expects the SQLSTATE in `code`, and handles some of them. */
function withCode(error: unknown): unknown {
  const failure = error as Partial<DatabaseFailure> | null;
  return failure?.sqlState ? Object.assign(failure, { code: failure.sqlState }) : error;
}

function rethrow(error: unknown): never {
  throw withCode(error);
}
