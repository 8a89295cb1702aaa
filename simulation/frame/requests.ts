import type { SeededRandom } from '../../test/doubles/seeded-random.ts';
import { NEVER, type Owner, type Scheduler } from './scheduler.ts';

/** What becomes of one request to the outside, besides what it asks for. */
interface RequestFault {
  /** Fails before it has an effect, or after it. */
  readonly when: 'before' | 'after';
  readonly error: Error;
  /** How long its owner waits for the failure. */
  readonly afterMs: number;
}

interface RequestParts {
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  trace(line: string): void;
}

/** Sends requests to the outside: each takes time, may fail, and is a place where its process may die. */
export interface Requests {
  /** `effect` is what the outside does with it. */
  send<T>(
    owner: Owner,
    what: string,
    effect: () => T | Promise<T>,
    fault?: () => RequestFault | null,
  ): Promise<T>;
  /** What takes no time, and is a place to die all the same; null where it had no effect. */
  now<T>(owner: Owner, what: string, effect: () => T): T | null;
}

export function createRequests({ scheduler, random, trace }: RequestParts): Requests {
  /** True where the process dies here. */
  function dies(owner: Owner, when: 'before' | 'after', what: string): boolean {
    const { dieAfter } = owner;
    if (dieAfter === null || dieAfter.requests > 0 || dieAfter.when !== when) return false;
    trace(`${owner.name} dies ${when} ${what}`);
    scheduler.kill(owner);
    return true;
  }

  return {
    now(owner, what, effect) {
      if (!owner.isAlive) return null;
      if (owner.dieAfter !== null) owner.dieAfter.requests -= 1;
      if (dies(owner, 'before', what)) return null;
      const result = effect();
      dies(owner, 'after', what);
      return result;
    },
    async send(owner, what, effect, fault = () => null) {
      if (!owner.isAlive) return await NEVER;
      if (owner.dieAfter !== null) owner.dieAfter.requests -= 1;
      if (dies(owner, 'before', what)) return await NEVER;
      await scheduler.wait(owner, 0.2 + random.below(20) / 10);
      const failing = fault();
      if (failing?.when === 'before') {
        trace(`${owner.name} ${what}: ${failing.error.message}, without effect`);
        await scheduler.wait(owner, failing.afterMs);
        throw failing.error;
      }
      let result: Awaited<ReturnType<typeof effect>>;
      try {
        result = await effect();
      } catch (error) {
        if (!owner.isAlive) return await NEVER;
        throw error;
      }
      if (!owner.isAlive || dies(owner, 'after', what)) return await NEVER;
      if (failing !== null) {
        trace(`${owner.name} ${what}: ${failing.error.message}, after its effect`);
        await scheduler.wait(owner, failing.afterMs);
        throw failing.error;
      }
      return result;
    },
  };
}
