import { useState } from 'react';
import { Act, Confirmed, Dialog } from '../parts/dialog.tsx';
import { Choice, Field, Form } from '../parts/form.tsx';
import type { FormValues } from '../parts/form-values.ts';
import { List, Nil, RowButton } from '../parts/list.tsx';
import { Card, InOrder, Page, Tag } from '../parts/page.tsx';
import { count, counted, credits, money, spoken } from '../parts/words.tsx';
import { type DataOf, graphql } from '../session/graphql.ts';
import { useChange, useQuery } from '../session/use-query.ts';

const CATALOGUE = graphql(`{
  plans { id name active billingMode credits price currency interval needsProviderPricing providerPriceId
    trialDays trialCredits creditsExpireAfterDays sortOrder }
  creditPacks { id name credits price currency sortOrder }
  creditPackTerms { creditPackId creditsExpireAfterDays }
}`);
const ADD_PLAN = graphql(`mutation($input: PlanInput!) { createPlan(input: $input) { id } }`);
const UPDATE_PLAN = graphql(
  `mutation($id: ID!, $input: PlanInput!) { updatePlan(id: $id, input: $input) { id } }`,
);
const RETIRE_PLAN = graphql(`mutation($id: ID!) { retirePlan(id: $id) { id } }`);
const ADD_PACK = graphql(
  `mutation($input: CreateCreditPackInput!) { createCreditPack(input: $input) { id } }`,
);
const UPDATE_PACK = graphql(
  `mutation($id: ID!, $input: CreateCreditPackInput!) { updateCreditPack(id: $id, input: $input) { id } }`,
);
const RETIRE_PACK = graphql(`mutation($id: ID!) { retireCreditPack(id: $id) { id } }`);
const SYNC = graphql(`mutation { syncAllPlansProviderPricing { id } }`);

type Plan = DataOf<typeof CATALOGUE>['plans'][number];
type Pack = DataOf<typeof CATALOGUE>['creditPacks'][number] & {
  readonly creditsExpireAfterDays: number | null;
};
type Changing = ReturnType<typeof useChange>;

export function Catalogue() {
  const result = useQuery(CATALOGUE);
  const change = useChange(result.reload);
  const [plan, setPlan] = useState<Plan | null>(null);
  const [pack, setPack] = useState<Pack | null>(null);
  const packs = result.data === null ? null : packsOf(result.data);
  return (
    <Page title="Plans and packs" says="What companies can subscribe to, and what they buy once.">
      <InOrder>
        <Card title="Plans" actions={<Act name="Sync provider pricing" work={() => change(SYNC)} />}>
          <List
            label="Plans"
            nothing="No plans yet"
            rows={result.data?.plans ?? null}
            error={result.error}
            retry={result.reload}
            keyOf={({ id }) => id}
            nameOf={({ name }) => name}
            empty={<p>Add a plan below, then sync it with the payment provider.</p>}
            columns={[
              { name: 'Plan', show: ({ name }) => name },
              { name: 'Billing', show: ({ billingMode }) => spoken(billingMode) },
              {
                name: 'Credits',
                isNumber: true,
                show: (one) => (one.billingMode === 'POSTPAID' ? <Nil /> : credits(one.credits)),
              },
              { name: 'Price', isNumber: true, show: (one) => <PlanPrice {...one} /> },
              { name: 'Credits expire', show: (one) => expiryOf(one) },
              { name: 'Position', isNumber: true, show: ({ sortOrder }) => count(sortOrder) },
              { name: 'Status', show: (one) => <PlanStatus {...one} /> },
              { name: 'Actions', show: (one) => <PlanActions plan={one} change={change} edit={setPlan} /> },
            ]}
          />
        </Card>
        <Card title="Credit packs">
          <List
            label="Credit packs"
            nothing="No packs yet"
            rows={packs}
            error={result.error}
            retry={result.reload}
            keyOf={({ id }) => id}
            nameOf={({ name }) => name}
            empty={<p>Add a pack below. It is on sale at once.</p>}
            columns={[
              { name: 'Pack', show: ({ name }) => name },
              { name: 'Credits', isNumber: true, show: (one) => credits(one.credits) },
              { name: 'Price', isNumber: true, show: (one) => money(one.price, one.currency) },
              { name: 'Credits expire', show: (one) => expiryOf(one) },
              { name: 'Position', isNumber: true, show: ({ sortOrder }) => count(sortOrder) },
              { name: 'Actions', show: (one) => <PackActions pack={one} change={change} edit={setPack} /> },
            ]}
          />
        </Card>
        <NewOnes change={change} />
      </InOrder>
      {plan !== null && <EditPlan plan={plan} change={change} close={() => setPlan(null)} />}
      {pack !== null && <EditPack pack={pack} change={change} close={() => setPack(null)} />}
    </Page>
  );
}

