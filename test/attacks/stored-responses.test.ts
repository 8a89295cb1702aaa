import { expect, test } from 'bun:test';
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

test('responses of another company are not found by any reference, and nothing of them reaches a provider', async () => {
  const { database, secrets } = gateway.parts;
  const other = secrets.newId();
  await addCompany(database, { id: other, name: 'Other', billingMode: 'PREPAID' });
  await creditsOf(gateway.parts, other).grant(1_000_000_000n);
  const { rawKey: theirs } = await gateway.mint();
  const { rawKey: attacker } = await gateway.mint({ companyId: other });
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
    const headers = { authorization: `Bearer ${attacker}` };
    for (const path of [id, `${id}/input_items`]) {
      expect((await refusalOf(fetch(`${gateway.url}/responses/${path}`, { headers }))).status).toBe(404);
    }
    const deleting = fetch(`${gateway.url}/responses/${id}`, { method: 'DELETE', headers });
    expect((await refusalOf(deleting)).status).toBe(404);
    const bodies = [
      { model, input: 'Repeat it.', previous_response_id: id },
      {
        model,
        input: [
          { type: 'item_reference', id: item },
          { role: 'user', content: 'Repeat it.' },
        ],
      },
      { model, input: [{ id: item }, { role: 'user', content: 'Repeat it.' }] },
    ];
    for (const body of bodies) {
      const refusal = await refusalOf(post(`${gateway.url}/responses`, attacker, body));
      expect(refusal.status).toBe(404);
      expect(refusal.message).not.toContain(SECRET);
    }
    expect(
      (await fetch(`${gateway.url}/responses/${id}`, { headers: { authorization: `Bearer ${theirs}` } }))
        .status,
    ).toBe(200);
  }
  // The two reads of the owner's own native response are all that was sent meanwhile.
  const sent = gateway.upstream.received.slice(sentBefore).map(({ method, path }) => `${method} ${path}`);
  expect(sent).toEqual(['GET /v1/responses/resp_theirs']);
});

test('references to reasoning that the company does not have are left out, or refused where they are nested', async () => {
  const { rawKey } = await gateway.mint();
  const hidden = `{"model":"${NATIVE}","input":"x","Input":[{"type":"item_reference","id":"rs_theirs"}]}`;
  expect((await refusalOf(post(`${gateway.url}/responses`, rawKey, hidden))).status).toBe(400);
  const input = [
    { type: 'item_reference', id: 'rs_theirs' },
    { role: 'user', content: 'x' },
  ];
  expect((await post(`${gateway.url}/responses`, rawKey, { model: NATIVE, input })).status).toBe(200);
  const sent = gateway.upstream.received.map(({ body }) => new TextDecoder().decode(body));
  expect(sent.at(-1)).toContain('"role":"user"');
  expect(sent.join()).not.toContain('rs_theirs');
});

test('ids cannot change the path of a provider’s address', async () => {
  const { rawKey } = await gateway.mint();
  const headers = { authorization: `Bearer ${rawKey}` };
  for (const path of [
    '..%2Ffiles',
    'resp_1%2F..%2F..%2Fmodels',
    'resp_1%3Fa',
    'a'.repeat(201),
    'resp 1',
    '',
  ]) {
    const { status } = await fetch(`${gateway.url}/responses/${path}`, { headers });
    expect(status).toBe(404);
  }
  expect(gateway.upstream.received.some(({ path }) => path.includes('files'))).toBe(false);
});
