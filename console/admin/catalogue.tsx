import { Act } from '../parts/dialog.tsx';
import { Choice, Field, Form } from '../parts/form.tsx';
import type { FormValues } from '../parts/form-values.ts';
import { List } from '../parts/list.tsx';
import { Card, Page, Tag } from '../parts/page.tsx';
import { count, credits, money, spoken } from '../parts/words.tsx';
import { type DataOf, graphql } from '../session/graphql.ts';
import { useChange, useQuery } from '../session/use-query.ts';

const CATALOGUE = graphql(`{
  plans { id name active billingMode credits price currency interval needsProviderPricing providerPriceId }
  creditPacks { id name credits price currency sortOrder }
}`);
const ADD_PLAN = graphql(`mutation($input: PlanInput!) { createPlan(input: $input) { id } }`);
const ADD_PACK = graphql(
  `mutation($input: CreateCreditPackInput!) { createCreditPack(input: $input) { id } }`,
);
const SYNC = graphql(`mutation { syncAllPlansProviderPricing { id } }`);

type Plan = DataOf<typeof CATALOGUE>['plans'][number];

export function Catalogue() {
  const result = useQuery(CATALOGUE);
  const change = useChange(result.reload);
  return (
    <Page title="Plans and packs" says="What companies can subscribe to, and what they buy once.">
      <Card title="Plans" actions={<Act name="Sync provider pricing" work={() => change(SYNC)} />}>
        <List
          label="Plans"
          rows={result.data?.plans ?? null}
          error={result.error}
          retry={result.reload}
          keyOf={({ id }) => id}
          empty={<p>Add a plan below, then sync it with the payment provider.</p>}
          columns={[
            { name: 'Plan', show: ({ name }) => name },
            { name: 'Pays', show: ({ billingMode }) => spoken(billingMode) },
            { name: 'Credits', isNumber: true, show: (plan) => credits(plan.credits) },
            {
              name: 'Price',
              isNumber: true,
              show: (plan) => `${money(plan.price, plan.currency)} a ${plan.interval.toLowerCase()}`,
            },
            { name: 'Status', show: (plan) => <PlanStatus {...plan} /> },
          ]}
        />
      </Card>
      <Card title="Credit packs">
        <List
          label="Credit packs"
          rows={result.data?.creditPacks ?? null}
          error={result.error}
          retry={result.reload}
          keyOf={({ id }) => id}
          empty={<p>Add a pack below: it is sold at once.</p>}
          columns={[
            { name: 'Pack', show: ({ name }) => name },
            { name: 'Credits', isNumber: true, show: (pack) => credits(pack.credits) },
            { name: 'Price', isNumber: true, show: (pack) => money(pack.price, pack.currency) },
            { name: 'Place', isNumber: true, show: ({ sortOrder }) => count(sortOrder) },
          ]}
        />
      </Card>
      <NewOnes change={change} />
    </Page>
  );
}

function PlanStatus({ active, needsProviderPricing, providerPriceId }: Plan) {
  if (!active) return <Tag>Not sold</Tag>;
  if (needsProviderPricing) return <Tag mood="warn">Needs a sync</Tag>;
  return (
    <>
      <Tag mood="good">Sold</Tag> <code className="quiet">{providerPriceId ?? ''}</code>
    </>
  );
}

function NewOnes({ change }: { change: ReturnType<typeof useChange> }) {
  const sold = ({ text, number }: FormValues) => ({
    name: text('name'),
    credits: number('credits') ?? 0,
    price: number('price') ?? 0,
    currency: text('currency'),
  });
  const fields = (
    <>
      <Field label="Name" name="name" maxLength={200} required />
      <div className="columns">
        <Field label="Credits" name="credits" type="number" min={0} step="any" required />
        <Field label="Price" name="price" type="number" min={0} step="any" required />
        <Field label="Currency" name="currency" minLength={3} maxLength={3} defaultValue="eur" required />
      </div>
    </>
  );
  return (
    <div className="halves">
      <Card title="Add a plan">
        <Form
          submit="Add the plan"
          clears
          send={(values) => {
            const { text } = values;
            return change(ADD_PLAN, {
              input: {
                ...sold(values),
                billingMode: text('mode') as Plan['billingMode'],
                interval: text('interval') as Plan['interval'],
              },
            });
          }}
        >
          {fields}
          <Choice label="Pays" name="mode">
            <option value="PREPAID">Prepaid</option>
            <option value="POSTPAID">Postpaid</option>
          </Choice>
          <Choice label="Every" name="interval">
            <option value="MONTH">Month</option>
            <option value="YEAR">Year</option>
          </Choice>
        </Form>
      </Card>
      <Card title="Add a pack">
        <Form
          submit="Add the pack"
          clears
          send={(values) =>
            change(ADD_PACK, { input: { ...sold(values), sortOrder: values.number('order') ?? 0 } })
          }
        >
          {fields}
          <Field
            label="Place in the list"
            name="order"
            type="number"
            min={0}
            step={1}
            defaultValue={10}
            required
          />
        </Form>
      </Card>
    </div>
  );
}
