import { describe, expect, test } from 'bun:test';
import { createApproveHost } from '../../src/adapters/outgoing-addresses/approve-host.ts';
import { createWebhookSender } from '../../src/adapters/webhook-sender/webhook-sender.ts';
import { slackBody } from '../../src/domain/alerts/alert-events.ts';
import { openBackend } from '../backend/backend-under-test.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { useResource } from '../setup/use-resource.ts';

const clock = createManualClock();
/** The names of an attacker: one leads inside, one does so from its second answer on. */
let answers = 0;
const approveHost = createApproveHost({
  ...{ clock, allowed: [], setting: 'ALERT_PRIVATE_NETWORKS', hidesInside: true },
  addressesOf: async (name) => {
    if (name === 'inside.example') return ['10.0.0.5'];
    if (name === 'nosuch.example') return [];
    if (name === 'mixed.example') return ['8.8.8.8', '127.0.0.1'];
    answers += 1;
    return name === 'rebinds.example' && answers > 1 ? ['127.0.0.1'] : ['8.8.8.8'];
  },
});
const webhooks = createWebhookSender({ clock, approveHost, connects: 'approved' });
const backend = useResource(() => openBackend({ alertRules: { webhooks, allowsHttp: false } }));

const CREATE =
  'mutation($input: CreateAlertChannelInput!) { createAlertChannel(input: $input) { secret alertChannel { id } } }';
type Created = { createAlertChannel: { secret: string; alertChannel: { id: string } } };

describe('the address of an alert channel', () => {
  test('in the internal network is refused when it is saved, with the message for a name that does not exist', async () => {
    const problemOf = async (host: string, kind: string) => {
      const input = { kind, name: 'x', address: `https://${host}/latest/meta-data` };
      const { errors } = await backend.people.admin.answer(CREATE, { input });
      expect([host, errors?.[0]?.extensions]).toMatchObject([host, { field: 'input.address' }]);
      return errors?.[0]?.message.replaceAll(host, 'HOST');
    };
    const unknown = await problemOf('nosuch.example', 'WEBHOOK');
    expect(unknown).toContain('ALERT_PRIVATE_NETWORKS');
    for (const host of ['169.254.169.254', 'inside.example', 'mixed.example']) {
      for (const kind of ['WEBHOOK', 'SLACK']) expect(await problemOf(host, kind)).toBe(unknown);
    }
  });

  test('that later resolves to the internal network is refused when it is used, and no other address is connected to', async () => {
    const { admin } = backend.people;
    const input = { kind: 'WEBHOOK', name: 'x', address: 'https://rebinds.example/' };
    const { alertChannel } = (await admin.ask<Created>(CREATE, { input })).createAlertChannel;
    await clock.advance(11_000);
    type Tested = { testAlertChannel: { state: string; error: string } };
    const { testAlertChannel } = await admin.ask<Tested>(
      'mutation($id: ID!) { testAlertChannel(id: $id) { state error } }',
      { id: alertChannel.id },
    );
    expect(testAlertChannel.state).toBe('FAILED');
    expect(testAlertChannel.error).toContain('is inside the network');
  });
});

test('addresses and secrets are encrypted in the database, and bound to their channel', async () => {
  const { admin } = backend.people;
  const address = 'https://hooks.example/services/T000/B000/verysecret';
  const make = async () =>
    (await admin.ask<Created>(CREATE, { input: { kind: 'WEBHOOK', name: 'x', address } })).createAlertChannel;
  const [one, other] = [await make(), await make()];
  const slack = { kind: 'SLACK', name: 'x', address };
  await admin.ask(CREATE, { input: slack });
  const rows = await backend.database.query<{ row: string }>(
    "select encode(sealed_url, 'escape') || coalesce(encode(sealed_secret, 'escape'), '') || (to_jsonb(t) - 'shown_address')::text as row from alert_channels t",
  );
  for (const { row } of rows) {
    expect(row).not.toContain('verysecret');
    expect(row).not.toContain(one.secret);
  }
  const shown = await backend.database.query<{ address: string }>(
    "select shown_address as address from alert_channels where kind = 'SLACK'",
  );
  expect(shown).toEqual([{ address: 'https://hooks.example/…' }]);
  // Who can write the database cannot have one channel's address used by another.
  await backend.database.query(
    'update alert_channels set sealed_url = (select sealed_url from alert_channels where id = $2) where id = $1',
    [one.alertChannel.id, other.alertChannel.id],
  );
  const tested = await admin.ask('mutation($id: ID!) { testAlertChannel(id: $id) { state error } }', {
    id: one.alertChannel.id,
  });
  expect(tested).toMatchObject({
    testAlertChannel: { state: 'FAILED', error: expect.stringContaining('decrypted') },
  });
  const logged = JSON.stringify(backend.entries);
  for (const secret of ['verysecret', one.secret, other.secret]) expect(logged).not.toContain(secret);
});

test('names chosen by users make no link and no mention in a chat', () => {
  const body = slackBody({ title: '<!channel> *x*', message: 'key <https://evil.example|click> & @here' });
  expect(JSON.parse(body)).toEqual({
    text: '*&lt;!channel&gt; x*\nkey &lt;https://evil.example|click&gt; &amp; @\u200bhere',
  });
});
