import { useState } from 'react';
import { useFilters } from '../operations/filters.tsx';
import { Confirmed, Dialog } from '../parts/dialog.tsx';
import { Field, Form } from '../parts/form.tsx';
import { List, RowButton } from '../parts/list.tsx';
import { Card, Page, Tag } from '../parts/page.tsx';
import { count, exact, factorWords, priceWords } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql, type RowOf } from '../session/graphql.ts';
import { useQuery } from '../session/use-query.ts';
import { AliasForm } from './alias-form.tsx';
import { TargetForm } from './alias-targets.tsx';
import { ToolsForm } from './alias-tools.tsx';
import { OwnKeyFeeForm } from './own-key-fee.tsx';
import { FactorsForm } from './price-factors.tsx';
import { PriceWarnings } from './price-warnings.tsx';
import { Health } from './target-health.tsx';

const ALIASES =
  graphql(`query($includeRetired: Boolean) { modelAliases(includeRetired: $includeRetired) { alias kind byokFeePercent
  priceWarnings isDocumented contextLength maxOutputTokens retiredAt version strategy retries retryStatuses fallback fallbackPrice hedgeMs cacheBreakpoints drop
  prices { id prompt cached completion cacheWrite inForceFrom } priceFactors { field value factor }
  targets { id provider baseUrl model weight hasKey apiVersion headerNames timeoutMs idleTimeoutMs maxInFlight
    cost { prompt cached completion cacheWrite }
    health { state coolingStatus coolingUntil recentFailures lastFailureReason lastFailureAt } }
  hostedTools { tools { name creditsPerUse } maxUses providerIds } } }`);
const RETIRE = graphql(`mutation($alias: String!) { retireModelAlias(alias: $alias) { alias } }`);
const SET_PRICE =
  graphql(`mutation($alias: String!, $price: AliasPriceInput!, $from: DateTime, $ifVersion: String) {
  setAliasPrice(alias: $alias, price: $price, from: $from, ifVersion: $ifVersion) { id } }`);

/** Health changes without any action on the page. */
const LOOK_EVERY_MS = 10_000;

type Alias = RowOf<typeof ALIASES>;

/** The open form, and its alias as it was when the form was opened; with `settings`, null is a new alias. */
type Opened =
  | { readonly form: 'targets' | 'price' | 'factors' | 'tools' | 'own-keys'; readonly alias: Alias }
  | { readonly form: 'settings'; readonly alias: Alias | null };

export function Models() {
  const { filter, setFilter } = useFilters();
  const includeRetired = filter('retired') === 'shown';
  const result = useQuery(ALIASES, { includeRetired }, LOOK_EVERY_MS);
  const [opened, setOpened] = useState<Opened | null>(null);
  // The name of an alias that was just added: the form for its targets opens next.
  const [added, setAdded] = useState<string | null>(null);
  const aliases = result.data?.modelAliases ?? null;
  const next = aliases?.find(({ alias }) => alias === added) ?? null;
  const shown = opened ?? (next === null ? null : ({ form: 'targets', alias: next } as const));
  const close = () => {
    setOpened(null);
    setAdded(null);
  };
  return (
    <Page
      title="Models"
      says="The model names that companies call, their targets and their prices."
      actions={
        <button type="button" className="main" onClick={() => setOpened({ form: 'settings', alias: null })}>
          Add an alias
        </button>
      }
    >
      <PriceWarnings aliases={result.data?.modelAliases} />
      <Card>
        <label className="check">
          <input
            type="checkbox"
            checked={includeRetired}
            onChange={(event) => setFilter('retired', event.currentTarget.checked ? 'shown' : '')}
          />
          <span>Show retired aliases</span>
        </label>
        <List
          label="Models"
          nothing="No aliases"
          rows={aliases}
          isStale={result.isStale}
          error={result.error}
          retry={result.reload}
          keyOf={({ alias }) => alias}
          nameOf={({ alias }) => alias}
          empty={<p>Aliases come with the system.</p>}
          columns={[
            { name: 'Alias', show: (alias) => <Name alias={alias} /> },
            { name: 'Served by', show: (alias) => <Served alias={alias} /> },
            { name: 'Credits for a million tokens', show: (alias) => <Prices alias={alias} /> },
            {
              name: 'Actions',
              show: (alias) => <Actions alias={alias} open={setOpened} changed={result.reload} />,
            },
          ]}
        />
      </Card>
      {shown !== null && (
        <OpenedForm
          opened={shown}
          aliases={aliases ?? []}
          close={close}
          changed={result.reload}
          added={setAdded}
        />
      )}
    </Page>
  );
}

