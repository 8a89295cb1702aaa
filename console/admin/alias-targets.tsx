import { useId, useState } from 'react';
import { Dialog, DialogLoading } from '../parts/dialog.tsx';
import {
  Area,
  Choice,
  Field,
  Form,
  type FormGroup,
  GroupButton,
  GroupButtons,
  useGroupFocus,
  useGroups,
  useWrongField,
} from '../parts/form.tsx';
import { type FormValues, formValues } from '../parts/form-values.ts';
import { Problem } from '../parts/page.tsx';
import { fieldError } from '../session/answer-error.ts';
import { useConsole } from '../session/console-context.ts';
import { graphql, type RowOf } from '../session/graphql.ts';
import { useAction, useQuery } from '../session/use-query.ts';
import { KNOWN_MODELS } from './alias-form.tsx';
import { Health, type TargetHealth } from './target-health.tsx';

const PRESETS = graphql('{ providerPresets { name title baseUrl needsKey note } }');
const SET_TARGETS = graphql(`mutation($alias: String!, $input: ModelAliasInput!, $ifVersion: String) {
  updateModelAlias(alias: $alias, input: $input, ifVersion: $ifVersion) { alias } }`);
const TEST_TARGET = graphql(`mutation($alias: String!, $input: AliasTargetInput!) {
  testAliasTarget(alias: $alias, input: $input) { ok latencyMs message } }`);

type Preset = RowOf<typeof PRESETS>;

interface StoredTarget {
  readonly id: string;
  readonly provider: string;
  readonly baseUrl: string;
  readonly model: string;
  readonly weight: number;
  readonly hasKey: boolean;
  readonly apiVersion: string | null;
  readonly headerNames: readonly string[];
  readonly timeoutMs: number | null;
  readonly idleTimeoutMs: number | null;
  readonly maxInFlight: number | null;
  readonly cost: Cost | null;
  readonly health: TargetHealth | null;
}

interface Cost {
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
  readonly cacheWrite: number | null;
}

interface TargetFormProps {
  readonly alias: string;
  readonly version: string | null;
  readonly targets: readonly StoredTarget[];
  close(): void;
  changed(): Promise<void>;
}

/** A row with its index among the targets that are sent; errors refer to a target by that index. */
interface PlacedRow extends FormGroup<StoredTarget> {
  readonly at: number;
}

/** The name of a control, and the path of its field in the API. */
const named = ({ number, at }: PlacedRow, name: string, field = name) => ({
  name: `${name}-${number}`,
  'data-field': `targets.${at}.${field}`,
});

/** The targets of an alias, one group of fields each. A stored key is kept unless another one is entered. */
export function TargetForm({ alias, version, targets, close, changed }: TargetFormProps) {
  const { session } = useConsole();
  const presets = useQuery(PRESETS);
  // Read when the form is opened, like the rows, so that a later change by someone else is not overwritten.
  const [ifVersion] = useState(version);
  const { groups: rows, add, remove } = useGroups(targets);
  const known = presets.data?.providerPresets;
  return (
    <Dialog title={`Targets of ${alias}`} isWide close={close}>
      <p className="quiet">
        Calls are distributed by weight and retried with the next target if one fails. Without a target, the
        embedded models answer.
      </p>
      {known === undefined ? (
        <DialogLoading error={presets.error} retry={presets.reload} close={close} />
      ) : (
        <Form
          submit="Save the targets"
          beside={<GroupButtons add={add} addName="Add a target" close={close} />}
          send={async (values) => {
            const wanted = rows.map((row, at) => targetIn(values, { ...row, at }));
            await session.request(SET_TARGETS, { alias, input: { targets: wanted }, ifVersion });
            await changed();
            close();
          }}
        >
          {rows.map((row, at) => (
            <TargetFields
              key={row.number}
              title={`Target ${at + 1}`}
              alias={alias}
              row={{ ...row, at }}
              presets={known}
              remove={() => remove(row.number)}
            />
          ))}
        </Form>
      )}
    </Dialog>
  );
}

