import { List } from '../parts/list.tsx';
import { Card, type Mood, Page, Tag } from '../parts/page.tsx';
import { When } from '../parts/recorded.tsx';
import { count, latency, Moment, spoken } from '../parts/words.tsx';
import { graphql, type RowOf } from '../session/graphql.ts';
import { usePages } from '../session/use-query.ts';

const DELIVERIES = graphql(`query($after: ID) { callHookDeliveries(first: 30, after: $after) {
  nodes { id calls state attempts httpStatus error durationMs createdAt settledAt }
  pageInfo { hasNextPage endCursor } } }`);

type Delivery = RowOf<typeof DELIVERIES>;

const MOODS: Record<Delivery['state'], Mood> = { DELIVERED: 'good', WAITING: 'warn', FAILED: 'bad' };

/** The deliveries to the hook that runs after calls. */
export function CallHooks() {
  const pages = usePages(DELIVERIES);
  return (
    <Page
      title="Call hooks"
      says="Records of calls that were sent to the hook after calls, newest first. Refused requests are retried with increasing delays."
    >
      <Card title="Deliveries">
        <List
          label="Deliveries"
          rows={pages.nodes}
          error={pages.error}
          retry={pages.reload}
          more={pages}
          keyOf={({ id }) => id}
          nothing="Nothing was sent"
          empty={
            <p>
              Set <code>CALL_HOOK_AFTER_URL</code> and <code>CALL_HOOK_SECRET</code>, and every ended call is
              sent there. <code>CALL_HOOK_BEFORE_URL</code> is called before each call; it has no deliveries.
            </p>
          }
          columns={[
            { name: 'Sent', show: ({ createdAt }) => <When at={createdAt} /> },
            { name: 'Calls', isNumber: true, show: ({ calls }) => count(calls) },
            { name: 'State', show: ({ state }) => <Tag mood={MOODS[state]}>{spoken(state)}</Tag> },
            {
              name: 'Answer',
              show: ({ httpStatus, error }) => (
                <>
                  {httpStatus !== null && <div>status {httpStatus}</div>}
                  {error !== null && <div className="quiet small said">{error}</div>}
                </>
              ),
            },
            { name: 'Tries', isNumber: true, show: ({ attempts }) => count(attempts) },
            {
              name: 'Duration',
              isNumber: true,
              show: ({ durationMs }) => (durationMs === null ? '—' : latency(durationMs)),
            },
            { name: 'Settled', show: ({ settledAt }) => <Moment at={settledAt} never="not yet" /> },
          ]}
        />
      </Card>
    </Page>
  );
}
