import { useState } from 'react';
import { announce } from '../../parts/announce.tsx';
import { Act, Dialog } from '../../parts/dialog.tsx';
import { Field, Form } from '../../parts/form.tsx';
import { Bones, Empty, Notice, Problem } from '../../parts/page.tsx';
import { count, counted, credits, Moment, money, spoken } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { graphql } from '../../session/graphql.ts';
import { isSecondOfTwo, useAction, useChange, useQuery } from '../../session/use-query.ts';

const PREVIEW = graphql(
  `query($id: ID!) { previewSubscriptionChange(planId: $id) { amountDue currency credits } }`,
);
const REQUEST = graphql(
  `mutation($id: ID!, $message: String) { requestPlan(planId: $id, message: $message) }`,
);
const CHANGE = graphql(`mutation($id: ID!) { changeSubscriptionPlan(planId: $id) { id } }`);

interface PlanOffer {
  readonly id: string;
  readonly name: string;
  readonly credits: number;
  readonly price: number;
  readonly currency: string;
  readonly interval: string;
  readonly active: boolean;
  readonly purchase: 'CHECKOUT' | 'CONTACT_US';
  readonly needsProviderPricing: boolean;
  readonly trialDays: number | null;
  readonly trialCredits: number;
  readonly creditsExpireAfterDays: number | null;
}

interface Subscribed {
  readonly status: string;
  readonly isActive: boolean;
  readonly cancelAtPeriodEnd: boolean;
  readonly currentPeriodEnd: string | null;
  readonly trialEnd: string | null;
  readonly plan: { readonly id: string; readonly name: string };
}

interface Terms {
  readonly plan: { readonly id: string; readonly name: string };
  readonly dueDays: number | null;
  readonly invoiceDay: number;
}

interface PlansProps {
  readonly shop: {
    readonly plans: readonly PlanOffer[];
    readonly subscription: Subscribed | null;
    readonly company: { readonly postpaidTerms: Terms | null };
  };
  reload(): Promise<void>;
  subscribe(planId: string): Promise<void>;
}

/** The company's current plan, and the plans that it can choose. */
export function Plans({ shop, reload, subscribe }: PlansProps) {
  const { subscription } = shop;
  const plans = shop.plans.filter(({ active, needsProviderPricing }) => active && !needsProviderPricing);
  const [wanted, setWanted] = useState<PlanOffer | null>(null);
  const { postpaidTerms } = shop.company;
  return (
    <>
      {postpaidTerms !== null && (
        <Notice mood="good">
          {postpaidTerms.plan.name}: invoiced monthly, on day {postpaidTerms.invoiceDay}
          {postpaidTerms.dueDays !== null && `, due within ${counted(postpaidTerms.dueDays, 'day')}`}
        </Notice>
      )}
      {subscription !== null && <Current {...subscription} />}
      {plans.length === 0 && <Empty title="No plans are available">You can buy packs without a plan.</Empty>}
      {plans.map((plan) => (
        <div className="row spread offer" key={plan.id}>
          <div>
            <h3>{plan.name}</h3>
            <span className="quiet small">{wordsOf(plan, subscription === null)}</span>
          </div>
          {plan.id !== postpaidTerms?.plan.id && (
            <PlanButton plan={plan} subscription={subscription} subscribe={subscribe} change={setWanted} />
          )}
        </div>
      ))}
      {wanted !== null && <ChangePlan plan={wanted} close={() => setWanted(null)} changed={reload} />}
    </>
  );
}

function Current({ isActive, plan, status, currentPeriodEnd, cancelAtPeriodEnd, trialEnd }: Subscribed) {
  const isTrial = status === 'TRIALING' && trialEnd !== null;
  return (
    <Notice mood={isActive ? 'good' : 'warn'}>
      {plan.name}: {spoken(status)}
      {isTrial && (
        <>
          , until <Moment at={trialEnd} />
        </>
      )}
      {!isTrial && currentPeriodEnd !== null && (
        <>
          , {cancelAtPeriodEnd ? 'ends' : 'renews'} <Moment at={currentPeriodEnd} />
        </>
      )}
    </Notice>
  );
}

/** Empty if the credits never expire. */
export function lastingWords(days: number | null): string {
  return days === null ? '' : `, valid for ${counted(days, 'day')}`;
}

