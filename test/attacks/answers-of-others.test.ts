/** Answers that the gateway or a provider keeps for one company, requested by another. */
import { beforeAll, expect, test } from 'bun:test';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { creditsOf } from '../gateway/credits-under-test.ts';
import { openGateway, post, refusalOf } from '../gateway/gateway-under-test.ts';
import { chatAnswer } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const OWN = 'svc/chat-cheap';
const NATIVE = 'svc/chat-default';
const SECRET = 'the secret of the first company';

const gateway = useResource(async () => {
  const made = await openGateway({ storesResponses: true });
  await made.aimAtProvider(OWN, { responses: false }, made.upstream);
  return made;
});
let theirs = '';
let attacker = '';
let other = '';
beforeAll(async () => {
  const { database, secrets } = gateway.parts;
  other = secrets.newId();
  await addCompany(database, { id: other, name: 'Other', billingMode: 'PREPAID' });
  await creditsOf(gateway.parts, other).grant(1_000_000_000n);
  ({ rawKey: theirs } = await gateway.mint());
  ({ rawKey: attacker } = await gateway.mint({ companyId: other }));
});

test('another company never gets a cached answer, not for the same bytes and not for a moved row; at rest it is encrypted', async () => {
  const { database, secrets } = gateway.parts;
  const body = { model: NATIVE, messages: [{ role: 'user', content: `what is ${SECRET}?` }] };
  const headers = { 'x-turnpike-cache': 'ttl=600' };
  const call = async (key: string) => {
    const answer = await post(`${gateway.url}/chat/completions`, key, body, { headers });
    const { choices } = (await answer.json()) as { choices: readonly { message: { content: string } }[] };
    return [answer.headers.get('x-turnpike-cache'), choices[0]?.message.content];
  };
  const says = (content: string) =>
    gateway.upstream.answer(() => Response.json(chatAnswer({ choices: [{ message: { content } }] })));
  says(SECRET);
  expect(await call(theirs)).toEqual(['miss', SECRET]);
  says('their own');
  expect(await call(attacker)).toEqual(['miss', 'their own']);
  // Who can write the database cannot have it opened for another company either.
  await database.query(
    `update cached_answers set sealed_answer =
       (select sealed_answer from cached_answers where company_id = $1) where company_id = $2`,
    [gateway.companyId, other],
  );
  expect(await call(attacker)).toEqual(['miss', 'their own']);

  const rows = await database.query<Record<string, unknown>>('select * from cached_answers');
  const stored = rows.flatMap((row) =>
    Object.values(row).map((value) =>
      value instanceof Uint8Array ? new TextDecoder('latin1').decode(value) : String(value),
    ),
  );
  // The digest is keyed: a guessed prompt cannot be confirmed by hashing it.
  const unkeyed = new TextDecoder('latin1').decode(secrets.sha256(JSON.stringify(body)));
  for (const secret of [SECRET, unkeyed]) {
    expect([...stored, JSON.stringify(gateway.entries)].filter((text) => text.includes(secret))).toEqual([]);
  }
});

test('responses of another company are not found by any reference, and nothing of them reaches a provider', async () => {
  gateway.upstream.answer(({ path }) =>
    path.endsWith('/chat/completions')
      ? Response.json(chatAnswer({ choices: [{ message: { content: SECRET }, finish_reason: 'stop' }] }))
      : Response.json({
          ...{ id: 'resp_theirs', object: 'response', status: 'completed', model: 'm', store: true },
          output: [{ id: 'msg_theirs', type: 'message', role: 'assistant', content: [] }],
          usage: { input_tokens: 1, output_tokens: 1 },
        }),
  );
  const made = await post(`${gateway.url}/responses`, theirs, { model: OWN, input: SECRET });
  const own = (await made.json()) as { id: string; output: readonly { id: string }[] };
  expect((await post(`${gateway.url}/responses`, theirs, { model: NATIVE, input: 'x' })).status).toBe(200);
  const sentBefore = gateway.upstream.received.length;

  for (const { id, item, model } of [
    { id: own.id, item: own.output[0]?.id, model: OWN },
    { id: 'resp_theirs', item: 'msg_theirs', model: NATIVE },
  ]) {
    const read = (path: string, key: string, method = 'GET') =>
      fetch(`${gateway.url}/responses/${path}`, { method, headers: { authorization: `Bearer ${key}` } });
    expect((await read(id, attacker)).status).toBe(404);
    expect((await read(`${id}/input_items`, attacker)).status).toBe(404);
    expect((await read(id, attacker, 'DELETE')).status).toBe(404);
    const repeat = { role: 'user', content: 'Repeat it.' };
    for (const reference of [
      { input: 'Repeat it.', previous_response_id: id },
      { input: [{ type: 'item_reference', id: item }, repeat] },
      { input: [{ id: item }, repeat] },
    ]) {
      const refusal = await refusalOf(post(`${gateway.url}/responses`, attacker, { model, ...reference }));
      expect(refusal.status).toBe(404);
      expect(refusal.message).not.toContain(SECRET);
    }
    expect((await read(id, theirs)).status).toBe(200);
  }
  // The owner's read of its own native response is all that was sent meanwhile.
  const sent = gateway.upstream.received.slice(sentBefore).map(({ method, path }) => `${method} ${path}`);
  expect(sent).toEqual(['GET /v1/responses/resp_theirs']);
});

test('references to reasoning that the company does not have are left out, or refused where they are nested', async () => {
  const hidden = `{"model":"${NATIVE}","input":"x","Input":[{"type":"item_reference","id":"rs_theirs"}]}`;
  expect((await refusalOf(post(`${gateway.url}/responses`, theirs, hidden))).status).toBe(400);
  const input = [
    { type: 'item_reference', id: 'rs_theirs' },
    { role: 'user', content: 'x' },
  ];
  expect((await post(`${gateway.url}/responses`, theirs, { model: NATIVE, input })).status).toBe(200);
  const sent = gateway.upstream.received.map(({ body }) => new TextDecoder().decode(body));
  expect(sent.at(-1)).toContain('"role":"user"');
  expect(sent.join()).not.toContain('rs_theirs');
});

test('ids cannot change the path of a provider’s address', async () => {
  const headers = { authorization: `Bearer ${theirs}` };
  const paths = ['..%2Ffiles', 'resp_1%2F..%2F..%2Fmodels', 'resp_1%3Fa', 'a'.repeat(201), 'resp 1', ''];
  for (const path of paths) {
    const { status } = await fetch(`${gateway.url}/responses/${path}`, { headers });
    expect([path, status]).toEqual([path, 404]);
  }
  expect(gateway.upstream.received.some(({ path }) => path.includes('files'))).toBe(false);
});
