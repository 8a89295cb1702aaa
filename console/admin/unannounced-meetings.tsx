import { useState } from 'react';
import { Dialog } from '../parts/dialog.tsx';
import { Field, Form } from '../parts/form.tsx';
import { List, RowButton } from '../parts/list.tsx';
import { Card, InOrder, Page, Tag } from '../parts/page.tsx';
import { Moment } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql, type RowOf } from '../session/graphql.ts';
import { usePages } from '../session/use-query.ts';

const ROOMS = graphql(`query($after: ID) { unassignedRooms(first: 30, after: $after) {
  nodes { room events firstEventAt lastEventAt } pageInfo { hasNextPage endCursor } } }`);
const MEETINGS = graphql(`query($after: ID) { unannouncedMeetings(first: 30, after: $after) {
  nodes { id room startedAt endedAt createdAt } pageInfo { hasNextPage endCursor } } }`);
const ASSIGN = graphql(
  `mutation($room: String!, $company: ID!) { assignRoom(room: $room, companyId: $company) { id } }`,
);

type Meeting = RowOf<typeof MEETINGS>;

export function UnannouncedMeetings() {
  const rooms = usePages(ROOMS);
  const meetings = usePages(MEETINGS);
  const [chosen, choose] = useState<string | null>(null);
  return (
    <Page
      title="Unannounced rooms"
      says="Rooms that no company has announced, as the meeting server reported them. Stored for 30 days; no model is called for them. Companies with a room prefix have their rooms without announcing them."
    >
      <InOrder>
        <Card title="Rooms of no company">
          <List
            label="Rooms of no company"
            rows={rooms.nodes}
            error={rooms.error}
            retry={rooms.reload}
            more={rooms}
            keyOf={({ room }) => room}
            nothing="No rooms of no company"
            empty={<p>Every room that the meeting server has reported belongs to a company.</p>}
            columns={[
              { name: 'Room', show: ({ room }) => <code>{room}</code> },
              { name: 'Events', isNumber: true, show: ({ events }) => events },
              { name: 'First event', show: ({ firstEventAt }) => <Moment at={firstEventAt} /> },
              { name: 'Last event', show: ({ lastEventAt }) => <Moment at={lastEventAt} /> },
              {
                name: 'Actions',
                show: ({ room }) => <RowButton onClick={() => choose(room)}>Assign</RowButton>,
              },
            ]}
          />
        </Card>
        <Card title="Meetings of no company">
          <List
            label="Meetings of no company"
            rows={meetings.nodes}
            error={meetings.error}
            retry={meetings.reload}
            more={meetings}
            keyOf={({ id }) => id}
            nothing="No meetings of no company"
            empty={<p>Every meeting that the meeting server has reported belongs to a company.</p>}
            columns={[
              { name: 'Room', show: ({ room }) => <code>{room}</code> },
              { name: 'State', show: (meeting) => <State {...meeting} /> },
              { name: 'Started', show: ({ startedAt }) => <Moment at={startedAt} never="not known" /> },
              { name: 'Ended', show: ({ endedAt }) => <Moment at={endedAt} never="not yet" /> },
              { name: 'First event', show: ({ createdAt }) => <Moment at={createdAt} /> },
            ]}
          />
        </Card>
      </InOrder>
      {chosen !== null && (
        <AssignRoom
          room={chosen}
          close={() => choose(null)}
          changed={async () => {
            await Promise.all([rooms.reload(), meetings.reload()]);
          }}
        />
      )}
    </Page>
  );
}

function AssignRoom({ room, close, changed }: { room: string; close(): void; changed(): Promise<void> }) {
  const { session } = useConsole();
  return (
    <Dialog title={`Assign ${room}`} close={close}>
      <p className="quiet">
        The company then sees the meetings of this room, and who attended. Make sure that the room is its own.
      </p>
      <Form
        submit="Assign"
        beside={
          <button type="button" onClick={close}>
            Cancel
          </button>
        }
        send={async ({ text }) => {
          await session.request(ASSIGN, { room, company: text('company') });
          await changed();
          close();
        }}
      >
        <Field label="Company" name="company" hint="Its id, as under Companies." required />
      </Form>
    </Dialog>
  );
}

function State({ startedAt, endedAt }: Meeting) {
  if (endedAt !== null) return <Tag>Over</Tag>;
  return <Tag mood="good">{startedAt === null ? 'Expected' : 'Under way'}</Tag>;
}
