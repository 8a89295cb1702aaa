import { listProcesses } from '../../../domain/processes/process-board.ts';
import type { JobRate, ServiceProcess } from '../../../domain/processes/process-report.ts';
import type { Declaration } from '../schema-builder.ts';

export const workQueues: Declaration = (builder) =>
  builder.queryField('workQueues', (t) =>
    t.field({
      type: ['WorkQueue'],
      description: 'Every queue of background jobs: how much waits, runs and is dead, and how fast it goes.',
      authScopes: { superAdmin: true },
      async resolve(_root, _args, { parts: { database, clock, queues } }) {
        const processes = await listProcesses(database, clock.now());
        const depths = await queues.depths();
        return depths.map((depth) => ({ ...depth, ...paceOf(processes, depth.name) }));
      },
    }),
  );

function paceOf(processes: readonly ServiceProcess[], queue: string) {
  const rates = processes.flatMap(({ isStale, report }) => (isStale ? [] : (report.jobRates[queue] ?? [])));
  const sum = (which: keyof JobRate) =>
    Math.round(rates.reduce((total, rate) => total + rate[which], 0) * 10) / 10;
  return {
    processes: rates.length,
    donePerMinute: sum('donePerMinute'),
    failedPerMinute: sum('failedPerMinute'),
  };
}
