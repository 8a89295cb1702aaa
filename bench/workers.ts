import { PgBoss } from 'pg-boss';
import type { Measurement, Row } from './frame/measurement.ts';
import { median, medianOf } from './frame/median.ts';
import { directQueue } from './job-rounds.ts';
import { openWorkerBench, type WorkKind } from './worker-load.ts';

const ROUNDS = 3;
const BOSS_JOBS = 500;
/** So many in a round that a round takes a second or two. */
const KINDS: readonly { readonly kind: WorkKind; readonly jobs: number; readonly what: string }[] = [
  { kind: 'mail', jobs: 200, what: 'mails, sent to an SMTP server' },
  { kind: 'cv', jobs: 40, what: 'CVs, read by a provider’s model and charged' },
  { kind: 'document', jobs: 40, what: 'postings, read by a provider’s model and charged' },
  { kind: 'meeting', jobs: 60, what: 'meetings, summarised by a provider’s model and charged' },
];

export const workers: Measurement = {
  name: 'workers',
  what: 'jobs a second through each worker of one AI service process, with its effects, beside pg-boss alone with none',
  async run(context) {
    const { signal, whenEnding } = context;
    const boss = new PgBoss({ connectionString: await context.emptyDatabase(), max: 10 });
    whenEnding(() => boss.stop({ graceful: false }));
    boss.on('error', () => {});
    await boss.start();
    const alone = await directQueue(boss);
    const bench = await openWorkerBench(context);
    const rates = new Map<string, number[]>();
    const note = (label: string, jobs: number, tookMs: number) =>
      rates.set(label, [...(rates.get(label) ?? []), (jobs * 1_000) / tookMs]);
    for (const { kind, jobs } of KINDS) await bench.workOff(kind, Math.ceil(jobs / 4), signal);
    for (let round = 0; round < ROUNDS; round += 1) {
      for (let job = 0; job < BOSS_JOBS; job += 1) await alone.enqueue();
      const begin = performance.now();
      await alone.workOff(BOSS_JOBS);
      note(alone.label, BOSS_JOBS, performance.now() - begin);
      for (const { kind, jobs, what } of KINDS) note(what, jobs, await bench.workOff(kind, jobs, signal));
    }
    const reference = median(rates.get(alone.label) ?? []);
    return [...rates].map(([label, own]): Row => {
      const row: Row = { label, unit: '/s', ...medianOf(own) };
      if (label === alone.label) return { ...row, label: `${label}, a handler that does nothing` };
      return { ...row, beside: { reference: 'pg-boss alone', ratio: row.value / reference } };
    });
  },
};
