import { startGateway, startUpstream } from './frame/contestants.ts';
import { runLoad } from './frame/load.ts';
import type { Measurement, Row } from './frame/measurement.ts';
import { residentMb } from './frame/resident-memory.ts';

const CALLS = 1_000_000;
/** From here on memory is to stay where it is: before, code is compiled and pools fill. */
const SETTLED_AFTER = 100_000;
const SLICE_SECONDS = 10;

export const gatewayMillion: Measurement = {
  name: 'gateway-million',
  what: 'the memory of one gateway process over a million calls, everything on, 32 connections',
  withinMs: 30 * 60_000,
  async run(context) {
    const upstream = await startUpstream(context);
    const ours = await startGateway(context, upstream, 'servers');
    let calls = 0;
    const seen: { calls: number; mb: number }[] = [];
    while (calls < CALLS && !context.signal.aborted) {
      const { requests } = await runLoad(ours, { connections: 32, seconds: SLICE_SECONDS, bodyBytes: 0 });
      calls += requests;
      seen.push({ calls, mb: residentMb(ours.pid) });
    }
    const first = seen.find((one) => one.calls >= SETTLED_AFTER) ?? { calls, mb: 0 };
    return [SETTLED_AFTER, CALLS / 4, CALLS / 2, CALLS].map((after): Row => {
      const { mb, calls: counted } = seen.find((one) => one.calls >= after) ?? { mb: 0, calls: 0 };
      const label = `resident memory after ${counted} calls`;
      if (after === SETTLED_AFTER) return { label, value: mb, unit: 'MB' };
      return {
        label,
        value: mb,
        unit: 'MB',
        beside: { reference: `after ${first.calls}`, ratio: mb / first.mb },
      };
    });
  },
};
