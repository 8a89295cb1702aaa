import { useState } from 'react';
import { Link } from 'wouter';
import { useFilters } from '../operations/filters.tsx';
import { Dialog, DialogLoading } from '../parts/dialog.tsx';
import { Choice, Field, Form } from '../parts/form.tsx';
import { List, RowButton } from '../parts/list.tsx';
import { Card, InOrder, type Mood, Notice, Page, Tag } from '../parts/page.tsx';
import { credits, Moment, roundedCredits, spoken } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql, type RowOf } from '../session/graphql.ts';
import { usePages, useQuery } from '../session/use-query.ts';
import { AdjustCredits } from './adjust-credits.tsx';
import { CompanyCeilings } from './company-ceilings.tsx';
import { RoomPrefix } from './room-prefix.tsx';

const COMPANIES =
  graphql(`query($after: ID, $search: String) { companies(first: 30, after: $after, search: $search) {
  nodes { id name billingMode creditLimit createdAt standing suspendedAt suspensionReason roomPrefix balance { credits }
    postpaidTerms { dueDays invoiceDay plan { id name } } } pageInfo { hasNextPage endCursor } } }`);
const SET_BILLING = graphql(`mutation($id: ID!, $mode: BillingMode!, $limit: Float) {
  setCompanyBilling(companyId: $id, billingMode: $mode, creditLimit: $limit) { id } }`);
const ASSIGN = graphql(`mutation($id: ID!, $plan: ID!, $limit: Float, $due: Int, $day: Int) {
  assignPlan(companyId: $id, planId: $plan, creditLimit: $limit, dueDays: $due, invoiceDay: $day) { id } }`);
const PLANS = graphql(`{ plans { id name active billingMode } }`);

const SUSPEND = graphql(
  `mutation($id: ID!, $reason: String!) { suspendCompany(id: $id, reason: $reason) { id } }`,
);
const RESUME = graphql(`mutation($id: ID!) { resumeCompany(id: $id) { id } }`);
const RESET_TOTP = graphql(`mutation($email: String!) { resetTotp(email: $email) }`);

type Company = RowOf<typeof COMPANIES>;

const MOODS: Record<Company['standing'], Mood> = {
  ...{ GOOD: 'good', OUT_OF_CREDITS: 'bad', OVERDUE: 'bad', SUSPENDED: 'bad' },
};

export function Companies() {
  const { filter, typed } = useFilters();
  const pages = usePages(COMPANIES, { search: filter('search') });
  const [chosen, choose] = useState<Chosen | null>(null);
  return (
    <Page
      title="Companies"
      says="All companies: how each pays, its balance, and whether its calls are accepted."
    >
      <InOrder>
        <Card>
          <Field label="Search" hint="Name, id, or the e-mail address of a member." {...typed('search')} />
          <List
            label="Companies"
            rows={pages.nodes}
            error={pages.error}
            retry={pages.reload}
            more={pages}
            keyOf={({ id }) => id}
            nameOf={({ name }) => name}
            nothing={filter('search') === '' ? 'No companies yet' : 'No such company'}
            empty={
              <p>
                {filter('search') === ''
                  ? 'Companies are listed here once they have signed up.'
                  : 'No company matches your search.'}
              </p>
            }
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
                name: 'Status',
                show: (company) => <Standing company={company} />,
              },
              {
                name: 'Balance',
                isNumber: true,
                show: ({ balance }) => (
                  <span title={credits(balance.credits)}>{roundedCredits(balance.credits)}</span>
                ),
              },
              {
                name: 'Billing',
                show: ({ billingMode, postpaidTerms }) => (
                  <>
                    <Tag>{spoken(billingMode)}</Tag> {postpaidTerms?.plan.name ?? ''}
                  </>
                ),
              },
              {
                name: 'Credit limit',
                isNumber: true,
                show: ({ creditLimit }) => (creditLimit === null ? '—' : credits(creditLimit)),
              },
              { name: 'Since', show: ({ createdAt }) => <Moment at={createdAt} /> },
              {
                name: 'Actions',
                show: (company) => <Actions company={company} choose={choose} />,
              },
            ]}
          />
        </Card>
        <ResetTotp />
      </InOrder>
      {chosen !== null && <ChosenDialog {...chosen} close={() => choose(null)} changed={pages.reload} />}
    </Page>
  );
}

interface Chosen {
  readonly action: 'billing' | 'plan' | 'credits' | 'ceilings' | 'rooms' | 'suspension';
  readonly company: Company;
}

function Actions({ company, choose }: { company: Company; choose(chosen: Chosen): void }) {
  const act = (action: Chosen['action']) => () => choose({ action, company });
  return (
    <div className="row">
      <RowButton onClick={act('billing')}>Billing</RowButton>
      <RowButton onClick={act('plan')}>Assign a plan</RowButton>
      <RowButton onClick={act('credits')}>Adjust credits</RowButton>
      <RowButton onClick={act('ceilings')}>Ceilings</RowButton>
      <RowButton onClick={act('rooms')}>Room prefix</RowButton>
      <RowButton onClick={act('suspension')}>{company.suspendedAt === null ? 'Suspend' : 'Resume'}</RowButton>
    </div>
  );
}

