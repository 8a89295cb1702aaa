import { useState } from 'react';
import { Dialog } from '../parts/dialog.tsx';
import { Area, Choice, Field, Form } from '../parts/form.tsx';
import { type FormValues, formValues } from '../parts/form-values.ts';
import { Problem } from '../parts/page.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql, type RowOf } from '../session/graphql.ts';
import { useAction, useQuery } from '../session/use-query.ts';

const PRESETS = graphql('{ providerPresets { name title baseUrl needsKey note } }');
const SET_TARGETS = graphql(`mutation($alias: String!, $targets: [AliasTargetInput!]!) {
  setAliasTargets(alias: $alias, targets: $targets) { alias } }`);
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
}

interface TargetFormProps {
  readonly alias: string;
  readonly targets: readonly StoredTarget[];
  close(): void;
  changed(): Promise<void>;
}

/** One row of the form: a target that is stored, or a new one. */
interface Row {
  readonly number: number;
  readonly stored: StoredTarget | null;
}

/** The targets of an alias, one group of fields each. A stored key stays unless another one is entered. */
export function TargetForm({ alias, targets, close, changed }: TargetFormProps) {
  const { session } = useConsole();
  const presets = useQuery(PRESETS);
  const [rows, setRows] = useState<readonly Row[]>(
    targets.map((stored, number) => {
      return { number, stored };
    }),
  );
  const [next, setNext] = useState(targets.length);
  const add = () => {
    setRows([...rows, { number: next, stored: null }]);
    setNext(next + 1);
  };
  const known = presets.data?.providerPresets;
  return (
    <Dialog title={`Targets of ${alias}`} isWide close={close}>
      <p className="quiet">
        Calls are shared by weight, and go on to the next target where one fails. Without a target the
        embedded models answer.
      </p>
      <Problem error={presets.error} />
      {known !== undefined && (
        <Form
          submit="Save the targets"
          beside={
            <>
              <button type="button" onClick={add}>
                Add a target
              </button>
              <button type="button" onClick={close}>
                Cancel
              </button>
            </>
          }
          send={async (values) => {
            const wanted = rows.map((row) => targetIn(values, row));
            await session.request(SET_TARGETS, { alias, targets: wanted });
            await changed();
            close();
          }}
        >
          {rows.map((row, at) => (
            <TargetFields
              key={row.number}
              title={`Target ${at + 1}`}
              alias={alias}
              row={row}
              presets={known}
              remove={() => setRows(rows.filter(({ number }) => number !== row.number))}
            />
          ))}
        </Form>
      )}
    </Dialog>
  );
}

function targetIn(values: FormValues, { number, stored }: Row) {
  const text = (name: string) => values.text(`${name}-${number}`);
  const headers = headersIn(text('headers'));
  return {
    ...(stored === null ? {} : { id: stored.id }),
    provider: text('provider'),
    ...(text('baseUrl') === '' ? {} : { baseUrl: text('baseUrl') }),
    model: text('model'),
    weight: values.number(`weight-${number}`) ?? 1,
    ...(text('apiKey') === '' ? {} : { apiKey: text('apiKey') }),
    ...(text('apiVersion') === '' ? {} : { apiVersion: text('apiVersion') }),
    ...(headers === null ? {} : { headers }),
  };
}

/** One a line, `name: value`; null where the field is empty. */
function headersIn(text: string): Record<string, string> | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) return null;
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      if (colon < 1) throw new Error(`Write each header as name: value. This one has no colon: ${line}`);
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}

interface TargetFieldsProps {
  readonly title: string;
  readonly alias: string;
  readonly row: Row;
  readonly presets: readonly Preset[];
  remove(): void;
}

function TargetFields({ title, alias, row, presets, remove }: TargetFieldsProps) {
  const { stored, number } = row;
  const [provider, setProvider] = useState(stored?.provider ?? 'openai');
  const preset = presets.find(({ name }) => name === provider);
  const keyHint = stored?.hasKey
    ? 'A key is stored and stays unless you enter another one.'
    : preset?.needsKey
      ? 'Needed by this provider.'
      : 'Only where the server asks for one.';
  return (
    <fieldset>
      <legend>{title}</legend>
      <Choice
        label="Provider"
        name={`provider-${number}`}
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
        name={`baseUrl-${number}`}
        type="url"
        defaultValue={stored?.baseUrl}
        placeholder={preset?.baseUrl ?? 'https://…'}
        required={preset?.baseUrl === null}
        hint={
          preset?.baseUrl === null ? 'As the provider gave it to you.' : 'Empty: the address of the provider.'
        }
      />
      <Field label="Model" name={`model-${number}`} defaultValue={stored?.model} maxLength={200} required />
      <Field
        label="Weight"
        name={`weight-${number}`}
        type="number"
        min={0}
        step="any"
        defaultValue={stored?.weight ?? 1}
      />
      <Field
        label="Key"
        name={`apiKey-${number}`}
        type="password"
        autoComplete="off"
        placeholder={stored?.hasKey ? '••••••••' : ''}
        hint={keyHint}
      />
      <MoreFields row={row} isAzure={provider === 'azure'} />
      <div className="row">
        <TestButton title={title} alias={alias} row={row} />
        <button type="button" className="little" onClick={remove} aria-label={`Remove ${title}`}>
          Remove
        </button>
      </div>
    </fieldset>
  );
}

function MoreFields({ row: { stored, number }, isAzure }: { row: Row; isAzure: boolean }) {
  const headerNames = stored?.headerNames ?? [];
  return (
    <>
      {isAzure && (
        <Field
          label="API version"
          name={`apiVersion-${number}`}
          defaultValue={stored?.apiVersion ?? ''}
          placeholder="2024-10-21"
        />
      )}
      <Area
        label={
          headerNames.length === 0
            ? 'Extra headers, one a line'
            : `Extra headers, one a line (stored: ${headerNames.join(', ')}; empty leaves them)`
        }
        name={`headers-${number}`}
        rows={2}
        placeholder="x-team: a"
        spellCheck={false}
      />
    </>
  );
}

/** Sends what the form says now, saved or not. */
function TestButton({ title, alias, row }: Pick<TargetFieldsProps, 'title' | 'alias' | 'row'>) {
  const { session } = useConsole();
  const action = useAction();
  const [said, setSaid] = useState<string | null>(null);
  const test = (form: HTMLFormElement | null) =>
    action.run(async () => {
      if (form === null) return;
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
        disabled={action.isBusy}
        aria-label={`Test ${title}`}
        onClick={(event) => void test(event.currentTarget.form)}
      >
        {action.isBusy ? 'Testing…' : 'Test'}
      </button>
      <span role="status">{said}</span>
      <Problem error={action.error} />
    </>
  );
}