interface OpenedFormProps {
  readonly opened: Opened;
  readonly aliases: readonly Alias[];
  close(): void;
  changed(): Promise<void>;
  added(alias: string): void;
}

function OpenedForm({ opened, aliases, close, changed, added }: OpenedFormProps) {
  if (opened.form === 'settings') {
    const saved = async (alias: string) => {
      await changed();
      close();
      if (opened.alias === null) added(alias);
    };
    const others = aliases.filter(
      ({ alias, retiredAt }) => retiredAt === null && alias !== opened.alias?.alias,
    );
    return <AliasForm stored={opened.alias} others={others} close={close} saved={saved} />;
  }
  const { alias } = opened;
  if (opened.form === 'price') return <PriceForm alias={alias} close={close} changed={changed} />;
  const { alias: name, version, byokFeePercent, hostedTools, priceFactors, targets } = alias;
  const common = { alias: name, version, close, changed };
  if (opened.form === 'tools') return <ToolsForm {...common} stored={hostedTools} />;
  if (opened.form === 'own-keys') return <OwnKeyFeeForm {...common} percent={byokFeePercent} />;
  if (opened.form === 'factors') return <FactorsForm {...common} stored={priceFactors} />;
  return <TargetForm {...common} targets={targets ?? []} />;
}

function Name({
  alias: { alias, kind, isDocumented, retiredAt, contextLength, maxOutputTokens, fallback },
}: {
  alias: Alias;
}) {
  return (
    <>
      <code>{alias}</code> <Tag>{kind}</Tag> {retiredAt !== null && <Tag mood="warn">retired</Tag>}
      <div className="small quiet">
        {isDocumented ? 'Built in' : 'Added by you'} · context {count(contextLength)} tokens
        {kind !== 'embed' && ` · output up to ${count(maxOutputTokens)} tokens`}
        {fallback !== null && ` · falls back to ${fallback}`}
      </div>
    </>
  );
}

interface ActionsProps {
  readonly alias: Alias;
  open(opened: Opened): void;
  changed(): Promise<void>;
}

function Actions({ alias, open, changed }: ActionsProps) {
  const { session } = useConsole();
  if (alias.retiredAt !== null) return <span className="quiet">retired {exact(alias.retiredAt)}</span>;
  const button = (name: string, form: Opened['form']) => (
    <RowButton onClick={() => open({ form, alias })}>{name}</RowButton>
  );
  return (
    <div className="row">
      {button('Targets', 'targets')}
      {button('Settings', 'settings')}
      {button('Price', 'price')}
      {button('Tiers', 'factors')}
      {button('Tools', 'tools')}
      {button('Own keys', 'own-keys')}
      {!alias.isDocumented && (
        <Confirmed
          name="Retire"
          title={`Retire ${alias.alias}?`}
          says="Further calls are refused, and its provider keys are deleted. Its prices and usage remain available. Adding the same name and kind again restores it."
          work={async () => {
            await session.request(RETIRE, { alias: alias.alias });
            await changed();
          }}
        />
      )}
    </div>
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
  return targets.map(({ id, provider, baseUrl, model, weight, hasKey, health }) => (
    <div key={id} className="small">
      <code>{model}</code> of {provider} at {baseUrl}, weight {count(weight)},{' '}
      {hasKey ? 'with a key' : 'without a key'} <Health health={health} />
    </div>
  ));
}

function Prices({ alias: { prices, priceFactors } }: { alias: Alias }) {
  return (
    <>
      {prices.map((price, at) => (
        <div key={price.id} className="small">
          {priceWords(price)}
          {at > 0 && `, from ${exact(price.inForceFrom)}`}
        </div>
      ))}
      {priceFactors.length > 0 && <div className="small">{factorWords(priceFactors)}</div>}
    </>
  );
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
          const { alias: name, version: ifVersion } = alias;
          await session.request(SET_PRICE, { alias: name, price, from, ifVersion });
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
          hint="The price of tokens written to the provider’s cache. Empty: the price of the prompt."
        />
        <Field label="From" name="from" type="datetime-local" hint="Empty: now." />
      </Form>
    </Dialog>
  );
}
