import { beforeAll, describe, expect, test } from 'bun:test';
import { type BackendUnderTest, openBackend } from '../backend/backend-under-test.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';

const body = { model: 'svc/chat-default', messages: [], max_tokens: 1 };
const COMPANY = 'id standing suspendedAt suspensionReason';
const SUSPEND = `mutation($id: ID!, $reason: String!) { suspendCompany(id: $id, reason: $reason) { ${COMPANY} } }`;
const RESUME = `mutation($id: ID!) { resumeCompany(id: $id) { ${COMPANY} } }`;

describe('a company that operators suspend', () => {
  const gateway = useResource(() => openGateway());
  let backend: BackendUnderTest;
  beforeAll(async () => {
    const { database, sharedState, clock } = gateway.parts;
    backend = await openBackend({ database, sharedState, clock });
  });
  const send = (rawKey: string) => post(`${gateway.url}/chat/completions`, rawKey, body);
  const suspend = (reason: string) =>
    backend.people.superAdmin.ask(SUSPEND, { id: gateway.companyId, reason });
  const resume = () => backend.people.superAdmin.ask(RESUME, { id: gateway.companyId });

  test('its calls are refused with the reason, reads continue, and it is resumed', async () => {
    const { companyId } = gateway;
    const { rawKey } = await gateway.mint({ scopes: ['inference:chat', 'usage:read'] });
    expect((await send(rawKey)).status).toBe(200);
    expect(await suspend('The card was reported as stolen')).toEqual({
      suspendCompany: {
        ...{ id: companyId, standing: 'SUSPENDED', suspensionReason: 'The card was reported as stolen' },
        suspendedAt: expect.any(String),
      },
    });
    expect(await refusalOf(send(rawKey))).toMatchObject({
      ...{ status: 403, type: 'permission_error', code: 'COMPANY_SUSPENDED' },
      message:
        'Your company is suspended: The card was reported as stolen. Contact the operator of this service.',
    });
    const headers = { authorization: `Bearer ${rawKey}` };
    for (const path of ['models', 'usage']) {
      expect((await fetch(`${gateway.url}/${path}`, { headers })).status).toBe(200);
    }
    expect(await resume()).toEqual({
      resumeCompany: { id: companyId, standing: 'GOOD', suspendedAt: null, suspensionReason: null },
    });
    expect((await send(rawKey)).status).toBe(200);
  });

  test('a second suspension changes the reason only; what changes nothing is not recorded; admins get a mail of each change', async () => {
    const { database } = gateway.parts;
    const since = async () =>
      (await suspend('Another reason')) as { suspendCompany: { suspendedAt: string } };
    const { email } = await backend.person(gateway.companyId, { role: 'COMPANY_ADMIN' });
    await suspend('A reason');
    const first = await since();
    expect((await since()).suspendCompany.suspendedAt).toBe(first.suspendCompany.suspendedAt);
    await resume();
    await resume();
    const mailed = backend.suspensionMails.filter(({ to }) => to === email);
    expect(mailed.map(({ kind, data }) => [kind, 'reason' in data ? data.reason : null])).toEqual([
      ['company-suspended', 'A reason'],
      ['company-suspended', 'Another reason'],
      ['company-resumed', null],
    ]);
    const rows = await database.query<{ action: string; details: object }>(
      `select action, details from audit_log where object_id = $1 and action like 'company.%ed' order by id desc limit 3`,
      [gateway.companyId],
    );
    expect(rows).toEqual([
      { action: 'company.resumed', details: {} },
      { action: 'company.suspended', details: { reason: 'Another reason' } },
      { action: 'company.suspended', details: { reason: 'A reason' } },
    ]);
  });

  test('needs a reason of one line, a company that exists, and a super admin', async () => {
    const { superAdmin, admin } = backend.people;
    const refused = async (variables: object) => (await superAdmin.refusal(SUSPEND, variables)).extensions;
    const id = gateway.companyId;
    for (const reason of ['', ' ', 'two\nlines', 'x'.repeat(201)]) {
      expect(await refused({ id, reason })).toEqual({ code: 'BAD_USER_INPUT', field: 'reason' });
    }
    const unknown = { id: gateway.parts.secrets.newId(), reason: 'A reason' };
    expect(await refused(unknown)).toMatchObject({ code: 'NOT_FOUND' });
    expect((await superAdmin.refusal(RESUME, { id: unknown.id })).extensions).toMatchObject({
      code: 'NOT_FOUND',
    });
    expect((await admin.refusal(RESUME, { id })).extensions).toMatchObject({ code: 'FORBIDDEN' });
  });
});
