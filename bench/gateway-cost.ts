import {
  type Contestant,
  startBareProxy,
  startGateway,
  startNginx,
  startUpstream,
} from './frame/contestants.ts';
import { firstTokenMs, type LoadResult, runLoad, runPaced } from './frame/load.ts';
import type { Measurement, Row } from './frame/measurement.ts';
import { median, medianOf } from './frame/median.ts';
import { startLiteLlm, startPortkey } from './frame/peers.ts';
import { WARM_UP, warmUp } from './frame/warm-up.ts';

const SMALL = { connections: 32, seconds: 3, bodyBytes: 0 };
const ALONE = { connections: 1, seconds: 2, bodyBytes: 0 };
const ROUNDS = 3;
const BODY_BYTES = [1_000, 10_000, 100_000, 1_000_000];
/** The most that a call may cost, in calls of nginx. */
const NGINX_TIMES = { servers: 6, 'all services on servers': 8, embedded: 12 } as const;
const PORTKEY_SHARE = 1 / 8;
/** The most that a call of another wire may cost, in chat calls: as much, but for what two runs differ by. */
const NO_DEARER = 1.05;
const FIRST_TOKEN_AIM_MS = 0.35;
const WHOLE_CALL_AIM_MS = 0.8;

export const gatewayCost: Measurement = {
  name: 'gateway-cost',
  what: 'CPU time of a small chat call, 32 connections, in front of an upstream that answers at once; everything on',
  withinMs: 600_000,
  async run(context) {
    const upstream = await startUpstream(context);
    const nginx = await startNginx(context, upstream);
    const peers = [await startPortkey(context, upstream), await startLiteLlm(context, upstream)];
    const bare = await startBareProxy(context, upstream);
    const ours = await startGateway(context, upstream, 'servers');
    const allServices = await startGateway(context, upstream, 'all services on servers');
    const embedded = await startGateway(context, upstream, 'embedded');
    const all = [nginx, bare, ours, allServices, embedded, ...peers].filter((one) => one !== null);
    const firstSeconds = new Map<Contestant, LoadResult>();
    for (const one of all) firstSeconds.set(one, await warmUp(one));
    const results = await inRounds(all);
    const aims = new Map<Contestant, number>([
      [ours, NGINX_TIMES.servers],
      [allServices, NGINX_TIMES['all services on servers']],
      [embedded, NGINX_TIMES.embedded],
    ]);
    const direct: Contestant = { ...ours, name: 'the upstream itself', url: `${upstream}/chat/completions` };
    return [
      ...costRows(results, nginx, ours, aims),
      ...[ours, allServices, embedded].map((one) => firstSecondsRow(one, firstSeconds)),
      ...besidePeer(results, ours, peers[0] ?? null),
      ...(await addedTime(direct, ours)),
      ...(await byWire(ours)),
      ...(await byBodySize(bare, ours)),
    ];
  },
};

function firstSecondsRow(one: Contestant, results: ReadonlyMap<Contestant, LoadResult>): Row {
  const label = `${one.name}, in its first ${WARM_UP.seconds} seconds, while it is compiled`;
  return { label, unit: 'µs', value: results.get(one)?.cpuMicros ?? 0 };
}

type Loading = (one: Contestant) => Promise<Cost>;
type Cost = Pick<LoadResult, 'cpuMicros'>;

/** One after the other, several times over, so that whatever else the machine does hits all of them. */
async function inRounds(
  all: readonly Contestant[],
  rounds = ROUNDS,
  load: Loading = (one) => runLoad(one, SMALL),
): Promise<Map<Contestant, Cost[]>> {
  const results = new Map<Contestant, Cost[]>();
  for (let round = 0; round < rounds; round += 1) {
    // Each comes first once, in turns: what runs before one of them is not always the same.
    const first = round % all.length;
    for (const one of [...all.slice(first), ...all.slice(0, first)]) {
      results.set(one, [...(results.get(one) ?? []), await load(one)]);
    }
  }
  return results;
}

type Results = ReadonlyMap<Contestant, readonly Cost[]>;

/** Beside nginx, or beside ours where the machine has no nginx. */
function costRows(
  results: Results,
  nginx: Contestant | null,
  ours: Contestant,
  aims: ReadonlyMap<Contestant, number>,
): Row[] {
  const reference = nginx ?? ours;
  const least = medianCost(results, reference);
  return [...results].map(([one, taken]) => {
    const times = nginx === null ? undefined : aims.get(one);
    const beside = { reference: reference.name, ratio: medianCost(results, one) / least };
    return {
      label: one.name,
      unit: 'µs',
      ...medianOf(taken.map(({ cpuMicros }) => cpuMicros)),
      ...(one === reference ? {} : { beside }),
      ...(times === undefined ? {} : { aim: { below: times * least } }),
    };
  });
}