function packsOf({ creditPacks, creditPackTerms }: DataOf<typeof CATALOGUE>): Pack[] {
  const days = new Map(creditPackTerms.map((one) => [one.creditPackId, one.creditsExpireAfterDays]));
  return creditPacks.map((pack) => ({ ...pack, creditsExpireAfterDays: days.get(pack.id) ?? null }));
}

function expiryOf({ creditsExpireAfterDays }: Pick<Pack, 'creditsExpireAfterDays'>): string {
  return creditsExpireAfterDays === null ? 'Never' : `After ${counted(creditsExpireAfterDays, 'day')}`;
}

function PlanPrice({ billingMode, price, currency, interval }: Plan) {
  if (billingMode === 'POSTPAID' && price === 0) return <Nil />;
  return `${money(price, currency)} a ${interval.toLowerCase()}`;
}

function PlanStatus({ active, needsProviderPricing, providerPriceId, billingMode }: Plan) {
  if (!active) return <Tag>Not sold</Tag>;
  if (needsProviderPricing) return <Tag mood="warn">Needs a sync</Tag>;
  if (billingMode === 'POSTPAID') return <Tag mood="good">By agreement</Tag>;
  return (
    <>
      <Tag mood="good">Sold</Tag> <code className="quiet">{providerPriceId ?? ''}</code>
    </>
  );
}

function PlanActions(props: { plan: Plan; change: Changing; edit(plan: Plan): void }) {
  const { plan, change, edit } = props;
  return (
    <div className="row">
      <RowButton onClick={() => edit(plan)}>Edit</RowButton>
      {plan.active && (
        <Confirmed
          name="Retire"
          title={`Retire ${plan.name}?`}
          says="It is no longer on sale, and its price is archived at the payment provider. Existing subscriptions continue."
          work={() => change(RETIRE_PLAN, { id: plan.id })}
        />
      )}
    </div>
  );
}

function PackActions(props: { pack: Pack; change: Changing; edit(pack: Pack): void }) {
  const { pack, change, edit } = props;
  return (
    <div className="row">
      <RowButton onClick={() => edit(pack)}>Edit</RowButton>
      <Confirmed
        name="Retire"
        title={`Retire ${pack.name}?`}
        says="It is permanently taken off sale, and its price is archived at the payment provider. Credits already bought are not affected."
        work={() => change(RETIRE_PACK, { id: pack.id })}
      />
    </div>
  );
}

function EditPlan({ plan, change, close }: { plan: Plan; change: Changing; close(): void }) {
  return (
    <Dialog title={`Edit ${plan.name}`} close={close}>
      <p className="quiet">
        A change of price, currency, interval or credits creates a new price at the payment provider. Existing
        subscriptions keep theirs.
      </p>
      <Form
        submit="Save the plan"
        beside={<Cancel close={close} />}
        send={async (values) => {
          const input = {
            ...planOf(values),
            billingMode: plan.billingMode,
            active: values.text('active') === 'yes',
          };
          await change(UPDATE_PLAN, { id: plan.id, input });
          close();
        }}
      >
        <SoldFields of={plan} />
        <PlanFields of={plan} />
        <Choice label="Sold" name="active" defaultValue={plan.active ? 'yes' : 'no'}>
          <option value="yes">Yes</option>
          <option value="no">No</option>
        </Choice>
      </Form>
    </Dialog>
  );
}

