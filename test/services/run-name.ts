import { createHash } from 'node:crypto';
import { hostname } from 'node:os';

/** Set by the runner for its test processes. */
export const runVariable = 'TEST_RUN';

/** This machine and the runner's process id: what a run names so can be swept by a later one on this machine. */
export function newRunName(): string {
  return `${hostTag()}_${process.pid}`;
}

/** The name of the run that this process belongs to: the runner's, or its own in a bare `bun test`. */
export function runName(): string {
  return process.env[runVariable] || newRunName();
}

/** Whether a runner started this process, and removes the temporary folder at the end. */
export function hasRunner(): boolean {
  return Boolean(process.env[runVariable]);
}

/** Servers may be used by several machines, whose process ids mean nothing to each other. */
export function hostTag(): string {
  return createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
}
