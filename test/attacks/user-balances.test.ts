import { beforeAll, describe, expect, test } from 'bun:test';
import { type BackendUnderTest, openBackend, type Person } from '../backend/backend-under-test.ts';
import { openGateway, post, refusalOf } from '../gateway/gateway-under-test.ts';
import { chatAnswer } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const CHAT = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 };
const MINT = `mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) {
  rawKey apiKey { id payer payerUser { id } } } }`;
const GRANT = `mutation($userId: ID!, $credits: Float!, $key: String!) {
  grantUserCredits(userId: $userId, credits: $credits, reason: "budget", idempotencyKey: $key) {
    id type credits balanceAfter source reason } }`;
const NO_CREDITS = { status: 402, type: 'insufficient_quota', code: 'INSUFFICIENT_CREDITS' };
/** Of one call: 10 prompt tokens of which 4 are cached, and 17 of the answer. */
const COST = 0.000076;

interface Minted {
  readonly rawKey: string;
  readonly apiKey: {
    readonly id: string;
    readonly payer: string;
    readonly payerUser: { readonly id: string } | null;
  };
}

const gateway = useResource(() => openGateway({ balanceMicro: 1_000_000_000n }));
let backend: BackendUnderTest;
let admin: Person;
let ada: Person;
beforeAll(async () => {
  const { database, sharedState, clock } = gateway.parts;
  const usage = { prompt_tokens: 10, completion_tokens: 17, prompt_tokens_details: { cached_tokens: 4 } };
  gateway.upstream.answer(() => Response.json(chatAnswer({ usage })));
  backend = await openBackend({ database, sharedState, clock: { ...clock } });
  admin = await backend.person(gateway.companyId, { role: 'COMPANY_ADMIN' });
  ada = await backend.person(gateway.companyId);
});

const mint = async (input: object = {}): Promise<Minted> =>
  (await admin.ask<{ createApiKey: Minted }>(MINT, { input: { name: 'k', payer: 'USER', ...input } }))
    .createApiKey;
const grant = (to: Person, credits: number, key = backend.parts.secrets.newId()) =>
  admin.ask<{ grantUserCredits: { id: string; balanceAfter: number } }>(GRANT, {
    userId: to.userId,
    credits,
    key,
  });
const send = (rawKey: string) => post(`${gateway.url}/chat/completions`, rawKey, CHAT);
const statusOf = async (rawKey: string) => {
  const answered = await send(rawKey);
  await answered.text();
  return answered.status;
};
const companyCredits = async () =>
  (await admin.ask<{ creditBalance: { credits: number } }>('{ creditBalance { credits } }')).creditBalance
    .credits;
const balanceOf = async (person: Person) =>
  (
    await person.ask<{ myCreditBalance: { credits: number; held: number } | null }>(
      '{ myCreditBalance { credits held } }',
    )
  ).myCreditBalance;