function targetIn(values: FormValues, row: PlacedRow) {
  const { number, stored, at } = row;
  const text = (name: string) => values.text(`${name}-${number}`);
  const headers = headersIn(text('headers'), `targets.${at}.headers`);
  return {
    ...(stored === null ? {} : { id: stored.id }),
    provider: text('provider'),
    ...(text('baseUrl') === '' ? {} : { baseUrl: text('baseUrl') }),
    model: text('model'),
    weight: values.number(`weight-${number}`) ?? 1,
    ...(text('apiKey') === '' ? {} : { apiKey: text('apiKey') }),
    ...(text('removeKey') === 'on' && text('apiKey') === '' ? { removeKey: true } : {}),
    ...(text('apiVersion') === '' ? {} : { apiVersion: text('apiVersion') }),
    ...(text('removeHeaders') === 'on' ? { headers: {} } : headers === null ? {} : { headers }),
    timeoutMs: values.number(`timeoutMs-${number}`),
    idleTimeoutMs: values.number(`idleTimeoutMs-${number}`),
    maxInFlight: values.number(`maxInFlight-${number}`),
    cost: costIn(values, row),
  };
}

/** Null if all fields are empty. */
function costIn(values: FormValues, { number, at }: PlacedRow) {
  const [prompt, cached, completion, cacheWrite] = ['Prompt', 'Cached', 'Completion', 'CacheWrite'].map(
    (part) => values.number(`cost${part}-${number}`),
  );
  if (prompt == null && cached == null && completion == null && cacheWrite == null) return null;
  if (prompt == null || completion == null) {
    throw fieldError(`targets.${at}.cost`, 'Enter what prompt and completion cost, or leave both empty.');
  }
  return { prompt, cached: cached ?? prompt, completion, cacheWrite: cacheWrite ?? null };
}

/** One header per line, as `name: value`; null if the field is empty. */
function headersIn(text: string, field: string): Record<string, string> | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) return null;
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      if (colon < 1)
        throw fieldError(field, `Write each header as name: value. This one has no colon: ${line}`);
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}

interface TargetFieldsProps {
  readonly title: string;
  readonly alias: string;
  readonly row: PlacedRow;
  readonly presets: readonly Preset[];
  remove(): void;
}

function TargetFields({ title, alias, row, presets, remove }: TargetFieldsProps) {
  const { stored, number } = row;
  const [provider, setProvider] = useState(stored?.provider ?? 'openai');
  const preset = presets.find(({ name }) => name === provider);
  const group = useGroupFocus(stored === null);
  const keyHint = stored?.hasKey
    ? 'A key is stored and stays unless you enter another one.'
    : preset?.needsKey
      ? 'Needed by this provider.'
      : 'Only where the server asks for one.';
  return (
    <fieldset className="group target" ref={group}>
      <legend>{title}</legend>
      {stored !== null && <Health health={stored.health} isLong />}
      <Choice
        label="Provider"
        {...named(row, 'provider')}
        value={provider}
        onChange={(event) => setProvider(event.currentTarget.value)}
      >
        {presets.map(({ name, title: shown }) => (
          <option key={name} value={name}>
            {shown}
          </option>
        ))}
      </Choice>
      <small className="quiet">{preset?.note}</small>
      <Field
        label="Address"
        {...named(row, 'baseUrl')}
        type="url"
        defaultValue={stored?.baseUrl}
        placeholder={preset?.baseUrl ?? 'https://…'}
        required={preset?.baseUrl === null}
        hint={preset?.baseUrl === null ? 'As issued by the provider.' : 'Empty: the address of the provider.'}
      />
      <ModelField row={row} provider={provider} />
      <Field
        label="Weight"
        {...named(row, 'weight')}
        type="number"
        min={0}
        step="any"
        defaultValue={stored?.weight ?? 1}
      />
      <Field
        label="Key"
        {...named(row, 'apiKey')}
        type="password"
        autoComplete="off"
        placeholder={stored?.hasKey ? '••••••••' : ''}
        hint={keyHint}
      />
      {stored?.hasKey && (
        <label className="check">
          <input type="checkbox" name={`removeKey-${number}`} />
          <span>Remove the stored key</span>
        </label>
      )}
      <MoreFields row={row} isAzure={provider === 'azure'} />
      <div className="row">
        <TestButton title={title} alias={alias} row={row} />
        <GroupButton className="little" onClick={remove} aria-label={`Remove ${title}`}>
          Remove
        </GroupButton>
      </div>
    </fieldset>
  );
}

/** Suggests the provider's well-known models. */
function ModelField({ row, provider }: { row: PlacedRow; provider: string }) {
  const { stored, number } = row;
  const known = (useQuery(KNOWN_MODELS).data?.knownModels ?? []).filter((one) => one.provider === provider);
  return (
    <>
      <Field
        label="Model"
        {...named(row, 'model')}
        list={`models-${number}`}
        defaultValue={stored?.model}
        maxLength={200}
        required
      />
      <datalist id={`models-${number}`}>
        {known.map(({ model }) => (
          <option key={model} value={model} />
        ))}
      </datalist>
    </>
  );
}

