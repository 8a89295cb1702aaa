import { type Contestant, startGateway, startNginx, startUpstream } from './frame/contestants.ts';
import { runPaced } from './frame/load.ts';
import type { BenchContext, Measurement, Row } from './frame/measurement.ts';

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
    const delays = await inRounds(context, all);
    const reference = nginx === null ? [] : (delays.get(nginx) ?? []);
    return all.flatMap((one) => rowsOf(one, delays.get(one) ?? [], one === nginx ? [] : reference));
  },
};

/** They take turns. The delays of all rounds count together: the slowest thousandth of one round is four calls. */
async function inRounds(
  { signal }: BenchContext,
  all: readonly Contestant[],
): Promise<Map<Contestant, readonly number[]>> {
  const delays = new Map<Contestant, readonly number[]>();
  const callAtTimes = async (one: Contestant, seconds: number) => {
    signal.throwIfAborted();
    return (await runPaced(one, { perSecond: PER_SECOND, seconds })).delaysMs;
  };
  for (const one of all) await callAtTimes(one, WARM_UP_SECONDS);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const one of all) {
      delays.set(one, [...(delays.get(one) ?? []), ...(await callAtTimes(one, SECONDS))]);
    }
  }
  for (const [one, taken] of delays)
    delays.set(
      one,
      taken.toSorted((a, b) => a - b),
    );
  return delays;
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
