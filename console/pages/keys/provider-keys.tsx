import { useState } from 'react';
import { Act, Confirmed, Dialog } from '../../parts/dialog.tsx';
import { Choice, Field, Form } from '../../parts/form.tsx';
import type { FormValues } from '../../parts/form-values.ts';
import { type Column, List, RowButton } from '../../parts/list.tsx';
import { Card, Notice, Page, Tag } from '../../parts/page.tsx';
import { Moment } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { type DataOf, graphql, type RowOf } from '../../session/graphql.ts';
import { useChange, useQuery } from '../../session/use-query.ts';

const KEYS = graphql(`{
  ownProviderKeys { id alias host lastFour createdAt changedAt }
}`);
const OPTIONS = graphql(`{ ownProviderKeyOptions { alias provider host feePercent } }`);
const STORE = graphql(`mutation($input: OwnProviderKeyInput!) { setOwnProviderKey(input: $input) { id } }`);
const DELETE = graphql(`mutation($id: ID!) { deleteOwnProviderKey(id: $id) { id } }`);
const TEST = graphql(`mutation($input: OwnProviderKeyTestInput!) {
  testOwnProviderKey(input: $input) { ok latencyMs message }
}`);

type ProviderKey = RowOf<typeof KEYS>;
type Option = RowOf<typeof OPTIONS>;
type Tested = DataOf<typeof TEST>['testOwnProviderKey'];

export function ProviderKeys() {
  const { session } = useConsole();
  const keys = useQuery(KEYS);
  const options = useQuery(OPTIONS);
  const change = useChange(keys.reload);
  const [storing, setStoring] = useState<ProviderKey | 'new' | null>(null);
  const [tested, setTested] = useState<{ key: ProviderKey; result: Tested } | null>(null);
  const offered = options.data?.ownProviderKeyOptions ?? [];
  // Which keys can be used, and whether any can be stored, is known with the options only.
  const rows = options.data === null ? null : (keys.data?.ownProviderKeys ?? null);
  const test = async (key: ProviderKey) => {
    const { alias, host } = key;
    const { testOwnProviderKey } = await session.request(TEST, { input: { alias, host } });
    setTested({ key, result: testOwnProviderKey });
  };
  const actions: Column<ProviderKey> = {
    name: 'Actions',
    show: (key) => (
      <div className="row">
        <Act name="Test" work={() => test(key)} />
        <RowButton onClick={() => setStoring(key)}>Replace</RowButton>
        <Confirmed
          name="Delete"
          title={`Delete the key for ${key.alias}?`}
          says={`Once ${key.alias} has no key of your company left, its calls use the operator’s key at the full price. To stop the calls instead, take the model out of your API keys.`}
          work={() => change(DELETE, { id: key.id })}
        />
      </div>
    ),
  };
  return (
    <Page
      title="Provider keys"
      says="Use your own account at a model provider. Calls to that model then use only your key, never the operator’s, and cost a fee instead of the full price."
      actions={
        offered.length > 0 && (
          <button type="button" className="main" onClick={() => setStoring('new')}>
            Store a key
          </button>
        )
      }
    >
      {tested !== null && (
        <Notice mood={tested.result.ok ? 'good' : 'bad'}>
          <span role="status">
            {tested.key.alias}: {tested.result.message}
          </span>
        </Notice>
      )}
      <Card>
        <List
          label="Provider keys"
          nothing={offered.length > 0 ? 'No provider keys yet' : 'Not available'}
          rows={rows}
          error={keys.error ?? options.error}
          retry={() => Promise.all([keys.reload(), options.reload()])}
          keyOf={({ id }) => id}
          nameOf={({ alias, lastFour }) => `${alias} (…${lastFour})`}
          columns={[...COLUMNS, statusOf(offered), actions]}
          empty={
            <p>
              {offered.length > 0
                ? 'There is none yet: calls use the operator’s keys.'
                : 'The operator has not enabled your own provider keys for any model.'}
            </p>
          }
        />
      </Card>
      {storing !== null && (
        <StoreKey
          replaced={storing === 'new' ? null : storing}
          options={offered}
          close={() => setStoring(null)}
          stored={async () => {
            setStoring(null);
            await keys.reload();
          }}
        />
      )}
    </Page>
  );
}

const COLUMNS: readonly Column<ProviderKey>[] = [
  { name: 'Model', show: ({ alias }) => <span className="mono">{alias}</span> },
  { name: 'Provider', show: ({ host }) => host },
  { name: 'Key', show: ({ lastFour }) => <span className="mono">…{lastFour}</span> },
  { name: 'Stored', show: ({ changedAt }) => <Moment at={changedAt} /> },
];

/** Calls fail if the stored key cannot be used, so the list always shows whether it can. */
function statusOf(options: readonly Option[]): Column<ProviderKey> {
  return {
    name: 'Calls',
    show(key) {
      const option = options.find(({ alias, host }) => alias === key.alias && host === key.host);
      if (option !== undefined) return <Tag mood="good">{`${option.feePercent}% of the price`}</Tag>;
      const isAllowed = options.some(({ alias }) => alias === key.alias);
      return <Tag mood="bad">{isAllowed ? 'Not a provider of it now' : 'Not allowed now'}</Tag>;
    },
  };
}

interface StoreKeyProps {
  readonly replaced: ProviderKey | null;
  readonly options: readonly Option[];
  close(): void;
  stored(): Promise<void>;
}

function StoreKey({ replaced, options, close, stored }: StoreKeyProps) {
  const { session } = useConsole();
  const inputIn = ({ text }: FormValues) => {
    const at = Number(text('place'));
    const option = replaced ?? options[at];
    if (option === undefined) throw new Error('Choose a model and its provider.');
    return { alias: option.alias, host: option.host, apiKey: text('apiKey') };
  };
  /** The key is tested before it is stored: if its provider refuses it, every call would fail. */
  const send = async (values: FormValues) => {
    const input = inputIn(values);
    const { testOwnProviderKey } = await session.request(TEST, { input });
    if (!testOwnProviderKey.ok && values.text('untested') !== 'on') {
      throw new Error(testOwnProviderKey.message);
    }
    await session.request(STORE, { input });
    await stored();
  };
  return (
    <Dialog
      title={replaced === null ? 'Store a provider key' : `Replace the key for ${replaced.alias}`}
      close={close}
    >
      <Form
        submit="Test and store"
        beside={
          <button type="button" onClick={close}>
            Cancel
          </button>
        }
        send={send}
      >
        {replaced === null && (
          <Choice label="Model and provider" name="place">
            {options.map(({ alias, provider, host, feePercent }, at) => (
              <option key={`${alias} ${host}`} value={at}>
                {`${alias}: ${provider} at ${host}, ${feePercent}% of the price`}
              </option>
            ))}
          </Choice>
        )}
        <Field
          label="Key"
          name="apiKey"
          type="password"
          autoComplete="off"
          maxLength={4096}
          required
          hint="Stored encrypted and never shown again. One small call tests it, at the cost of your account there."
        />
        <label className="check">
          <input type="checkbox" name="untested" />
          <span>Store it even if the test fails</span>
        </label>
      </Form>
    </Dialog>
  );
}
