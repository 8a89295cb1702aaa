import { beforeAll, describe, expect, test } from 'bun:test';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { type Ceilings, NO_CEILINGS, setCeilings } from '../../src/domain/accounts/ceilings.ts';
import { createCompanyCounters } from '../../src/domain/limits/company-ceilings.ts';
import { createLimits } from '../../src/domain/limits/limits.ts';
import type { SharedState } from '../../src/ports/shared-state.ts';
import { CV_TEXT } from '../ai-service/workers-under-test.ts';
import { type BackendUnderTest, openBackend } from '../backend/backend-under-test.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { openGateway, post, refusalOf } from '../gateway/gateway-under-test.ts';
import { describePostgres, usePostgres } from '../setup/use-postgres.ts';
import { describeRedis, useRedis } from '../setup/use-redis.ts';
import { useResource } from '../setup/use-resource.ts';

const CHAT = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 100 };
const PARSE = { model: 'svc/extract-fast', text: CV_TEXT };

describe('a company mints more keys to exceed its ceilings', () => {
  const gateway = useResource(() => openGateway({ embeddedAllowed: true }));

  /** So many keys of their own, each with limits far above the ceilings. */
  async function keysUnder(ceilings: Partial<Ceilings>, count: number): Promise<readonly string[]> {
    const { database } = gateway.parts;
    await database.transaction((transaction) =>
      setCeilings(transaction, gateway.companyId, { ...NO_CEILINGS, ...ceilings }, new Date()),
    );
    const minted = await Promise.all(Array.from({ length: count }, () => gateway.mint()));
    return minted.map(({ rawKey }) => rawKey);
  }

  async function statuses(answers: readonly Promise<Response>[]): Promise<Record<number, number>> {
    const counts: Record<number, number> = {};
    for (const { status } of await Promise.all(answers)) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  test('requests: of 60 concurrent calls of 20 keys exactly the ceiling passes; the others name the ceiling', async () => {
    const keys = await keysUnder({ requestsPerMinute: 10 }, 20);
    const calls = [...keys, ...keys, ...keys].map((key) =>
      post(`${gateway.url}/chat/completions`, key, CHAT),
    );
    expect(await statuses(calls)).toEqual({ 200: 10, 429: 50 });
    const refused = await refusalOf(post(`${gateway.url}/chat/completions`, keys[0] ?? '', CHAT));
    expect(refused).toMatchObject({ status: 429, type: 'rate_limit_error', code: null });
    expect(refused.message).toContain('ceiling of requests a minute, over all its keys');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    const headers = { authorization: `Bearer ${keys[1]}` };
    expect((await fetch(`${gateway.url}/models`, { headers })).status).toBe(429);
  });

  test('G-40 a hundred concurrent calls together exceed no limit of their key, and another key is served meanwhile', async () => {
    await keysUnder({}, 0);
    const [loud, quiet] = [await gateway.mint({ requestsPerMinute: 10 }), await gateway.mint()];
    const flood = (key: string, calls: number) =>
      statuses(Array.from({ length: calls }, () => post(`${gateway.url}/chat/completions`, key, CHAT)));
    const counts = await Promise.all([flood(loud.rawKey, 100), flood(quiet.rawKey, 5)]);
    expect(counts).toEqual([{ 200: 10, 429: 90 }, { 200: 5 }]);
  });

  test('documents: each counts, read or not, for any key', async () => {
    const keys = await keysUnder({ documentsPerDay: 3 }, 6);
    const content_base64 = new TextEncoder().encode('%PDF-1.7 nothing').toBase64();
    const broken = { model: PARSE.model, file: { name: 'cv.pdf', content_base64 } };
    const bodies = [broken, PARSE, broken, PARSE, PARSE, broken];
    const counts = await statuses(keys.map((key, at) => post(`${gateway.url}/parse/cv`, key, bodies[at])));
    expect((counts[200] ?? 0) + (counts[422] ?? 0)).toBe(3);
    expect(counts[429]).toBe(3);
    const refused = await refusalOf(post(`${gateway.url}/parse/cv`, keys[0] ?? '', PARSE));
    expect(refused.message).toContain('ceiling of documents a day');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(80_000);
    expect((await post(`${gateway.url}/chat/completions`, keys[0] ?? '', CHAT)).status).toBe(200);
  });
});

/** Two processes, each with its own view of the same counters. */
function countTogether(name: string, open: () => Promise<readonly [SharedState, SharedState]>): void {
  test(`${name}: 400 concurrent calls of 40 keys in two processes pass exactly up to the ceilings, and release everything`, async () => {
    const clock = createSystemClock();
    const log = createSilentLog();
    const states = await open();
    const processes = states.map((sharedState) =>
      createLimits({
        ...{ sharedState, clock, log, addressRequestsPerMinute: 0, countsAhead: true },
        ownState: createInProcessState({ clock, log }),
      }),
    );
    const companyId = crypto.randomUUID();
    const ceilings = {
      requestsPerMinute: 100,
      tokensPerMinute: 5_000,
      callsInFlight: 60,
      documentsPerDay: 20,
    };
    const key = (n: number) => ({
      ...{ id: `key-${n % 40}`, companyId, requestsPerMinute: 1_000, tokensPerMinute: 100_000 },
      ...{ maxCallsInFlight: null, ceilings },
    });
    const reserved = await Promise.all(
      Array.from({ length: 400 }, (_, n) =>
        processes[n % 2]?.reserve(key(n), `call-${n}`, 50, [], { isDocument: n % 4 === 0 }),
      ),
    );
    const admitted = reserved.filter((outcome) => outcome?.outcome === 'admitted');
    expect(admitted).toHaveLength(60);
    const refusedBy = new Set(
      reserved.map((outcome) => (outcome?.outcome === 'refused' ? outcome.by : 'none')),
    );
    expect(refusedBy.has('company calls in flight')).toBe(true);
    const counters = createCompanyCounters({
      ...{ sharedState: states[0], ownState: states[0], clock, log },
    });
    const use = await counters.look(companyId);
    expect(use).toMatchObject({ requestsPerMinute: 60, tokensPerMinute: 3_000, callsInFlight: 60 });
    expect(use.documentsPerDay).toBeLessThanOrEqual(20);
    for (const outcome of admitted)
      if (outcome?.outcome === 'admitted') await outcome.reservation.end(10, []);
    expect(await counters.look(companyId)).toMatchObject({
      ...{ requestsPerMinute: 60, tokensPerMinute: 600, callsInFlight: 0 },
    });
    const large = await processes[0]?.reserve(key(0), 'large', 4_500, []);
    expect(large).toMatchObject({ outcome: 'refused', by: 'company tokens' });
    const more = await Promise.all(
      Array.from({ length: 100 }, (_, n) => processes[n % 2]?.reserve(key(n), `more-${n}`, 1, [])),
    );
    expect(more.filter((outcome) => outcome?.outcome === 'admitted')).toHaveLength(40);
  });
}

describe('counters in one process', () => {
  countTogether('in memory', async () => {
    const state = createInProcessState({ clock: createSystemClock(), log: createSilentLog() });
    return [state, state];
  });
});

describeRedis('counters on Redis', () => {
  const redis = useRedis();
  countTogether('on Redis', async () => {
    const prefix = redis.newPrefix();
    return [await redis.open({ prefix }), await redis.open({ prefix })];
  });
});

const SET =
  'mutation($id: ID!, $input: CeilingsInput!) { setCompanyCeilings(companyId: $id, input: $input) { id } }';
const MINT = 'mutation { createApiKey(input: { name: "one more" }) { apiKey { id } } }';
const INVITE = 'mutation($email: String!) { inviteMember(email: $email) { id } }';
const TALENT = 'mutation($text: String!) { createTalent(input: { text: $text }) { id } }';
const JOB = 'mutation($text: String!) { createJob(input: { text: $text }) { id } }';

/** What an admin adds at once, past the ceiling. */
function backendCeilings(open: () => Promise<BackendUnderTest>): void {
  let backend: BackendUnderTest;
  beforeAll(async () => {
    backend = await open();
  });

  async function adminUnder(input: Partial<Ceilings>) {
    const companyId = await backend.company('Held');
    const admin = await backend.person(companyId, { role: 'COMPANY_ADMIN' });
    await backend.people.superAdmin.ask(SET, { id: companyId, input });
    return admin;
  }

  /** How many passed, and the codes and ceilings of the refusals. */
  async function outcome(answers: readonly Promise<{ errors?: readonly { extensions: object }[] }>[]) {
    const all = await Promise.all(answers);
    const refused = all.flatMap(({ errors }) => errors?.map(({ extensions }) => extensions) ?? []);
    return { passed: all.length - refused.length, refused: refused[0] };
  }

  test('keys: of ten at once three pass; a rotation may exceed it by one, and then no other', async () => {
    const admin = await adminUnder({ apiKeys: 3 });
    const mints = await outcome(Array.from({ length: 10 }, () => admin.answer(MINT)));
    expect(mints.passed).toBe(3);
    expect(mints.refused).toMatchObject({ code: 'CEILING_REACHED', ceiling: 'apiKeys', limit: 3 });
    const { apiKeys } = await admin.ask<{ apiKeys: { id: string }[] }>('{ apiKeys { id } }');
    const rotate = (at: number) =>
      admin.answer('mutation($id: ID!) { rotateApiKey(id: $id) { apiKey { id } } }', { id: apiKeys[at]?.id });
    expect((await outcome([rotate(0), rotate(1), rotate(2)])).passed).toBe(1);
    await admin.ask('mutation($id: ID!) { revokeApiKey(id: $id) { id } }', { id: apiKeys[0]?.id });
    expect((await outcome([rotate(1)])).passed).toBe(1);
  });

  test('members: open invitations count, and so do members who accept one', async () => {
    const admin = await adminUnder({ members: 3 });
    const invite = (n: number) => admin.answer(INVITE, { email: `guest${n}-${admin.userId}@held.example` });
    const invited = await outcome([1, 2, 3, 4].map(invite));
    expect(invited.passed).toBe(2);
    expect(invited.refused).toMatchObject({ code: 'CEILING_REACHED', ceiling: 'members' });
    await backend.people.superAdmin.ask(SET, { id: admin.companyId, input: { members: 1 } });
    const { invitations } = await admin.ask<{ invitations: { nodes: { email: string }[] } }>(
      '{ invitations { nodes { email } } }',
    );
    const mail = backend.mails.find(({ to }) => to === invitations.nodes[0]?.email);
    const token = String((mail?.data as { token?: unknown } | undefined)?.token);
    const accept =
      'mutation($token: String!) { acceptInvitation(token: $token, password: "correct horse battery") { expiresAt } }';
    const refused = await backend.people.anonymous.refusal(accept, { token });
    expect(refused.extensions).toMatchObject({ code: 'CEILING_REACHED', ceiling: 'members' });
  });

  test('storage: concurrent CVs and postings count together', async () => {
    const admin = await adminUnder({ storageMegabytes: 1 });
    const text = (n: number) => `${n} ${'x'.repeat(180_000)}`;
    const sent = await outcome([
      ...[1, 2, 3, 4].map((n) => admin.answer(TALENT, { text: text(n) })),
      ...[5, 6, 7, 8].map((n) => admin.answer(JOB, { text: text(n) })),
    ]);
    expect(sent.passed).toBe(5);
    expect(sent.refused).toMatchObject({ code: 'CEILING_REACHED', ceiling: 'storageMegabytes' });
  });

  test('documents a day: those refused for another reason count too, and admins cannot raise it', async () => {
    const admin = await adminUnder({ documentsPerDay: 2 });
    const sent = await outcome(
      [1, 2, 3, 4].map((n) => admin.answer(n % 2 === 0 ? TALENT : JOB, { text: `text ${n}` })),
    );
    expect(sent.passed).toBe(2);
    expect(sent.refused).toMatchObject({ code: 'CEILING_REACHED', ceiling: 'documentsPerDay' });
    const { retryAfterSeconds } = sent.refused as { retryAfterSeconds: number };
    expect(retryAfterSeconds).toBeGreaterThan(80_000);
    expect(retryAfterSeconds).toBeLessThanOrEqual(86_400);
    const raise = await admin.refusal(SET, { id: admin.companyId, input: { documentsPerDay: 1_000 } });
    expect(raise.extensions.code).toBe('FORBIDDEN');
    const { company } = await admin.ask<{ company: { ceilings: object } }>(
      '{ company { ceilings { documentsPerDay apiKeys use { documentsPerDay requestsPerMinute members } } } }',
    );
    expect(company.ceilings).toEqual({
      ...{ documentsPerDay: 2, apiKeys: null },
      use: { documentsPerDay: 2, requestsPerMinute: null, members: 1 },
    });
  });
}

describe('what admins add', () => backendCeilings(() => openBackend()));

describePostgres('what admins add, on PostgreSQL', () => {
  const database = usePostgres();
  backendCeilings(() => openBackend({ database }));
});