function ChosenDialog(props: Chosen & { close(): void; changed(): Promise<void> }) {
  const { action, ...rest } = props;
  switch (action) {
    case 'billing':
      return <Billing {...rest} />;
    case 'plan':
      return <AssignPlan {...rest} />;
    case 'credits':
      return <AdjustCredits {...rest} />;
    case 'ceilings':
      return <CompanyCeilings company={rest.company} close={rest.close} />;
    case 'rooms':
      return <RoomPrefix {...rest} />;
    case 'suspension':
      return <Suspension {...rest} />;
  }
}

function Standing({ company: { standing, suspensionReason } }: { company: Company }) {
  return (
    <>
      <Tag mood={MOODS[standing]}>{spoken(standing)}</Tag>
      {suspensionReason !== null && <div className="quiet">{suspensionReason}</div>}
    </>
  );
}

/** For users who have lost their phone and their recovery codes. */
function ResetTotp() {
  const { session } = useConsole();
  const [done, setDone] = useState<string | null>(null);
  return (
    <Card title="Reset two-factor authentication">
      {done !== null && (
        <Notice mood="good">
          Two-factor authentication is off for {done}, and their sessions have ended.
        </Notice>
      )}
      <Form
        submit="Reset two-factor authentication"
        isDanger
        clears
        asks={({ text }) => ({
          title: `Reset the two-factor authentication of ${text('email')}?`,
          says: 'They then log in with their password alone, and all their sessions end.',
        })}
        send={async ({ text }) => {
          await session.request(RESET_TOTP, { email: text('email') });
          setDone(text('email'));
        }}
      >
        <Field
          label="E-mail"
          name="email"
          type="email"
          hint="For a user who has lost the phone and the recovery codes. Verify their identity first."
          required
        />
      </Form>
    </Card>
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
        submit="Save"
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
          hint="For postpaid: how far below zero it may go. Empty: no limit."
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

/** Assigns a POSTPAID plan on the agreed terms. */
function AssignPlan(props: { company: Company; close(): void; changed(): Promise<void> }) {
  const { company, close, changed } = props;
  const { session } = useConsole();
  const { data, error, reload } = useQuery(PLANS);
  const plans = data?.plans.filter(({ active, billingMode }) => active && billingMode === 'POSTPAID') ?? null;
  const cancel = (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
  return (
    <Dialog title={`Assign a plan to ${company.name}`} close={close}>
      {plans === null ? (
        <DialogLoading error={error} retry={reload} close={close} />
      ) : plans.length === 0 ? (
        <>
          <p>
            There is no postpaid plan. Add one under <Link href="/catalogue">Plans and packs</Link>.
          </p>
          <div>{cancel}</div>
        </>
      ) : (
        <Form
          submit="Assign the plan"
          beside={cancel}
          send={async ({ text, number }) => {
            const agreed = { limit: number('limit'), due: number('due'), day: number('day') };
            await session.request(ASSIGN, { id: company.id, plan: text('plan'), ...agreed });
            await changed();
            close();
          }}
        >
          <Choice label="Plan" name="plan" defaultValue={company.postpaidTerms?.plan.id}>
            {plans.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </Choice>
          <Field
            label="Credit limit"
            hint="How far below zero it may go. Empty: no limit."
            name="limit"
            type="number"
            min={0}
            step="any"
            defaultValue={company.creditLimit ?? ''}
          />
          <div className="columns">
            <Field
              label="Due after days"
              hint="Empty: as set for all."
              name="due"
              type="number"
              min={1}
              max={365}
              step={1}
              defaultValue={company.postpaidTerms?.dueDays ?? ''}
            />
            <Field
              label="Invoice day"
              hint="Of the month, 1 to 28."
              name="day"
              type="number"
              min={1}
              max={28}
              step={1}
              defaultValue={company.postpaidTerms?.invoiceDay ?? 1}
              required
            />
          </div>
        </Form>
      )}
    </Dialog>
  );
}

function Suspension(props: { company: Company; close(): void; changed(): Promise<void> }) {
  const { company, close, changed } = props;
  const { session } = useConsole();
  const isSuspended = company.suspendedAt !== null;
  const cancel = (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
  return (
    <Dialog title={`${isSuspended ? 'Resume' : 'Suspend'} ${company.name}`} close={close}>
      <p className="quiet">
        {isSuspended
          ? 'Its calls are accepted again within a second.'
          : 'All its model calls are refused within a second. Its members can still sign in and pay, and see the reason.'}
      </p>
      <Form
        submit={isSuspended ? 'Resume it' : 'Suspend it'}
        isDanger={!isSuspended}
        beside={cancel}
        send={async ({ text }) => {
          const { id } = company;
          if (isSuspended) await session.request(RESUME, { id });
          else await session.request(SUSPEND, { id, reason: text('reason') });
          await changed();
          close();
        }}
      >
        {!isSuspended && <Field label="Reason" name="reason" maxLength={200} required />}
      </Form>
    </Dialog>
  );
}
