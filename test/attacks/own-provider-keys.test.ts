/** A company's own provider key: used for its calls alone, and in the place of the operator's. */
import { beforeAll, beforeEach, expect, test } from 'bun:test';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { updateAlias } from '../../src/domain/models/change-alias.ts';
import { deleteOwnKey, listOwnKeys } from '../../src/domain/own-keys/own-keys.ts';
import { until } from '../doubles/until.ts';
import { openGateway, PROVIDER_MODEL, post, refusalOf } from '../gateway/gateway-under-test.ts';
import { allowOwnKeys, keyInUse, storeOwnKey } from '../gateway/own-key-under-test.ts';
import {
  chatAnswer,
  chunk,
  done,
  type Received,
  startScriptedUpstream,
  streamOf,
  usageChunk,
} from '../gateway/scripted-upstream.ts';
import { callTool, openClient } from '../mcp/mcp-client.ts';
import { useResource } from '../setup/use-resource.ts';

const BREAKER_FAILURES = 5;
const gateway = useResource(() => openGateway({ breakerFailures: BREAKER_FAILURES }));
/** Another provider of the same model, for which the company has no key. */
const other = useResource(() => startScriptedUpstream());
const MODEL = 'svc/chat-default';
const CHAT = { model: MODEL, messages: [{ role: 'user', content: 'Hi' }] };
const OWN = 'sk-own-0123456789-abcd';
const OPERATOR = 'sk-provider';

let owner = { id: '', rawKey: '', keyId: '' };
let stranger = { id: '', rawKey: '', keyId: '' };

const fee = (millionths: number | null) => allowOwnKeys(gateway, millionths);

async function company() {
  const id = gateway.parts.secrets.newId();
  await addCompany(gateway.parts.database, { id, name: 'Own', billingMode: 'PREPAID' });
  const { rawKey, id: keyId } = await gateway.mint({ companyId: id });
  return { id, rawKey, keyId };
}

const store = (companyId: string, apiKey: string) => storeOwnKey(gateway, companyId, apiKey);

beforeAll(async () => {
  const cost = { prompt: 2, cached: 2, completion: 2 };
  const both = [gateway.upstream, other].map(({ url: baseUrl }) => {
    return { baseUrl, model: PROVIDER_MODEL, apiKey: OPERATOR, weight: 1, cost };
  });
  await updateAlias(gateway.catalogue, { alias: MODEL, targets: both });
  await until(() => gateway.models.find(MODEL)?.targets.length === 2);
  await fee(100_000);
  owner = { id: gateway.companyId, ...(await minted()) };
  stranger = await company();
  await gateway.parts.database.query(`update credit_accounts set line_micro = 1000000000 where id = $1`, [
    stranger.id,
  ]);
  await store(owner.id, OWN);
});

async function minted() {
  const { rawKey, id: keyId } = await gateway.mint({ scopes: ['inference:chat', 'inference:parse'] });
  return { rawKey, keyId };
}

beforeEach(() => {
  gateway.upstream.received.length = 0;
  other.received.length = 0;
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  other.answer(() => Response.json(chatAnswer()));
});

const keysOf = (received: readonly Received[]) => [
  ...new Set(received.map(({ headers }) => headers.authorization)),
];
const chat = (rawKey: string, more: object = {}, headers: Record<string, string> = {}) =>
  post(`${gateway.url}/chat/completions`, rawKey, { ...CHAT, ...more }, { headers });

