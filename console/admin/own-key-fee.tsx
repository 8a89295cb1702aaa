import { Dialog } from '../parts/dialog.tsx';
import { Field, Form } from '../parts/form.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';

const SET_FEE = graphql(`mutation($alias: String!, $fee: Float, $ifVersion: String) {
  updateModelAlias(alias: $alias, input: { byokFeePercent: $fee }, ifVersion: $ifVersion) { alias } }`);

interface FeeFormProps {
  readonly alias: string;
  /** The one that the form was opened with. */
  readonly version: string | null;
  readonly percent: number | null;
  close(): void;
  changed(): Promise<void>;
}

/** Whether companies may call the model with their own provider keys, and what these calls cost. */
export function OwnKeyFeeForm({ alias, version, percent, close, changed }: FeeFormProps) {
  const { session } = useConsole();
  return (
    <Dialog title={`Own provider keys for ${alias}`} close={close}>
      <p className="quiet">
        A company that stores its own key for this model calls it with that key alone. It sees the kind of the
        providers and the hosts that its key is sent to.
      </p>
      <Form
        submit="Save"
        beside={
          <button type="button" onClick={close}>
            Cancel
          </button>
        }
        send={async ({ number }) => {
          await session.request(SET_FEE, { alias, fee: number('fee'), ifVersion: version });
          await changed();
          close();
        }}
      >
        <Field
          label="Fee, in percent of the price"
          name="fee"
          type="number"
          min={0}
          max={100}
          step="any"
          defaultValue={percent ?? ''}
          hint="0: free of charge. Empty: own keys are not allowed, and calls of companies that have stored one are refused."
        />
      </Form>
    </Dialog>
  );
}
