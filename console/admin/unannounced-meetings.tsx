import { List } from '../parts/list.tsx';
import { Card, Page, Tag } from '../parts/page.tsx';
import { Moment } from '../parts/words.tsx';
import { graphql, type RowOf } from '../session/graphql.ts';
import { usePages } from '../session/use-query.ts';

const MEETINGS = graphql(`query($after: ID) { unannouncedMeetings(first: 30, after: $after) {
  nodes { id room startedAt endedAt createdAt } pageInfo { hasNextPage endCursor } } }`);

type Meeting = RowOf<typeof MEETINGS>;

export function UnannouncedMeetings() {
  const pages = usePages(MEETINGS);
  return (
    <Page
      title="Unannounced rooms"
      says="Meetings in rooms that no company has announced, as the meeting server reported them. Stored for 30 days; no model is called for them."
    >
      <Card>
        <List
          label="Unannounced rooms"
          rows={pages.nodes}
          error={pages.error}
          retry={pages.reload}
          more={pages}
          keyOf={({ id }) => id}
          nothing="No unannounced rooms"
          empty={<p>Every room that the meeting server has reported belongs to a company.</p>}
          columns={[
            { name: 'Room', show: ({ room }) => <code>{room}</code> },
            { name: 'State', show: (meeting) => <State {...meeting} /> },
            { name: 'Started', show: ({ startedAt }) => <Moment at={startedAt} never="not known" /> },
            { name: 'Ended', show: ({ endedAt }) => <Moment at={endedAt} never="not yet" /> },
            { name: 'First event', show: ({ createdAt }) => <Moment at={createdAt} /> },
          ]}
        />
      </Card>
    </Page>
  );
}

function State({ startedAt, endedAt }: Meeting) {
  if (endedAt !== null) return <Tag>Over</Tag>;
  return <Tag mood="good">{startedAt === null ? 'Expected' : 'Under way'}</Tag>;
}