function besidePeer(results: Results, ours: Contestant, peer: Contestant | null): Row[] {
  if (peer === null) return [];
  const [value, theirs] = [medianCost(results, ours), medianCost(results, peer)];
  const beside = { reference: peer.name, ratio: value / theirs };
  const aim = { below: PORTKEY_SHARE * theirs };
  return [{ label: `${ours.name}, beside Portkey`, value, unit: 'µs', beside, aim }];
}

function medianCost(results: Results, one: Contestant): number {
  return median(costsOf(results, one));
}

function costsOf(results: Results, one: Contestant): number[] {
  return (results.get(one) ?? []).map(({ cpuMicros }) => cpuMicros);
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
      aim: { below: FIRST_TOKEN_AIM_MS },
    },
    {
      label: 'added to a whole call, one connection',
      unit: 'ms',
      ...medianOf(toWhole),
      aim: { below: WHOLE_CALL_AIM_MS },
    },
  ];
}

/** Many short ones: what else the machine does in a second differs more than the wires do. */
const WIRE_ROUNDS = 24;
const atOnce: Loading = (one) => runLoad(one, { ...SMALL, seconds: 1 });
const AT_A_RATE = { perSecond: 1_000, seconds: 2 };

export const gatewayWires: Measurement = {
  name: 'gateway-wires',
  what: 'CPU time of a small call of /responses and /messages to providers that speak them, beside chat completions',
  withinMs: 900_000,
  async run(context) {
    const upstream = await startUpstream(context);
    const ours = await startGateway(context, upstream, 'servers');
    await warmUp(ours);
    return [
      ...(await byWire(ours, WIRE_ROUNDS)),
      ...(await byWire(
        ours,
        WIRE_ROUNDS / 2,
        (one) => runPaced(one, AT_A_RATE),
        `${AT_A_RATE.perSecond} calls a second: `,
      )),
    ];
  },
};

const HELLO = '{"role":"user","content":"Hello FILLER"}';
const RESPONSE = `"model":"svc/chat-default","input":[${HELLO}],"max_output_tokens":5`;
const WIRES: readonly { path: string; body: string; name?: string }[] = [
  { path: '/chat/completions', body: `"model":"svc/chat-default","messages":[${HELLO}],"max_tokens":5` },
  { path: '/responses', body: `${RESPONSE},"store":false` },
  { path: '/responses', body: RESPONSE, name: '/responses that are recorded, to be read and continued' },
  { path: '/messages', body: `"model":"svc/chat-premium","messages":[${HELLO}],"max_tokens":5` },
];

/**
 * The routes of other wires to providers that speak them, beside chat: whole answers, and streams of 50 events. Connections that
 * call again at once make fewer calls a second where the commit takes longer, and then each turn of the loop has fewer of them:
 * at a rate all have the same.
 */
async function byWire(ours: Contestant, rounds = ROUNDS, load = atOnce, label = ''): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [kind, more] of [
    ['a whole answer', ''],
    ['a stream of 50 events', ',"stream":true'],
  ] as const) {
    const wires = WIRES.map(({ path, body, name = path }) => {
      const url = ours.url.replace('/chat/completions', path);
      return { ...ours, name: `${label}${kind}: ${name}`, url, body: `{${body}${more}}` };
    });
    // The process is warm; only what is the wire's own is compiled.
    for (const wire of wires) await warmUp(wire, 2);
    const results = await inRounds(wires, rounds, load);
    const [chat, ...others] = wires as [Contestant, ...Contestant[]];
    const chats = costsOf(results, chat);
    const least = median(chats);
    rows.push({ label: chat.name, unit: 'µs', ...medianOf(chats) });
    for (const other of others) {
      const costs = costsOf(results, other);
      // Beside the chat calls of the same round.
      const ratio = median(costs.map((cost, round) => cost / (chats[round] ?? cost)));
      const beside = { reference: 'chat completions', ratio };
      const aim = { below: NO_DEARER * least };
      rows.push({ label: other.name, unit: 'µs', value: ratio * least, beside, aim });
    }
  }
  return rows;
}

/** Beside a proxy that only reads and sends the body: what is left is ours. */
async function byBodySize(bare: Contestant, ours: Contestant): Promise<Row[]> {
  const rows: Row[] = [];
  for (const bodyBytes of BODY_BYTES) {
    const taken: { bare: number; ours: number }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const load = { connections: 8, seconds: 2, bodyBytes };
      taken.push({
        bare: (await runLoad(bare, load)).cpuMicros,
        ours: (await runLoad(ours, load)).cpuMicros,
      });
    }
    const size = `a body of ${bodyBytes / 1_000} kB, 8 connections`;
    const ratio = median(taken.map((one) => one.ours / one.bare));
    rows.push(
      { label: `${size}: ${bare.name}`, unit: 'µs', ...medianOf(taken.map((one) => one.bare)) },
      {
        label: `${size}: ours`,
        unit: 'µs',
        ...medianOf(taken.map((one) => one.ours)),
        beside: { reference: 'the bare proxy', ratio },
      },
    );
  }
  return rows;
}
