import { join } from 'node:path';
import type { Contestant } from './contestants.ts';
import { compilerMicros, cpuMicrosWithChildren } from './process-cpu.ts';

export interface Load {
  readonly connections: number;
  readonly seconds: number;
  readonly bodyBytes: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of the one who was called, with its child processes, not of the caller. */
  readonly cpuMicros: number;
  /** Of these, those of the runtime's threads that compile. */
  readonly compilerMicros: number;
}

const PROGRAM = join(import.meta.dir, '../programs/load.ts');
const PACED_PROGRAM = join(import.meta.dir, '../programs/open-loop.ts');

export async function runLoad(contestant: Contestant, load: Load): Promise<LoadResult> {
  const { url, key, pid, headers = [], body } = contestant;
  const words = [url, key, load.connections, load.seconds, load.bodyBytes, ...headers].map(String);
  const before = cpuMicrosWithChildren(pid);
  const compiledBefore = compilerMicros(pid);
  const env = body === undefined ? process.env : { ...process.env, LOAD_BODY: body };
  const child = Bun.spawn([process.execPath, PROGRAM, ...words], { stdout: 'pipe', stderr: 'inherit', env });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`the load on ${contestant.name} failed`);
  const result = JSON.parse(output) as Omit<LoadResult, 'cpuMicros' | 'compilerMicros'>;
  if (result.failed > 0)
    throw new Error(`${contestant.name} failed ${result.failed} of ${result.requests} calls`);
  return {
    ...result,
    cpuMicros: (cpuMicrosWithChildren(pid) - before) / result.requests,
    compilerMicros: (compilerMicros(pid) - compiledBefore) / result.requests,
  };
}

interface PacedLoad {
  readonly perSecond: number;
  readonly seconds: number;
}

export interface PacedResult {
  readonly delaysMs: readonly number[];
  readonly cpuMicros: number;
}

/** Calls that leave at their time, whatever was answered. */
export async function runPaced(
  { name, url, key, pid, body }: Contestant,
  { perSecond, seconds }: PacedLoad,
): Promise<PacedResult> {
  const words = [url, key, perSecond, seconds].map(String);
  const before = cpuMicrosWithChildren(pid);
  const env = body === undefined ? process.env : { ...process.env, LOAD_BODY: body };
  const child = Bun.spawn([process.execPath, PACED_PROGRAM, ...words], {
    ...{ stdout: 'pipe', stderr: 'inherit', env },
  });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`the load on ${name} failed`);
  const { failed, delaysMs } = JSON.parse(output) as { failed: number; delaysMs: number[] };
  if (failed > 0) throw new Error(`${name} failed ${failed} of ${perSecond * seconds} calls`);
  return { delaysMs, cpuMicros: (cpuMicrosWithChildren(pid) - before) / delaysMs.length };
}

/** The median time to the first bytes of a stream, one call at a time. */
export async function firstTokenMs({ url, key, name }: Contestant): Promise<number> {
  const program = join(import.meta.dir, '../programs/first-token.ts');
  const child = Bun.spawn([process.execPath, program, url, key], { stdout: 'pipe', stderr: 'inherit' });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`the streams of ${name} failed`);
  return (JSON.parse(output) as { p50Ms: number }).p50Ms;
}
