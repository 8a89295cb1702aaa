import { useState } from 'react';
import { Dialog } from '../parts/dialog.tsx';
import { Choice, Field, Form } from '../parts/form.tsx';
import type { FormValues } from '../parts/form-values.ts';
import { fieldError } from '../session/answer-error.ts';
import { useConsole } from '../session/console-context.ts';
import { graphql, type RowOf } from '../session/graphql.ts';
import { useQuery } from '../session/use-query.ts';

export const KNOWN_MODELS =
  graphql(`{ knownModels { vendor provider model kind contextLength maxOutputTokens currency prompt cached
  completion cacheWrite asOf isStale pricePage note } }`);
const CREATE = graphql(`mutation($input: ModelAliasInput!) { createModelAlias(input: $input) { alias } }`);
const UPDATE = graphql(`mutation($alias: String!, $input: ModelAliasInput!, $ifVersion: String) {
  updateModelAlias(alias: $alias, input: $input, ifVersion: $ifVersion) { alias } }`);

type KnownModel = RowOf<typeof KNOWN_MODELS>;

/** The fields of an existing alias that the form shows. */
interface StoredAlias {
  readonly alias: string;
  readonly kind: string;
  readonly version: string | null;
  readonly contextLength: number;
  readonly maxOutputTokens: number;
  readonly strategy: string | null;
  readonly retries: number | null;
  readonly retryStatuses: readonly number[] | null;
  readonly fallback: string | null;
  readonly fallbackPrice: 'REQUESTED' | 'SERVED' | null;
  readonly hedgeMs: number | null;
  readonly cacheBreakpoints: boolean;
  readonly drop: readonly string[];
  readonly targets: readonly { readonly provider: string; readonly model: string }[] | null;
}

interface AliasFormProps {
  /** Null for a new alias. */
  readonly stored: StoredAlias | null;
  /** The aliases it may fall back to are those of the same kind. */
  readonly others: readonly { readonly alias: string; readonly kind: string }[];
  close(): void;
  /** Receives the name of the alias. */
  saved(alias: string): Promise<void>;
}

