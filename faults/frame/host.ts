import type { RunningProcess } from '../../test/system/running-system.ts';
import type { Lab } from './fault-case.ts';
import { keepCalling, type Load, type TimedCall } from './load.ts';

export const LANES = 6;

/** A gateway behind a load balancer, which gets calls whenever it runs. */
export interface Host {
  readonly seen: readonly TimedCall[];
  /** Of what runs there now, without a path. */
  origin(): string;
  /** Ends what runs there, without calls in flight as a load balancer would, and starts another under load. */
  run(start: () => RunningProcess): Promise<void>;
  stop(): Promise<readonly TimedCall[]>;
}

export function openHost(lab: Lab, rawKey: string): Host {
  const seen: TimedCall[] = [];
  let running: RunningProcess | null = null;
  let load: Load | null = null;
  let url = '';
  const end = async () => {
    seen.push(...((await load?.stop()) ?? []));
    load = null;
    running?.signal('SIGTERM');
    const exitCode = (await running?.exited) ?? 0;
    if (exitCode !== 0) throw new Error(`a gateway ended with ${exitCode}: ${running?.errors()}`);
    running = null;
  };
  lab.whenEnding(async () => {
    await load?.stop();
    running?.signal('SIGKILL');
    await running?.exited;
  });
  return {
    get seen() {
      return [...seen, ...(load?.seen ?? [])];
    },
    origin: () => new URL(url).origin,
    async run(start) {
      await end();
      running = start();
      url = /http:\S+/.exec(await running.line('ready'))?.[0] ?? '';
      load = keepCalling(url, rawKey, LANES);
    },
    async stop() {
      await end();
      return seen;
    },
  };
}

/** Scheme, host and port of the first address in its `ready` line. */
export async function originOf(running: RunningProcess): Promise<string> {
  return new URL(/http:[^\s,]+/.exec(await running.line('ready'))?.[0] ?? '').origin;
}

/** Until each has answered further calls. */
export async function hostsAnswer(hosts: readonly Host[]): Promise<void> {
  const before = hosts.map(({ seen }) => seen.length);
  while (hosts.some(({ seen }, at) => seen.length < (before[at] ?? 0) + 5 * LANES)) await Bun.sleep(50);
}
