import { useState } from 'react';
import { useFilters } from '../../operations/filters.tsx';
import { Confirmed, Dialog, DialogLoading } from '../../parts/dialog.tsx';
import { Checks, Choice, Field, Form } from '../../parts/form.tsx';
import type { FormValues } from '../../parts/form-values.ts';
import { type Column, List, RowButton } from '../../parts/list.tsx';
import { Card, InOrder, type Mood, Page, Tag } from '../../parts/page.tsx';
import { Picker } from '../../parts/picker.tsx';
import { count, credits, Moment, spoken } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { type DataOf, graphql, type RowOf } from '../../session/graphql.ts';
import { useChange, usePages, useQuery } from '../../session/use-query.ts';
import { SettingsTabs } from '../account/company-settings.tsx';
import {
  DEFAULT_TOKENS,
  EditKey,
  ExpiryField,
  expiryIn,
  HIGHEST_RATE,
  ProjectField,
  RotateKey,
  UsageChunkField,
  usageChunkIn,
} from './change-key.tsx';
import { ShownKey } from './shown-key.tsx';
import { CacheCard, StoredContentFields, StoredContentNote, storedContentIn } from './stored-content.tsx';

const KEYS = graphql(`query($after: ID, $search: String, $status: ApiKeyStatus) {
  apiKeyPage(first: 50, after: $after, search: $search, status: $status) {
    nodes { id name prefix lastFour scopes models allModels status createdAt expiresAt lastUsedAt rotatedFromId
      requestsPerMinute tokensPerMinute maxCallsInFlight monthlySpendingLimit streamUsageChunk project
      cacheTtlSeconds logPayloads version payerUser { email } }
    pageInfo { hasNextPage endCursor } } }`);
const PEOPLE = graphql(`query($search: String) {
  members(first: 50, search: $search) { nodes { id email } pageInfo { hasNextPage } } }`);
const REVOKE = graphql(`mutation($id: ID!) { revokeApiKey(id: $id) { id } }`);
const CHOICES = graphql(`{ modelAliases { alias } }`);
const CREATE = graphql(`mutation($input: CreateApiKeyInput!) {
  createApiKey(input: $input) { rawKey apiKey { name } }
}`);
const MOODS: Record<ApiKey['status'], Mood> = { LIVE: 'good', REVOKED: 'bad', EXPIRED: 'warn' };
const SCOPES = ['inference:chat', 'inference:parse', 'usage:read', 'jobs:read'];
const DEFAULT_SCOPES = SCOPES.slice(0, 3);

type ApiKey = RowOf<typeof KEYS>;
type CreatedKey = DataOf<typeof CREATE>['createApiKey'];

const STATUSES = ['LIVE', 'REVOKED', 'EXPIRED'] as const;

function KeyFilters({ setFilter, typed, oneOf }: ReturnType<typeof useFilters>) {
  return (
    <div className="columns">
      <Field label="Search" hint="Name, or the end of the key." {...typed('search')} />
      <Choice
        label="Status"
        value={oneOf('status', STATUSES) ?? ''}
        onChange={(event) => setFilter('status', event.target.value)}
      >
        <option value="">All</option>
        {STATUSES.map((status) => (
          <option key={status} value={status}>
            {spoken(status)}
          </option>
        ))}
      </Choice>
    </div>
  );
}

export function Keys() {
  const filters = useFilters();
  const { filter, oneOf } = filters;
  const status = oneOf('status', STATUSES);
  const isFiltered = status !== undefined || filter('search') !== '';
  const keys = usePages(KEYS, { search: filter('search'), ...(status === undefined ? {} : { status }) });
  const change = useChange(keys.reload);
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedKey | null>(null);
  const [edited, setEdited] = useState<ApiKey | null>(null);
  const [rotated, setRotated] = useState<ApiKey | null>(null);
  const show = async (key: CreatedKey) => {
    setCreating(false);
    setRotated(null);
    setCreated(key);
    await keys.reload();
  };
  const actions: Column<ApiKey> = {
    name: 'Actions',
    show: (key) =>
      key.status === 'LIVE' && (
        <div className="row tight">
          <RowButton onClick={() => setEdited(key)}>Edit</RowButton>
          <RowButton onClick={() => setRotated(key)}>Rotate</RowButton>
          <Confirmed
            name="Revoke"
            title={`Revoke “${key.name}”?`}
            says="Calls with it are answered with 401 within a second. This cannot be undone."
            work={() => change(REVOKE, { id: key.id })}
          />
        </div>
      ),
  };
  return (
    <Page
      title="API keys"
      says="A key calls the models in your company’s name. It is shown once; store it like a password."
      actions={
        <button type="button" className="main" onClick={() => setCreating(true)}>
          Create a key
        </button>
      }
    >
      <SettingsTabs />
      <InOrder>
        <Card>
          <KeyFilters {...filters} />
          <List
            label="API keys"
            rows={keys.nodes}
            error={keys.error}
            retry={keys.reload}
            more={keys}
            nothing={isFiltered ? 'No such key' : 'No API keys yet'}
            keyOf={({ id }) => id}
            nameOf={({ name, lastFour }) => `${name} (…${lastFour})`}
            columns={[columnOfName(keys.nodes ?? []), ...COLUMNS, actions]}
            empty={
              <p>
                {isFiltered
                  ? 'Choose another status or other words.'
                  : 'Create your first key: it comes with a line you can paste into a terminal.'}
              </p>
            }
          />
        </Card>
        <CacheCard />
      </InOrder>
      {isCreating && <CreateKey close={() => setCreating(false)} created={show} />}
      {created !== null && <ShownKey created={created} close={() => setCreated(null)} />}
      {edited !== null && <EditKey apiKey={edited} close={() => setEdited(null)} changed={keys.reload} />}
      {rotated !== null && <RotateKey apiKey={rotated} close={() => setRotated(null)} rotated={show} />}
    </Page>
  );
}

