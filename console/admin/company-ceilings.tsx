import { useState } from 'react';
import { CEILING_NAMES, CEILING_WORDS, type CeilingAmounts, CeilingUse } from '../parts/ceilings.tsx';
import { Dialog, DialogLoading } from '../parts/dialog.tsx';
import { Field, Form } from '../parts/form.tsx';
import { changedFrom, type FormValues } from '../parts/form-values.ts';
import { Notice, Problem } from '../parts/page.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import { useQuery } from '../session/use-query.ts';

const CEILINGS = graphql(`query($id: ID!) { companyCeilings(companyId: $id) {
  requestsPerMinute tokensPerMinute callsInFlight documentsPerDay storageMegabytes apiKeys members
  use { requestsPerMinute tokensPerMinute callsInFlight documentsPerDay storageMegabytes apiKeys members } } }`);
const SET_CEILINGS = graphql(`mutation($id: ID!, $input: CeilingsInput!) {
  setCompanyCeilings(companyId: $id, input: $input) { id } }`);

interface CompanyCeilingsProps {
  readonly company: { readonly id: string; readonly name: string };
  close(): void;
}

export function CompanyCeilings({ company, close }: CompanyCeilingsProps) {
  const { session } = useConsole();
  const { data, error, reload } = useQuery(CEILINGS, { id: company.id });
  const [isSet, setSet] = useState(false);
  const ceilings = data?.companyCeilings ?? null;
  return (
    <Dialog title={`Ceilings of ${company.name}`} close={close}>
      <p className="quiet">
        Limits of the company that its admins cannot raise. Empty: no ceiling. Takes effect within a second.
      </p>
      {isSet && <Notice mood="good">The ceilings are set.</Notice>}
      {ceilings === null ? (
        <DialogLoading error={error} retry={reload} close={close} />
      ) : (
        <>
          <Problem error={error} retry={reload} />
          <CeilingUse ceilings={ceilings} showsAll />
          <CeilingFields
            ceilings={ceilings}
            close={close}
            set={async (input) => {
              setSet(false);
              await session.request(SET_CEILINGS, { id: company.id, input });
              setSet(true);
              await reload();
            }}
          />
        </>
      )}
    </Dialog>
  );
}

interface CeilingFieldsProps {
  readonly ceilings: CeilingAmounts;
  close(): void;
  set(changed: Partial<CeilingAmounts>): Promise<void>;
}

function CeilingFields({ ceilings, close, set }: CeilingFieldsProps) {
  // What the fields showed at first, and then what was sent of them: the ceilings may be changed elsewhere meanwhile.
  const [before, setBefore] = useState(() => amountsOf((name) => ceilings[name]));
  const send = async ({ number }: FormValues) => {
    const amounts = amountsOf(number);
    await set(changedFrom(before, amounts));
    setBefore(amounts);
  };
  return (
    <Form
      submit="Set ceilings"
      beside={
        <button type="button" onClick={close}>
          Close
        </button>
      }
      send={send}
    >
      <div className="columns">
        {CEILING_NAMES.map((name) => (
          <Field
            key={name}
            label={CEILING_WORDS[name]}
            name={name}
            type="number"
            min={0}
            step={1}
            defaultValue={before[name] ?? ''}
          />
        ))}
      </div>
    </Form>
  );
}

function amountsOf(amount: (name: keyof CeilingAmounts) => number | null): CeilingAmounts {
  return Object.fromEntries(CEILING_NAMES.map((name) => [name, amount(name)])) as Record<
    keyof CeilingAmounts,
    number | null
  >;
}
