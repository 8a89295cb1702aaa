import { useFilters } from '../operations/filters.tsx';
import { Act } from '../parts/dialog.tsx';
import { Choice } from '../parts/form.tsx';
import { List } from '../parts/list.tsx';
import { Card, type Mood, Page, Tag } from '../parts/page.tsx';
import { Sentence, When } from '../parts/recorded.tsx';
import { count, spoken } from '../parts/words.tsx';
import { graphql, type RowOf } from '../session/graphql.ts';
import { useChange, usePages } from '../session/use-query.ts';

const EVENTS = graphql(`query($after: ID, $status: PaymentEventStatus) {
  paymentEvents(first: 30, after: $after, status: $status) {
    nodes { id type status effect error attempts receivedAt nextAttemptAt providerEventId }
    pageInfo { hasNextPage endCursor } } }`);
const REPLAY = graphql(`mutation($id: ID!) { replayPaymentEvent(id: $id) { id } }`);
const MOODS: Record<PaymentEvent['status'], Mood> = {
  DEFERRED: 'warn',
  FAILED: 'bad',
  IGNORED: 'plain',
  PROCESSED: 'good',
  RECEIVED: 'warn',
};

type PaymentEvent = RowOf<typeof EVENTS>;

export function PaymentEvents() {
  const { setFilter, oneOf } = useFilters();
  const status = oneOf('status', Object.keys(MOODS) as PaymentEvent['status'][]);
  const pages = usePages(EVENTS, status === undefined ? {} : { status });
  const change = useChange(pages.reload);
  return (
    <Page
      title="Payment events"
      says="Events of the payment provider with a valid signature, and their results."
      actions={
        <Choice
          label="Status"
          value={status ?? ''}
          onChange={(event) => setFilter('status', event.target.value)}
        >
          <option value="">All</option>
          {Object.keys(MOODS).map((one) => (
            <option key={one} value={one}>
              {spoken(one)}
            </option>
          ))}
        </Choice>
      }
    >
      <Card>
        <List
          label="Payment events"
          rows={pages.nodes}
          error={pages.error}
          retry={pages.reload}
          more={pages}
          keyOf={({ id }) => id}
          nameOf={({ providerEventId }) => providerEventId}
          nothing={status === undefined ? 'No events yet' : 'No such event'}
          empty={
            <p>{status === undefined ? 'They come with the first purchase.' : 'Choose another status.'}</p>
          }
          columns={[
            { name: 'Received', show: ({ receivedAt }) => <When at={receivedAt} /> },
            {
              name: 'Event',
              show: ({ type, providerEventId }) => (
                <>
                  <div>{type}</div>
                  <code className="quiet">{providerEventId}</code>
                </>
              ),
            },
            { name: 'Status', show: (event) => <Tag mood={MOODS[event.status]}>{spoken(event.status)}</Tag> },
            {
              name: 'What became of it',
              show: ({ effect, error }) => <Sentence text={error ?? effect ?? ''} />,
            },
            { name: 'Tries', isNumber: true, show: ({ attempts }) => count(attempts) },
            {
              name: 'Actions',
              show: (event) =>
                event.status !== 'PROCESSED' &&
                event.status !== 'IGNORED' && (
                  <Act name="Replay" work={() => change(REPLAY, { id: event.id })} />
                ),
            },
          ]}
        />
      </Card>
    </Page>
  );
}