describe('a key that a member pays for', () => {
  test('G-29 spends that balance and no other: 402 without one, whatever the company’s balance', async () => {
    const { rawKey, apiKey } = await mint({ payerUserId: ada.userId });
    expect(apiKey).toMatchObject({ payer: 'USER', payerUser: { id: ada.userId } });
    const refused = await refusalOf(send(rawKey));
    expect(refused).toMatchObject(NO_CREDITS);
    expect(refused.message).toContain('Ask a company admin to move credits to it');
    const before = await companyCredits();
    await grant(ada, 10);
    expect(await statusOf(rawKey)).toBe(200);
    expect(await balanceOf(ada)).toEqual({ credits: 10 - COST, held: 0 });
    expect(await companyCredits()).toBe(before - 10);
    const usage = await fetch(`${gateway.url}/usage`, { headers: { authorization: `Bearer ${rawKey}` } });
    expect(await usage.json()).toMatchObject({
      totals: { calls: 1, credits: COST },
      balance: { credits: 10 - COST, held: 0, payer: 'user' },
    });
    await grant(ada, -(10 - COST));
    expect(await refusalOf(send(rawKey))).toMatchObject(NO_CREDITS);
    expect(await companyCredits()).toBe(before - COST);
    // A key of the company goes on.
    expect(await statusOf((await mint({ payer: 'COMPANY' })).rawKey)).toBe(200);
  });

  test('G-29 parallel calls spend the last credit once, and a monthly limit of the key applies too', async () => {
    const bob = await backend.person(gateway.companyId);
    const { rawKey } = await mint({ payerUserId: bob.userId, monthlySpendingLimit: 0.0001 });
    await grant(bob, COST / 2);
    const statuses = await Promise.all(Array.from({ length: 12 }, () => statusOf(rawKey)));
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 429)).toHaveLength(11);
    expect((await balanceOf(bob))?.credits).toBe(-COST / 2);
    await grant(bob, 1);
    expect(await statusOf(rawKey)).toBe(200);
    expect(await refusalOf(send(rawKey))).toMatchObject({ status: 403, code: 'KEY_SPENDING_LIMIT' });
  });

  test('P-28 credits that were moved to a member and then refunded cannot be spent', async () => {
    const eve = await backend.person(gateway.companyId);
    const { rawKey } = await mint({ payerUserId: eve.userId });
    await grant(eve, 5);
    expect(await statusOf(rawKey)).toBe(200);
    const before = await gateway.credits.level();
    await gateway.credits.grant(-before.balanceMicro - 1n);
    const refused = await refusalOf(send(rawKey));
    expect(refused).toMatchObject(NO_CREDITS);
    expect(refused.message).toContain('Buy credits for the company');
    await gateway.credits.grant(before.balanceMicro + 1n);
    expect(await statusOf(rawKey)).toBe(200);
  });

  test('P-15 when a member leaves the company their keys are revoked and the balance returns to it', async () => {
    const leaver = await backend.person(gateway.companyId);
    const { rawKey } = await mint({ payerUserId: leaver.userId });
    await grant(leaver, 5);
    expect(await statusOf(rawKey)).toBe(200);
    const before = await companyCredits();
    await admin.ask('mutation($id: ID!) { removeMember(userId: $id) }', { id: leaver.userId });
    expect(await statusOf(rawKey)).toBe(401);
    expect(await companyCredits()).toBeCloseTo(before + 5 - COST, 9);
  });
});

describe('credits of members', () => {
  test('P-19 are moved once per idempotency key, and never more than the company has', async () => {
    const atOnce = (send: () => Promise<object>) => Promise.all(Array.from({ length: 20 }, send));
    const once = await atOnce(() => grant(ada, 2, 'once'));
    expect(new Set(once.map((answer) => JSON.stringify(answer))).size).toBe(1);
    const other = await admin.refusal(GRANT, { userId: ada.userId, credits: 3, key: 'once' });
    expect(other.extensions.code).toBe('CONFLICT');
    const tooMuch = await admin.refusal(GRANT, { userId: ada.userId, credits: 1e9, key: 'much' });
    expect(tooMuch.extensions).toEqual({ code: 'BAD_USER_INPUT', field: 'credits' });
  });

  test('P-14 are visible to admins and to the member alone', async () => {
    const transactions = 'query($id: ID) { userCreditTransactions(userId: $id) { nodes { id } } }';
    expect((await ada.refusal(transactions, { id: admin.userId })).extensions.code).toBe('NOT_FOUND');
    await grant(ada, 1);
    type Members = { members: { nodes: { id: string; creditBalance: { credits: number } | null }[] } };
    const members = '{ members(first: 50) { nodes { id creditBalance { credits } } } }';
    const seenBy = async (viewer: Person) =>
      (await viewer.ask<Members>(members)).members.nodes.find(({ id }) => id === ada.userId)?.creditBalance;
    expect((await seenBy(admin))?.credits).toBeGreaterThanOrEqual(1);
    expect(await seenBy(ada)).toEqual(await seenBy(admin));
    expect(await seenBy(await backend.person(gateway.companyId))).toBeNull();
  });
});
