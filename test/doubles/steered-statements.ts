import type { DatabaseFailure, SqlValue, Statements } from '../../src/ports/database.ts';

interface SteeredStatements extends Statements {
  /** What was asked so far, in order. */
  readonly asked: { readonly text: string; readonly values: readonly SqlValue[] }[];
  /** Answers stay on their way from now on: each was read when it was asked for. */
  hold(): void;
  /** Lets all held answers arrive, and later ones pass. */
  release(): void;
  /** Fails every statement from now on, those that are held too; null ends it. */
  failWith(reason: DatabaseFailure['reason'] | null): void;
  /** Resolves when that many statements have been run and are held. */
  held(count: number): Promise<void>;
}

/** A database whose answers a test holds back, or denies. */
export function steerStatements(database: Statements): SteeredStatements {
  const asked: SteeredStatements['asked'] = [];
  let gate: { promise: Promise<void>; resolve: () => void } | null = null;
  let failure: DatabaseFailure['reason'] | null = null;
  let heldNow = 0;
  let watchers: { count: number; resolve: () => void }[] = [];

  async function pass<T>(work: () => Promise<T>): Promise<T> {
    if (failure !== null) throw failureOf(failure);
    const result = await work();
    if (gate === null) return result;
    heldNow += 1;
    watchers = watchers.filter(({ count, resolve }) => count > heldNow || void resolve());
    await gate.promise;
    if (failure !== null) throw failureOf(failure);
    return result;
  }

  return {
    asked,
    query<R>(text: string, values: readonly SqlValue[] = []) {
      asked.push({ text, values });
      return pass(() => database.query<R>(text, values));
    },
    script: (text) => pass(() => database.script(text)),
    hold() {
      gate ??= Promise.withResolvers<void>();
    },
    release() {
      gate?.resolve();
      gate = null;
      heldNow = 0;
    },
    failWith(reason) {
      failure = reason;
    },
    async held(count) {
      if (heldNow >= count) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      watchers.push({ count, resolve });
      await promise;
    },
  };
}

function failureOf(reason: DatabaseFailure['reason']): DatabaseFailure {
  const fields = { name: 'DatabaseFailure' as const, reason, sqlState: null, constraint: null };
  return Object.assign(new Error(`made to fail: ${reason}`), fields);
}
