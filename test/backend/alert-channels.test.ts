import { expect, test } from 'bun:test';
import type { Webhook } from '../../src/ports/webhooks/webhook-sender.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend } from './backend-under-test.ts';

const sent: Webhook[] = [];
let status = 200;
const backend = useResource(() =>
  openBackend({
    alertRules: {
      allowsHttp: false,
      webhooks: {
        addressProblem: async (url) => (url.includes('inside') ? 'it is inside' : null),
        send: async (webhook) => {
          sent.push(webhook);
          const body = new TextEncoder().encode(status === 200 ? '' : 'try later');
          return { outcome: 'answered', status, body, isWhole: true, durationMs: 12 };
        },
      },
    },
  }),
);

interface Channel {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly version: number;
}
const FIELDS = 'id kind name isOn events address version lastDelivery { state event }';
const CREATE = `mutation($input: CreateAlertChannelInput!) {
  createAlertChannel(input: $input) { secret alertChannel { ${FIELDS} } } }`;
const UPDATE = `mutation($id: ID!, $input: UpdateAlertChannelInput!) { updateAlertChannel(id: $id, input: $input) { ${FIELDS} } }`;

async function create(input: object, by = backend.people.admin) {
  type Created = { createAlertChannel: { secret: string | null; alertChannel: Channel } };
  return (await by.ask<Created>(CREATE, { input })).createAlertChannel;
}

test('P-15 an admin adds a webhook, sees its secret once, changes it and deletes it; every step is in the audit log', async () => {
  const { admin } = backend.people;
  const made = await create({
    ...{ kind: 'WEBHOOK', name: 'Pager', address: 'https://hooks.example/in?token=hidden' },
    events: ['LOW_BALANCE'],
  });
  expect(made.secret).toMatch(/^whsec_[\w-]{43}$/);
  expect(made.alertChannel).toMatchObject({
    ...{ name: 'Pager', events: ['LOW_BALANCE'], address: 'https://hooks.example/in?…', version: 1 },
    lastDelivery: null,
  });
  const { id } = made.alertChannel;
  const input = { version: 1, name: 'Pager 2', isOn: false };
  expect(await admin.ask(UPDATE, { id, input })).toMatchObject({
    updateAlertChannel: { name: 'Pager 2', isOn: false, events: null, version: 2 },
  });
  const { errors } = await admin.answer(UPDATE, { id, input });
  expect(errors?.[0]).toMatchObject({ extensions: { code: 'CONFLICT' } });
  const rotated = await admin.ask<{ rotateAlertChannelSecret: { secret: string } }>(
    'mutation($id: ID!) { rotateAlertChannelSecret(id: $id) { secret alertChannel { oldSecretUntil } } }',
    { id },
  );
  expect(rotated.rotateAlertChannelSecret.secret).not.toBe(made.secret as string);
  expect(JSON.stringify(await admin.ask(`{ alertChannels { ${FIELDS} } }`))).not.toContain('whsec_');
  await admin.ask('mutation($id: ID!) { deleteAlertChannel(id: $id) }', { id });
  expect(await admin.ask('{ alertChannels { id } }')).toEqual({ alertChannels: [] });
  const { auditLog } = await admin.ask<{ auditLog: { nodes: { action: string; details: object }[] } }>(
    '{ auditLog(first: 4) { nodes { action details } } }',
  );
  expect(auditLog.nodes.map(({ action }) => action)).toEqual([
    'alert-channel.deleted',
    'alert-channel.secret-rotated',
    'alert-channel.changed',
    'alert-channel.created',
  ]);
  expect(JSON.stringify(auditLog)).not.toContain('hidden');
});

test('P-15 the test button sends at once and shows the result; the delivery log has it', async () => {
  const { admin } = backend.people;
  const address = 'https://a.example';
  const { alertChannel, secret } = await create({ kind: 'WEBHOOK', name: 'Test', address });
  const { id } = alertChannel;
  const test = 'mutation($id: ID!) { testAlertChannel(id: $id) { state event attempts httpStatus error } }';
  const sentOnce = { event: 'TEST', attempts: 1 };
  status = 503;
  const failed = { ...sentOnce, state: 'FAILED', httpStatus: 503, error: 'try later' };
  expect(await admin.ask(test, { id })).toEqual({ testAlertChannel: failed });
  status = 200;
  const delivered = { ...sentOnce, state: 'DELIVERED', httpStatus: 200, error: null };
  expect(await admin.ask(test, { id })).toEqual({ testAlertChannel: delivered });
  expect(sent.at(-1)).toMatchObject({ url: 'https://a.example/', secrets: [secret] });
  expect(JSON.parse(sent.at(-1)?.body ?? '')).toMatchObject({ type: 'alert.test', is_test: true });
  const log = 'query($id: ID!) { alertDeliveries(channelId: $id) { nodes { state } } }';
  expect(await admin.ask(log, { id })).toEqual({
    alertDeliveries: { nodes: [{ state: 'DELIVERED' }, { state: 'FAILED' }] },
  });
  // The address that the company chose cannot be used as the target of a flood.
  const codes: unknown[] = [];
  for (let count = 0; count < 20; count += 1) {
    codes.push((await admin.answer(test, { id })).errors?.[0]?.extensions.code);
  }
  expect(codes.slice(-2)).toEqual(['RATE_LIMITED', 'RATE_LIMITED']);
});

test('P-15 mail goes to users of the company alone; operators have channels of their own', async () => {
  const { admin, otherAdmin, member, superAdmin } = backend.people;
  const mailTo = (address: string) => ({ kind: 'EMAIL', name: 'Mail', address });
  for (const stranger of [otherAdmin.email, superAdmin.email]) {
    const { errors } = await admin.answer(CREATE, { input: mailTo(stranger) });
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'input.address' });
  }
  const { alertChannel } = await create(mailTo(member.email));
  expect(alertChannel.address).toBe(member.email);
  const operators = await create(
    { kind: 'SLACK', name: 'Ops', address: 'https://hooks.slack.com/services/T0/B0/x' },
    superAdmin,
  );
  expect(operators).toMatchObject({ secret: null, alertChannel: { address: 'https://hooks.slack.com/…' } });
  const kinds = '{ alertEventKinds { kind } alertChannels { name } }';
  expect(await superAdmin.ask(kinds)).toEqual({
    alertEventKinds: [{ kind: 'WITHHELD_USAGE' }, { kind: 'UNPRICED_CALLS' }, { kind: 'AUDIT_DIFFERENCES' }],
    alertChannels: [{ name: 'Ops' }],
  });
  const { errors } = await admin.answer('{ alertChannels(operators: true) { id } }');
  expect(errors?.[0]?.extensions.code).toBe('FORBIDDEN');
  const wrong: [object, string][] = [
    [{ kind: 'SLACK', name: 'x', address: 'https://inside.example' }, 'input.address'],
    [{ kind: 'SLACK', name: 'x', address: 'https://a.example', events: ['WITHHELD_USAGE'] }, 'input.events'],
  ];
  for (const [input, field] of wrong) {
    const { errors: said } = await admin.answer(CREATE, { input });
    expect([field, said?.[0]?.extensions]).toMatchObject([field, { code: 'BAD_USER_INPUT', field }]);
  }
});
