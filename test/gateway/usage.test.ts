import { beforeEach, describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import type { CallAttribution } from '../../src/domain/calls/call-attribution.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import { createHeldCredits } from '../../src/domain/credits/holds/holds.ts';
import { BALANCE_LEVEL } from '../../src/domain/credits/ledger/credit-account.ts';
import type { ApiKey } from '../../src/domain/keys/api-key.ts';
import { mintKey } from '../../src/domain/keys/mint-key.ts';
import { answerUsage, readUsageParameters } from '../../src/gateway/reads/usage.ts';
import type { SharedState } from '../../src/ports/shared-state.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { useDatabase } from '../setup/use-database.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';

const usage = { prompt_tokens: 1_000, completion_tokens: 100, prompt_tokens_details: { cached_tokens: 200 } };
const answer = {
  id: 'x',
  object: 'chat.completion',
  choices: [{ index: 0, message: { content: 'hi' } }],
  usage,
};
const body = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'hi' }], max_tokens: 100 };

const abandoned = { look: async () => ({ limit: 100, used: 3, resetMs: 9.5, isLimited: false }) };
const allowances = {
  requests: { limit: 600, remaining: 599, resetMs: 59_999.5 },
  tokens: { limit: 200_000, remaining: 199_000, resetMs: 60_000 },
};

/** So many calls of (800 × 1 + 200 × 0.5 + 100 × 4) credits for a million tokens. */
const used = (calls: number) => ({
  calls,
  failures: 0,
  prompt_tokens: calls * 1_000,
  cached_tokens: calls * 200,
  cache_write_tokens: 0,
  completion_tokens: calls * 100,
  credits: (calls * 13) / 10_000,
  tool_credits: 0,
});
const [NONE, ONE, TWO] = [used(0), used(1), used(2)];

const NOW_MS = Date.parse('2030-03-31T10:00:00Z');

function read(query: string) {
  return readUsageParameters(new URLSearchParams(query), NOW_MS);
}

function range(query: string): string {
  const result = read(query);
  return result.outcome === 'read'
    ? `${result.parameters.from} ${result.parameters.to}`
    : `${result.param}: ${result.message}`;
}

describe('G-5 GET /usage over a socket', () => {
  const gateway = useResource(() => openGateway());

  function get(rawKey: string, query = ''): Promise<Response> {
    return fetch(`${gateway.url}/usage${query}`, { headers: { authorization: `Bearer ${rawKey}` } });
  }

  test('a call is included as soon as its answer has ended, with its credits, and the balance is reduced', async () => {
    const { rawKey } = await gateway.mint();
    gateway.upstream.answer(() => Response.json(answer));
    expect(await (await get(rawKey)).json()).toMatchObject({
      totals: { calls: 0 },
      balance: { credits: 1_000_000 },
    });
    expect((await post(`${gateway.url}/chat/completions`, rawKey, body)).status).toBe(200);
    const response = await get(rawKey, '?group_by=model');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('597');
    expect(await response.json()).toMatchObject({
      object: 'usage',
      totals: ONE,
      by_model: [{ model: 'svc/chat-default', ...ONE }],
      groups: [{ model: 'svc/chat-default', ...ONE }],
      balance: { credits: 999_999.9987, held: 0 },
      limits: { requests_per_minute: { limit: 600, remaining: 597 } },
    });
  });

  test('without a database it is a 503, and afterwards it answers again', async () => {
    const { rawKey } = await gateway.mint();
    expect((await get(rawKey)).status).toBe(200);
    gateway.outage.isUnavailable = true;
    expect(await refusalOf(get(rawKey))).toMatchObject({ status: 503, code: 'LLM_GATEWAY_UNAVAILABLE' });
    gateway.outage.isUnavailable = false;
    expect((await get(rawKey)).status).toBe(200);
  });
});

