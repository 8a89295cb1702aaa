import { useState } from 'react';
import { Dialog } from '../parts/dialog.tsx';
import { Choice, Field, Form } from '../parts/form.tsx';
import { List } from '../parts/list.tsx';
import { Card, type Mood, Notice, Page, Tag } from '../parts/page.tsx';
import { credits, Moment, spoken } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql, type RowOf } from '../session/graphql.ts';
import { usePages } from '../session/use-query.ts';

const COMPANIES = graphql(`query($after: ID) { companies(first: 30, after: $after) {
  nodes { id name billingMode creditLimit createdAt standing balance { credits } } pageInfo { hasNextPage endCursor } } }`);
const SET_BILLING = graphql(`mutation($id: ID!, $mode: BillingMode!, $limit: Float) {
  setCompanyBilling(companyId: $id, billingMode: $mode, creditLimit: $limit) { id } }`);
const ADJUST = graphql(`mutation($id: ID!, $credits: Float!, $reason: String!, $once: String!) {
  adjustCredits(companyId: $id, credits: $credits, reason: $reason, idempotencyKey: $once) { balanceAfter } }`);

type Company = RowOf<typeof COMPANIES>;

const MOODS: Record<Company['standing'], Mood> = { GOOD: 'good', OUT_OF_CREDITS: 'bad', OVERDUE: 'bad' };

export function Companies() {
  const pages = usePages(COMPANIES);
  const [billed, setBilled] = useState<Company | null>(null);
  const [adjusted, setAdjusted] = useState<Company | null>(null);
  return (
    <Page
      title="Companies"
      says="All of them: how each pays, what it holds, and whether its calls are answered."
    >
      <Card>
        <List
          label="Companies"
          rows={pages.nodes}
          error={pages.error}
          retry={pages.reload}
          more={pages}
          keyOf={({ id }) => id}
          empty={<p>The first company signs up by itself.</p>}
          columns={[
            {
              name: 'Company',
              show: ({ name, id }) => (
                <>
                  <div>{name}</div>
                  <code className="quiet">{id}</code>
                </>
              ),
            },
            {
              name: 'Standing',
              show: ({ standing }) => <Tag mood={MOODS[standing]}>{spoken(standing)}</Tag>,
            },
            { name: 'Balance', isNumber: true, show: ({ balance }) => credits(balance.credits) },
            { name: 'Pays', show: ({ billingMode }) => <Tag>{spoken(billingMode)}</Tag> },
            {
              name: 'Credit limit',
              isNumber: true,
              show: ({ creditLimit }) => (creditLimit === null ? '—' : credits(creditLimit)),
            },
            { name: 'Since', show: ({ createdAt }) => <Moment at={createdAt} /> },
            {
              name: 'Do',
              show: (company) => (
                <div className="row">
                  <button type="button" className="little" onClick={() => setBilled(company)}>
                    Billing
                  </button>
                  <button type="button" className="little" onClick={() => setAdjusted(company)}>
                    Adjust credits
                  </button>
                </div>
              ),
            },
          ]}
        />
      </Card>
      {billed !== null && <Billing company={billed} close={() => setBilled(null)} changed={pages.reload} />}
      {adjusted !== null && (
        <Adjust company={adjusted} close={() => setAdjusted(null)} changed={pages.reload} />
      )}
    </Page>
  );
}

function Billing({ company, close, changed }: { company: Company; close(): void; changed(): Promise<void> }) {
  const { session } = useConsole();
  const cancel = (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
  return (
    <Dialog title={`How ${company.name} pays`} close={close}>
      <Form
        submit="Set it"
        beside={cancel}
        send={async ({ text, number }) => {
          const mode = text('mode') as Company['billingMode'];
          const limit = mode === 'POSTPAID' ? number('limit') : null;
          await session.request(SET_BILLING, { id: company.id, mode, limit });
          await changed();
          close();
        }}
      >
        <Choice label="Mode" name="mode" defaultValue={company.billingMode}>
          <option value="PREPAID">Prepaid: from credits bought before</option>
          <option value="POSTPAID">Postpaid: invoiced monthly</option>
        </Choice>
        <Field
          label="Credit limit"
          hint="For postpaid: how far below zero it may go. Empty: without end."
          name="limit"
          type="number"
          min={0}
          step="any"
          defaultValue={company.creditLimit ?? ''}
        />
      </Form>
    </Dialog>
  );
}

/** Unlike randomUUID, there over plain HTTP too. */
function newMark(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** One dialog is one posting, however often its button is pressed. */
function Adjust({ company, close, changed }: { company: Company; close(): void; changed(): Promise<void> }) {
  const { session } = useConsole();
  const [once] = useState(() => newMark());
  const [balance, setBalance] = useState<number | null>(null);
  const cancel = (
    <button type="button" onClick={close}>
      Close
    </button>
  );
  return (
    <Dialog title={`Credits of ${company.name}`} close={close}>
      {balance !== null && <Notice mood="good">Done. The balance is {credits(balance)} credits.</Notice>}
      <Form
        submit="Post it"
        beside={cancel}
        send={async ({ text, number }) => {
          const wanted = { id: company.id, credits: number('credits') ?? 0, reason: text('reason'), once };
          const { adjustCredits } = await session.request(ADJUST, wanted);
          setBalance(adjustCredits.balanceAfter);
          await changed();
        }}
      >
        <Field
          label="Credits"
          hint="Below zero they are taken."
          name="credits"
          type="number"
          step="any"
          required
        />
        <Field label="Reason" hint="The company sees it." name="reason" maxLength={200} required />
      </Form>
    </Dialog>
  );
}
