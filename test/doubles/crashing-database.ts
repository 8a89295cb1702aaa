import type { Database, Statements, Transaction } from '../../src/ports/database.ts';

/** Where a process dies: at its n-th statement from 0, before it is sent or after it was carried out. */
interface CrashPoint {
  readonly at: number;
  readonly when: 'before' | 'after';
}

export class Crash extends Error {}

interface CrashingDatabase {
  readonly database: Database;
  /** Whether anything has been committed that the crash did not let its caller know of. */
  hasCommitted(): boolean;
}

/**
 * A database whose user dies between two statements. Inside of a transaction that takes back what it did; the commit
 * counts as its last statement.
 */
export function crashingDatabase(real: Database, point: CrashPoint): CrashingDatabase {
  let asked = 0;
  let hasCommitted = false;

  async function step<T>(work: () => Promise<T>, commits: boolean): Promise<T> {
    const isHere = asked === point.at;
    asked += 1;
    if (isHere && point.when === 'before') throw new Crash();
    const result = await work();
    hasCommitted ||= commits;
    if (isHere) throw new Crash();
    return result;
  }
  const statementsOn = (runner: Statements, commits: boolean): Statements => ({
    query: <R>(text: string, values?: Parameters<Statements['query']>[1]) =>
      step(() => runner.query<R>(text, values), commits),
    script: (text) => step(() => runner.script(text), commits),
  });
  const database: Database = {
    ...real,
    ...statementsOn(real, true),
    async transaction(work, options) {
      let isLast = false;
      const result = await real.transaction(async (transaction) => {
        const inside: Transaction = { isTransaction: true, ...statementsOn(transaction, false) };
        const value = await work(inside);
        isLast = asked === point.at;
        if (isLast && point.when === 'before') throw new Crash();
        return value;
      }, options);
      hasCommitted = true;
      if (isLast) throw new Crash();
      return result;
    },
  };
  return { database, hasCommitted: () => hasCommitted };
}
