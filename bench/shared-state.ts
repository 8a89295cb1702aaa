import { RedisClient } from 'bun';
import { createSystemClock } from '../src/adapters/clock/system-clock.ts';
import { createInProcessState } from '../src/adapters/shared-state/in-process.ts';
import { reserveCall, reserveScript } from '../src/adapters/shared-state/redis/reserve-script.ts';
import { tagKeys } from '../src/adapters/shared-state/redis/scripts.ts';
import { settleCall, settleScript } from '../src/adapters/shared-state/redis/settle-script.ts';
import { openRedisState } from '../src/adapters/shared-state/redis.ts';
import type { Claim, Settlement, SharedState } from '../src/ports/shared-state.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import type { Measurement } from './frame/measurement.ts';
import { compareRates, type Way } from './frame/rates.ts';

const COMPANIES = 100;
const MANY_AT_ONCE = 64;
/** High enough that nothing is ever refused. */
const NO_LIMIT = 1_000_000_000_000;
const MINUTE_MS = 60_000;

export const sharedState: Measurement = {
  name: 'shared-state',
  what: 'what a call asks of shared state, a reserve and a settle: how many such pairs a second',
  async run({ emptyRedis, whenEnding, signal }) {
    const url = await emptyRedis();
    const state = await openRedisState({ url, log: createSilentLog() });
    whenEnding(state.close);
    const client = new RedisClient(url);
    whenEnding(() => client.close());
    const inProcess = createInProcessState({ clock: createSystemClock() });
    await Promise.all([setLevels(state), setLevels(inProcess)]);

    const onRedis: readonly [Way, ...Way[]] = [
      await trivialScripts(client),
      await sameScripts(client),
      pairsOn('our adapter on Redis', state),
    ];
    const alone = [...onRedis, pairsOn('in this process', inProcess)] as const;
    return [
      ...(await compareRates('one at a time', alone, { signal, atOnce: 1 })),
      ...(await compareRates(`${MANY_AT_ONCE} at once`, onRedis, { signal, atOnce: MANY_AT_ONCE })),
    ];
  },
};

/** As the gateway claims for a call: requests and tokens of a key, calls in flight, and a hold on the credits. */
function claimsOf(entry: string): Claim[] {
  const held = { kind: 'held', entry, ttlMs: MINUTE_MS, rule: 'fits' } as const;
  return [
    { kind: 'window', name: 'requests', amount: 1, limit: NO_LIMIT, windowMs: MINUTE_MS },
    { kind: 'window', name: 'tokens', amount: 900, limit: NO_LIMIT, windowMs: MINUTE_MS },
    { ...held, name: 'in-flight', amount: 1, limit: NO_LIMIT },
    { ...held, name: 'credits', amount: 1_000, limit: { level: 'balance', maxAgeMs: 10 * MINUTE_MS } },
  ];
}

function settlementsOf(entry: string, bucket: number): Settlement[] {
  return [
    { kind: 'window', name: 'tokens', bucket, delta: -100 },
    { kind: 'release', name: 'in-flight', entry },
    { kind: 'release', name: 'credits', entry },
  ];
}

async function setLevels(state: SharedState): Promise<void> {
  const level = {
    kind: 'level',
    name: 'balance',
    value: NO_LIMIT,
    version: 1,
    ttlMs: 10 * MINUTE_MS,
    replaces: null,
  } as const;
  for (let company = 0; company < COMPANIES; company += 1) await state.settle(`company-${company}`, [level]);
}

function pairsOn(label: string, state: SharedState): Way {
  const nextCall = calls();
  return {
    label,
    async once() {
      const { tag, entry } = nextCall();
      const reserved = await state.reserve(tag, claimsOf(entry));
      if (reserved.outcome !== 'reserved') throw new Error(`a reservation was ${reserved.outcome}`);
      await state.settle(tag, settlementsOf(entry, reserved.limitStates[1]?.bucket ?? 0));
    },
  };
}

/** The floor: the round trips and the interpreter, without our work. */
async function trivialScripts(client: RedisClient): Promise<Way> {
  const sha = String(await client.send('SCRIPT', ['LOAD', 'return 1']));
  const nextCall = calls();
  return {
    label: 'two trivial EVALSHA',
    async once() {
      const { tag } = nextCall();
      await client.send('EVALSHA', [sha, '1', tag]);
      await client.send('EVALSHA', [sha, '1', tag]);
    },
  };
}

/** Our scripts through Bun's client as it is: what remains is the scripts' own work inside of Redis. */
async function sameScripts(client: RedisClient): Promise<Way> {
  for (const { source } of [reserveScript, settleScript]) await client.send('SCRIPT', ['LOAD', source]);
  const nextCall = calls();
  async function run(sha: string, { keys, args }: { keys: string[]; args: string[] }): Promise<unknown> {
    return await client.send('EVALSHA', [sha, String(keys.length), ...keys, '0', ...args]);
  }
  return {
    label: "our scripts by Bun's client",
    async once() {
      const { tag, entry } = nextCall();
      const keys = tagKeys('turnpike', tag, false);
      const reply = (await run(reserveScript.sha, reserveCall(keys, claimsOf(entry)))) as number[];
      // Three numbers come first, then three for each claim, of which a window's second is its start.
      await run(settleScript.sha, settleCall(keys, settlementsOf(entry, reply[7] ?? 0)));
    },
  };
}

let ways = 0;

function calls(): () => { tag: string; entry: string } {
  ways += 1;
  const way = ways;
  let last = 0;
  return () => {
    last += 1;
    return { tag: `company-${last % COMPANIES}`, entry: `call-${way}-${last}` };
  };
}
