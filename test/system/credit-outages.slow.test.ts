import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { post, refusalOf } from '../gateway/gateway-under-test.ts';
import { describeServers } from '../setup/use-redis.ts';
import {
  callMany,
  callOnce,
  expectAllCharged,
  keepCalling,
  notWhole,
  type SeenCall,
} from './credit-clients.ts';
import { type CreditWorld, openCreditWorld, type RunningGateway } from './credit-world.ts';

const CONNECTIONS = 40;
const DEADLINE_MS = 500;
/** What a gateway logs when it notices. */
const NO_DATABASE = 'the database is unavailable';
const NO_REDIS = 'each process enforces its share of the limits alone for now';
const REDIS_BACK = 'limits are shared by all processes again';
const CHAT = { model: 'svc/chat-default', messages: [] };

describeServers('G-33 under load, while a part is away', () => {
  let world: CreditWorld;
  let gateway: RunningGateway;
  const seen: SeenCall[] = [];
  const env = { COMMIT_DEADLINE_MS: String(DEADLINE_MS), REDIS_TIMEOUT_MS: '300' };

  beforeAll(async () => {
    world = await openCreditWorld();
    world.answerAfter(() => 5);
    gateway = await world.startGateway(env);
    seen.push(...(await callMany(5, gateway.url, world.rawKey)));
  });
  afterAll(async () => {
    gateway.signal('SIGKILL');
    await gateway.exited;
    await world.close();
  });
  /** Everything that was answered is in the books, exactly once, and nothing else is. */
  afterEach(() => expectAllCharged(world, seen));

  const times = (text: string) => gateway.output().split(text).length - 1;
  async function isWholeAt({ url }: RunningGateway): Promise<boolean> {
    const next = await callOnce(url, world.rawKey);
    seen.push(next);
    return next.isWhole;
  }

  /** It takes a call to notice. */
  const redisIsBack = () =>
    until(async () => (await isWholeAt(gateway)) && times(REDIS_BACK) === times(NO_REDIS));

  async function duringOutage<T>(away: () => void, back: () => void, work: () => Promise<T>): Promise<T> {
    away();
    try {
      return await work();
    } finally {
      back();
    }
  }
  const withoutDatabase = <T>(work: () => Promise<T>) =>
    duringOutage(world.toDatabase.cut, world.toDatabase.restore, work);

  /** Load before, during and after, and for long after the gateway has noticed; answers with how long the calls took that ended before, and while the part was away. */
  async function loadThrough(
    away: () => void,
    back: () => void,
    notices: readonly string[],
  ): Promise<{ beforeMs: readonly number[]; tookMs: readonly number[] }> {
    const load = keepCalling(CONNECTIONS, gateway.url, world.rawKey);
    await until(() => load.seen.length > CONNECTIONS * 2);
    const before = load.seen.length;
    const alreadyLogged = notices.map(times);
    const calls = await duringOutage(away, back, async () => {
      await until(() => notices.every((notice, at) => times(notice) > (alreadyLogged[at] ?? 0)));
      // Those that were under way when it went away are the fewest of them.
      const noticed = load.seen.length;
      await until(() => load.seen.length > noticed + CONNECTIONS * 50);
      return load.seen.slice(before);
    });
    const after = load.seen.length;
    await until(() => load.seen.length > after + CONNECTIONS * 5);
    seen.push(...(await load.stop()));
    expect(notWhole(load.seen)).toEqual([]);
    return { beforeMs: sorted(load.seen.slice(0, before)), tookMs: sorted(calls) };
  }
  const sorted = (calls: readonly SeenCall[]) =>
    calls.map(({ tookMs }) => tookMs).sort((one, other) => one - other);
  const median = (times: readonly number[]) => times[times.length >> 1] ?? Number.NaN;
  const slowest = (times: readonly number[]) => times.at(-1) ?? Number.NaN;

  test('PostgreSQL stopped and started: every call is answered and charged, without an operator', async () => {
    const backs = times('the database is back');
    await loadThrough(world.toDatabase.cut, world.toDatabase.restore, [NO_DATABASE]);
    await until(() => times('the database is back') > backs);
  });

  test('PostgreSQL paused: a call waits for at most one deadline, most of them not at all', async () => {
    const backs = times('the database is back');
    const { hold, release } = world.toDatabase;
    const { beforeMs, tookMs } = await loadThrough(hold, release, [NO_DATABASE]);
    // One that waits for the deadline takes that much longer than one that does not, on a machine of any speed.
    expect(median(tookMs) - median(beforeMs)).toBeLessThan(DEADLINE_MS * 0.8);
    expect(slowest(tookMs) - slowest(beforeMs)).toBeLessThan(DEADLINE_MS + 2_000);
    await until(() => times('the database is back') > backs);
  });

  test('Redis stopped, paused and started: every call is answered and charged', async () => {
    const { cut, restore, hold, release } = world.toRedis;
    await loadThrough(cut, restore, [NO_REDIS]);
    await redisIsBack();
    await loadThrough(hold, release, [NO_REDIS]);
    await redisIsBack();
  });

  test('the journal’s disk full: 503 and nothing charged, until there is space', async () => {
    const full = await world.startGateway(env);
    seen.push(...(await callMany(5, full.url, world.rawKey)));
    const letFilesGrowTo = (bytes: string) =>
      Bun.spawnSync(['prlimit', '--pid', `${full.pid}`, `--fsize=${bytes}:unlimited`]).exitCode;
    expect(letFilesGrowTo('1024')).toBe(0);
    await withoutDatabase(async () => {
      const calls: SeenCall[] = [];
      for (let turn = 0; turn < 5; turn += 1) calls.push(...(await callMany(5, full.url, world.rawKey)));
      seen.push(...calls);
      expect(notWhole(calls)).toEqual(calls);
      expect(full.output()).toContain('the journal takes no call');
      const refused = await refusalOf(post(`${full.url}/chat/completions`, world.rawKey, CHAT));
      expect(refused).toMatchObject({ status: 503, code: 'LLM_GATEWAY_UNAVAILABLE' });
      letFilesGrowTo('unlimited');
      await until(() => isWholeAt(full));
    });
    full.signal('SIGTERM');
    expect(await full.exited).toBe(0);
  });

  test('SIGTERM while PostgreSQL is unavailable: the journal stays, and the next start charges its calls', async () => {
    // Keys are forgotten when messages about them may have been missed: while Redis was away.
    expect(await isWholeAt(gateway)).toBe(true);
    await withoutDatabase(async () => {
      const answered = await callMany(20, gateway.url, world.rawKey);
      seen.push(...answered);
      expect(notWhole(answered)).toEqual([]);
      gateway.signal('SIGTERM');
      expect(await gateway.exited).toBe(0);
    });
    expect(gateway.output()).toContain('calls stay in the journal');
    expect(world.journalFiles()).toHaveLength(1);
    gateway = await world.startGateway(env);
    await until(() => times('calls of a process that ended were charged') === 1);
  });
});
