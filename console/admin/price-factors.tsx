import { useState } from 'react';
import { Dialog } from '../parts/dialog.tsx';
import {
  Choice,
  Field,
  Form,
  type FormGroup,
  GroupButton,
  GroupButtons,
  useGroupFocus,
  useGroups,
} from '../parts/form.tsx';
import type { FormValues } from '../parts/form-values.ts';
import type { PriceFactor } from '../parts/format.ts';
import { fieldError } from '../session/answer-error.ts';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';

const SET_FACTORS = graphql(`mutation($alias: String!, $input: ModelAliasInput!, $ifVersion: String) {
  updateModelAlias(alias: $alias, input: $input, ifVersion: $ifVersion) { alias } }`);
const FIELDS = [
  ...['service_tier', 'speed', 'inference_geo', 'modalities'],
  ...['prompt_tokens', 'long_prompt_completion', 'cache_write'],
];
/** Values that providers have; others can be typed. */
const KNOWN_VALUES = ['priority', 'flex', 'scale', 'fast', 'us', 'audio', '200000', '1h'];

type Row = FormGroup<PriceFactor>;

interface FactorsFormProps {
  readonly alias: string;
  readonly version: string | null;
  readonly stored: readonly PriceFactor[];
  close(): void;
  changed(): Promise<void>;
}

/** What tiers of the provider, long prompts and cache writes for an hour cost, in multiples of the alias's price. */
export function FactorsForm({ alias, version, stored, close, changed }: FactorsFormProps) {
  const { session } = useConsole();
  // Read when the form is opened, like the rows, so that a later change by someone else is not overwritten.
  const [ifVersion] = useState(version);
  const { groups: rows, add, remove } = useGroups(stored);
  return (
    <Dialog title={`Price factors of ${alias}`} isWide close={close}>
      <p className="quiet">
        Fields of a request that change what the provider charges for the same tokens. The tokens of a call in
        that tier cost the price times the factor: 2 is twice the price, 1 the price itself. Tiers that may
        cost more and have no factor are refused. modalities, with the value audio, is for calls that send
        audio or ask for it, which are refused without. prompt_tokens is for prompts of more than that many
        tokens, such as 200000, and counts for their completions too; long_prompt_completion, with the same
        number, gives these another factor. cache_write, with the value 1h, is for cache writes that stay for
        an hour, in multiples of the price of cache writes.
      </p>
      <Form
        submit="Save the factors"
        beside={<GroupButtons add={add} addName="Add a factor" close={close} />}
        send={async (values) => {
          await session.request(SET_FACTORS, {
            alias,
            input: { priceFactors: factorsIn(values, rows) },
            ifVersion,
          });
          await changed();
          close();
        }}
      >
        {rows.length === 0 && <p>This alias has no price factors.</p>}
        {rows.map((row, at) => (
          <FactorFields
            key={row.number}
            title={`Factor ${at + 1}`}
            row={row}
            remove={() => remove(row.number)}
          />
        ))}
        <datalist id="tier-values">
          {KNOWN_VALUES.map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      </Form>
    </Dialog>
  );
}

function factorsIn(values: FormValues, rows: readonly Row[]): PriceFactor[] {
  const seen = new Set<string>();
  return rows.map(({ number }) => {
    const [field, value] = [values.text(`field-${number}`), values.text(`value-${number}`)];
    if (seen.has(`${field} ${value}`)) {
      throw fieldError(`value-${number}`, `${field} ${value} has a factor above. Remove one of the two.`);
    }
    seen.add(`${field} ${value}`);
    return { field, value, factor: values.number(`factor-${number}`) ?? 1 };
  });
}

function FactorFields({ title, row, remove }: { title: string; row: Row; remove(): void }) {
  const { stored, number } = row;
  const group = useGroupFocus(stored === null);
  return (
    <fieldset className="group" ref={group}>
      <legend>{title}</legend>
      <div className="columns">
        <Choice label="Field" name={`field-${number}`} defaultValue={stored?.field}>
          {FIELDS.map((field) => (
            <option key={field}>{field}</option>
          ))}
        </Choice>
        <Field
          label="Value"
          name={`value-${number}`}
          list="tier-values"
          defaultValue={stored?.value}
          maxLength={40}
          spellCheck={false}
          autoComplete="off"
          required
        />
        <Field
          label="Factor"
          name={`factor-${number}`}
          type="number"
          min={0}
          max={100}
          step="any"
          defaultValue={stored?.factor}
          required
        />
      </div>
      <div className="row">
        <GroupButton className="little" onClick={remove} aria-label={`Remove ${title}`}>
          Remove
        </GroupButton>
      </div>
    </fieldset>
  );
}
