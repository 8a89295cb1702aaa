import { Confirmed } from '../parts/dialog.tsx';
import { List } from '../parts/list.tsx';
import { Card, Page, Tag } from '../parts/page.tsx';
import { Named } from '../parts/recorded.tsx';
import { Moment, spoken } from '../parts/words.tsx';
import { graphql } from '../session/graphql.ts';
import { useChange, useQuery } from '../session/use-query.ts';

const LOOK = graphql(`mutation { deactivateStaleSubscriptions(dryRun: true) {
  id companyId status updatedAt providerSubscriptionId plan { name } } }`);
const END = graphql(`mutation($ids: [String!]!) {
  deactivateStaleSubscriptions(dryRun: false, providerSubscriptionIds: $ids) { id } }`);

/** Shows a dry run, and then ends exactly the subscriptions that were shown. */
export function StaleSubscriptions() {
  const result = useQuery(LOOK);
  const rows = result.data?.deactivateStaleSubscriptions ?? null;
  const change = useChange(result.reload);
  return (
    <Page
      title="Stale subscriptions"
      says="Subscriptions that are active here but that the payment provider no longer reports. Opening this page changes nothing."
    >
      <Card>
        <List
          label="Stale subscriptions"
          rows={rows}
          error={result.error}
          retry={result.reload}
          keyOf={({ id }) => id}
          nameOf={({ plan, providerSubscriptionId }) => `${plan.name} ${providerSubscriptionId ?? ''}`}
          nothing="No stale subscriptions"
          empty={<p>The payment provider reports every active one.</p>}
          columns={[
            { name: 'Plan', show: ({ plan }) => plan.name },
            { name: 'Company', show: ({ companyId }) => <Named id={companyId} /> },
            { name: 'Status', show: ({ status }) => <Tag>{spoken(status)}</Tag> },
            { name: 'Last update', show: ({ updatedAt }) => <Moment at={updatedAt} /> },
            {
              name: 'Actions',
              show: ({ providerSubscriptionId: id }) =>
                id !== null && (
                  <Confirmed
                    name="End it"
                    title="End this subscription?"
                    says="It ends here only. The payment provider is not notified."
                    work={() => change(END, { ids: [id] })}
                  />
                ),
            },
          ]}
        />
      </Card>
    </Page>
  );
}
