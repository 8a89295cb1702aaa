import { useState } from 'react';
import { Act, Confirmed, Copy, Dialog } from '../../parts/dialog.tsx';
import { Choice, Field, Form } from '../../parts/form.tsx';
import type { FormValues } from '../../parts/form-values.ts';
import { List, RowButton } from '../../parts/list.tsx';
import { Card, type Mood, Notice, Tag } from '../../parts/page.tsx';
import { Moment } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { type DataOf, graphql } from '../../session/graphql.ts';
import { useQuery } from '../../session/use-query.ts';

const CHANNELS = graphql(`{
  alertChannels { id kind name isOn events address version lastDelivery { state attemptedAt createdAt } }
  alertEventKinds { kind name meaning }
}`);
const CREATE = graphql(`mutation($input: CreateAlertChannelInput!) {
  createAlertChannel(input: $input) { secret alertChannel { name } } }`);
const UPDATE = graphql(`mutation($id: ID!, $input: UpdateAlertChannelInput!) {
  updateAlertChannel(id: $id, input: $input) { version } }`);
const ROTATE = graphql(
  `mutation($id: ID!) { rotateAlertChannelSecret(id: $id) { secret alertChannel { name } } }`,
);
const DELETE = graphql(`mutation($id: ID!) { deleteAlertChannel(id: $id) }`);
const TEST = graphql(
  `mutation($id: ID!) { testAlertChannel(id: $id) { state httpStatus error durationMs } }`,
);
const DELIVERIES = graphql(`query($id: ID!) { alertDeliveries(channelId: $id, first: 50) {
  nodes { id event state attempts httpStatus error createdAt payload } } }`);

const LOOK_EVERY_MS = 15_000;

type ChannelsData = DataOf<typeof CHANNELS>;
type Channel = ChannelsData['alertChannels'][number];
type EventKinds = ChannelsData['alertEventKinds'];
type Delivery = DataOf<typeof DELIVERIES>['alertDeliveries']['nodes'][number];
type Tested = DataOf<typeof TEST>['testAlertChannel'];

const KINDS = { EMAIL: 'E-mail', WEBHOOK: 'Webhook', SLACK: 'Slack' } as const;
const STATES = { WAITING: 'waiting', DELIVERED: 'delivered', FAILED: 'failed' } as const;
const MOODS: Record<Delivery['state'], Mood> = { WAITING: 'warn', DELIVERED: 'good', FAILED: 'bad' };

