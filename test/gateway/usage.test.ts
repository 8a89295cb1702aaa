import { beforeEach, describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/finished-call.ts';
import { createHeldCredits } from '../../src/domain/credits/holds/holds.ts';
import { BALANCE_LEVEL } from '../../src/domain/credits/ledger/credit-account.ts';
import type { ApiKey } from '../../src/domain/keys/api-key.ts';
import { mintKey } from '../../src/domain/keys/mint-key.ts';
import { answerUsage } from '../../src/gateway/reads/usage.ts';
import type { SharedState } from '../../src/ports/shared-state.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { steerStatements } from '../doubles/steered-statements.ts';
import { useMemoryDatabase } from '../setup/use-memory-database.ts';

const secrets = createSystemSecrets();
const log = createSilentLog();
const clock = createManualClock(Date.UTC(2030, 0, 15, 12));
const database = useMemoryDatabase();
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
  changes: { failed?: boolean; by?: ApiKey } = {},
): Promise<void> {
  const { failed = false, by = key } = changes;
  await chargeCalls(database, [
    {
      id: secrets.newId(),
      companyId,
      keyId: by.id,
      requestId: 'req_1',
      endpoint: 'chat/completions',
      alias,
      targetId: 'embedded',
      outcome: failed ? 'FAILED' : 'SUCCEEDED',
      reason: null,
      httpStatus: 200,
      streamed: false,
      tokens: failed ? null : { promptTokens: 1_000, cachedTokens: 200, completionTokens: 100 },
      estimatedTokens: 1,
      startedAtMs: Date.parse(at),
      firstByteMs: 1,
      durationMs: 2,
      monthlyLimitMicro: by.monthlySpendingLimitMicro,
    },
  ]);
}

const allowances = {
  requests: { limit: 600, remaining: 599, resetMs: 59_999.5 },
  tokens: { limit: 200_000, remaining: 199_000, resetMs: 60_000 },
};

async function ask(query = '', by: ApiKey = key, state = sharedState) {
  const parts = { database, clock, heldCredits: createHeldCredits({ sharedState: state, log }) };
  const answer = await answerUsage(parts, { key: by, allowances }, new URLSearchParams(query));
  if (answer.outcome !== 'answered') throw new Error(answer.refusal.message);
  // Over the wire, where a BigInt could not go.
  return JSON.parse(JSON.stringify(answer.body));
}

// (800 × 1 + 200 × 0.5 + 100 × 4) credits for a million tokens.
const ONE = {
  calls: 1,
  failures: 0,
  prompt_tokens: 1_000,
  cached_tokens: 200,
  completion_tokens: 100,
  credits: 0.0013,
};
const TWO = {
  calls: 2,
  failures: 0,
  prompt_tokens: 2_000,
  cached_tokens: 400,
  completion_tokens: 200,
  credits: 0.0026,
};

describe('G-5 GET /usage', () => {
  test('it has exactly the fields that were promised', async () => {
    await call('svc/chat-default', '2030-01-10T23:59:59Z');
    await call('svc/chat-default', '2030-01-11T00:00:00Z');
    await call('svc/chat-premium', '2030-01-11T00:00:00Z', { failed: true });
    const failed = {
      calls: 1,
      failures: 1,
      prompt_tokens: 0,
      cached_tokens: 0,
      completion_tokens: 0,
      credits: 0,
    };
    expect(await ask()).toEqual({
      object: 'usage',
      from: '2029-12-17',
      to: '2030-01-15',
      totals: { ...TWO, calls: 3, failures: 1 },
      by_model: [
        { model: 'svc/chat-default', ...TWO },
        { model: 'svc/chat-premium', ...failed },
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

  test('a key’s monthly limit stands with what is left of it, this month', async () => {
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

  test('what calls in flight hold is shown, and a look holds nothing', async () => {
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

  test('it works while shared state is away', async () => {
    await call('svc/chat-default', '2030-01-10T00:00:00Z');
    const away = { ...sharedState, reserve: () => Promise.reject(new Error('away')) };
    expect(await ask('', key, away)).toMatchObject({ totals: ONE, balance: { credits: -0.0013, held: 0 } });
  });

  test('what is wrong is a 400 that names the parameter; no database is a 503', async () => {
    const heldCredits = createHeldCredits({ sharedState, log });
    const steered = steerStatements(database);
    const answer = (query: string) =>
      answerUsage({ database: steered, clock, heldCredits }, { key, allowances }, new URLSearchParams(query));
    expect(await answer('from=x')).toMatchObject({ refusal: { name: 'invalidRequest', param: 'from' } });
    expect(steered.asked).toEqual([]);
    steered.failWith('unavailable');
    expect(await answer('')).toMatchObject({ outcome: 'refused', refusal: { name: 'unavailable' } });
  });
});
