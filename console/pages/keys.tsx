import { useState } from 'react';
import { Confirmed } from '../parts/dialog.tsx';
import { type Column, List } from '../parts/list.tsx';
import { Card, type Mood, Page, Tag } from '../parts/page.tsx';
import { count, credits, Moment, spoken } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import { useQuery } from '../session/use-asking.ts';
import { KeyLimits } from './key-limits.tsx';
import { type MintedKey, ShownOnce } from './key-shown-once.tsx';
import { MintKey } from './mint-key.tsx';

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly lastFour: string;
  readonly scopes: readonly string[];
  readonly models: readonly string[];
  readonly status: 'LIVE' | 'REVOKED' | 'EXPIRED';
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  readonly requestsPerMinute: number;
  readonly tokensPerMinute: number;
  readonly maxCallsInFlight: number | null;
  readonly monthlySpendingLimit: number | null;
}

const KEYS = graphql(`{ apiKeys { id name prefix lastFour scopes models status createdAt expiresAt lastUsedAt
  requestsPerMinute tokensPerMinute maxCallsInFlight monthlySpendingLimit } }`);
const ROTATE = graphql(`mutation($id: ID!) { rotateApiKey(id: $id) { rawKey apiKey { name } } }`);
const REVOKE = graphql(`mutation($id: ID!) { revokeApiKey(id: $id) { id } }`);
const MOODS: Record<ApiKey['status'], Mood> = { LIVE: 'good', REVOKED: 'bad', EXPIRED: 'warn' };
const LOOK_EVERY_MS = 10_000;

export function Keys() {
  const { session } = useConsole();
  const keys = useQuery<{ apiKeys: readonly ApiKey[] }>(KEYS, {}, LOOK_EVERY_MS);
  const [isMinting, setMinting] = useState(false);
  const [minted, setMinted] = useState<MintedKey | null>(null);
  const [limited, setLimited] = useState<ApiKey | null>(null);
  const show = async (key: MintedKey) => {
    setMinting(false);
    setMinted(key);
    await keys.reload();
  };
  const rotate = async (id: string) => {
    const { rotateApiKey } = await session.ask<{ rotateApiKey: MintedKey }>(ROTATE, { id });
    await show(rotateApiKey);
  };
  const revoke = async (id: string) => {
    await session.ask(REVOKE, { id });
    await keys.reload();
  };
  const actions: Column<ApiKey> = {
    name: 'Do',
    show: (key) =>
      key.status === 'LIVE' && (
        <div className="row tight">
          <button type="button" className="little" onClick={() => setLimited(key)}>
            Limits
          </button>
          <Confirmed
            name="Rotate"
            danger={false}
            title={`Rotate “${key.name}”?`}
            says="You get a new key with the same settings. The old one works until you revoke it."
            work={() => rotate(key.id)}
          />
          <Confirmed
            name="Revoke"
            title={`Revoke “${key.name}”?`}
            says="Calls with it answer 401 within a second. This cannot be undone."
            work={() => revoke(key.id)}
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
      {isMinting && <MintKey close={() => setMinting(false)} minted={show} />}
      {minted !== null && <ShownOnce minted={minted} close={() => setMinted(null)} />}
      {limited !== null && (
        <KeyLimits apiKey={limited} close={() => setLimited(null)} changed={keys.reload} />
      )}
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
