import type { RunningProcess } from '../../test/system/running-system.ts';
import type { Commits } from './own-servers.ts';

/** One thing that is measured: a file of its own in this folder, and a line in measurements.ts. */
export interface Measurement {
  /** What is typed to run it alone. */
  readonly name: string;
  /** Printed above its rows. */
  readonly what: string;
  /** Where it may need longer than others. */
  readonly withinMs?: number;
  run(context: BenchContext): Promise<readonly Row[]>;
}

export type Unit = 'µs' | 'ms' | 'MB' | '/s' | 'calls';

export interface Row {
  readonly label: string;
  /** The median, where it was taken several times. */
  readonly value: number;
  readonly unit: Unit;
  /** The lowest and the highest of those times. */
  readonly range?: readonly [number, number];
  /** How many times as much as the reference, which was measured in the same run: the part that carries over. */
  readonly beside?: { readonly reference: string; readonly ratio: number };
  /** Said beside the figure. A missed aim is no failure: the machine may be slow or busy. */
  readonly aim?: { readonly below: number };
}

/** What a measurement may use. All of it is ended when the measurement ends, however it ends. */
export interface BenchContext {
  /** Aborts when the run is interrupted, or the measurement takes too long. */
  readonly signal: AbortSignal;
  /** The address of an empty database on this run's own PostgreSQL; without `durable` its commits wait for no disk. */
  emptyDatabase(commits?: Commits): Promise<string>;
  /** The address of this run's own Redis, with nothing in it. */
  emptyRedis(): Promise<string>;
  /** A path in an empty folder, with nothing there yet. */
  freshPath(): Promise<string>;
  /** A folder that holds an empty embedded database under `database`. */
  embeddedFolder(): Promise<string>;
  /** Runs a file of src/start as its npm script would, on free ports. */
  startProcess(file: string, env?: Record<string, string>): RunningProcess;
  /** What is opened later is ended earlier. */
  whenEnding(end: () => unknown): void;
}
