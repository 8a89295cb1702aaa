import type { Measurement, Row } from './frame/measurement.ts';
import { openWorkerBench, type WorkKind } from './worker-load.ts';

/** What a busy company of some hundred people brings in an hour. */
const HOUR: readonly { readonly kind: WorkKind; readonly jobs: number }[] = [
  { kind: 'cv', jobs: 200 },
  { kind: 'document', jobs: 40 },
  { kind: 'meeting', jobs: 60 },
  { kind: 'mail', jobs: 400 },
];
const QUARTERS = 4;
const IDLE_MS = 3_000;

export const workersMemory: Measurement = {
  name: 'workers-memory',
  what: `resident memory of an AI service process over an hour's work in a minute: ${HOUR.map(({ kind, jobs }) => `${jobs} ${kind}`).join(', ')}`,
  async run(context) {
    const bench = await openWorkerBench(context);
    await Bun.sleep(IDLE_MS);
    const rows: Row[] = [{ label: 'before the work', unit: 'MB', value: bench.residentMb() }];
    let firstMb = 0;
    for (let quarter = 1; quarter <= QUARTERS; quarter += 1) {
      for (const { kind, jobs } of HOUR) await bench.workOff(kind, jobs / QUARTERS, context.signal);
      const value = bench.residentMb();
      if (quarter === 1) firstMb = value;
      const beside = quarter === 1 ? {} : { beside: { reference: 'the first', ratio: value / firstMb } };
      rows.push({ label: `after quarter ${quarter}`, unit: 'MB', value, ...beside });
    }
    await Bun.sleep(IDLE_MS);
    const value = bench.residentMb();
    const beside = { reference: 'the first', ratio: value / firstMb };
    return [...rows, { label: `${IDLE_MS / 1_000} s later`, unit: 'MB', value, beside }];
  },
};