test('calls of the company use its key alone, on every wire; those of others use the operator’s', async () => {
  const wires: [string, object][] = [
    ['chat/completions', CHAT],
    ['responses', { model: MODEL, input: 'Hi' }],
    ['messages', { model: MODEL, max_tokens: 5, messages: CHAT.messages }],
    ['completions', { model: MODEL, prompt: 'Hi' }],
  ];
  for (const [path, body] of wires) {
    for (let turn = 0; turn < 5; turn += 1)
      await (await post(`${gateway.url}/${path}`, owner.rawKey, body)).text();
  }
  gateway.upstream.answer(() => streamOf(chunk('Hello.'), usageChunk, done));
  expect(await (await chat(owner.rawKey, { stream: true })).text()).toContain('[DONE]');
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  const client = await openClient(gateway.url, owner.rawKey, '2025');
  await callTool(client, 'chat', { model: MODEL, prompt: 'Hi' });
  await client.close();
  expect(gateway.upstream.received.length).toBeGreaterThanOrEqual(22);
  expect(keysOf(gateway.upstream.received)).toEqual([`Bearer ${OWN}`]);
  // The other provider has no key of the company: it is not tried.
  expect(other.received).toEqual([]);
  gateway.upstream.received.length = 0;
  for (let turn = 0; turn < 10; turn += 1) await (await chat(stranger.rawKey)).text();
  expect(keysOf([...gateway.upstream.received, ...other.received])).toEqual([`Bearer ${OPERATOR}`]);
  const rows = await gateway.calls(owner.keyId, 22);
  const share = { own_key: true, charge_share_millionths: 100_000, cost_micro: 0n };
  const charged = rows.filter(({ outcome }) => outcome === 'SUCCEEDED');
  expect(charged.length).toBeGreaterThan(10);
  for (const row of charged) expect(row).toMatchObject(share);
});

test('a rejected key is a 403 that names the reason; neither the operator’s key nor another provider is tried', async () => {
  for (const status of [401, 402, 403, 404]) {
    gateway.upstream.answer(() =>
      Response.json({ error: { message: `Incorrect API key provided: ${OWN}` } }, { status }),
    );
    const refused = await refusalOf(chat(owner.rawKey));
    expect(refused).toMatchObject({ status: 403, type: 'permission_error', code: 'PROVIDER_KEY_REFUSED' });
    expect(refused.message).toContain(String(status));
    expect(String(refused.message)).not.toContain(OWN);
  }
  expect(keysOf(gateway.upstream.received)).toEqual([`Bearer ${OWN}`]);
  expect(other.received).toEqual([]);
  // Nothing of it is said of the operator's target.
  expect(gateway.models.cooling()).toEqual([]);
  const alias = gateway.models.find(MODEL);
  expect(alias && gateway.models.order(alias, 0)[0]?.baseUrl).toBe(gateway.upstream.url);
});