/** A rotated key has the same name as the key that it replaces, so the list shows which is which. */
function columnOfName(keys: readonly ApiKey[]): Column<ApiKey> {
  const replaced = new Set(keys.map(({ rotatedFromId }) => rotatedFromId));
  return {
    name: 'Key',
    show: (key) => (
      <>
        <div>{key.name}</div>
        <code className="quiet unbroken">
          {key.prefix}…{key.lastFour}
        </code>
        {key.rotatedFromId !== null && (
          <div className="small quiet">
            Rotated <Moment at={key.createdAt} />
          </div>
        )}
        {key.status === 'LIVE' && replaced.has(key.id) && (
          <div className="small">
            <Tag mood="warn">Replaced</Tag> Revoke it once nothing uses it.
          </div>
        )}
        {key.project !== null && <div className="small quiet">project {key.project}</div>}
        {key.payerUser !== null && <div className="small quiet">paid by {key.payerUser.email}</div>}
        <StoredContentNote {...key} />
      </>
    ),
  };
}

const COLUMNS: readonly Column<ApiKey>[] = [
  { name: 'Status', show: ({ status }) => <Tag mood={MOODS[status]}>{spoken(status)}</Tag> },
  { name: 'Scopes', show: ({ scopes }) => <span className="mono whole">{scopes.join(', ')}</span> },
  {
    name: 'Models',
    show: ({ models, allModels }) =>
      allModels ? (
        'all, including new ones'
      ) : models.length <= 2 ? (
        <span className="mono whole">{models.join(', ')}</span>
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
  {
    name: 'Last used',
    show: ({ lastUsedAt, expiresAt }) => (
      <>
        <Moment at={lastUsedAt} />
        <div className="small quiet">
          {expiresAt === null ? (
            'no expiry'
          ) : (
            <>
              expires <Moment at={expiresAt} />
            </>
          )}
        </div>
      </>
    ),
  },
];

function LimitFields() {
  const rate = { type: 'number', min: 1, max: HIGHEST_RATE, step: 1 };
  return (
    <div className="columns">
      <Field
        {...{ label: 'Requests a minute', hint: 'Empty: 600.', name: 'requests', ...rate }}
        data-field="requestsPerMinute"
      />
      <Field
        {...{ label: 'Tokens a minute', hint: `Empty: ${count(DEFAULT_TOKENS)}.`, name: 'tokens', ...rate }}
        data-field="tokensPerMinute"
      />
      <Field
        label="Calls at once"
        name="inFlight"
        data-field="maxCallsInFlight"
        {...{ type: 'number', min: 1, step: 1 }}
      />
      <Field
        label="Credits a month"
        name="monthly"
        data-field="monthlySpendingLimit"
        {...{ type: 'number', min: 0, step: 'any' }}
      />
    </div>
  );
}

interface CreateKeyProps {
  close(): void;
  created(key: CreatedKey): Promise<void>;
}

function CreateKey({ close, created }: CreateKeyProps) {
  const { session } = useConsole();
  const choices = useQuery(CHOICES);
  const names = choices.data?.modelAliases.map(({ alias }) => alias) ?? null;
  const send = async (values: FormValues) => {
    const input = newKeyInput(values, names ?? []);
    const { createApiKey } = await session.request(CREATE, { input });
    await created(createApiKey);
  };
  const cancel = (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
  return (
    <Dialog title="Create a key" close={close}>
      {names === null ? (
        <DialogLoading error={choices.error} retry={choices.reload} close={close} />
      ) : (
        <Form submit="Create" beside={cancel} send={send}>
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
          <label className="check">
            <input type="checkbox" name="laterModels" defaultChecked />
            <span>Also models that are added later, where all of these are chosen</span>
          </label>
          <LimitFields />
          <Picker
            {...{ label: 'Paid by', name: 'payer', none: 'the company', query: PEOPLE }}
            nameOf={({ email }) => `the personal credits of ${email}`}
          />
          <ExpiryField />
          <UsageChunkField />
          <StoredContentFields />
        </Form>
      )}
    </Dialog>
  );
}

/** An empty field is omitted and gets the backend's default. */
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
    // Without a list, the key may also call models that are added later, so that is a separate choice.
    models: models.length === names.length && text('laterModels') === 'on' ? null : models,
    payer: text('payer') === '' ? null : ('USER' as const),
    payerUserId: text('payer') === '' ? null : text('payer'),
  };
  const filled = Object.entries(given).filter(([, value]) => value !== null);
  return { name: text('name'), scopes: all('scopes'), ...Object.fromEntries(filled) };
}