function EditPack({ pack, change, close }: { pack: Pack; change: Changing; close(): void }) {
  return (
    <Dialog title={`Edit ${pack.name}`} close={close}>
      <p className="quiet">Open purchases keep their terms.</p>
      <Form
        submit="Save the pack"
        beside={<Cancel close={close} />}
        send={async (values) => {
          await change(UPDATE_PACK, { id: pack.id, input: packOf(values) });
          close();
        }}
      >
        <SoldFields of={pack} />
        <ExpiryField of={pack} />
        <PlaceField of={pack} />
      </Form>
    </Dialog>
  );
}

function Cancel({ close }: { close(): void }) {
  return (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
}

function NewOnes({ change }: { change: Changing }) {
  return (
    <div className="halves">
      <Card title="Add a plan">
        <Form
          submit="Add the plan"
          clears
          guards
          send={(values) =>
            change(ADD_PLAN, {
              input: { ...planOf(values), billingMode: values.text('mode') as Plan['billingMode'] },
            })
          }
        >
          <SoldFields />
          <Choice label="Billing" name="mode">
            <option value="PREPAID">Prepaid</option>
            <option value="POSTPAID">Postpaid</option>
          </Choice>
          <PlanFields />
        </Form>
      </Card>
      <Card title="Add a pack">
        <Form
          submit="Add the pack"
          clears
          guards
          send={(values) => change(ADD_PACK, { input: packOf(values) })}
        >
          <SoldFields />
          <ExpiryField />
          <PlaceField />
        </Form>
      </Card>
    </div>
  );
}

type Sold = Pick<Plan, 'name' | 'credits' | 'price' | 'currency'>;

function SoldFields({ of }: { of?: Sold }) {
  return (
    <>
      <Field label="Name" name="name" maxLength={200} defaultValue={of?.name} required />
      <div className="columns">
        <Field
          label="Credits"
          name="credits"
          type="number"
          min={0}
          step="any"
          defaultValue={of?.credits}
          required
        />
        <Field
          label="Price"
          name="price"
          type="number"
          min={0}
          step="any"
          defaultValue={of?.price}
          required
        />
        <Field
          label="Currency"
          name="currency"
          minLength={3}
          maxLength={3}
          defaultValue={of?.currency ?? 'eur'}
          required
        />
      </div>
    </>
  );
}

function PlanFields({ of }: { of?: Plan }) {
  return (
    <>
      <Choice label="Every" name="interval" defaultValue={of?.interval ?? 'MONTH'}>
        <option value="MONTH">Month</option>
        <option value="YEAR">Year</option>
      </Choice>
      <div className="columns">
        <Field
          label="Trial days"
          hint="Empty: no trial."
          name="trialDays"
          type="number"
          min={1}
          max={730}
          step={1}
          defaultValue={of?.trialDays ?? ''}
        />
        <Field
          label="Trial credits"
          hint="They expire with the trial."
          name="trialCredits"
          type="number"
          min={0}
          step="any"
          defaultValue={of === undefined || of.trialCredits === 0 ? '' : of.trialCredits}
        />
        <ExpiryField {...(of === undefined ? {} : { of })} />
      </div>
      <PlaceField of={of ?? { sortOrder: 0 }} />
    </>
  );
}

function ExpiryField({ of }: { of?: Pick<Pack, 'creditsExpireAfterDays'> }) {
  return (
    <Field
      label="Credits expire after days"
      hint="Empty: never. For what is bought from now on."
      name="expiry"
      type="number"
      min={1}
      max={3650}
      step={1}
      defaultValue={of?.creditsExpireAfterDays ?? ''}
    />
  );
}

function PlaceField({ of = { sortOrder: 10 } }: { of?: { sortOrder: number } }) {
  return (
    <Field
      label="Position in the list"
      name="order"
      type="number"
      step={1}
      defaultValue={of.sortOrder}
      required
    />
  );
}

function packOf({ text, number }: FormValues) {
  return {
    name: text('name'),
    credits: number('credits') ?? 0,
    price: number('price') ?? 0,
    currency: text('currency'),
    sortOrder: number('order') ?? 0,
    creditsExpireAfterDays: number('expiry'),
  };
}

function planOf(values: FormValues) {
  const { text, number } = values;
  return {
    ...packOf(values),
    interval: text('interval') as Plan['interval'],
    trialDays: number('trialDays'),
    trialCredits: number('trialCredits'),
  };
}
