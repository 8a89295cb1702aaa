import { Link } from 'wouter';
import { Choice, Field, Form } from '../../parts/form.tsx';
import { List } from '../../parts/list.tsx';
import { Card, Page, Problem, Tag } from '../../parts/page.tsx';
import { Moment } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { graphql } from '../../session/graphql.ts';
import { usePages, useQuery } from '../../session/use-query.ts';

const MEETINGS = graphql(`query($after: ID) { meetings(first: 20, after: $after) {
  nodes { id room startsAt startedAt endedAt jobId } pageInfo { hasNextPage endCursor } } }`);
const SUBJECTS = graphql(`{
  jobs(first: 100, status: ACTIVE) { nodes { id title } }
  talents(first: 100, status: READY) { nodes { id name } }
}`);
const ANNOUNCE = graphql(`mutation($input: MeetingInput!) { createMeeting(input: $input) { id } }`);

export function Meetings() {
  const pages = usePages(MEETINGS);
  return (
    <Page
      title="Meetings"
      says="Interviews and talks in announced rooms, with what is known of them afterwards."
    >
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
            { name: 'Room', show: ({ id, room }) => <Link href={`/meetings/${id}`}>{room}</Link> },
            { name: 'Kind', show: ({ jobId }) => (jobId === null ? 'Meeting' : <Tag>Interview</Tag>) },
            { name: 'Planned', show: ({ startsAt }) => <Moment at={startsAt} never="—" /> },
            { name: 'Began', show: ({ startedAt }) => <Moment at={startedAt} never="not yet" /> },
            { name: 'Ended', show: ({ endedAt }) => <Moment at={endedAt} never="not yet" /> },
          ]}
        />
      </Card>
      <Announce changed={pages.reload} />
    </Page>
  );
}

function Announce({ changed }: { changed(): Promise<void> }) {
  const { session } = useConsole();
  const { data, error, reload } = useQuery(SUBJECTS);
  return (
    <Card title="Announce a room">
      <p className="quiet">
        With a job and a talent it is an interview: briefed when it begins, followed up when it ends.
      </p>
      <Problem error={error} retry={reload} />
      <Form
        submit="Announce"
        clears
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
          <Field label="Minutes" name="minutes" type="number" min={1} step={1} />
          <Choice label="Job" name="job">
            <option value="">None</option>
            {data?.jobs.nodes.map(({ id, title }) => (
              <option key={id} value={id}>
                {title}
              </option>
            ))}
          </Choice>
          <Choice label="Talent" name="talent">
            <option value="">None</option>
            {data?.talents.nodes.map(({ id, name }) => (
              <option key={id} value={id}>
                {name ?? 'Without a name'}
              </option>
            ))}
          </Choice>
        </div>
      </Form>
    </Card>
  );
}
