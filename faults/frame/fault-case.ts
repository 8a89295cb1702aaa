import type { PausableRedis } from '../../test/adapters/shared-state/pausable-redis.ts';
import type { CreditWorld, RunningGateway } from '../../test/system/credit-world.ts';
import type { RunningProcess } from '../../test/system/running-system.ts';
import type { Revisions } from './commits.ts';
import type { TimedCall } from './load.ts';
import type { PausablePostgres } from './pausable-postgres.ts';

/** One thing that goes wrong on purpose. */
export interface FaultCase {
  /** What is typed to run it alone. */
  readonly name: string;
  readonly what: string;
  /** Part of `npm run test:slow`: a few seconds, and needs no server of its own. */
  readonly isQuick?: boolean;
  /** What the machine must allow; elsewhere the case is left out and that is said. */
  readonly needs?: 'root';
  run(lab: Lab): Promise<Findings>;
}

/** What a case shows. The frame adds that every whole answer is charged once and that `turnpike audit` is clean. */
export interface Findings {
  readonly kept: string;
  readonly refused: string;
  /** From the end of the fault to the first whole answer; null where nothing had to recover. */
  readonly recoveryMs: number | null;
  readonly lost: string;
  /** Of the gateway, beside an attack and without it: a line each. */
  readonly latency?: readonly string[];
  /** What was done one after the other: a line each. */
  readonly steps?: readonly string[];
  /** Nothing that a client did not get whole may have been charged. */
  readonly chargesOnlyWhole?: boolean;
  /** Whose books are checked, where it is not the lab's own world. */
  readonly world?: CreditWorld;
  /** What was looked for and not found: the case has failed. */
  readonly problems: readonly string[];
}

export interface Lab {
  readonly world: CreditWorld;
  /** Everything that clients saw, for the books at the end. */
  readonly seen: TimedCall[];
  readonly signal: AbortSignal;
  /** For cases that run two versions. */
  readonly revisions: Revisions;
  /** Throws where the servers are not this run's own. */
  ownPostgres(): PausablePostgres;
  ownRedis(): PausableRedis;
  gateway(env?: Record<string, string>): Promise<RunningGateway>;
  /** Another process of the system, up to its `ready` line. */
  start(file: string, env?: Record<string, string>): Promise<RunningProcess>;
  /** What is opened later is ended earlier. */
  whenEnding(end: () => unknown): void;
  freshPath(): string;
}