/** Where alerts are sent in addition to the mails to the receivers. */
export function AlertChannels() {
  const { session } = useConsole();
  const { data, error, reload } = useQuery(CHANNELS, {}, LOOK_EVERY_MS);
  const [editing, setEditing] = useState<Channel | 'new' | null>(null);
  const [logOf, setLogOf] = useState<Channel | null>(null);
  const [secret, setSecret] = useState<{ readonly name: string; readonly secret: string } | null>(null);
  const [tested, setTested] = useState<{ readonly name: string; readonly result: Tested } | null>(null);

  const test = async ({ id, name }: Channel) => {
    const { testAlertChannel: result } = await session.request(TEST, { id });
    setTested({ name, result });
    await reload();
  };
  const rotate = async ({ id, name }: Channel) => {
    const { rotateAlertChannelSecret: rotated } = await session.request(ROTATE, { id });
    if (rotated.secret !== null) setSecret({ name, secret: rotated.secret });
    await reload();
  };
  return (
    <Card title="Channels">
      <p className="quiet">
        Alerts can also be sent to a signed webhook, to Slack or a compatible service, and to other people of
        your company.
      </p>
      {tested !== null && <TestResult {...tested} />}
      <List
        label="Alert channels"
        rows={data?.alertChannels ?? null}
        error={error}
        retry={reload}
        keyOf={({ id }) => id}
        nameOf={({ name }) => name}
        nothing="No channels"
        empty={<p>Add one to get alerts where your team works.</p>}
        columns={[
          { name: 'Name', show: ({ name }) => name },
          { name: 'Goes to', show: (channel) => <Address {...channel} /> },
          { name: 'Alerts', show: ({ events }) => eventWords(events, data?.alertEventKinds ?? []) },
          { name: 'Last delivery', show: (channel) => <LastDelivery {...channel} /> },
          {
            name: 'Actions',
            show: (channel) => (
              <div className="row">
                <Act name="Test" work={() => test(channel)} />
                <RowButton onClick={() => setEditing(channel)}>Edit</RowButton>
                <RowButton onClick={() => setLogOf(channel)}>Deliveries</RowButton>
                {channel.kind === 'WEBHOOK' && (
                  <Confirmed
                    name="New secret"
                    title={`A new signing secret for ${channel.name}?`}
                    says="Requests are also signed with the current secret for 24 hours."
                    danger={false}
                    work={() => rotate(channel)}
                  />
                )}
                <Confirmed
                  name="Delete"
                  title={`Delete ${channel.name}?`}
                  says="Its delivery log is deleted too. Pending alerts are dropped."
                  work={async () => {
                    await session.request(DELETE, { id: channel.id });
                    await reload();
                  }}
                />
              </div>
            ),
          },
        ]}
      />
      <div className="row">
        <button type="button" onClick={() => setEditing('new')}>
          Add a channel
        </button>
      </div>
      {editing !== null && (
        <ChannelForm
          channel={editing === 'new' ? null : editing}
          kinds={data?.alertEventKinds ?? []}
          close={() => setEditing(null)}
          saved={async (created) => {
            setEditing(null);
            setSecret(created);
            await reload();
          }}
        />
      )}
      {secret !== null && <SecretOnce {...secret} close={() => setSecret(null)} />}
      {logOf !== null && <Deliveries channel={logOf} close={() => setLogOf(null)} />}
    </Card>
  );
}

function Address({ kind, address, isOn }: Channel) {
  return (
    <>
      {KINDS[kind]} <span className="mono">{address ?? 'a person who left the company'}</span>{' '}
      {!isOn && <Tag mood="warn">off</Tag>}
    </>
  );
}

function LastDelivery({ lastDelivery }: Channel) {
  if (lastDelivery === null) return 'none yet';
  const { state, attemptedAt, createdAt } = lastDelivery;
  return (
    <>
      <Tag mood={MOODS[state]}>{STATES[state]}</Tag> <Moment at={attemptedAt ?? createdAt} />
    </>
  );
}

function eventWords(events: Channel['events'], kinds: EventKinds): string {
  if (events === null) return 'all';
  return kinds
    .filter(({ kind }) => events.includes(kind))
    .map(({ name }) => name)
    .join(', ');
}

function TestResult({ name, result }: { name: string; result: Tested }) {
  const { state, httpStatus, error, durationMs } = result;
  if (state === 'DELIVERED') {
    const took = durationMs === null ? '' : ` in ${durationMs} ms`;
    return <Notice mood="good">{`The test alert to ${name} was delivered${took}.`}</Notice>;
  }
  const status = httpStatus === null ? '' : ` with status ${httpStatus}`;
  return <Notice mood="bad">{`The test alert to ${name} failed${status}: ${error ?? 'no answer'}.`}</Notice>;
}

interface ChannelFormProps {
  /** Null for a new one. */
  readonly channel: Channel | null;
  readonly kinds: EventKinds;
  close(): void;
  saved(created: { readonly name: string; readonly secret: string } | null): Promise<void>;
}

