import { useState } from 'react';
import { Confirmed, Copy, Dialog } from '../../parts/dialog.tsx';
import { Checks, Choice, Field, Form } from '../../parts/form.tsx';
import type { FormValues } from '../../parts/form-values.ts';
import { type Column, List } from '../../parts/list.tsx';
import { Bones, Card, type Mood, Notice, Page, Problem, Tag } from '../../parts/page.tsx';
import { count, credits, Moment, spoken } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { type DataOf, graphql, type RowOf } from '../../session/graphql.ts';
import { useChange, useQuery } from '../../session/use-query.ts';
import { SettingsTabs } from '../account/company-settings.tsx';
import {
  EditKey,
  ExpiryField,
  expiryIn,
  HIGHEST_RATE,
  ProjectField,
  RotateKey,
  UsageChunkField,
  usageChunkIn,
} from './change-key.tsx';
import { CacheCard, StoredContentFields, StoredContentNote, storedContentIn } from './stored-content.tsx';

const KEYS = graphql(`{ apiKeys { id name prefix lastFour scopes models status createdAt expiresAt lastUsedAt
  requestsPerMinute tokensPerMinute maxCallsInFlight monthlySpendingLimit streamUsageChunk project
  cacheTtlSeconds logPayloads payerUser { email } } }`);
const REVOKE = graphql(`mutation($id: ID!) { revokeApiKey(id: $id) { id } }`);
const CHOICES = graphql(`{ modelAliases { alias } members(first: 50) { nodes { id email } } }`);
const MINT = graphql(`mutation($input: CreateApiKeyInput!) {
  createApiKey(input: $input) { rawKey apiKey { name } }
}`);
const MOODS: Record<ApiKey['status'], Mood> = { LIVE: 'good', REVOKED: 'bad', EXPIRED: 'warn' };
const LOOK_EVERY_MS = 10_000;
const SCOPES = ['inference:chat', 'inference:parse', 'usage:read', 'jobs:read'];
const DEFAULT_SCOPES = SCOPES.slice(0, 3);
export const SAMPLE_ALIAS = 'svc/chat-default';

type ApiKey = RowOf<typeof KEYS>;
type MintedKey = DataOf<typeof MINT>['createApiKey'];

export function Keys() {
  const keys = useQuery(KEYS, {}, LOOK_EVERY_MS);
  const change = useChange(keys.reload);
  const [isMinting, setMinting] = useState(false);
  const [minted, setMinted] = useState<MintedKey | null>(null);
  const [edited, setEdited] = useState<ApiKey | null>(null);
  const [rotated, setRotated] = useState<ApiKey | null>(null);
  const show = async (key: MintedKey) => {
    setMinting(false);
    setRotated(null);
    setMinted(key);
    await keys.reload();
  };
  const actions: Column<ApiKey> = {
    name: 'Do',
    show: (key) =>
      key.status === 'LIVE' && (
        <div className="row tight">
          <button type="button" className="little" onClick={() => setEdited(key)}>
            Edit
          </button>
          <button type="button" className="little" onClick={() => setRotated(key)}>
            Rotate
          </button>
          <Confirmed
            name="Revoke"
            title={`Revoke “${key.name}”?`}
            says="Calls with it answer 401 within a second. This cannot be undone."
            work={() => change(REVOKE, { id: key.id })}
          />
        </div>
      ),
  };
  return (
    <Page
      title="API keys"
      says="A key calls the models in your company’s name. It is shown once; keep it like a password."
      actions={
        <button type="button" className="main" onClick={() => setMinting(true)}>
          Mint a key
        </button>
      }
    >
      <SettingsTabs />
      <Card>
        <List
          label="API keys"
          rows={keys.data?.apiKeys ?? null}
          error={keys.error}
          retry={keys.reload}
          keyOf={({ id }) => id}
          columns={[...COLUMNS, actions]}
          empty={<p>Mint your first key: it comes with a line you can paste into a terminal.</p>}
        />
      </Card>
      <CacheCard />
      {isMinting && <MintKey close={() => setMinting(false)} minted={show} />}
      {minted !== null && <ShownOnce minted={minted} close={() => setMinted(null)} />}
      {edited !== null && <EditKey apiKey={edited} close={() => setEdited(null)} changed={keys.reload} />}
      {rotated !== null && <RotateKey apiKey={rotated} close={() => setRotated(null)} rotated={show} />}
    </Page>
  );
}

const COLUMNS: readonly Column<ApiKey>[] = [
  {
    name: 'Key',
    show: (key) => (
      <>
        <div>{key.name}</div>
        <code className="quiet">
          {key.prefix}…{key.lastFour}
        </code>
        {key.project !== null && <div className="small quiet">project {key.project}</div>}
        {key.payerUser !== null && <div className="small quiet">paid by {key.payerUser.email}</div>}
        <StoredContentNote {...key} />
      </>
    ),
  },
  { name: 'Status', show: ({ status }) => <Tag mood={MOODS[status]}>{spoken(status)}</Tag> },
  { name: 'Scopes', show: ({ scopes }) => <span className="mono">{scopes.join(', ')}</span> },
  {
    name: 'Models',
    show: ({ models }) =>
      models.length <= 2 ? (
        <span className="mono">{models.join(', ')}</span>
      ) : (
        <details>
          <summary>{models.length} models</summary>
          <span className="mono">{models.join(', ')}</span>
        </details>
      ),
  },
  {
    name: 'Limits',
    show: (key) => (
      <span className="small">
        {count(key.requestsPerMinute)} requests, {count(key.tokensPerMinute)} tokens a minute
        {key.monthlySpendingLimit !== null && `, ${credits(key.monthlySpendingLimit)} credits a month`}
      </span>
    ),
  },
  { name: 'Last used', show: ({ lastUsedAt }) => <Moment at={lastUsedAt} /> },
  { name: 'Expires', show: ({ expiresAt }) => <Moment at={expiresAt} /> },
];

