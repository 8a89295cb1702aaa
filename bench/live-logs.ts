import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSystemClock } from '../src/adapters/clock/system-clock.ts';
import { openRedisState } from '../src/adapters/shared-state/redis.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import { type StartedBackend, startBackendAlone } from './frame/backend.ts';
import type { BenchContext, Measurement } from './frame/measurement.ts';
import { residentMb } from './frame/resident-memory.ts';

const WATCHERS = 1_000;
const LINES_A_SECOND = 200;
const SECONDS = 15;
const DELAY_AIM_MS = 250;

interface Watched {
  readonly received: number;
  readonly lost: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export const liveLogs: Measurement = {
  name: 'live-logs',
  what: `the live log of one backend process: ${WATCHERS} watchers over WebSocket, ${LINES_A_SECOND} lines a second from another process through Redis`,
  async run(context) {
    const backend = await startBackendAlone(context);
    const program = join(import.meta.dir, 'programs/log-watchers.ts');
    const address = `${backend.url.replace('http', 'ws')}/graphql`;
    const before = residentMb(backend.pid);
    const child = Bun.spawn([process.execPath, program, address, backend.superAdmin, String(WATCHERS)], {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    });
    context.whenEnding(() => child.kill());
    const output = child.stdout.getReader();
    await output.read();
    const idle = residentMb(backend.pid);
    const cpuBefore = cpuSeconds(backend.pid);
    const { sent, highest } = await sendLines(context, backend);
    const cpu = cpuSeconds(backend.pid) - cpuBefore;
    child.stdin.write('\n');
    child.stdin.end();
    const { value } = await output.read();
    const watched = JSON.parse(new TextDecoder().decode(value)) as Watched;
    if (watched.received + watched.lost !== sent * WATCHERS) {
      const all = `${watched.received} received and ${watched.lost} said to be lost`;
      throw new Error(`${all} are not ${sent} lines for ${WATCHERS} watchers`);
    }
    return [
      { label: 'from sent to read: p50', value: watched.p50Ms, unit: 'ms' },
      { label: 'from sent to read: p99', value: watched.p99Ms, unit: 'ms', aim: { below: DELAY_AIM_MS } },
      { label: 'the slowest', value: watched.maxMs, unit: 'ms' },
      { label: 'lines delivered', value: watched.received / SECONDS, unit: '/s' },
      { label: 'lines lost, and said so', value: watched.lost / SECONDS, unit: '/s' },
      { label: 'processor time for a line delivered', value: (cpu / watched.received) * 1e6, unit: 'µs' },
      { label: 'more memory with the watchers there', value: idle - before, unit: 'MB' },
      { label: 'more memory at most while lines come', value: highest - idle, unit: 'MB' },
    ];
  },
};

/** As a busy process would: some lines each time, evenly. */
async function sendLines({ signal, whenEnding }: BenchContext, { pid, redisUrl }: StartedBackend) {
  const state = await openRedisState({ url: redisUrl, timeoutMs: 5_000, log: createSilentLog() });
  whenEnding(state.close);
  const clock = createSystemClock();
  const begun = performance.now();
  let sent = 0;
  let highest = residentMb(pid);
  while (sent < LINES_A_SECOND * SECONDS) {
    signal.throwIfAborted();
    const due = Math.min(LINES_A_SECOND * SECONDS, ((performance.now() - begun) / 1000) * LINES_A_SECOND);
    for (; sent < due; sent += 1) {
      const context = { process: 4711, service: 'gateway', requestId: `req_${sent}`, sentAt: Date.now() };
      const entry = {
        timestamp: new Date().toISOString(),
        level: 'info',
        message: 'a call has ended',
        context,
      };
      await state.publish('logs', JSON.stringify(entry));
    }
    highest = Math.max(highest, residentMb(pid));
    await clock.sleep(5);
  }
  return { sent, highest };
}

/** User and system time; the kernel counts in hundredths of a second. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
