import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { openRedisState } from '../../src/adapters/shared-state/redis.ts';
import { suspendCompany } from '../../src/domain/accounts/suspension.ts';
import { revokeKey } from '../../src/domain/keys/key-lifecycle.ts';
import { createCipher } from '../../src/domain/models/cipher.ts';
import { setPrice } from '../../src/domain/models/prices.ts';
import { setAliasTargets } from '../../src/domain/models/targets.ts';
import type { SharedState } from '../../src/ports/shared-state.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';
import { post } from '../gateway/gateway-under-test.ts';
import {
  chatAnswer,
  chunk,
  done,
  openStream,
  type StreamScript,
  usageChunk,
} from '../gateway/scripted-upstream.ts';
import { givenRedis } from '../services/given.ts';
import { describeServers } from '../setup/use-redis.ts';
import { expectAgreeingBooks } from './credit-clients.ts';
import { CHARGE_MICRO, type CreditWorld, openCreditWorld, type RunningGateway } from './credit-world.ts';

const MASTER_KEY = 'x'.repeat(32);
const DEFAULT = 'svc/chat-default';

describeServers('changes while streams run in two gateway processes', () => {
  let world: CreditWorld;
  let gateways: readonly RunningGateway[];
  let sharedState: SharedState & { close(): unknown };
  const secrets = createSystemSecrets();
  const clock = createSystemClock();
  let open: StreamScript[] = [];

  beforeAll(async () => {
    world = await openCreditWorld();
    world.upstream.answer(({ body }) => {
      if (!new TextDecoder().decode(body).includes('"stream":true')) return Response.json(chatAnswer());
      const stream = openStream();
      open.push(stream);
      stream.send(chunk('one'));
      return stream.response;
    });
    gateways = await Promise.all([world.startGateway({ MASTER_KEY }), world.startGateway({ MASTER_KEY })]);
    sharedState = await openRedisState({ url: givenRedis() ?? '', log: createSilentLog() });
  });
  afterAll(async () => {
    for (const gateway of gateways) gateway.signal('SIGKILL');
    await Promise.all(gateways.map(({ exited }) => exited));
    await sharedState.close();
    await world.close();
  });

  const parts = () => ({ database: world.database, sharedState, secrets, clock });
  const catalogue = () => ({
    ...parts(),
    prefix: 'svc',
    cipher: createCipher({ masterKeys: [MASTER_KEY], secrets }),
  });

  const call = (gateway: RunningGateway, rawKey: string) =>
    post(`${gateway.url}/chat/completions`, rawKey, { model: DEFAULT, messages: [], max_tokens: 10 });
  /** What a new call is answered in each process. */
  const answers = (rawKey: string) =>
    Promise.all(gateways.map(async (gateway) => (await call(gateway, rawKey)).status));

  /** A stream in each process, of which the first chunk has arrived. */
  async function runningStreams(rawKey: string) {
    open = [];
    const body = { model: DEFAULT, messages: [], stream: true, max_tokens: 10 };
    const streams = await Promise.all(
      gateways.map(async (gateway) => {
        const requestId = `stream-${crypto.randomUUID()}`;
        const headers = { 'x-request-id': requestId };
        const response = await post(`${gateway.url}/chat/completions`, rawKey, body, { headers });
        return { requestId, response };
      }),
    );
    /** They end whole; returns what each was charged. */
    return async (): Promise<readonly bigint[]> => {
      for (const stream of open) {
        stream.send(chunk('two') + usageChunk + done);
        stream.end();
      }
      for (const { response } of streams) {
        expect(response.status).toBe(200);
        expect((await response.text()).endsWith(done)).toBe(true);
      }
      return await Promise.all(streams.map(({ requestId }) => chargeOf(requestId)));
    };
  }

  async function chargeOf(requestId: string): Promise<bigint> {
    const rows = await world.database.query<{ micro: bigint }>(
      `select -posted.amount_micro as micro from calls
       join credit_transactions as posted on posted.source_id = calls.id::text where request_id = $1`,
      [requestId],
    );
    expect(rows).toHaveLength(1);
    return rows[0]?.micro ?? 0n;
  }

  test('G-23 a key that is revoked: new calls are 401 in both, its streams end whole and are charged', async () => {
    const rawKey = await world.mint();
    const finish = await runningStreams(rawKey);
    const [key] = await world.database.query<{ id: string }>(
      'select id from api_keys order by id desc limit 1',
    );
    await revokeKey(parts(), { companyId: world.companyId, keyId: key?.id ?? '' });
    await until(async () => String(await answers(rawKey)) === '401,401');
    expect(await finish()).toEqual([CHARGE_MICRO, CHARGE_MICRO]);
  });

  test('a new price is that of new calls in both; streams are charged at that of their beginning', async () => {
    const rawKey = await world.mint();
    const finish = await runningStreams(rawKey);
    const price = { prompt: '10', cached: '5', completion: '40' };
    const set = await setPrice(catalogue(), { alias: DEFAULT, price, from: null });
    expect(set.outcome).toBe('changed');
    expect(await finish()).toEqual([CHARGE_MICRO, CHARGE_MICRO]);
    const finishLater = await runningStreams(rawKey);
    expect(await finishLater()).toEqual([CHARGE_MICRO * 10n, CHARGE_MICRO * 10n]);
  });

  test('G-15 another provider key: streams end with the old one, new calls in both have the new one', async () => {
    const rawKey = await world.mint();
    const aim = (apiKey: string) => {
      const target = { baseUrl: world.upstream.url, model: 'provider-model-x', apiKey, weight: 1 };
      return setAliasTargets(catalogue(), DEFAULT, [target]);
    };
    const lastKeys = async () => {
      const before = world.upstream.received.length;
      await answers(rawKey);
      return world.upstream.received.slice(before).map(({ headers }) => headers.authorization);
    };
    await aim('sk-old');
    await until(async () => String(await lastKeys()) === 'Bearer sk-old,Bearer sk-old');
    const finish = await runningStreams(rawKey);
    await aim('sk-new');
    await until(async () => String(await lastKeys()) === 'Bearer sk-new,Bearer sk-new');
    expect(await finish()).toEqual([CHARGE_MICRO * 10n, CHARGE_MICRO * 10n]);
  });

  test('a company that is suspended: new calls are 403 in both, its streams end whole, and the books agree', async () => {
    const rawKey = await world.mint();
    const finish = await runningStreams(rawKey);
    const { companyId } = world;
    const outbox = { send: async () => ({ outcome: 'enqueued' }) };
    await world.database.transaction((transaction) =>
      suspendCompany(transaction, outbox, { companyId, reason: 'stolen', now: new Date() }),
    );
    await until(async () => String(await answers(rawKey)) === '403,403');
    expect(await finish()).toEqual([CHARGE_MICRO * 10n, CHARGE_MICRO * 10n]);
    await expectAgreeingBooks(world.database);
  });
});
