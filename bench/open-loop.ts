import { type Contestant, startGateway, startNginx, startUpstream } from './frame/contestants.ts';
import { type PacedResult, runPaced } from './frame/load.ts';
import type { BenchContext, Measurement, Row } from './frame/measurement.ts';
import { median } from './frame/median.ts';
import { warmUp } from './frame/warm-up.ts';

const PER_SECOND = 500;
const SECONDS = 8;
const WARM_UP_SECONDS = 4;
const ROUNDS = 4;
/** The most that ours may add to nginx's own delay. */
const SHARES = [
  { share: 0.5, name: 'p50' },
  { share: 0.99, name: 'p99', overNginxMs: 5 },
  { share: 0.999, name: 'p99.9', overNginxMs: 15 },
] as const;

export const openLoop: Measurement = {
  name: 'open-loop',
  what: `${PER_SECOND} calls a second that leave at their time, whatever was answered; delays from that time; PostgreSQL with fsync`,
  withinMs: 300_000,
  async run(context) {
    const upstream = await startUpstream(context);
    const nginx = await startNginx(context, upstream);
    const ours = [
      await startGateway(context, upstream, 'servers', {
        DATABASE_URL: await context.emptyDatabase('durable'),
      }),
      await startGateway(context, upstream, 'all services on servers', {
        DATABASE_URL: await context.emptyDatabase('durable'),
      }),
    ];
    const all = [nginx, ...ours].filter((one) => one !== null);
    const results = await inRounds(context, all);
    const reference = nginx === null ? null : (results.get(nginx) ?? null);
    return all.flatMap((one) => {
      const own = results.get(one) ?? [];
      const beside = one === nginx ? null : reference;
      return [...rowsOf(one, sorted(own), sorted(beside ?? [])), cpuRow(one, own, beside)];
    });
  },
};

/** They take turns. The delays of all rounds count together: the slowest thousandth of one round is four calls. */
async function inRounds(
  { signal }: BenchContext,
  all: readonly Contestant[],
): Promise<Map<Contestant, readonly PacedResult[]>> {
  const results = new Map<Contestant, readonly PacedResult[]>();
  const callAtTimes = async (one: Contestant, seconds: number) => {
    signal.throwIfAborted();
    return await runPaced(one, { perSecond: PER_SECOND, seconds });
  };
  // At this rate a runtime takes minutes to compile what a call needs; nginx is compiled.
  for (const one of all) await warmUp(one);
  for (const one of all) await callAtTimes(one, WARM_UP_SECONDS);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const one of all) {
      results.set(one, [...(results.get(one) ?? []), await callAtTimes(one, SECONDS)]);
    }
  }
  return results;
}

function sorted(results: readonly PacedResult[]): number[] {
  return results.flatMap(({ delaysMs }) => delaysMs).toSorted((a, b) => a - b);
}

/** Beside that of calls which come one upon the other, it shows what waking up costs on this machine: nginx pays it too. */
function cpuRow(one: Contestant, own: readonly PacedResult[], reference: readonly PacedResult[] | null): Row {
  const costOf = (results: readonly PacedResult[]) => median(results.map(({ cpuMicros }) => cpuMicros));
  const row = { label: `${one.name}: CPU time of a call`, value: costOf(own), unit: 'µs' as const };
  if (reference === null) return row;
  return { ...row, beside: { reference: 'nginx’s', ratio: row.value / costOf(reference) } };
}

function rowsOf(one: Contestant, sorted: readonly number[], reference: readonly number[]): Row[] {
  return SHARES.map((wanted) => {
    const value = quantile(sorted, wanted.share);
    const label = `${one.name}: ${wanted.name}`;
    if (reference.length === 0) return { label, value, unit: 'ms' };
    const least = quantile(reference, wanted.share);
    const beside = { reference: `nginx’s ${wanted.name}`, ratio: value / least };
    const aim = 'overNginxMs' in wanted ? { aim: { below: least + wanted.overNginxMs } } : {};
    return { label, value, unit: 'ms', beside, ...aim };
  });
}

function quantile(sorted: readonly number[], share: number): number {
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  if (value === undefined) throw new Error('no call was answered');
  return value;
}
