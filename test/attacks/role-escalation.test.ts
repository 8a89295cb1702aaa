import { describe, expect, test } from 'bun:test';
import { type BackendUnderTest, openBackend, PASSWORD, type Person } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { useResource } from '../setup/use-resource.ts';

const backend = useResource(() => openBackend());

test('P-14 a member cannot become an admin: by their own role, an invitation, a key, or an earlier token', async () => {
  const { member, admin, anonymous } = backend.people;
  const tries = [
    [`mutation($id: ID!) { changeRole(userId: $id, role: COMPANY_ADMIN) { role } }`, { id: member.userId }],
    [`mutation { inviteMember(email: "me2@people.example", role: COMPANY_ADMIN) { id } }`, {}],
    [`mutation { createApiKey(input: { name: "mine" }) { rawKey } }`, {}],
    [`mutation($id: ID!) { removeMember(userId: $id) }`, { id: admin.userId }],
  ] as const;
  for (const [query, variables] of tries) {
    expect((await member.refusal(query, variables)).extensions.code).toBe('FORBIDDEN');
    expect((await anonymous.refusal(query, variables)).extensions.code).toBe('UNAUTHENTICATED');
  }
});

test('P-14 an admin cannot become a super admin, nor act for another company by its id', async () => {
  const { admin } = backend.people;
  const { other } = backend.companies;
  const tries = [
    [
      `mutation($id: ID!) { adjustCredits(companyId: $id, credits: 5, reason: "gift", idempotencyKey: "x") { id } }`,
      { id: admin.companyId },
    ],
    [
      `mutation($id: ID!) { setCompanyBilling(companyId: $id, billingMode: POSTPAID) { id } }`,
      { id: admin.companyId },
    ],
    ['{ companies { nodes { id } } }', {}],
    [`query($id: ID!) { auditLog(companyId: $id) { nodes { id } } }`, { id: other }],
    ['{ paymentEvents { nodes { id } } }', {}],
  ] as const;
  for (const [query, variables] of tries) {
    const { extensions } = await admin.refusal(query, variables);
    // Another company's id is answered as one that does not exist.
    expect([query, extensions.code]).toEqual([query, query.includes('auditLog') ? 'NOT_FOUND' : 'FORBIDDEN']);
  }
});

test('P-14 an admin who was made a member has a member’s rights at once, with the earlier token', async () => {
  const companyId = await backend.company('Team');
  const [boss, demoted] = [
    await backend.person(companyId, { role: 'COMPANY_ADMIN' }),
    await backend.person(companyId, { role: 'COMPANY_ADMIN' }),
  ];
  expect(await demoted.ask('{ apiKeys { id } }')).toEqual({ apiKeys: [] });
  await boss.ask('mutation($id: ID!) { changeRole(userId: $id, role: MEMBER) { role } }', {
    id: demoted.userId,
  });
  const create = 'mutation { createApiKey(input: { name: "late" }) { rawKey } }';
  expect((await demoted.refusal(create)).extensions.code).toBe('FORBIDDEN');
  const again = await backend.people.anonymous.ask<{ login: { accessToken: string } }>(
    'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }',
    { email: demoted.email, password: PASSWORD },
  );
  const renewed = graphqlClient(backend.fetch, again.login.accessToken);
  expect((await renewed.refusal(create)).extensions.code).toBe('FORBIDDEN');
});

describe('a request that lasts', () => {
  let duringTest: () => Promise<unknown> = async () => null;
  const slow = useResource(() =>
    openBackend({
      alertRules: {
        allowsHttp: false,
        webhooks: {
          addressProblem: async () => null,
          async send() {
            await duringTest();
            return { outcome: 'answered', status: 204, body: new Uint8Array(), isWhole: true, durationMs: 3 };
          },
        },
      },
    }),
  );
  const REMOVE = 'mutation($id: ID!) { removeMember(userId: $id) }';
  const DEMOTE = 'mutation($id: ID!) { changeRole(userId: $id, role: MEMBER) { id } }';

  /** `later` is called after an operation in whose course `loss` happens to the caller. */
  async function losing(
    backend: BackendUnderTest,
    { loss, later }: { loss: (caller: Person, boss: Person) => Promise<unknown>; later: string },
  ) {
    const companyId = await backend.company('Lasting');
    const admin = () => backend.person(companyId, { role: 'COMPANY_ADMIN' });
    const [boss, caller] = [await admin(), await admin()];
    const { createAlertChannel } = await caller.ask<{ createAlertChannel: { alertChannel: { id: string } } }>(
      'mutation { createAlertChannel(input: { kind: WEBHOOK, name: "w", address: "https://w.example" }) { alertChannel { id } } }',
    );
    duringTest = () => loss(caller, boss);
    const { id } = createAlertChannel.alertChannel;
    const query = `mutation($id: ID!) { testAlertChannel(id: $id) { __typename } ${later} }`;
    return await caller.answer(query, { id });
  }

  const laters = [
    'createApiKey(input: { name: "late" }) { rawKey }',
    'createServiceToken(name: "late", scopes: ["keys:read"]) { rawToken }',
    'inviteMember(email: "late@people.example") { id }',
    'createJob(input: { title: "late" }) { id }',
  ];
  for (const later of laters) {
    const name = later.split('(')[0] as string;
    test(`P-14 ${name} is refused where its caller was removed since the request began`, async () => {
      const loss = (caller: Person, boss: Person) => boss.ask(REMOVE, { id: caller.userId });
      const { data, errors } = await losing(slow, { loss, later });
      expect([data?.[name] ?? null, errors?.at(-1)?.extensions.code]).toEqual([null, 'UNAUTHENTICATED']);
    });
  }

  test('P-14 createApiKey is refused where its caller was demoted since the request began', async () => {
    const loss = (caller: Person, boss: Person) => boss.ask(DEMOTE, { id: caller.userId });
    const { errors } = await losing(slow, { loss, later: laters[0] as string });
    expect(errors?.at(-1)?.extensions.code).toBe('FORBIDDEN');
  });
});
