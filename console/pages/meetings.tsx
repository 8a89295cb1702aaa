import { useLocation, useParams } from 'wouter';
import { Dialog } from '../parts/dialog.tsx';
import { Area, Field, Form } from '../parts/form.tsx';
import { List } from '../parts/list.tsx';
import { Card, Notice, Page } from '../parts/page.tsx';
import { Moment } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import { usePages } from '../session/use-asking.ts';

interface Meeting {
  readonly id: string;
  readonly room: string;
  readonly startsAt: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly briefing: unknown;
  readonly insight: unknown;
}

const MEETINGS = graphql(`query($after: ID) { meetings(first: 50, after: $after) {
  nodes { id room startsAt startedAt endedAt briefing insight } pageInfo { hasNextPage endCursor } } }`);
const ANNOUNCE = graphql(`mutation($input: MeetingInput!) { createMeeting(input: $input) { id } }`);
const ADD_TRANSCRIPT = graphql(`mutation($id: ID!, $text: String!) {
  addMeetingTranscript(meetingId: $id, text: $text) { id } }`);

/** A mail leads to one of them by its id; then it is open. */
export function Meetings() {
  const { session } = useConsole();
  const { id } = useParams<{ id?: string }>();
  const [, navigate] = useLocation();
  const pages = usePages<Meeting>(MEETINGS, 'meetings');
  const shown = pages.nodes?.find((meeting) => meeting.id === id);
  const announce = async (input: object) => {
    await session.ask(ANNOUNCE, { input });
    await pages.reload();
  };
  return (
    <Page
      title="Meetings"
      says="Interviews and talks in announced rooms, with what is known of them afterwards."
    >
      {id !== undefined && pages.nodes !== null && shown === undefined && (
        <Notice mood="warn">This meeting is not among the newest 50, or not your company’s.</Notice>
      )}
      <Card>
        <List
          label="Meetings"
          rows={pages.nodes}
          error={pages.error}
          retry={pages.reload}
          more={pages}
          keyOf={(meeting) => meeting.id}
          empty={<p>Announce a room below: what happens in it is then yours to see.</p>}
          columns={[
            { name: 'Room', show: ({ room }) => room },
            { name: 'Planned', show: ({ startsAt }) => <Moment at={startsAt} never="—" /> },
            { name: 'Began', show: ({ startedAt }) => <Moment at={startedAt} never="not yet" /> },
            { name: 'Ended', show: ({ endedAt }) => <Moment at={endedAt} never="not yet" /> },
            {
              name: 'Do',
              show: (meeting) => (
                <button type="button" className="little" onClick={() => navigate(`/meetings/${meeting.id}`)}>
                  Open
                </button>
              ),
            },
          ]}
        />
      </Card>
      <Card title="Announce a room">
        <Form
          submit="Announce"
          clears
          send={({ text, number }) => {
            const startsAt = text('starts') === '' ? null : new Date(text('starts')).toISOString();
            return announce({ room: text('room'), startsAt, plannedMinutes: number('minutes') });
          }}
        >
          <div className="columns">
            <Field label="Room" name="room" maxLength={200} required />
            <Field label="Starts" name="starts" type="datetime-local" />
            <Field label="Minutes" name="minutes" type="number" min={1} step={1} />
          </div>
        </Form>
      </Card>
      {shown !== undefined && (
        <OneMeeting meeting={shown} close={() => navigate('/meetings')} changed={pages.reload} />
      )}
    </Page>
  );
}

function OneMeeting(props: { meeting: Meeting; close(): void; changed(): Promise<void> }) {
  const { meeting, close, changed } = props;
  const { session } = useConsole();
  const closing = (
    <button type="button" onClick={close}>
      Close
    </button>
  );
  return (
    <Dialog title={`Room ${meeting.room}`} close={close}>
      {meeting.briefing !== null && <pre>{JSON.stringify(meeting.briefing, null, 2)}</pre>}
      {meeting.insight === null ? (
        <p className="quiet">What is known of it appears when it has ended.</p>
      ) : (
        <pre>{JSON.stringify(meeting.insight, null, 2)}</pre>
      )}
      <Form
        submit="Add the transcript"
        beside={closing}
        send={async ({ text }) => {
          await session.ask(ADD_TRANSCRIPT, { id: meeting.id, text: text('text') });
          await changed();
        }}
      >
        <Area label="Transcript" name="text" rows={6} required placeholder="Ada: Welcome …" />
      </Form>
    </Dialog>
  );
}