describe('G-5 GET /usage', () => {
  const secrets = createSystemSecrets();
  const log = createSilentLog();
  const clock = createManualClock(Date.UTC(2030, 0, 15, 12));
  const database = useDatabase();
  let sharedState: SharedState;
  let key: ApiKey;
  let companyId = '';

  beforeEach(async () => {
    sharedState = createInProcessState({ clock, log });
    companyId = secrets.newId();
    await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
    key = await mint();
  });

  async function mint(monthlySpendingLimitMicro: bigint | null = null): Promise<ApiKey> {
    const minted = await mintKey({ database, secrets, clock }, { companyId, name: 'k', createdBy: null });
    if (minted.outcome !== 'minted') throw new Error(minted.outcome);
    return { ...minted.key, monthlySpendingLimitMicro };
  }

  async function call(
    alias: string,
    at: string,
    changes: { failed?: boolean; by?: ApiKey } & CallAttribution = {},
  ): Promise<void> {
    const { failed = false, by = key, ...attribution } = changes;
    const tokens = { promptTokens: 1_000, cachedTokens: 200, completionTokens: 100 };
    const charged = finishedCall(companyId, {
      keyId: by.id,
      alias,
      startedAtMs: Date.parse(at),
      outcome: failed ? 'FAILED' : 'SUCCEEDED',
      tokens: failed ? null : tokens,
      monthlyLimitMicro: by.monthlySpendingLimitMicro,
      ...attribution,
    });
    await chargeCalls(database, [charged]);
  }

  async function ask(query = '', by: ApiKey = key, state = sharedState) {
    const parts = { database, clock, abandoned, heldCredits: createHeldCredits({ sharedState: state, log }) };
    const answer = await answerUsage(parts, { key: by, allowances }, new URLSearchParams(query));
    if (answer.outcome !== 'answered') throw new Error(answer.refusal.message);
    // Over the wire, where a BigInt could not go.
    return JSON.parse(JSON.stringify(answer.body));
  }

  test('it has exactly the documented fields', async () => {
    await call('svc/chat-default', '2030-01-10T23:59:59Z');
    await call('svc/chat-default', '2030-01-11T00:00:00Z');
    await call('svc/chat-premium', '2030-01-11T00:00:00Z', { failed: true });
    expect(await ask()).toEqual({
      object: 'usage',
      from: '2029-12-17',
      to: '2030-01-15',
      totals: { ...TWO, calls: 3, failures: 1 },
      by_model: [
        { model: 'svc/chat-default', ...TWO },
        { model: 'svc/chat-premium', ...NONE, calls: 1, failures: 1 },
      ],
      by_day: [
        { day: '2030-01-10', ...ONE },
        { day: '2030-01-11', ...ONE, calls: 2, failures: 1 },
      ],
      balance: { credits: -0.0026, held: 0 },
      limits: {
        requests_per_minute: { limit: 600, remaining: 599, reset_ms: 60_000 },
        tokens_per_minute: { limit: 200_000, remaining: 199_000, reset_ms: 60_000 },
        calls_in_flight: { limit: null },
        abandoned_streams_per_hour: {
          ...{ limit: 100, used: 3, remaining: 97, reset_ms: 10, one_stream_at_a_time: false },
        },
        monthly_spending: null,
      },
    });
  });

  test('it reports the calling key alone, but the company’s balance', async () => {
    const sibling = await mint();
    await call('svc/chat-default', '2030-01-10T00:00:00Z', { by: sibling });
    expect(await ask()).toMatchObject({
      totals: { calls: 0, credits: 0 },
      by_model: [],
      by_day: [],
      balance: { credits: -0.0013 },
    });
    expect(await ask('', sibling)).toMatchObject({ totals: ONE });
  });

  test('group_by adds the combinations, and the range narrows everything', async () => {
    await call('svc/chat-default', '2030-01-10T00:00:00Z');
    await call('svc/chat-default', '2030-01-12T00:00:00Z');
    const body = await ask('from=2030-01-12&to=2030-01-12&group_by=day,model,key');
    expect(body).toMatchObject({ from: '2030-01-12', to: '2030-01-12', totals: ONE });
    expect(body.groups).toEqual([{ model: 'svc/chat-default', day: '2030-01-12', key: key.id, ...ONE }]);
  });

  test('group_by project, user or tag: by charge, of whole days, of the calling key alone', async () => {
    const sibling = await mint();
    const alias = 'svc/chat-default';
    await call(alias, '2030-01-10T00:00:00Z', {
      endUser: 'ada',
      project: 'web',
      tags: ['env:prod', 'team-a'],
    });
    await call(alias, '2030-01-11T10:00:00Z', { endUser: 'bob', project: 'web', tags: ['env:prod'] });
    await call(alias, '2030-01-11T11:00:00Z', { endUser: 'bob' });
    await call(alias, '2030-01-11T12:00:00Z');
    await call(alias, '2030-01-11T12:00:00Z', { endUser: 'cy', project: 'other', tags: ['x'], by: sibling });
    const groups = async (query: string) => (await ask(`from=2030-01-10&to=2030-01-11&${query}`)).groups;
    expect(await groups('group_by=project')).toEqual([{ project: 'web', ...TWO }]);
    expect(await groups('group_by=user')).toEqual([
      { user: 'bob', ...TWO },
      { user: 'ada', ...ONE },
    ]);
    expect((await groups('group_by=tag'))[0]).toEqual({ tag: 'env:prod', ...TWO });
    expect(await groups('group_by=user,day,model,key')).toEqual([
      { user: 'ada', day: '2030-01-10', model: alias, key: key.id, ...ONE },
      { user: 'bob', day: '2030-01-11', model: alias, key: key.id, ...TWO },
    ]);
    // Sums are by day, so the period is whole days, for the totals too, which have the calls that name none as well.
    const period = await ask('from=2030-01-11T10:30:00Z&to=2030-01-11T11:30:00Z&group_by=user');
    expect(period).toMatchObject({ from: '2030-01-11', to: '2030-01-11', totals: { calls: 3 } });
    expect(period.groups).toEqual([{ user: 'bob', ...TWO }]);
    expect((await ask('group_by=user', sibling)).groups).toEqual([{ user: 'cy', ...ONE }]);
  });

  test('a key’s monthly limit is shown with the remaining amount of this month', async () => {
    const limited = await mint(2_000n);
    await call('svc/chat-default', '2029-12-31T23:59:59Z', { by: limited });
    await call('svc/chat-default', '2030-01-10T00:00:00Z', { by: limited });
    const month = { limit: 0.002, spent: 0.0013, remaining: 0.0007, resets_at: '2030-02-01T00:00:00.000Z' };
    expect((await ask('', limited)).limits.monthly_spending).toEqual(month);
    await call('svc/chat-default', '2030-01-10T00:00:00Z', { by: limited });
    expect((await ask('', limited)).limits.monthly_spending).toEqual({
      ...month,
      spent: 0.0026,
      remaining: 0,
    });
  });

  test('credits held by calls in flight are shown, and the read holds nothing', async () => {
    const held = {
      kind: 'held',
      name: BALANCE_LEVEL,
      ttlMs: 90_000,
      rule: 'room',
      limit: 10_000_000,
    } as const;
    await sharedState.reserve(companyId, [{ ...held, entry: 'a', amount: 1_500_000 }]);
    await sharedState.reserve(companyId, [{ ...held, entry: 'b', amount: 1 }]);
    for (let look = 0; look < 3; look += 1) expect((await ask()).balance.held).toBe(1.500001);
  });
});

