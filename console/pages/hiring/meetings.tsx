import { Link } from 'wouter';
import { Field, Form } from '../../parts/form.tsx';
import { List } from '../../parts/list.tsx';
import { Card, InOrder, Page, Tag, ToForm } from '../../parts/page.tsx';
import { Picker } from '../../parts/picker.tsx';
import { Moment } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { graphql } from '../../session/graphql.ts';
import { usePages } from '../../session/use-query.ts';
import { TALENTS_TO_PICK } from './meeting-forms.tsx';

const MEETINGS = graphql(`query($after: ID) { meetings(first: 20, after: $after) {
  nodes { id room startsAt startedAt endedAt jobId } pageInfo { hasNextPage endCursor } } }`);
const OPEN_JOBS = graphql(`query($search: String) {
  jobs(first: 50, status: ACTIVE, search: $search) { nodes { id title } pageInfo { hasNextPage } } }`);
const ANNOUNCE = graphql(`mutation($input: MeetingInput!) { createMeeting(input: $input) { id } }`);

export function Meetings() {
  const pages = usePages(MEETINGS);
  return (
    <Page
      title="Meetings"
      says="Interviews and talks in announced rooms, with what is known of them afterwards."
      actions={<ToForm of="Announce a room" />}
    >
      <InOrder>
        <Card>
          <List
            label="Meetings"
            rows={pages.nodes}
            error={pages.error}
            retry={pages.reload}
            more={pages}
            keyOf={(meeting) => meeting.id}
            nothing="No meetings yet"
            empty={<p>Announce a room below to see what happens in it.</p>}
            columns={[
              { name: 'Room', show: ({ id, room }) => <Link href={`/meetings/${id}`}>{room}</Link> },
              { name: 'Kind', show: ({ jobId }) => (jobId === null ? 'Meeting' : <Tag>Interview</Tag>) },
              { name: 'Planned', show: ({ startsAt }) => <Moment at={startsAt} never="—" /> },
              { name: 'Started', show: ({ startedAt }) => <Moment at={startedAt} never="not yet" /> },
              { name: 'Ended', show: ({ endedAt }) => <Moment at={endedAt} never="not yet" /> },
            ]}
          />
        </Card>
        <Announce changed={pages.reload} />
      </InOrder>
    </Page>
  );
}

function Announce({ changed }: { changed(): Promise<void> }) {
  const { session } = useConsole();
  return (
    <Card title="Announce a room">
      <p className="quiet">
        With a job and a talent it is an interview: briefed when it begins, followed up when it ends.
      </p>
      <Form
        submit="Announce"
        clears
        guards
        send={async ({ text, number }) => {
          const startsAt = text('starts') === '' ? null : new Date(text('starts')).toISOString();
          const input = {
            room: text('room'),
            startsAt,
            plannedMinutes: number('minutes'),
            jobId: text('job') === '' ? null : text('job'),
            talentId: text('talent') === '' ? null : text('talent'),
          };
          await session.request(ANNOUNCE, { input });
          await changed();
        }}
      >
        <div className="columns">
          <Field label="Room" name="room" maxLength={200} required />
          <Field label="Starts" name="starts" type="datetime-local" />
          <Field
            label="Minutes"
            {...{ name: 'minutes', type: 'number', min: 1, step: 1 }}
            data-field="plannedMinutes"
          />
          <Picker
            {...{ label: 'Job', name: 'job', none: 'None', query: OPEN_JOBS }}
            nameOf={({ title }) => title}
          />
          <Picker
            {...{ label: 'Talent', name: 'talent', none: 'None', query: TALENTS_TO_PICK }}
            nameOf={({ name }) => name ?? 'Without a name'}
          />
        </div>
      </Form>
    </Card>
  );
}