interface MintKeyProps {
  close(): void;
  minted(key: MintedKey): Promise<void>;
}

function MintKey({ close, minted }: MintKeyProps) {
  const { session } = useConsole();
  const choices = useQuery(CHOICES);
  const names = choices.data?.modelAliases.map(({ alias }) => alias) ?? null;
  const send = async (values: FormValues) => {
    const input = newKeyInput(values, names ?? []);
    const { createApiKey } = await session.request(MINT, { input });
    await minted(createApiKey);
  };
  const cancel = (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
  return (
    <Dialog title="Mint a key" close={close}>
      <Problem error={choices.error} retry={choices.reload} />
      {names === null ? (
        <Bones />
      ) : (
        <Form submit="Mint" beside={cancel} send={send}>
          <Field
            label="Name"
            name="name"
            hint="What it is for, as: website, staging"
            maxLength={200}
            required
          />
          <ProjectField />
          <Checks legend="Scopes" name="scopes" values={SCOPES} chosen={DEFAULT_SCOPES} />
          <Checks legend="Models" name="models" values={names} chosen={names} />
          <div className="columns">
            <Field
              label="Requests a minute"
              name="requests"
              type="number"
              min={1}
              max={HIGHEST_RATE}
              step={1}
            />
            <Field label="Tokens a minute" name="tokens" type="number" min={1} max={HIGHEST_RATE} step={1} />
            <Field label="Calls at once" name="inFlight" type="number" min={1} step={1} />
            <Field label="Credits a month" name="monthly" type="number" min={0} step="any" />
          </div>
          <Choice label="Paid by" name="payer">
            <option value="">the company</option>
            {choices.data?.members.nodes.map(({ id, email }) => (
              <option key={id} value={id}>
                {`the personal credits of ${email}`}
              </option>
            ))}
          </Choice>
          <ExpiryField />
          <UsageChunkField />
          <StoredContentFields />
        </Form>
      )}
    </Dialog>
  );
}

function ShownOnce({ minted, close }: { minted: MintedKey; close(): void }) {
  const { gatewayUrl } = useConsole();
  return (
    <Dialog title={`Your key “${minted.apiKey.name}”`} close={close}>
      <Notice mood="warn">This is the only time it is shown. Copy it now.</Notice>
      <pre data-testid="raw-key">{minted.rawKey}</pre>
      <div className="row">
        <Copy text={minted.rawKey} name="Copy the key" />
      </div>
      {Object.entries(samples(gatewayUrl, minted.rawKey)).map(([name, text]) => (
        <details key={name} open={name === 'curl'}>
          <summary>{name}</summary>
          <pre>{text}</pre>
          <Copy text={text} name={`Copy the ${name} line`} />
        </details>
      ))}
      <div>
        <button type="button" className="main" onClick={close}>
          I have kept it
        </button>
      </div>
    </Dialog>
  );
}

/** An empty field is left out and gets the backend's default. */
function newKeyInput(values: FormValues, names: readonly string[]) {
  const { text, number, all } = values;
  const models = all('models');
  const given = {
    requestsPerMinute: number('requests'),
    tokensPerMinute: number('tokens'),
    maxCallsInFlight: number('inFlight'),
    monthlySpendingLimit: number('monthly'),
    expiresAt: expiryIn(text('expires')),
    streamUsageChunk: usageChunkIn(text('usageChunk')),
    project: text('project') === '' ? null : text('project'),
    ...storedContentIn(values),
    models: models.length === names.length ? null : models,
    payer: text('payer') === '' ? null : ('USER' as const),
    payerUserId: text('payer') === '' ? null : text('payer'),
  };
  const filled = Object.entries(given).filter(([, value]) => value !== null);
  return { name: text('name'), scopes: all('scopes'), ...Object.fromEntries(filled) };
}

function samples(gatewayUrl: string, key: string): Record<string, string> {
  const body = JSON.stringify({ model: SAMPLE_ALIAS, messages: [{ role: 'user', content: 'Hello' }] });
  return {
    curl: `curl ${gatewayUrl}/chat/completions -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '${body}'`,
    Node: `import OpenAI from 'openai';
const client = new OpenAI({ baseURL: '${gatewayUrl}', apiKey: '${key}' });
const answer = await client.chat.completions.create(${body});
console.log(answer.choices[0].message.content);`,
    Python: `from openai import OpenAI
client = OpenAI(base_url="${gatewayUrl}", api_key="${key}")
answer = client.chat.completions.create(model="${SAMPLE_ALIAS}", messages=[{"role": "user", "content": "Hello"}])
print(answer.choices[0].message.content)`,
  };
}
