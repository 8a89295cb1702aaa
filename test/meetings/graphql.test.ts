import { describe, expect, test } from 'bun:test';
import { openBackend } from '../backend/backend-under-test.ts';
import { addJob, addTalent } from '../matching/matching-world.ts';
import { useResource } from '../setup/use-resource.ts';

const backend = useResource(() => openBackend());

const CREATE = `mutation($input: MeetingInput!) { createMeeting(input: $input) {
  id room startsAt plannedMinutes startedAt endedAt jobId talentId insight briefing } }`;
interface Created {
  readonly createMeeting: { readonly id: string; readonly room: string };
}

describe('P-15 meetings', () => {
  test('P-15 a member announces a room, sees it, adds a transcript; the audit log has it', async () => {
    const { member, admin } = backend.people;
    const startsAt = new Date(backend.clock.now() + 60_000).toISOString();
    const input = { room: 'Interview-1', startsAt, plannedMinutes: 30 };
    const { createMeeting } = await member.ask<Created>(CREATE, { input });
    expect(createMeeting).toMatchObject({ room: 'interview-1', startsAt, startedAt: null, insight: null });
    expect(await member.ask('{ meetings { nodes { id } pageInfo { hasNextPage } } }')).toEqual({
      meetings: { nodes: [{ id: createMeeting.id }], pageInfo: { hasNextPage: false } },
    });
    const add =
      'mutation($id: ID!, $text: String!) { addMeetingTranscript(meetingId: $id, text: $text) { id } }';
    await member.ask(add, { id: createMeeting.id, text: 'Ada: Hello.' });
    expect(backend.queued).toContainEqual({ queue: 'meeting', data: { meetingId: createMeeting.id } });
    expect((await member.refusal(add, { id: createMeeting.id, text: ' ' })).extensions.code).toBe(
      'BAD_USER_INPUT',
    );
    const { auditLog } = await admin.ask<{ auditLog: { nodes: { action: string }[] } }>(
      '{ auditLog(first: 2) { nodes { action } } }',
    );
    expect(auditLog.nodes.map(({ action }) => action)).toEqual([
      'meeting.transcript-added',
      'meeting.announced',
    ]);
  });

  test('P-15 another company’s job, talent or room is refused, and so is what cannot be', async () => {
    const { database, companies, people } = backend;
    const jobId = await addJob(database, companies.other, {});
    const talentId = await addTalent(database, companies.other, {});
    const code = async (input: Record<string, unknown>) =>
      (await people.member.refusal(CREATE, { input: { room: 'r', ...input } })).extensions.code;
    expect(await code({ jobId })).toBe('NOT_FOUND');
    expect(await code({ talentId })).toBe('NOT_FOUND');
    expect(await code({ room: ' ' })).toBe('BAD_USER_INPUT');
    expect(await code({ plannedMinutes: 0 })).toBe('BAD_USER_INPUT');
    expect(await code({ startsAt: '2020-01-01T00:00:00Z' })).toBe('BAD_USER_INPUT');
    await people.otherAdmin.ask(CREATE, { input: { room: 'theirs' } });
    expect(await code({ room: 'THEIRS' })).toBe('CONFLICT');
  });

  test('P-15 whoever is erased takes their meetings with them', async () => {
    const { database, companies, people } = backend;
    const talentId = await addTalent(database, companies.acme, {});
    const { createMeeting } = await people.member.ask<Created>(CREATE, {
      input: { room: 'erased', talentId },
    });
    await people.admin.ask('mutation($id: ID!) { eraseTalent(id: $id) }', { id: talentId });
    expect(await database.query('select 1 from meetings where id = $1', [createMeeting.id])).toEqual([]);
  });
});
