import { join } from 'node:path';
import { startUpstream } from './frame/contestants.ts';
import type { Measurement } from './frame/measurement.ts';
import { median, medianOf } from './frame/median.ts';

const PROGRAM = join(import.meta.dir, 'programs/upstream-calls.ts');

export const upstreamClient: Measurement = {
  name: 'upstream-client',
  what: 'CPU time of a small call of a provider that answers at once, 32 at once: the client alone, without the gateway',
  async run(context) {
    const upstream = await startUpstream(context);
    const child = Bun.spawn([process.execPath, PROGRAM, upstream], {
      ...{ stdout: 'pipe', stderr: 'inherit', signal: context.signal },
    });
    const output = await new Response(child.stdout).text();
    if ((await child.exited) !== 0) throw new Error('the calls failed');
    const micros = JSON.parse(output) as { sockets: number[]; fetch: number[] };
    const reference = "the runtime's fetch";
    const ratio = median(micros.sockets) / median(micros.fetch);
    return [
      { label: reference, unit: 'µs', ...medianOf(micros.fetch) },
      {
        label: 'our client on sockets',
        unit: 'µs',
        ...medianOf(micros.sockets),
        beside: { reference, ratio },
      },
    ];
  },
};
