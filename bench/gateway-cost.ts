import {
  type Contestant,
  startBareProxy,
  startGateway,
  startNginx,
  startPortkey,
  startUpstream,
} from './frame/contestants.ts';
import { firstTokenMs, type LoadResult, runLoad } from './frame/load.ts';
import type { Measurement, Row } from './frame/measurement.ts';
import { median, medianOf } from './frame/median.ts';

const WARM_UP = { connections: 32, seconds: 3, bodyBytes: 0 };
const SMALL = { connections: 32, seconds: 3, bodyBytes: 0 };
const ALONE = { connections: 1, seconds: 2, bodyBytes: 0 };
const ROUNDS = 3;
const BODY_BYTES = [1_000, 10_000, 100_000, 1_000_000];
const NGINX_TIMES = 7;
const PORTKEY_SHARE = 1 / 8;
const ADDED_AIM_MS = 0.5;

export const gatewayCost: Measurement = {
  name: 'gateway-cost',
  what: 'CPU time of a small chat call, 32 connections, in front of an upstream that answers at once; everything on',
  withinMs: 300_000,
  async run(context) {
    const upstream = await startUpstream(context);
    const nginx = await startNginx(context, upstream);
    const portkey = await startPortkey(context, upstream);
    const bare = await startBareProxy(context, upstream);
    const ours = await startGateway(context, upstream, 'servers');
    const embedded = await startGateway(context, upstream, 'embedded');
    const all = [nginx, bare, ours, embedded, portkey].filter((one) => one !== null);
    const results = await inRounds(all);
    const direct: Contestant = { ...ours, name: 'the upstream itself', url: `${upstream}/chat/completions` };
    return [
      ...costRows(all, results, nginx, portkey, ours),
      ...(await addedTime(direct, ours)),
      ...(await byBodySize(ours)),
    ];
  },
};

/** One after the other, several times over, so that whatever else the machine does hits all of them. */
async function inRounds(all: readonly Contestant[]): Promise<Map<Contestant, LoadResult[]>> {
  const results = new Map<Contestant, LoadResult[]>();
  for (const one of all) await runLoad(one, WARM_UP);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const one of all) results.set(one, [...(results.get(one) ?? []), await runLoad(one, SMALL)]);
  }
  return results;
}

function costRows(
  all: readonly Contestant[],
  results: ReadonlyMap<Contestant, LoadResult[]>,
  nginx: Contestant | null,
  portkey: Contestant | null,
  ours: Contestant,
): Row[] {
  const costs = (one: Contestant) => (results.get(one) ?? []).map(({ cpuMicros }) => cpuMicros);
  const reference = nginx ?? ours;
  const rows: Row[] = all.map((one) => ({
    label: one.name,
    unit: 'µs',
    ...medianOf(costs(one)),
    ...(one === reference
      ? {}
      : { beside: { reference: reference.name, ratio: median(costs(one)) / median(costs(reference)) } }),
    ...(one === ours && nginx !== null ? { aim: { below: NGINX_TIMES * median(costs(nginx)) } } : {}),
  }));
  if (portkey === null) return rows;
  const value = median(costs(ours));
  const beside = { reference: portkey.name, ratio: value / median(costs(portkey)) };
  const aim = { below: PORTKEY_SHARE * median(costs(portkey)) };
  return [...rows, { label: `${ours.name}, beside Portkey`, value, unit: 'µs', beside, aim }];
}

/** To a stream's first bytes, which wait for nothing of ours but admission, and to a whole call, which is committed. */
async function addedTime(direct: Contestant, ours: Contestant): Promise<Row[]> {
  const toFirst: number[] = [];
  const toWhole: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const first = await firstTokenMs(direct);
    toFirst.push((await firstTokenMs(ours)) - first);
    const whole = await runLoad(direct, ALONE);
    toWhole.push((await runLoad(ours, ALONE)).p50Ms - whole.p50Ms);
  }
  return [
    {
      label: 'added to the first token, one connection',
      unit: 'ms',
      ...medianOf(toFirst),
      aim: { below: ADDED_AIM_MS },
    },
    { label: 'added to a whole call, one connection', unit: 'ms', ...medianOf(toWhole) },
  ];
}

async function byBodySize(ours: Contestant): Promise<Row[]> {
  const rows: Row[] = [];
  for (const bodyBytes of BODY_BYTES) {
    const { cpuMicros } = await runLoad(ours, { connections: 8, seconds: 3, bodyBytes });
    const first = rows[0]?.value ?? cpuMicros;
    const beside = { reference: 'a body of 1 kB', ratio: cpuMicros / first };
    const label = `a call with a body of ${bodyBytes / 1_000} kB, 8 connections`;
    rows.push({ label, value: cpuMicros, unit: 'µs', ...(rows.length === 0 ? {} : { beside }) });
  }
  return rows;
}