describe('G-5 the parameters of GET /usage', () => {
  test.each([
    ['', '2030-03-02 2030-03-31'],
    ['from=2030-03-30', '2030-03-30 2030-03-31'],
    ['to=2030-01-30', '2030-01-01 2030-01-30'],
    ['from=2030-01-01&to=2030-01-01', '2030-01-01 2030-01-01'],
    // Moments: midnight ends the day before it.
    ['from=2030-01-01T00:00:00Z&to=2030-02-01T00:00:00Z', '2030-01-01 2030-01-31'],
    [
      'from=2030-01-01T22:30:00Z&to=2030-02-01T00:00:00.001Z',
      '2030-01-01T22:30:00.000Z 2030-02-01T00:00:00.001Z',
    ],
    ['from=2030-01-01T00:30:00%2B01:00&to=2030-01-05', '2029-12-31T23:30:00.000Z 2030-01-05'],
    // A forgotten escape makes the + a space.
    ['from=2030-01-01T00:30:00+01:00&to=2030-01-05', '2029-12-31T23:30:00.000Z 2030-01-05'],
    // Later today there is nothing yet, which is an answer.
    ['from=2030-03-31T11:00:00Z', '2030-03-31T11:00:00.000Z 2030-03-31'],
    ['from=2029-02-25&to=2030-03-31', '2029-02-25 2030-03-31'],
  ])('%p is %p', (query, wanted) => {
    expect(range(query)).toBe(wanted);
  });

  test.each([
    ['from=yesterday', 'from'],
    ['from=2030-02-30', 'from'],
    ['from=1999-12-31&to=2000-01-01', 'from'],
    ['from=2030-01-01T10:00:00', 'from'],
    ['from=2030-01-01&from=2030-01-02', 'from'],
    ['from=2030-04-02', 'from'],
    ['to=9999-99-99', 'to'],
    ['to=2030-01-01&from=2030-01-02', 'to'],
    ['from=2030-01-01T00:00:00Z&to=2030-01-01T00:00:00Z', 'to'],
    [`to=${'2'.repeat(10_000)}`, 'to'],
    ['from=2029-02-24&to=2030-03-31', 'from'],
    ['group_by=month', 'group_by'],
    [`group_by=${'model,'.repeat(5_000)}`, 'group_by'],
    ['group_by=__proto__', 'group_by'],
    ['group_by=user,tag', 'group_by'],
  ])('%p is refused with the name of %p', (query, param) => {
    const result = read(query);
    expect(result).toMatchObject({ outcome: 'invalid', param });
    if (result.outcome === 'invalid') expect(result.message.length).toBeLessThan(150);
  });

  test.each([
    ['group_by=tag,day', ['day', 'tag']],
    ['group_by=user,%20user', ['user']],
    ['group_by=day,model', ['model', 'day']],
    ['group_by=key&group_by=day', ['day', 'key']],
  ])('%p requests the combinations of %p', (query, wanted) => {
    const result = read(query);
    if (result.outcome !== 'read') throw new Error(result.message);
    expect(result.parameters.groupBy as string[]).toEqual(wanted);
  });
});