/** Name, kind, size, routing and changes of bodies of an alias, and the price of a new one. */
export function AliasForm({ stored, others, close, saved }: AliasFormProps) {
  const { session } = useConsole();
  const [kind, setKind] = useState(stored?.kind ?? 'chat');
  const cancel = (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
  const send = async (values: FormValues) => {
    const input = settingsIn(values);
    if (stored === null) {
      const price = {
        prompt: values.number('prompt') ?? 0,
        cached: values.number('cached') ?? 0,
        completion: values.number('completion') ?? 0,
        cacheWrite: values.number('cacheWrite'),
      };
      const alias = values.text('alias');
      await session.request(CREATE, { input: { ...input, alias, kind, price } });
      await saved(alias);
      return;
    }
    const { alias, version } = stored;
    await session.request(UPDATE, { alias, input, ifVersion: version });
    await saved(alias);
  };
  return (
    <Dialog title={stored === null ? 'Add an alias' : `Settings of ${stored.alias}`} isWide close={close}>
      <Form submit={stored === null ? 'Add the alias' : 'Save the settings'} beside={cancel} send={send}>
        {stored === null && <NameFields kind={kind} setKind={setKind} />}
        <SizeFields stored={stored} kind={kind} />
        {stored === null && <PriceFields />}
        <RoutingFields stored={stored} fallbacks={others.filter((one) => one.kind === kind)} />
        <BodyFields stored={stored} />
      </Form>
    </Dialog>
  );
}

function settingsIn({ text, number }: FormValues) {
  return {
    contextLength: number('contextLength'),
    maxOutputTokens: number('maxOutputTokens'),
    strategy: text('strategy') === '' ? null : text('strategy'),
    fallback: text('fallback') === '' ? null : text('fallback'),
    fallbackPrice: text('fallbackPrice') === 'SERVED' ? ('SERVED' as const) : null,
    retries: number('retries'),
    retryStatuses: statusesIn(text('retryStatuses')),
    hedgeMs: number('hedgeMs'),
    cacheBreakpoints: text('cacheBreakpoints') !== 'off',
    drop: wordsIn(text('drop')),
  };
}

/** Commas, semicolons and spaces separate. */
function wordsIn(text: string): string[] {
  return text.split(/[\s,;]+/).filter((word) => word !== '');
}

function statusesIn(text: string): number[] {
  const words = wordsIn(text);
  const wrong = words.find((word) => !/^[45]\d\d$/.test(word));
  if (wrong !== undefined) {
    throw fieldError(
      'retryStatuses',
      `Enter statuses from 400 to 599 separated by commas, such as 404, 409. “${wrong}” is not one.`,
    );
  }
  return words.map(Number);
}

function NameFields({ kind, setKind }: { kind: string; setKind(kind: string): void }) {
  return (
    <>
      <Field
        label="Name"
        name="alias"
        maxLength={100}
        pattern="[A-Za-z0-9._:\/\-]+"
        placeholder="team-a/fast"
        hint="The name that clients use: letters, digits and . _ - / : It cannot be changed later. Keys with a list of models do not have it; keys without a list may call it."
        required
      />
      <Choice label="Kind" value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
        <option value="chat">chat</option>
        <option value="embed">embed</option>
        <option value="extract">extract</option>
      </Choice>
    </>
  );
}

/** Offers the published sizes of well-known models, which are entered only on a click. */
function SizeFields({ stored, kind }: { stored: StoredAlias | null; kind: string }) {
  const known = useQuery(KNOWN_MODELS).data?.knownModels ?? [];
  const [target] = stored?.targets ?? [];
  const [like, setLike] = useState(target?.model ?? '');
  const found = known.find(({ model }) => model === like) ?? null;
  const use = (form: HTMLFormElement | null) => {
    if (form === null || found === null) return;
    enter(form, 'contextLength', found.contextLength);
    enter(form, 'maxOutputTokens', found.maxOutputTokens ?? 1);
  };
  return (
    <fieldset>
      <legend>Size of a call, in tokens</legend>
      <Field
        label="Like the well-known"
        list="known-models"
        value={like}
        onChange={(event) => setLike(event.currentTarget.value)}
        placeholder="gpt-4o"
        hint="Optional. Used for suggestions only; it does not affect charges."
      />
      <datalist id="known-models">
        {known
          .filter((one) => one.kind === kind)
          .map(({ vendor, model }) => (
            <option key={`${vendor} ${model}`} value={model}>
              {vendor}
            </option>
          ))}
      </datalist>
      {found !== null && (
        <>
          <ListPrice known={found} />
          <div>
            <button type="button" className="little" onClick={(event) => use(event.currentTarget.form)}>
              Use suggested values
            </button>
          </div>
        </>
      )}
      <div className="columns">
        <Field
          label="Context length"
          name="contextLength"
          type="number"
          min={1}
          step={1}
          defaultValue={stored?.contextLength}
          hint="Empty: the default of its kind."
        />
        <Field
          label="Maximum output"
          name="maxOutputTokens"
          type="number"
          min={1}
          step={1}
          defaultValue={stored?.maxOutputTokens}
          hint="Empty: the default of its kind."
        />
      </div>
    </fieldset>
  );
}

function enter(form: HTMLFormElement, name: string, value: number) {
  const field = form.elements.namedItem(name);
  if (field instanceof HTMLInputElement) field.value = String(value);
}

function ListPrice({ known }: { known: KnownModel }) {
  const { currency, prompt, cached, completion, asOf, isStale, pricePage, note } = known;
  return (
    <p className="small" role="status">
      {known.vendor} {known.model}: reads {known.contextLength.toLocaleString('en')}
      {known.maxOutputTokens !== null && `, writes ${known.maxOutputTokens.toLocaleString('en')}`} tokens.
      List price for a million: {prompt} {currency} in{cached !== null && `, ${cached} cached`}, {completion}{' '}
      out, as of {asOf}. {note} {isStale && <strong>These figures are old. </strong>}
      <a href={pricePage} target="_blank" rel="noreferrer">
        Prices of {known.vendor}
      </a>
    </p>
  );
}

function PriceFields() {
  const common = { type: 'number', min: 0, step: 'any' } as const;
  return (
    <fieldset>
      <legend>Price, in credits for a million tokens</legend>
      <div className="columns">
        <Field label="Prompt" name="prompt" {...common} required />
        <Field label="Cached" name="cached" {...common} required />
        <Field label="Completion" name="completion" {...common} required />
        <Field label="Cache write" name="cacheWrite" {...common} hint="Empty: as the prompt." />
      </div>
    </fieldset>
  );
}

interface RoutingFieldsProps {
  readonly stored: StoredAlias | null;
  readonly fallbacks: AliasFormProps['others'];
}

function RoutingFields({ stored, fallbacks }: RoutingFieldsProps) {
  return (
    <fieldset>
      <legend>Routing</legend>
      <div className="columns">
        <Choice label="First target" name="strategy" defaultValue={stored?.strategy ?? ''}>
          <option value="">by weight (default)</option>
          <option value="order">in their order</option>
          <option value="weight">by weight</option>
          <option value="latency">by latency</option>
        </Choice>
        <Choice label="Fallback" name="fallback" defaultValue={stored?.fallback ?? ''}>
          <option value="">none</option>
          {fallbacks.map(({ alias }) => (
            <option key={alias} value={alias}>
              {alias}
            </option>
          ))}
        </Choice>
        <Choice
          label="A call that the fallback serves costs"
          name="fallbackPrice"
          defaultValue={stored?.fallbackPrice ?? ''}
        >
          <option value="">at most what this alias costs (default)</option>
          <option value="SERVED">what the fallback costs</option>
        </Choice>
        <Field
          label="Retries"
          name="retries"
          type="number"
          min={0}
          max={10}
          step={1}
          defaultValue={stored?.retries ?? ''}
          hint="Tries beyond one per target."
        />
        <Field
          label="Hedge after, in ms"
          name="hedgeMs"
          type="number"
          min={1}
          max={600_000}
          step={1}
          defaultValue={stored?.hedgeMs ?? ''}
          hint="Empty: off."
        />
        <Field
          label="Statuses that try the next target"
          name="retryStatuses"
          defaultValue={(stored?.retryStatuses ?? []).join(', ')}
          placeholder="404, 409"
          hint="In addition to those that always do (5xx, 429, 401 …)."
        />
      </div>
    </fieldset>
  );
}

function BodyFields({ stored }: { stored: StoredAlias | null }) {
  return (
    <fieldset>
      <legend>Bodies of calls</legend>
      <div className="columns">
        <Field
          label="Fields to drop"
          name="drop"
          defaultValue={(stored?.drop ?? []).join(', ')}
          placeholder="logit_bias, seed"
          hint="Top-level fields that the targets do not have. Empty: calls with such fields are refused."
        />
        <Choice
          label="Cache breakpoints"
          name="cacheBreakpoints"
          defaultValue={stored?.cacheBreakpoints === false ? 'off' : 'on'}
        >
          <option value="on">set in calls that are translated for Anthropic (default)</option>
          <option value="off">only those of clients</option>
        </Choice>
      </div>
    </fieldset>
  );
}
