import { Dialog } from '../parts/dialog.tsx';
import { Checks, Field, Form, type Typed } from '../parts/form.tsx';
import { Bones, Problem } from '../parts/page.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import { useQuery } from '../session/use-asking.ts';
import type { MintedKey } from './key-shown-once.tsx';

const SCOPES = ['inference:chat', 'inference:parse', 'usage:read', 'jobs:read'];
const DEFAULT_SCOPES = SCOPES.slice(0, 3);
const ALIASES = graphql(`{ modelAliases { alias } }`);
const MINT = graphql(`mutation($input: CreateApiKeyInput!) {
  createApiKey(input: $input) { rawKey apiKey { name } }
}`);

interface MintKeyProps {
  close(): void;
  minted(key: MintedKey): Promise<void>;
}

export function MintKey({ close, minted }: MintKeyProps) {
  const { session } = useConsole();
  const aliases = useQuery<{ modelAliases: readonly { alias: string }[] }>(ALIASES);
  const names = aliases.data?.modelAliases.map(({ alias }) => alias) ?? null;
  const send = async (typed: Typed) => {
    const input = inputOf(typed, names ?? []);
    const { createApiKey } = await session.ask<{ createApiKey: MintedKey }>(MINT, { input });
    await minted(createApiKey);
  };
  const cancel = (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
  return (
    <Dialog title="Mint a key" close={close}>
      <Problem error={aliases.error} retry={aliases.reload} />
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
          <Checks legend="Scopes" name="scopes" values={SCOPES} chosen={DEFAULT_SCOPES} />
          <Checks legend="Models" name="models" values={names} chosen={names} />
          <div className="columns">
            <Field label="Requests a minute" name="requests" type="number" min={1} step={1} />
            <Field label="Tokens a minute" name="tokens" type="number" min={1} step={1} />
            <Field label="Calls at once" name="inFlight" type="number" min={1} step={1} />
            <Field label="Credits a month" name="monthly" type="number" min={0} step="any" />
          </div>
          <Field label="Expires" name="expires" type="datetime-local" hint="Empty: never." />
        </Form>
      )}
    </Dialog>
  );
}

/** What was left empty is left out, and so gets the backend's own default. */
function inputOf({ text, number, all }: Typed, names: readonly string[]) {
  const models = all('models');
  const given = {
    requestsPerMinute: number('requests'),
    tokensPerMinute: number('tokens'),
    maxCallsInFlight: number('inFlight'),
    monthlySpendingLimit: number('monthly'),
    expiresAt: text('expires') === '' ? null : new Date(text('expires')).toISOString(),
    models: models.length === names.length ? null : models,
  };
  const typed = Object.entries(given).filter(([, value]) => value !== null);
  return { name: text('name'), scopes: all('scopes'), ...Object.fromEntries(typed) };
}