/** The target's limits, and what it costs at the provider. */
function LimitFields({ row }: { row: PlacedRow }) {
  const { stored } = row;
  const amount = { type: 'number', min: 0, step: 'any' } as const;
  const whole = { type: 'number', min: 1, step: 1 } as const;
  const cost = stored?.cost ?? null;
  return (
    <details>
      <summary>Limits and cost</summary>
      <div className="columns">
        <Field
          label="Time-out until the answer begins, in ms"
          {...named(row, 'timeoutMs')}
          {...whole}
          max={3_600_000}
          defaultValue={stored?.timeoutMs ?? ''}
          hint="Empty: as the gateway is configured."
        />
        <Field
          label="Time-out of silence in the answer, in ms"
          {...named(row, 'idleTimeoutMs')}
          {...whole}
          max={3_600_000}
          defaultValue={stored?.idleTimeoutMs ?? ''}
          hint="Empty: as the gateway is configured."
        />
        <Field
          label="Calls at once"
          {...named(row, 'maxInFlight')}
          {...whole}
          defaultValue={stored?.maxInFlight ?? ''}
          hint="In each process."
        />
        <Field
          label="Cost of the prompt"
          {...named(row, 'costPrompt', 'cost')}
          {...amount}
          defaultValue={cost?.prompt ?? ''}
        />
        <Field
          label="Cost when cached"
          {...named(row, 'costCached', 'cost')}
          {...amount}
          defaultValue={cost?.cached ?? ''}
        />
        <Field
          label="Cost of the completion"
          {...named(row, 'costCompletion', 'cost')}
          {...amount}
          defaultValue={cost?.completion ?? ''}
        />
        <Field
          label="Cost of cache writes"
          {...named(row, 'costCacheWrite', 'cost')}
          {...amount}
          defaultValue={cost?.cacheWrite ?? ''}
        />
      </div>
      <p className="small quiet">Costs are what the provider bills you, in credits for a million tokens.</p>
    </details>
  );
}

function MoreFields({ row, isAzure }: { row: PlacedRow; isAzure: boolean }) {
  const { stored, number } = row;
  const headerNames = stored?.headerNames ?? [];
  return (
    <>
      <LimitFields row={row} />
      {isAzure && (
        <Field
          label="API version"
          {...named(row, 'apiVersion')}
          defaultValue={stored?.apiVersion ?? ''}
          placeholder="2024-10-21"
        />
      )}
      <Area
        label={
          headerNames.length === 0
            ? 'Extra headers, one per line'
            : `Extra headers, one per line (stored: ${headerNames.join(', ')}; empty leaves them)`
        }
        {...named(row, 'headers')}
        rows={2}
        placeholder="x-team: a"
        spellCheck={false}
      />
      {headerNames.length > 0 && (
        <label className="check">
          <input type="checkbox" name={`removeHeaders-${number}`} />
          <span>Remove the stored headers</span>
        </label>
      )}
    </>
  );
}

/** Sends the current values of the form, saved or not. */
function TestButton({ title, alias, row }: Pick<TargetFieldsProps, 'title' | 'alias' | 'row'>) {
  const { session } = useConsole();
  const action = useAction();
  const [said, setSaid] = useState<string | null>(null);
  const [sent, setSent] = useState<HTMLFormElement | null>(null);
  const problemId = useId();
  const words = action.isBusy ? 'Testing…' : 'Test';
  const about = useWrongField(sent, action.error, problemId, (field) =>
    field.replace(/^input/, `targets.${row.at}`),
  );
  const test = (form: HTMLFormElement | null) =>
    action.run(async () => {
      if (form === null) return;
      setSent(form);
      setSaid(null);
      const input = targetIn(formValues(new FormData(form)), row);
      const { testAliasTarget } = await session.request(TEST_TARGET, { alias, input });
      const { ok, latencyMs, message } = testAliasTarget;
      setSaid(ok ? `Works: ${message} (${latencyMs} ms)` : `Failed: ${message}`);
    });
  return (
    <>
      <button
        type="button"
        className="little"
        aria-disabled={action.isBusy}
        aria-label={`${words} ${title}`}
        onClick={(event) => action.isBusy || void test(event.currentTarget.form)}
      >
        {words}
      </button>
      <span role="status">{said}</span>
      <div id={problemId}>
        <Problem error={action.error} about={about} />
      </div>
    </>
  );
}
