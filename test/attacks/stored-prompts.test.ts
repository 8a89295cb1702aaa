import { expect, test } from 'bun:test';
import { createPayloadLog, type EndedCall } from '../../src/domain/call-payloads/payload-log.ts';
import { openBackend } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { useResource } from '../setup/use-resource.ts';

const PROMPT = 'the secret prompt of the company';
const ANSWER = 'the secret answer of the model';
const VIEW = `query($id: String!) { callPayload(requestId: $id) { request response storedAt expiresAt } }`;
const ERASE = `mutation($requestId: String, $endUser: String) {
  erasePayloads(requestId: $requestId, endUser: $endUser) }`;

const backend = useResource(() => openBackend());

/** As a gateway stores it. */
async function store(
  companyId: string,
  requestId: string,
  endUser: string | null = null,
  more: Partial<EndedCall> = {},
): Promise<void> {
  const { database, clock, log, secrets, answerCipher: cipher, payloads: bounds } = backend.parts;
  const payloads = createPayloadLog({ database, clock, log, cipher, ...bounds });
  const text = JSON.stringify({ content: ANSWER });
  payloads.note({
    ...{ callId: secrets.newId(), companyId, keyId: secrets.newId(), requestId, endUser },
    ...{
      endpoint: 'chat/completions',
      request: new TextEncoder().encode(JSON.stringify({ content: PROMPT })),
    },
    response: { bytes: new TextEncoder().encode(text), isCut: false, textOf: () => text },
    ...more,
  });
  await payloads.close();
  expect(payloads.counts().stored).toBe(1);
}

const actions = async (companyId: string) =>
  (
    await backend.parts.database.query<{ action: string; object_id: string; details: unknown }>(
      "select action, object_id, details from audit_log where company_id = $1 and action like 'payload%' order by id",
      [companyId],
    )
  ).map(({ action, object_id: id }) => `${action} ${id}`);

test('stored prompts and answers are visible to admins of their company alone, not to super admins, and every view is in the audit log', async () => {
  const { admin, member, superAdmin, otherAdmin, anonymous } = backend.people;
  const companyId = admin.companyId ?? '';
  await store(companyId, 'req_secret');
  const variables = { id: 'req_secret' };
  expect((await member.refusal(VIEW, variables)).extensions.code).toBe('FORBIDDEN');
  expect((await anonymous.refusal(VIEW, variables)).extensions.code).toBe('UNAUTHENTICATED');
  // The operator runs the installation; what customers say in it is not theirs to read.
  expect((await superAdmin.refusal(VIEW, variables)).extensions.code).toBe('FORBIDDEN');
  expect(await otherAdmin.ask(VIEW, variables)).toEqual({ callPayload: null });
  expect(await otherAdmin.ask(ERASE, { requestId: 'req_secret' })).toEqual({ erasePayloads: 0 });
  expect((await member.refusal(ERASE, { requestId: 'req_secret' })).extensions.code).toBe('FORBIDDEN');
  expect(await actions(companyId)).toEqual([]);

  const seen = await admin.ask<{ callPayload: { request: string; response: string } }>(VIEW, variables);
  expect([seen.callPayload.request, seen.callPayload.response]).toEqual([
    expect.stringContaining(PROMPT),
    expect.stringContaining(ANSWER),
  ]);
  expect(await actions(companyId)).toEqual(['payload.viewed req_secret']);
});

test('neither the database nor the logs have their text, and a moved row cannot be decrypted', async () => {
  const { database } = backend.parts;
  const { admin, otherAdmin } = backend.people;
  await store(admin.companyId ?? '', 'req_at_rest');
  const rows = await database.query<Record<string, unknown>>('select * from call_payloads');
  const texts = rows.flatMap((row) =>
    Object.values(row).map((value) =>
      value instanceof Uint8Array ? new TextDecoder('latin1').decode(value) : String(value),
    ),
  );
  expect(rows.length).toBeGreaterThan(0);
  for (const secret of [PROMPT, ANSWER]) {
    for (const text of texts) expect(text).not.toContain(secret);
    expect(JSON.stringify(backend.entries)).not.toContain(secret);
  }
  const moved = [otherAdmin.companyId ?? '', 'req_at_rest'];
  await database.query('update call_payloads set company_id = $1 where request_id = $2', moved);
  expect(await otherAdmin.ask(VIEW, { id: 'req_at_rest' })).toEqual({ callPayload: null });
});

test('they are erased by end user, and the erased person is not recorded', async () => {
  const { admin } = backend.people;
  for (const id of ['req_a', 'req_b']) await store(admin.companyId ?? '', id, 'person-7');
  expect((await admin.refusal(ERASE, {})).extensions.code).toBe('BAD_USER_INPUT');
  expect(await admin.ask(ERASE, { endUser: 'person-7' })).toEqual({ erasePayloads: 2 });
  expect(await admin.ask(VIEW, { id: 'req_a' })).toEqual({ callPayload: null });
  const entries = await backend.parts.database.query('select details::text from audit_log');
  expect(JSON.stringify(entries)).not.toContain('person-7');
});

test('their retention is set by the company within the operator’s maximum, and no service token reads them', async () => {
  const { admin } = backend.people;
  const set =
    'mutation($days: Int) { setPayloadSettings(payloadRetentionDays: $days) { payloadRetentionDays } }';
  const refusal = await admin.refusal(set, { days: 91 });
  expect(refusal.message).toContain('from 1 to 90');
  await store(admin.companyId ?? '', 'req_short');
  expect(await admin.ask(set, { days: 7 })).toEqual({ setPayloadSettings: { payloadRetentionDays: 7 } });
  const { callPayload } = await admin.ask<{ callPayload: { storedAt: string; expiresAt: string } }>(VIEW, {
    id: 'req_short',
  });
  const days = (Date.parse(callPayload.expiresAt) - Date.parse(callPayload.storedAt)) / 86_400_000;
  expect(days).toBe(7);
  const token = await admin.ask<{ createServiceToken: { rawToken: string } }>(
    `mutation { createServiceToken(name: "robot", scopes: ["keys:write", "usage:read"]) { rawToken } }`,
  );
  const robot = graphqlClient(backend.fetch, token.createServiceToken.rawToken);
  expect((await robot.refusal(VIEW, { id: 'req_short' })).extensions.code).toBe('FORBIDDEN');
});
