import { describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { setBudget } from '../../src/domain/credits/budgets/budgets.ts';
import { announceCompany } from '../../src/domain/credits/ledger/credit-account.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { type GatewayUnderTest, openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer, type Received, type Script, startScriptedUpstream } from './scripted-upstream.ts';

const OWN = 'svc/chat-cheap';
const NATIVE = 'svc/chat-default';

/** `OWN` speaks chat completions alone, `NATIVE` the Responses API. */
async function openBoth(storesResponses: boolean): Promise<GatewayUnderTest> {
  const gateway = await openGateway({ storesResponses });
  await gateway.aimAtProvider(OWN, { responses: false }, gateway.upstream);
  return gateway;
}

type Body = Record<string, unknown>;
const usage = { input_tokens: 7, output_tokens: 5, total_tokens: 12 };
const responseOf = (id: string, more: Body = {}): Body => ({
  id,
  object: 'response',
  status: 'completed',
  model: 'provider-model-x',
  store: true,
  output: [{ id: `msg_of_${id}`, type: 'message', role: 'assistant', content: [] }],
  usage,
  ...more,
});
const bodyIn = ({ body }: Received) => JSON.parse(new TextDecoder().decode(body));
const chatSays = (text: string): Script => {
  const message = { role: 'assistant', content: text };
  return () => Response.json(chatAnswer({ choices: [{ index: 0, message, finish_reason: 'stop' }] }));
};
const read = (gateway: GatewayUnderTest, rawKey: string, path: string, method = 'GET') =>
  fetch(`${gateway.url}/responses/${path}`, { method, headers: { authorization: `Bearer ${rawKey}` } });
const create = (gateway: GatewayUnderTest, rawKey: string, body: Body) =>
  post(`${gateway.url}/responses`, rawKey, body);
const json = async (response: Response | Promise<Response>): Promise<Body> =>
  (await (await response).json()) as Body;

describe('responses of a target that supports only chat completions, with STORED_RESPONSES=on', () => {
  const gateway = useResource(() => openBoth(true));

  test('are read, listed, continued by their id and deleted, whole and as streams', async () => {
    const { rawKey } = await gateway.mint();
    gateway.upstream.answer(chatSays('First answer.'));
    const first = await json(create(gateway, rawKey, { model: OWN, input: 'First question' }));
    expect(first).toMatchObject({ model: OWN, store: true, previous_response_id: null });
    expect(await json(read(gateway, rawKey, String(first.id)))).toEqual(first);

    const chunks = [
      { choices: [{ index: 0, delta: { content: 'Second answer.' }, finish_reason: 'stop' }] },
      { choices: [], usage: { prompt_tokens: 7, completion_tokens: 5 } },
    ];
    const events = [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'];
    gateway.upstream.answer(() => {
      const headers = { 'content-type': 'text/event-stream' };
      return new Response(events.map((data) => `data: ${data}\n\n`).join(''), { headers });
    });
    const client = new OpenAI({ apiKey: rawKey, baseURL: gateway.url, maxRetries: 0 });
    const continued = { model: OWN, input: 'Second question', previous_response_id: String(first.id) };
    const second = await client.responses.stream(continued).finalResponse();
    expect(second.output_text).toBe('Second answer.');
    expect(second.previous_response_id).toBe(String(first.id));
    expect(bodyIn(gateway.upstream.received.at(-1) as Received).messages).toEqual([
      { role: 'user', content: 'First question' },
      { role: 'assistant', content: 'First answer.' },
      { role: 'user', content: 'Second question' },
    ]);

    const listed = await client.responses.inputItems.list(second.id, { order: 'asc', limit: 2 });
    expect(listed.data).toMatchObject([{ role: 'user' }, { role: 'assistant' }]);
    expect(listed.has_more).toBe(true);
    expect((await client.responses.retrieve(second.id)).output_text).toBe('Second answer.');
    expect(await json(read(gateway, rawKey, second.id, 'DELETE'))).toMatchObject({ deleted: true });
    expect((await refusalOf(read(gateway, rawKey, second.id))).status).toBe(404);
    expect(
      (await refusalOf(create(gateway, rawKey, { ...continued, previous_response_id: second.id }))).status,
    ).toBe(404);
  });

  test('are not stored with store: false, and a key reads only responses of its models', async () => {
    const { rawKey } = await gateway.mint();
    const { rawKey: other } = await gateway.mint({ models: [NATIVE] });
    gateway.upstream.answer(chatSays('An answer.'));
    const unstored = await json(create(gateway, rawKey, { model: OWN, input: 'x', store: false }));
    expect(unstored.store).toBe(false);
    expect((await refusalOf(read(gateway, rawKey, String(unstored.id)))).status).toBe(404);
    const stored = await json(create(gateway, rawKey, { model: OWN, input: 'x' }));
    expect((await refusalOf(read(gateway, other, String(stored.id)))).status).toBe(403);
  });
});

describe('with STORED_RESPONSES=off', () => {
  const gateway = useResource(() => openBoth(false));

  test('store: true is answered with store: false, and a continuation gets an error with advice', async () => {
    const { rawKey } = await gateway.mint();
    gateway.upstream.answer(chatSays('An answer.'));
    const first = await json(create(gateway, rawKey, { model: OWN, input: 'x', store: true }));
    expect(first.store).toBe(false);
    const continued = { model: OWN, input: 'y', previous_response_id: first.id };
    const refusal = await refusalOf(create(gateway, rawKey, continued));
    expect(refusal).toMatchObject({ status: 400, param: 'previous_response_id' });
    expect(refusal.message).toContain('STORED_RESPONSES=on');
    expect((await refusalOf(read(gateway, rawKey, String(first.id)))).status).toBe(404);
  });

  test('responses stored by the provider are read, listed and deleted there, and continued by their target alone', async () => {
    const { rawKey } = await gateway.mint();
    const script: Script = ({ method, path }) =>
      method === 'POST' || path.endsWith('/resp_n1')
        ? Response.json(responseOf('resp_n1'))
        : Response.json({ object: 'list', data: [], has_more: false });
    gateway.upstream.answer(script);
    const made = await json(create(gateway, rawKey, { model: NATIVE, input: 'x' }));
    expect(made).toMatchObject({ id: 'resp_n1', model: NATIVE });
    expect(await json(read(gateway, rawKey, 'resp_n1'))).toMatchObject({ id: 'resp_n1', model: NATIVE });
    await json(read(gateway, rawKey, 'resp_n1/input_items?limit=5&secret=1'));
    const sent = gateway.upstream.received.map(({ method, path }) => `${method} ${path}`).slice(-3);
    expect(sent).toEqual([
      'POST /v1/responses',
      'GET /v1/responses/resp_n1',
      'GET /v1/responses/resp_n1/input_items',
    ]);

    const bytes = `{ "previous_response_id":"resp_n1", "model":"${NATIVE}",  "input":"y" }`;
    await post(`${gateway.url}/responses`, rawKey, bytes);
    const last = new TextDecoder().decode((gateway.upstream.received.at(-1) as Received).body);
    expect(last).toBe(bytes.replace(NATIVE, 'provider-model-x'));
    const elsewhere = await refusalOf(
      create(gateway, rawKey, { model: OWN, input: 'y', previous_response_id: 'resp_n1' }),
    );
    expect(elsewhere).toMatchObject({ status: 400, param: 'model' });
    expect(elsewhere.message).toContain(NATIVE);
    expect((await refusalOf(read(gateway, rawKey, 'resp_n1?stream=true'))).status).toBe(400);
    const wrong = {
      message: 'provider-model-x: unknown include',
      type: 'invalid_request_error',
      param: 'include',
    };
    gateway.upstream.answer(() => Response.json({ error: wrong }, { status: 400 }));
    expect(await refusalOf(read(gateway, rawKey, 'resp_n1?include=nothing'))).toMatchObject({
      ...{ status: 400, param: 'include', message: `${NATIVE}: unknown include` },
    });
    gateway.upstream.answer(script);
    expect(await json(read(gateway, rawKey, 'resp_n1', 'DELETE'))).toMatchObject({ deleted: true });
    expect(gateway.upstream.received.at(-1)?.method).toBe('DELETE');
    expect((await refusalOf(read(gateway, rawKey, 'resp_n1'))).status).toBe(404);
  });

  test('a continuation goes to the target that has the response, and to no other when that is gone', async () => {
    const { rawKey } = await gateway.mint();
    const second = startScriptedUpstream();
    const targets = [gateway.upstream, second];
    try {
      for (const target of targets) target.answer(() => Response.json(responseOf('resp_pinned')));
      await gateway.aimAt(NATIVE, ...targets);
      for (const target of targets) target.received.length = 0;
      await create(gateway, rawKey, { model: NATIVE, input: 'x' });
      const counts = () => targets.map(({ received }) => received.length);
      const made = counts();
      const continued = { model: NATIVE, input: 'y', previous_response_id: 'resp_pinned' };
      for (let turn = 0; turn < 8; turn += 1) await create(gateway, rawKey, continued);
      expect(counts()).toEqual(made.map((count) => count * 9));
      await gateway.aimAt(NATIVE, ...targets.filter((_, at) => made[at] === 0));
      const gone = await refusalOf(create(gateway, rawKey, continued));
      expect(gone).toMatchObject({ status: 400, param: 'previous_response_id' });
      expect(gone.message).toContain('not configured any more');
    } finally {
      await gateway.aimAt(NATIVE, gateway.upstream);
      second.close();
    }
  });

  test('a response whose client disconnected before the charge is charged once, when it is read', async () => {
    const { rawKey, id: keyId } = await gateway.mint({ project: 'web' });
    const { database, sharedState, secrets } = gateway.parts;
    const budget = { companyId: gateway.companyId, scope: 'PROJECT', subject: 'web', version: null } as const;
    const made = { newId: secrets.newId(), now: new Date() };
    await database.transaction((transaction) =>
      setBudget(transaction, { ...budget, monthlyMicro: 1n, isHard: false }, made),
    );
    await announceCompany(sharedState, gateway.companyId);
    const created = {
      type: 'response.created',
      sequence_number: 0,
      response: responseOf('resp_left', { usage: null }),
    };
    gateway.upstream.answer(({ method }) => {
      const searched = { output: [{ id: 'ws_1', type: 'web_search_call', status: 'completed' }] };
      if (method === 'GET') return Response.json(responseOf('resp_left', searched));
      const body = new ReadableStream({
        start(controller) {
          const event = `event: response.created\ndata: ${JSON.stringify(created)}\n\n`;
          controller.enqueue(new TextEncoder().encode(event));
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    });
    const leaving = new AbortController();
    const init = { signal: leaving.signal };
    const stream = await post(
      `${gateway.url}/responses`,
      rawKey,
      { model: NATIVE, input: 'x', stream: true },
      init,
    );
    await stream.body?.getReader().read();
    leaving.abort();
    const before = await gateway.calls(keyId, 1);
    expect(before[0]).toMatchObject({ outcome: 'FAILED', reason: 'client-left' });
    // Not by reading it: a key has so many requests a minute.
    const recorded = "select 1 from stored_responses where id = 'resp_left'";
    await until(async () => (await gateway.parts.database.query(recorded)).length === 1);
    expect((await read(gateway, rawKey, 'resp_left')).status).toBe(200);
    expect((await read(gateway, rawKey, 'resp_left')).status).toBe(200);
    const charged = (await gateway.calls(keyId, 4)).filter(({ prompt_tokens }) => prompt_tokens !== null);
    expect(charged).toHaveLength(1);
    expect(charged[0]).toMatchObject({ outcome: 'SUCCEEDED', prompt_tokens: 7n, completion_tokens: 5n });
    // What was forwarded is no longer known: everything that is reported without a price counts.
    expect(charged[0]).toMatchObject({ unpriced: ['web_search'], tool_uses: { web_search: 1 } });
    // It counts for the key's project and its budget.
    expect(charged[0]).toMatchObject({ project: 'web' });
    const alerts = await database.query("select 1 from credit_alerts where kind = 'BUDGET'");
    expect(alerts).toHaveLength(2);
  });

  test('a read ends at the provider when its client disconnects', async () => {
    const { rawKey, id: keyId } = await gateway.mint();
    const held = Promise.withResolvers<void>();
    gateway.upstream.answer(async ({ method }) => {
      if (method === 'GET') await held.promise;
      return Response.json(responseOf('resp_unread'));
    });
    await create(gateway, rawKey, { model: NATIVE, input: 'x' });
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${rawKey}` };
    const reading = fetch(`${gateway.url}/responses/resp_unread`, { headers, signal: leaving.signal });
    await until(() => gateway.upstream.received.at(-1)?.method === 'GET');
    leaving.abort();
    await reading.catch(() => null);
    // Without that this waits until the test's time is over.
    await gateway.upstream.received.at(-1)?.closed;
    held.resolve();
    const [, ended] = await gateway.calls(keyId, 2);
    expect(ended).toMatchObject({ outcome: 'FAILED', reason: 'client-left', http_status: 499 });
  });

  test('while the database is unavailable, stored responses are unavailable and other calls continue', async () => {
    const { rawKey } = await gateway.mint();
    gateway.upstream.answer(() => Response.json(responseOf('resp_n2')));
    expect((await create(gateway, rawKey, { model: NATIVE, input: 'x' })).status).toBe(200);
    gateway.outage.isUnavailable = true;
    try {
      expect((await refusalOf(read(gateway, rawKey, 'resp_n2'))).status).toBe(503);
      expect((await create(gateway, rawKey, { model: NATIVE, input: 'x' })).status).toBe(200);
    } finally {
      gateway.outage.isUnavailable = false;
    }
  });
});
