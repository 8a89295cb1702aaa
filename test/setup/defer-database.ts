import type { Database } from '../../src/ports/database.ts';

/** Stands for a database that a hook opens later, so that tests can hand it on where they are declared. */
export function deferDatabase(engine: Database['engine'], opened: () => Database | undefined): Database {
  const database = (): Database => {
    const current = opened();
    if (current === undefined) throw new Error('the database is opened by a hook before the first test');
    return current;
  };
  return {
    engine,
    query: (text, values, options) => database().query(text, values, options),
    script: (text) => database().script(text),
    transaction: (work, options) => database().transaction(work, options),
    listen: (channel, onMessage, onReconnect) => database().listen(channel, onMessage, onReconnect),
    pool: () => database().pool(),
    trouble: () => database().trouble?.() ?? null,
    close: () => database().close(),
  };
}
