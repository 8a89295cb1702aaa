import { join } from 'node:path';
import { startGateway, startUpstream } from './frame/contestants.ts';
import { runLoad } from './frame/load.ts';
import type { Measurement } from './frame/measurement.ts';
import { residentMb } from './frame/resident-memory.ts';

const STREAMS = 1_000;
/** 30 chunks, the usage and [DONE]. */
const EVENTS = 32;
const MEMORY_AIM_MB = 60;
const CALLS_SECONDS = 20;

export const gatewayStreams: Measurement = {
  name: 'gateway-streams',
  what: `${STREAMS} slow streams at once through one gateway process, and its memory under many calls`,
  async run(context) {
    const upstream = await startUpstream(context);
    const ours = await startGateway(context, upstream, 'servers');
    await runLoad(ours, { connections: 32, seconds: 3, bodyBytes: 0 });
    const before = residentMb(ours.pid);
    const { requests } = await runLoad(ours, { connections: 32, seconds: CALLS_SECONDS, bodyBytes: 0 });
    const after = residentMb(ours.pid);
    const idle = residentMb(ours.pid);
    const program = join(import.meta.dir, 'programs/stream-load.ts');
    const child = Bun.spawn([process.execPath, program, ours.url, ours.key, String(STREAMS)], {
      stdout: 'pipe',
      stderr: 'inherit',
      env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: '65336' },
    });
    let highest = idle;
    const watching = setInterval(() => {
      highest = Math.max(highest, residentMb(ours.pid));
    }, 50);
    const output = await new Response(child.stdout).text();
    await child.exited;
    clearInterval(watching);
    const { whole, events } = JSON.parse(output) as { whole: number; events: number };
    if (whole !== STREAMS || events !== STREAMS * EVENTS) {
      throw new Error(
        `${whole} of ${STREAMS} streams were whole, with ${events} of ${STREAMS * EVENTS} events`,
      );
    }
    return [
      {
        label: `more memory with ${STREAMS} streams open, not an event lost`,
        value: highest - idle,
        unit: 'MB',
        aim: { below: MEMORY_AIM_MB },
      },
      { label: `memory before ${requests} calls`, value: before, unit: 'MB' },
      {
        label: 'memory after them',
        value: after,
        unit: 'MB',
        beside: { reference: 'before', ratio: after / before },
      },
    ];
  },
};
