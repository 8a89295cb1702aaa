import { type ChangeEvent, useRef } from 'react';
import { Act, Confirmed } from '../../parts/dialog.tsx';
import { saveFile } from '../../parts/files.ts';
import { Area, Choice, Form } from '../../parts/form.tsx';
import { Card, Problem } from '../../parts/page.tsx';
import { PeopleChecks, Picker } from '../../parts/picker.tsx';
import { useConsole } from '../../session/console-context.ts';
import { graphql } from '../../session/graphql.ts';
import { useAction } from '../../session/use-query.ts';

const ADD = graphql(`mutation($id: ID!, $text: String!, $kind: MeetingTextKind) {
  addMeetingTranscript(meetingId: $id, text: $text, kind: $kind) { id } }`);
const DELETE = graphql(`mutation($id: ID!) { deleteMeetingTranscript(meetingId: $id) }`);
const LINK = graphql(`mutation($id: ID!, $jobId: ID, $talentId: ID) {
  linkMeeting(meetingId: $id, jobId: $jobId, talentId: $talentId) { id } }`);
const JOBS = graphql(`query($search: String) {
  jobs(first: 50, search: $search) { nodes { id title } pageInfo { hasNextPage } } }`);
export const TALENTS_TO_PICK = graphql(`query($search: String) {
  talents(first: 50, status: READY, search: $search) { nodes { id name } pageInfo { hasNextPage } } }`);
const SUMMARY = graphql(`query($id: ID!, $format: MeetingSummaryFormat) {
  meetingSummary(meetingId: $id, format: $format) }`);
const MAIL = graphql(`mutation($id: ID!, $to: [String!]!) { mailMeetingSummary(meetingId: $id, to: $to) }`);

interface FormProps {
  readonly id: string;
  changed(): Promise<void>;
}

/** In bytes. The server accepts 500,000 characters and refuses longer text. */
const LARGEST_FILE = 2_000_000;

/** A transcript or notes, typed, pasted, or from a file whose text is put into the field. */
export function AddText({ id, changed, hasText }: FormProps & { hasText: boolean }) {
  const { session } = useConsole();
  const area = useRef<HTMLTextAreaElement>(null);
  const action = useAction();
  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const input = event.currentTarget;
    const file = input.files?.[0];
    if (file === undefined) return;
    await action.run(async () => {
      if (file.size > LARGEST_FILE) {
        input.value = '';
        throw new Error('This file is too large: at most 500,000 characters are taken. Split or shorten it.');
      }
      const text = await file.text();
      if (area.current !== null) area.current.value = text;
    });
  };
  return (
    <Card title={hasText ? 'Replace the transcript or notes' : 'Add the transcript or notes'}>
      <p className="quiet">
        A transcript is plain text with “Name:” before each turn, WebVTT or SRT. Notes have a point a line;
        headings such as “Decisions” and “Next steps” are understood. The summary follows.
      </p>
      <Form
        submit="Add"
        clears
        guards
        send={async ({ text }) => {
          const kind = text('kind') === 'NOTES' ? 'NOTES' : 'TRANSCRIPT';
          await session.request(ADD, { id, text: text('text'), kind });
          await changed();
        }}
        beside={
          hasText && (
            <Confirmed
              name="Delete the text"
              title="Delete the text and its summary?"
              says={<p>Both are erased. Mails that were sent are not recalled.</p>}
              isBig
              work={async () => {
                await session.request(DELETE, { id });
                await changed();
              }}
            />
          )
        }
      >
        <div className="beside">
          <Choice label="What it is" name="kind">
            <option value="TRANSCRIPT">A transcript</option>
            <option value="NOTES">Notes</option>
          </Choice>
          <label className="field">
            <span>From a file</span>
            <input
              type="file"
              accept=".txt,.vtt,.srt,.md,text/plain,text/vtt"
              onChange={(event) => void read(event)}
            />
          </label>
        </div>
        <Area label="Text" name="text" rows={6} required ref={area} placeholder="Ada: Welcome …" />
      </Form>
      <Problem error={action.error} />
    </Card>
  );
}

/** The job and the talent that the meeting was about. */
export function LinkMeeting(props: FormProps & { jobId: string | null; talentId: string | null }) {
  const { session } = useConsole();
  const { id, changed, jobId, talentId } = props;
  return (
    <details>
      <summary>Link a job or a talent</summary>
      <Form
        submit="Save the links"
        send={async ({ text }) => {
          await session.request(LINK, { id, jobId: text('job') || null, talentId: text('talent') || null });
          await changed();
        }}
      >
        <div className="beside">
          <Picker
            {...{ label: 'Job', name: 'job', none: 'None', query: JOBS }}
            chosen={jobId === null ? null : { id: jobId, name: 'The job that is linked now' }}
            nameOf={({ title }) => title}
          />
          <Picker
            {...{ label: 'Talent', name: 'talent', none: 'None', query: TALENTS_TO_PICK }}
            chosen={talentId === null ? null : { id: talentId, name: 'The talent that is linked now' }}
            nameOf={({ name }) => name ?? 'Without a name'}
          />
        </div>
      </Form>
    </details>
  );
}

/** Saves the summary as a file, or mails it to members. */
export function PassOn({ id, room }: { id: string; room: string }) {
  const { session } = useConsole();
  const save = async (format: 'MARKDOWN' | 'TEXT') => {
    const { meetingSummary } = await session.request(SUMMARY, { id, format });
    const isMarkdown = format === 'MARKDOWN';
    const name = `${room.replace(/[^\p{L}\p{N}-]+/gu, '-')}.${isMarkdown ? 'md' : 'txt'}`;
    saveFile(name, isMarkdown ? 'text/markdown' : 'text/plain', meetingSummary);
  };
  return (
    <Card title="Share the summary">
      <div className="row">
        <Act name="Save as Markdown" isBig work={() => save('MARKDOWN')} />
        <Act name="Save as text" isBig work={() => save('TEXT')} />
      </div>
      <Form
        submit="Send by mail"
        clears
        send={async ({ all }) => {
          await session.request(MAIL, { id, to: [...all('to')] });
        }}
      >
        <PeopleChecks legend="To" name="to" chosen={[]} />
      </Form>
    </Card>
  );
}
