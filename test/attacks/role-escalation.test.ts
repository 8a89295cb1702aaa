import { expect, test } from 'bun:test';
import { openBackend, type Person } from '../backend/backend-under-test.ts';
import { useResource } from '../setup/use-resource.ts';

/** What happens while a webhook is sent: an operation that lasts. */
let duringTest: () => Promise<unknown> = async () => null;
const backend = useResource(() =>
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
const CREATE_CHANNEL =
  'mutation { createAlertChannel(input: { kind: WEBHOOK, name: "w", address: "https://w.example" }) { alertChannel { id } } }';

test.each([
  ['removed', 'createApiKey(input: { name: "late" }) { rawKey }'],
  ['removed', 'createServiceToken(name: "late", scopes: ["keys:read"]) { rawToken }'],
  ['removed', 'inviteMember(email: "late@people.example") { id }'],
  ['removed', 'createJob(input: { title: "late" }) { id }'],
  ['demoted', 'createApiKey(input: { name: "late" }) { rawKey }'],
])('P-14 a caller who was %s since the request began is refused: %s', async (what, later) => {
  const companyId = await backend.company('Lasting');
  const admin = (): Promise<Person> => backend.person(companyId, { role: 'COMPANY_ADMIN' });
  const [boss, caller] = [await admin(), await admin()];
  type Created = { createAlertChannel: { alertChannel: { id: string } } };
  const { createAlertChannel } = await caller.ask<Created>(CREATE_CHANNEL);
  const { id } = createAlertChannel.alertChannel;
  duringTest = () => boss.ask(what === 'removed' ? REMOVE : DEMOTE, { id: caller.userId });
  const query = `mutation($id: ID!) { testAlertChannel(id: $id) { __typename } ${later} }`;
  const { data, errors } = await caller.answer(query, { id });
  expect(data?.[later.split('(')[0] ?? ''] ?? null).toBeNull();
  expect(errors?.at(-1)?.extensions.code).toBe(what === 'removed' ? 'UNAUTHENTICATED' : 'FORBIDDEN');
});