function wordsOf(plan: PlanOffer, isNew: boolean): string {
  if (plan.purchase === 'CONTACT_US') return 'Calls are invoiced monthly, by agreement';
  const period = `${money(plan.price, plan.currency)} a ${plan.interval.toLowerCase()}`;
  const brings = `${credits(plan.credits)} credits, ${period}${lastingWords(plan.creditsExpireAfterDays)}`;
  if (!isNew || plan.trialDays === null) return brings;
  const trialCredits = plan.trialCredits > 0 ? ` with ${credits(plan.trialCredits)} credits` : '';
  const trial = plan.trialDays === 1 ? 'the first day is' : `the first ${count(plan.trialDays)} days are`;
  return `${brings}; ${trial} free${trialCredits}`;
}

function PlanButton(props: {
  plan: PlanOffer;
  subscription: Subscribed | null;
  subscribe(planId: string): Promise<void>;
  change(plan: PlanOffer): void;
}) {
  const { plan, subscription, subscribe, change } = props;
  if (plan.purchase === 'CONTACT_US') return <ContactUs plan={plan} />;
  if (subscription?.isActive !== true) {
    return <Act name={`Subscribe to ${plan.name}`} work={() => subscribe(plan.id)} />;
  }
  if (plan.id === subscription.plan.id) return null;
  return (
    <button type="button" className="little" onClick={() => change(plan)}>
      Change to {plan.name}
    </button>
  );
}

/** For plans with negotiated terms: the operator receives a mail and replies by mail. */
function ContactUs({ plan }: { plan: PlanOffer }) {
  const { session } = useConsole();
  const [isOpen, setOpen] = useState(false);
  const [isSent, setSent] = useState(false);
  const cancel = (
    <button type="button" onClick={() => setOpen(false)}>
      Cancel
    </button>
  );
  if (isSent) return <span className="quiet small">We received your request and will reply by e-mail.</span>;
  return (
    <>
      <button type="button" className="little" onClick={() => setOpen(true)}>
        Contact us about {plan.name}
      </button>
      {isOpen && (
        <Dialog title={`Contact us about ${plan.name}`} close={() => setOpen(false)}>
          <p>
            {plan.name} is paid by monthly invoice, on terms that we agree on with you. We answer to your
            address.
          </p>
          <Form
            submit="Send the request"
            beside={cancel}
            send={async ({ text }) => {
              await session.request(REQUEST, { id: plan.id, message: text('message') || null });
              setSent(true);
            }}
          >
            <Field
              label="Message"
              hint="How many people and calls, for example."
              name="message"
              maxLength={200}
            />
          </Form>
        </Dialog>
      )}
    </>
  );
}

/** Shows what the change costs before anything is charged. */
function ChangePlan(props: { plan: PlanOffer; close(): void; changed(): Promise<void> }) {
  const { plan, close, changed } = props;
  const { data, error, reload } = useQuery(PREVIEW, { id: plan.id });
  const change = useChange(changed);
  const action = useAction();
  const confirm = async () => {
    if (!(await action.run(() => change(CHANGE, { id: plan.id })))) return;
    announce('Done.');
    close();
  };
  const preview = data?.previewSubscriptionChange ?? null;
  return (
    <Dialog title={`Change to ${plan.name}?`} close={close}>
      <Problem error={error} retry={reload} />
      {preview === null && error === null && <Bones lines={2} />}
      {preview !== null && (
        <p>
          {preview.amountDue > 0
            ? `Your card is charged ${money(preview.amountDue, preview.currency)} now for the rest of the period, which brings ${credits(preview.credits)} credits.`
            : 'Nothing is charged now. What is left of the period is credited on your next invoices.'}{' '}
          Then it is {money(plan.price, plan.currency)} a {plan.interval.toLowerCase()} for{' '}
          {credits(plan.credits)} credits.
        </p>
      )}
      <Problem error={action.error} />
      <div className="row">
        <button
          type="button"
          className="main"
          disabled={preview === null}
          aria-disabled={action.isBusy}
          onClick={(event) => action.isBusy || isSecondOfTwo(event) || void confirm()}
        >
          {action.isBusy ? 'Working…' : 'Change the plan'}
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}
