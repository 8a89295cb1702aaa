import { useState } from 'react';
import { Confirmed, Copy, Dialog, DialogLoading } from '../../parts/dialog.tsx';
import { Checks, Field, Form } from '../../parts/form.tsx';
import type { FormValues } from '../../parts/form-values.ts';
import { type Column, List } from '../../parts/list.tsx';
import { Card, type Mood, Notice, Page, Tag } from '../../parts/page.tsx';
import { Moment, spoken } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { type DataOf, graphql, type RowOf } from '../../session/graphql.ts';
import { useChange, useQuery } from '../../session/use-query.ts';

const TOKENS = graphql(`{ serviceTokens { id name scopes status createdAt expiresAt lastUsedAt } }`);
const SCOPES = graphql(`{ serviceTokenScopes }`);
const REVOKE = graphql(`mutation($id: ID!) { revokeServiceToken(id: $id) { id } }`);
const CREATE = graphql(`mutation($name: String!, $scopes: [String!]!, $expiresAt: DateTime) {
  createServiceToken(name: $name, scopes: $scopes, expiresAt: $expiresAt) { rawToken serviceToken { name } }
}`);

type ServiceToken = RowOf<typeof TOKENS>;
type CreatedToken = DataOf<typeof CREATE>['createServiceToken'];

const MOODS: Record<ServiceToken['status'], Mood> = { LIVE: 'good', REVOKED: 'bad', EXPIRED: 'warn' };

export function ServiceTokens() {
  const tokens = useQuery(TOKENS);
  const change = useChange(tokens.reload);
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<CreatedToken | null>(null);
  const show = async (token: CreatedToken) => {
    setCreating(false);
    setCreated(token);
    await tokens.reload();
  };
  const actions: Column<ServiceToken> = {
    name: 'Actions',
    show: (token) =>
      token.status === 'LIVE' && (
        <Confirmed
          name="Revoke"
          title={`Revoke “${token.name}”?`}
          says="Requests with it are refused immediately. This cannot be undone."
          work={() => change(REVOKE, { id: token.id })}
        />
      ),
  };
  return (
    <Page
      title="Service tokens"
      says="A token lets a program use the GraphQL interface for your company, within its scopes: to create keys, read usage, invite members. It ends when its creator is no longer an admin."
      actions={
        <button type="button" className="main" onClick={() => setCreating(true)}>
          Create a token
        </button>
      }
    >
      <Card>
        <List
          label="Service tokens"
          nothing="No service tokens yet"
          rows={tokens.data?.serviceTokens ?? null}
          error={tokens.error}
          retry={tokens.reload}
          keyOf={({ id }) => id}
          nameOf={({ name }) => name}
          columns={[...COLUMNS, actions]}
          empty={
            <p>
              Create one for a program that manages your company. To call models, create an API key instead.
            </p>
          }
        />
      </Card>
      {isCreating && <CreateToken close={() => setCreating(false)} created={show} />}
      {created !== null && <ShownOnce created={created} close={() => setCreated(null)} />}
    </Page>
  );
}

const COLUMNS: readonly Column<ServiceToken>[] = [
  { name: 'Name', show: ({ name }) => name },
  { name: 'Status', show: ({ status }) => <Tag mood={MOODS[status]}>{spoken(status)}</Tag> },
  { name: 'Scopes', show: ({ scopes }) => <span className="mono">{scopes.join(', ')}</span> },
  { name: 'Last used', show: ({ lastUsedAt }) => <Moment at={lastUsedAt} /> },
  { name: 'Expires', show: ({ expiresAt }) => <Moment at={expiresAt} /> },
];

interface CreateTokenProps {
  close(): void;
  created(token: CreatedToken): Promise<void>;
}

function CreateToken({ close, created }: CreateTokenProps) {
  const { session } = useConsole();
  const scopes = useQuery(SCOPES);
  const send = async ({ text, all }: FormValues) => {
    const expires = text('expires');
    const { createServiceToken } = await session.request(CREATE, {
      name: text('name'),
      scopes: [...all('scopes')],
      expiresAt: expires === '' ? null : new Date(expires).toISOString(),
    });
    await created(createServiceToken);
  };
  const cancel = (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
  return (
    <Dialog title="Create a service token" close={close}>
      {scopes.data === null ? (
        <DialogLoading error={scopes.error} retry={scopes.reload} close={close} />
      ) : (
        <Form submit="Create" beside={cancel} send={send}>
          <Field
            label="Name"
            name="name"
            hint="What uses it, as: ci, billing export"
            maxLength={200}
            required
          />
          <Checks legend="Scopes" name="scopes" values={scopes.data.serviceTokenScopes} chosen={[]} />
          <Field
            label="Expires"
            name="expires"
            data-field="expiresAt"
            type="datetime-local"
            hint="Empty: in a year."
          />
        </Form>
      )}
    </Dialog>
  );
}

function ShownOnce({ created, close }: { created: CreatedToken; close(): void }) {
  const { rawToken, serviceToken } = created;
  const call = `curl -s ${location.origin}/graphql -H 'authorization: Bearer ${rawToken}' -H 'content-type: application/json' -d '${JSON.stringify({ query: '{ apiKeys { name status } }' })}'`;
  return (
    <Dialog title={`Your token “${serviceToken.name}”`} isLasting close={close}>
      <Notice mood="warn">This is the only time it is shown. Copy it now.</Notice>
      <pre data-shown-once="" data-testid="raw-token">
        {rawToken}
      </pre>
      <div className="row">
        <Copy text={rawToken} name="Copy the token" />
      </div>
      <details>
        <summary>curl</summary>
        <pre>{call}</pre>
        <Copy text={call} name="Copy the curl line" />
      </details>
      <div className="row">
        <button type="button" className="main" onClick={close}>
          I have stored it
        </button>
      </div>
    </Dialog>
  );
}
