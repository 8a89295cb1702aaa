import { useState } from 'react';
import { Dialog } from '../parts/dialog.tsx';
import { Field, Form } from '../parts/form.tsx';
import { List, RowButton } from '../parts/list.tsx';
import { Card, Page, Tag } from '../parts/page.tsx';
import { count, exact } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql, type RowOf } from '../session/graphql.ts';
import { useQuery } from '../session/use-query.ts';
import { TargetForm } from './alias-targets.tsx';
import { ToolsForm } from './alias-tools.tsx';
import { OwnKeyFeeForm } from './own-key-fee.tsx';
import { PriceWarnings } from './price-warnings.tsx';

const ALIASES =
  graphql(`{ modelAliases { alias kind byokFeePercent priceWarnings prices { id prompt cached completion cacheWrite inForceFrom }
  targets { id provider baseUrl model weight hasKey responses apiVersion headerNames }
  hostedTools { tools { name creditsPerUse } maxUses providerIds } } }`);
const SET_PRICE = graphql(`mutation($alias: String!, $price: AliasPriceInput!, $from: DateTime) {
  setAliasPrice(alias: $alias, price: $price, from: $from) { id } }`);

type Alias = RowOf<typeof ALIASES>;

export function Models() {
  const result = useQuery(ALIASES);
  const [priced, setPriced] = useState<Alias | null>(null);
  const [aimed, setAimed] = useState<Alias | null>(null);
  const [equipped, setEquipped] = useState<Alias | null>(null);
  const [opened, setOpened] = useState<Alias | null>(null);
  return (
    <Page title="Models" says="The names that companies call, who answers for them, and what they cost.">
      <PriceWarnings aliases={result.data?.modelAliases} />
      <Card>
        <List
          label="Models"
          rows={result.data?.modelAliases ?? null}
          error={result.error}
          retry={result.reload}
          keyOf={({ alias }) => alias}
          nameOf={({ alias }) => alias}
          empty={<p>Aliases come with the system.</p>}
          columns={[
            { name: 'Alias', show: ({ alias }) => <code>{alias}</code> },
            { name: 'Kind', show: ({ kind }) => <Tag>{kind}</Tag> },
            { name: 'Served by', show: (alias) => <Served alias={alias} /> },
            { name: 'Credits for a million tokens', show: ({ prices }) => <Prices prices={prices} /> },
            {
              name: 'Do',
              show: (alias) => (
                <div className="row">
                  <RowButton onClick={() => setAimed(alias)}>Targets</RowButton>
                  <RowButton onClick={() => setPriced(alias)}>Price</RowButton>
                  <RowButton onClick={() => setEquipped(alias)}>Tools</RowButton>
                  <RowButton onClick={() => setOpened(alias)}>Own keys</RowButton>
                </div>
              ),
            },
          ]}
        />
      </Card>
      {priced !== null && <PriceForm alias={priced} close={() => setPriced(null)} changed={result.reload} />}
      {opened !== null && (
        <OwnKeyFeeForm
          alias={opened.alias}
          percent={opened.byokFeePercent}
          close={() => setOpened(null)}
          changed={result.reload}
        />
      )}
      {equipped !== null && (
        <ToolsForm
          alias={equipped.alias}
          stored={equipped.hostedTools}
          close={() => setEquipped(null)}
          changed={result.reload}
        />
      )}
      {aimed !== null && (
        <TargetForm
          alias={aimed.alias}
          targets={aimed.targets ?? []}
          close={() => setAimed(null)}
          changed={result.reload}
        />
      )}
    </Page>
  );
}

function Served({ alias: { targets, hostedTools } }: { alias: Alias }) {
  const tools = hostedTools?.tools ?? [];
  return (
    <>
      <Targets targets={targets ?? []} />
      {tools.length > 0 && (
        <div className="small">
          with {tools.map(({ name, creditsPerUse }) => `${name} (${creditsPerUse} a use)`).join(', ')}
        </div>
      )}
    </>
  );
}

function Targets({ targets }: { targets: NonNullable<Alias['targets']> }) {
  if (targets.length === 0) return <span className="quiet">the embedded models</span>;
  return targets.map(({ id, provider, baseUrl, model, weight, hasKey }) => (
    <div key={id} className="small">
      <code>{model}</code> of {provider} at {baseUrl}, weight {count(weight)},{' '}
      {hasKey ? 'with a key' : 'without a key'}
    </div>
  ));
}

function Prices({ prices }: { prices: Alias['prices'] }) {
  return prices.map((price, at) => (
    <div key={price.id} className="small">
      {count(price.prompt)} in, {count(price.cached)} cached, {count(price.completion)} out
      {price.cacheWrite !== null && `, ${count(price.cacheWrite)} written to the cache`}
      {at > 0 && `, from ${exact(price.inForceFrom)}`}
    </div>
  ));
}

interface AliasFormProps {
  readonly alias: Alias;
  close(): void;
  changed(): Promise<void>;
}

function PriceForm({ alias, close, changed }: AliasFormProps) {
  const { session } = useConsole();
  const now = alias.prices[0];
  const cancel = (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
  return (
    <Dialog title={`Price of ${alias.alias}`} close={close}>
      <p className="quiet">Credits for a million tokens. Calls keep the price they began under.</p>
      <Form
        submit="Set the price"
        beside={cancel}
        send={async ({ text, number }) => {
          const price = {
            prompt: number('prompt') ?? 0,
            cached: number('cached') ?? 0,
            completion: number('completion') ?? 0,
            cacheWrite: number('cacheWrite'),
          };
          const from = text('from') === '' ? null : new Date(text('from')).toISOString();
          await session.request(SET_PRICE, { alias: alias.alias, price, from });
          await changed();
          close();
        }}
      >
        <Field
          label="Prompt"
          name="prompt"
          type="number"
          min={0}
          step="any"
          defaultValue={now?.prompt}
          required
        />
        <Field
          label="Cached"
          name="cached"
          type="number"
          min={0}
          step="any"
          defaultValue={now?.cached}
          required
        />
        <Field
          label="Completion"
          name="completion"
          type="number"
          min={0}
          step="any"
          defaultValue={now?.completion}
          required
        />
        <Field
          label="Cache write"
          name="cacheWrite"
          type="number"
          min={0}
          step="any"
          defaultValue={now?.cacheWrite ?? ''}
          hint="Of tokens that the provider writes to its cache. Empty: the price of the prompt."
        />
        <Field label="From" name="from" type="datetime-local" hint="Empty: now." />
      </Form>
    </Dialog>
  );
}
