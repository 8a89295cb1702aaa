import { Confirmed } from '../parts/dialog.tsx';
import { List } from '../parts/list.tsx';
import { Card, Page, Tag } from '../parts/page.tsx';
import { Moment, spoken } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import { useQuery } from '../session/use-query.ts';

interface Subscription {
  readonly id: string;
  readonly companyId: string;
  readonly status: string;
  readonly updatedAt: string;
  readonly providerSubscriptionId: string | null;
  readonly plan: { readonly name: string };
}

const LOOK = graphql(`mutation { deactivateStaleSubscriptions(dryRun: true) {
  id companyId status updatedAt providerSubscriptionId plan { name } } }`);
const END = graphql(`mutation($ids: [String!]!) {
  deactivateStaleSubscriptions(dryRun: false, providerSubscriptionIds: $ids) { id } }`);

/** What is shown is a dry run; what is then ended is exactly what was shown. */
export function StaleSubscriptions() {
  const { session } = useConsole();
  const asked = useQuery<{ deactivateStaleSubscriptions: readonly Subscription[] }>(LOOK);
  const rows = asked.data?.deactivateStaleSubscriptions ?? null;
  const end = async (ids: readonly string[]) => {
    await session.ask(END, { ids });
    await asked.reload();
  };
  return (
    <Page
      title="Stale subscriptions"
      says="Active here, and the payment provider tells nothing of them any more. Looking changes nothing."
    >
      <Card>
        <List
          label="Stale subscriptions"
          rows={rows}
          error={asked.error}
          retry={asked.reload}
          keyOf={({ id }) => id}
          empty={<p>None is stale: there is nothing to do.</p>}
          columns={[
            { name: 'Plan', show: ({ plan }) => plan.name },
            { name: 'Company', show: ({ companyId }) => <code className="quiet">{companyId}</code> },
            { name: 'Status', show: ({ status }) => <Tag>{spoken(status)}</Tag> },
            { name: 'Last heard of', show: ({ updatedAt }) => <Moment at={updatedAt} /> },
            {
              name: 'Do',
              show: ({ providerSubscriptionId: id }) =>
                id !== null && (
                  <Confirmed
                    name="End it"
                    title="End this subscription?"
                    says="It ends here. The payment provider is not told."
                    work={() => end([id])}
                  />
                ),
            },
          ]}
        />
      </Card>
    </Page>
  );
}