test('a rejection in the answer itself is the same 403, and other companies keep the provider', async () => {
  const gemini = [{ error: { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT' } }];
  const inside = { error: { message: `Incorrect API key provided: ${OWN}`, code: 401 } };
  const answers: readonly (() => Response)[] = [
    () => Response.json(gemini, { status: 400 }),
    () => Response.json(inside),
    () => streamOf(`data: ${JSON.stringify(inside)}\n\n`),
  ];
  for (const [at, rejected] of answers.entries()) {
    gateway.upstream.answer(({ headers }) =>
      headers.authorization === `Bearer ${OWN}` ? rejected() : Response.json(chatAnswer()),
    );
    for (let time = 0; time <= BREAKER_FAILURES; time += 1) {
      const text = await (await chat(owner.rawKey, at === 2 ? { stream: true } : {})).text();
      expect([at, text.includes('PROVIDER_KEY_REFUSED'), text.includes(OWN)]).toEqual([at, true, false]);
    }
    expect((await chat(stranger.rawKey)).status).toBe(200);
  }
});

test('a rate limited key is a 429 for its company; calls of others continue', async () => {
  gateway.upstream.answer(({ headers }) =>
    headers.authorization === `Bearer ${OWN}`
      ? Response.json({ error: { message: 'slow down' } }, { status: 429, headers: { 'retry-after': '7' } })
      : Response.json(chatAnswer()),
  );
  const refused = await refusalOf(chat(owner.rawKey));
  expect(refused).toMatchObject({ status: 429, code: 'PROVIDER_RATE_LIMITED' });
  expect(refused.headers.get('retry-after')).toBe('7');
  expect(gateway.models.cooling()).toEqual([]);
  expect((await chat(stranger.rawKey)).status).toBe(200);
});

test('the key is in nothing that a provider echoes, stores or logs', async () => {
  const echo = {
    error: {
      ...{ message: `${PROVIDER_MODEL} does not take ${OWN}`, type: 'invalid_request_error', code: 'x' },
      param: `headers.${OWN}`,
    },
  };
  gateway.upstream.answer(() => Response.json(echo, { status: 400 }));
  for (const path of ['chat/completions', 'messages', 'responses']) {
    const body = path === 'responses' ? { model: MODEL, input: 'Hi' } : { ...CHAT, max_tokens: 5 };
    const text = await (await post(`${gateway.url}/${path}`, owner.rawKey, body)).text();
    expect([path, text.includes(OWN), text.includes(PROVIDER_MODEL)]).toEqual([path, false, false]);
  }
  gateway.upstream.answer(() => Response.json(echo));
  expect(await (await chat(owner.rawKey)).text()).not.toContain(OWN);
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  const first = await chat(owner.rawKey, {}, { 'idempotency-key': 'own-key-1' });
  const again = await chat(owner.rawKey, {}, { 'idempotency-key': 'own-key-1' });
  expect(await again.text()).toBe(await first.text());
  for (const table of ['own_provider_keys', 'calls', 'idempotency_keys', 'audit_log', 'set_aside_calls']) {
    const rows = await gateway.parts.database.query(`select row.*::text as text from ${table} as row`);
    expect([
      table,
      JSON.stringify(rows, (_name, value) => (typeof value === 'bigint' ? String(value) : value)).includes(
        OWN,
      ),
    ]).toEqual([table, false]);
  }
  expect(JSON.stringify(gateway.entries)).not.toContain(OWN);
});

test('where the operator forbids own keys, calls are refused and do not use the operator’s', async () => {
  await fee(null);
  expect(await refusalOf(chat(owner.rawKey))).toMatchObject({ status: 403, code: 'PROVIDER_KEY_REFUSED' });
  expect(gateway.upstream.received).toEqual([]);
  await fee(100_000);
});

test('a response that the provider stores is read and continued with the company’s key', async () => {
  const response = {
    id: 'resp_own',
    object: 'response',
    status: 'completed',
    model: PROVIDER_MODEL,
    store: true,
    output: [],
    usage: { input_tokens: 7, output_tokens: 5 },
  };
  gateway.upstream.answer(() => Response.json(response));
  expect((await post(`${gateway.url}/responses`, owner.rawKey, { model: MODEL, input: 'Hi' })).status).toBe(
    200,
  );
  const next = { model: MODEL, input: 'More', previous_response_id: 'resp_own' };
  expect((await post(`${gateway.url}/responses`, owner.rawKey, next)).status).toBe(200);
  const authorization = `Bearer ${owner.rawKey}`;
  for (const method of ['GET', 'DELETE']) {
    const read = await fetch(`${gateway.url}/responses/resp_own`, { method, headers: { authorization } });
    expect([method, read.status]).toEqual([method, 200]);
  }
  expect(gateway.upstream.received).toHaveLength(4);
  expect(keysOf(gateway.upstream.received)).toEqual([`Bearer ${OWN}`]);
});

test('another company cannot delete it; after its own deletion calls use the operator’s key at the full price', async () => {
  const { database, sharedState } = gateway.parts;
  const [key] = await listOwnKeys(database, owner.id);
  const id = key?.id ?? '';
  expect(await deleteOwnKey({ database, sharedState }, { companyId: stranger.id, id })).toBeNull();
  expect(await listOwnKeys(database, stranger.id)).toEqual([]);
  expect(await deleteOwnKey({ database, sharedState }, { companyId: owner.id, id })).toMatchObject({ id });
  await until(() => keyInUse(gateway, owner.id) === OPERATOR);
  const { rawKey, id: keyId } = await gateway.mint();
  await (await chat(rawKey)).text();
  expect(keysOf([...gateway.upstream.received, ...other.received])).toEqual([`Bearer ${OPERATOR}`]);
  const [row] = await gateway.calls(keyId, 1);
  expect(row).toMatchObject({ own_key: null, charge_share_millionths: null });
});
