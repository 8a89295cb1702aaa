import { expect, test } from 'bun:test';
import { openBackend } from '../backend/backend-under-test.ts';
import { useResource } from '../setup/use-resource.ts';

const backend = useResource(() => openBackend());

const MAIL = 'mutation($id: ID!, $to: [String!]!) { mailMeetingSummary(meetingId: $id, to: $to) }';
const SUMMARY = { engine: 'embedded', summary: ['Said.'], decisions: [], actionItems: [], questions: [] };

async function summarised(): Promise<string> {
  const { member } = backend.people;
  const { createMeeting } = await member.ask<{ createMeeting: { id: string } }>(
    'mutation { createMeeting(input: { room: "mailed" }) { id } }',
  );
  const { id } = createMeeting;
  await member.ask('mutation($id: ID!) { addMeetingTranscript(meetingId: $id, text: "Ada: Said.") { id } }', {
    id,
  });
  await backend.database.query('update meeting_transcripts set summary = $2 where meeting_id = $1', [
    id,
    SUMMARY,
  ]);
  return id;
}

test('P-15 a summary is mailed to members only, and not by members of another company', async () => {
  const { people, summaries } = backend;
  const id = await summarised();
  const code = async (who: typeof people.member, to: readonly string[]) =>
    (await who.refusal(MAIL, { id, to })).extensions.code;
  const own = people.member.email;
  for (const to of [
    ['stranger@elsewhere.example'],
    [own, people.otherAdmin.email],
    [`${own}, stranger@elsewhere.example`],
    [`${own}\nBcc: stranger@elsewhere.example`],
    [],
    Array.from({ length: 21 }, () => own),
  ])
    expect(await code(people.member, to)).toBe('BAD_USER_INPUT');
  expect(await code(people.otherAdmin, [people.otherAdmin.email])).toBe('NOT_FOUND');
  expect(summaries).toEqual([]);
  expect(await people.member.ask(MAIL, { id, to: [own] })).toEqual({ mailMeetingSummary: 1 });
  expect(summaries.map(({ to }) => to)).toEqual([own]);
});
