import { Dialog } from '../parts/dialog.tsx';
import { Field, Form } from '../parts/form.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import type { ApiKey } from './keys.tsx';

const SET_LIMITS = graphql(`mutation($id: ID!, $input: ApiKeyLimitsInput!) {
  updateApiKeyLimits(id: $id, input: $input) { id }
}`);

interface KeyLimitsProps {
  readonly apiKey: ApiKey;
  close(): void;
  changed(): Promise<void>;
}

export function KeyLimits({ apiKey, close, changed }: KeyLimitsProps) {
  const { session } = useConsole();
  const cancel = (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
  const { requestsPerMinute, tokensPerMinute, maxCallsInFlight, monthlySpendingLimit } = apiKey;
  return (
    <Dialog title={`Limits of “${apiKey.name}”`} close={close}>
      <p className="quiet">In force within a second, everywhere.</p>
      <Form
        submit="Set the limits"
        beside={cancel}
        send={async ({ number }) => {
          const input = {
            requestsPerMinute: number('requests'),
            tokensPerMinute: number('tokens'),
            maxCallsInFlight: number('inFlight'),
            monthlySpendingLimit: number('monthly'),
          };
          await session.ask(SET_LIMITS, { id: apiKey.id, input });
          await changed();
          close();
        }}
      >
        <Field
          label="Requests a minute"
          name="requests"
          type="number"
          min={1}
          required
          defaultValue={requestsPerMinute}
        />
        <Field
          label="Tokens a minute"
          name="tokens"
          type="number"
          min={1}
          required
          defaultValue={tokensPerMinute}
        />
        <Field
          label="Calls at once"
          hint="Empty: no limit."
          name="inFlight"
          type="number"
          min={1}
          defaultValue={maxCallsInFlight ?? ''}
        />
        <Field
          label="Credits a month"
          hint="Empty: no limit."
          name="monthly"
          type="number"
          min={0}
          step="any"
          defaultValue={monthlySpendingLimit ?? ''}
        />
      </Form>
    </Dialog>
  );
}