function ChannelForm({ channel, kinds, close, saved }: ChannelFormProps) {
  const { session } = useConsole();
  const [kind, setKind] = useState<Channel['kind']>(channel?.kind ?? 'WEBHOOK');
  const send = async (values: FormValues) => {
    const { text, all } = values;
    const chosen = kinds.map((row) => row.kind).filter((one) => all('events').includes(one));
    const events = chosen.length === kinds.length ? null : chosen;
    const input = { name: text('name'), isOn: all('isOn').length > 0, events };
    if (channel !== null) {
      const address = text('address') === '' ? null : text('address');
      const { id, version } = channel;
      await session.request(UPDATE, { id, input: { ...input, version, address } });
      return await saved(null);
    }
    const { createAlertChannel: created } = await session.request(CREATE, {
      input: { ...input, kind, address: text('address') },
    });
    const { secret } = created;
    await saved(secret === null ? null : { name: created.alertChannel.name, secret });
  };
  const cancel = (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
  return (
    <Dialog title={channel === null ? 'Add a channel' : `Edit ${channel.name}`} close={close}>
      <Form submit="Save the channel" beside={cancel} send={send}>
        {channel === null && (
          <Choice
            label="Kind"
            name="kind"
            value={kind}
            onChange={(event) => setKind(event.target.value as Channel['kind'])}
          >
            {Object.entries(KINDS).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </Choice>
        )}
        <Field
          label="Name"
          name="name"
          maxLength={100}
          required
          autoComplete="off"
          defaultValue={channel?.name ?? ''}
        />
        <Field
          label={kind === 'EMAIL' ? 'E-mail address' : 'URL'}
          name="address"
          type={kind === 'EMAIL' ? 'email' : 'url'}
          maxLength={2_048}
          required={channel === null}
          autoComplete="off"
          hint={addressHint(kind, channel)}
        />
        <fieldset>
          <legend>Alerts</legend>
          {kinds.map((row) => (
            <label className="check" key={row.kind}>
              <input
                type="checkbox"
                name="events"
                value={row.kind}
                defaultChecked={channel?.events == null || channel.events.includes(row.kind)}
              />
              <span>{row.name}</span>
            </label>
          ))}
        </fieldset>
        <label className="check">
          <input type="checkbox" name="isOn" value="on" defaultChecked={channel?.isOn ?? true} />
          <span>Switched on</span>
        </label>
      </Form>
    </Dialog>
  );
}

function addressHint(kind: Channel['kind'], channel: Channel | null): string {
  if (channel !== null) return `Now ${channel.address ?? 'no address'}. Leave it empty to keep it.`;
  return {
    EMAIL: 'The address of a member. To alert a mailing list, invite it as a member.',
    WEBHOOK: 'It receives a signed POST with the alert as JSON.',
    SLACK: 'An incoming webhook of Slack, or of what takes {"text": …}.',
  }[kind];
}

function SecretOnce({ name, secret, close }: { name: string; secret: string; close(): void }) {
  return (
    <Dialog title={`The signing secret of ${name}`} isCovering close={close}>
      <Notice mood="warn">This is the only time it is shown. Copy it now.</Notice>
      <pre data-shown-once="" data-testid="channel-secret">
        {secret}
      </pre>
      <div className="row">
        <Copy text={secret} name="Copy the secret" />
        <button type="button" className="main" onClick={close}>
          I have stored it
        </button>
      </div>
    </Dialog>
  );
}

function Deliveries({ channel, close }: { channel: Channel; close(): void }) {
  const { data, error, reload } = useQuery(DELIVERIES, { id: channel.id });
  return (
    <Dialog title={`Deliveries of ${channel.name}`} isWide close={close}>
      <List
        label={`Deliveries of ${channel.name}`}
        rows={data?.alertDeliveries.nodes ?? null}
        error={error}
        retry={reload}
        keyOf={({ id }) => id}
        nothing="No deliveries"
        empty={<p>Every alert and every test is listed here.</p>}
        columns={[
          { name: 'When', show: ({ createdAt }) => <Moment at={createdAt} /> },
          { name: 'Alert', show: ({ event, payload }) => <Payload event={event} payload={payload} /> },
          { name: 'Result', show: (delivery) => <Result {...delivery} /> },
          { name: 'Attempts', isNumber: true, show: ({ attempts }) => attempts },
        ]}
      />
      <div className="row">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

function Payload({ event, payload }: { event: string; payload: string }) {
  return (
    <details>
      <summary>{event.toLowerCase().replaceAll('_', ' ')}</summary>
      <pre>{payload}</pre>
    </details>
  );
}

function Result({ state, httpStatus, error }: Delivery) {
  return (
    <>
      <Tag mood={MOODS[state]}>{STATES[state]}</Tag> {httpStatus !== null && <code>{httpStatus}</code>}{' '}
      {error}
    </>
  );
}
