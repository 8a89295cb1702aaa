import { describe, expect, test } from 'bun:test';
import { createMailOutbox } from '../../src/domain/mail/outbox.ts';
import { receiveEvent } from '../../src/domain/meetings/rooms.ts';
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

  test('P-15 another company’s job, talent or room is refused, and so are invalid values', async () => {
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
});

const SET_PREFIX =
  'mutation($id: ID!, $prefix: String!) { setRoomPrefix(companyId: $id, prefix: $prefix) { id roomPrefix } }';
const ASSIGN = 'mutation($id: ID!, $room: String!) { assignRoom(room: $room, companyId: $id) { id room } }';
const ROOMS =
  '{ unassignedRooms { nodes { room events firstEventAt lastEventAt } pageInfo { hasNextPage endCursor } } }';

describe('A-7 rooms that operators give to companies', () => {
  test('A-7 a super admin sets a prefix, and assigns a room that was reported; the audit log has both', async () => {
    const { people, companies, database, parts, clock } = backend;
    const { superAdmin, admin, member } = people;
    expect(await superAdmin.ask(SET_PREFIX, { id: companies.acme, prefix: 'Acme/' })).toEqual({
      setRoomPrefix: { id: companies.acme, roomPrefix: 'acme/' },
    });
    expect(await member.ask('{ company { roomPrefix } }')).toEqual({ company: { roomPrefix: 'acme/' } });
    const overlap = await superAdmin.refusal(SET_PREFIX, { id: companies.other, prefix: 'acme/x' });
    expect(overlap).toMatchObject({ extensions: { code: 'BAD_USER_INPUT', field: 'prefix' } });
    expect(overlap.message).toContain(`company ${companies.acme} has the prefix "acme/"`);
    const event = { kind: 'created', isBreakout: false, happenedAtMs: clock.now(), beganAtMs: null } as const;
    const place = { room: 'nobody', roomJid: null, breakoutId: null, occupants: [] };
    await receiveEvent({ ...parts, database }, { ...event, ...place });
    const at = new Date(clock.now()).toISOString();
    expect(await superAdmin.ask(ROOMS)).toMatchObject({
      unassignedRooms: { nodes: [{ room: 'nobody', events: 1, firstEventAt: at, lastEventAt: at }] },
    });
    const { assignRoom } = await superAdmin.ask<{ assignRoom: { id: string; room: string } }>(ASSIGN, {
      ...{ id: companies.acme, room: 'Nobody' },
    });
    expect(assignRoom.room).toBe('nobody');
    const seen = await member.ask('query($id: ID!) { meeting(id: $id) { id } }', { id: assignRoom.id });
    expect(seen).toEqual({ meeting: { id: assignRoom.id } });
    const { auditLog } = await admin.ask<{ auditLog: { nodes: object[] } }>(
      '{ auditLog(first: 2) { nodes { action objectId details } } }',
    );
    expect(auditLog.nodes).toMatchObject([
      { action: 'meeting.room-assigned', objectId: assignRoom.id },
      { action: 'company.room-prefix-set', objectId: companies.acme, details: { prefix: 'acme/' } },
    ]);
    expect((await superAdmin.refusal(ASSIGN, { id: companies.other, room: 'nobody' })).extensions.code).toBe(
      'CONFLICT',
    );
    expect((await superAdmin.refusal(ASSIGN, { id: companies.other, room: 'none' })).extensions.code).toBe(
      'NOT_FOUND',
    );
    for (const [query, variables] of [
      [SET_PREFIX, { id: companies.acme, prefix: 'x' }],
      [ASSIGN, { id: companies.acme, room: 'nobody' }],
      [ROOMS, {}],
    ] as const) {
      expect((await admin.refusal(query, variables)).extensions.code).toBe('FORBIDDEN');
    }
  });
});

const SUMMARY = {
  engine: 'embedded',
  summary: ['Ada: The candidate has led two teams.'],
  decisions: [{ text: 'We decided to *offer* a trial day.', speaker: 'Ada' }],
  actionItems: [{ text: 'I will send the contract by Friday.', speaker: null }],
  questions: [{ text: 'When can she start?', speaker: null }],
};

/** A meeting whose transcript has been summarised by the worker. */
async function summarised(room: string, links: Record<string, string> = {}): Promise<string> {
  const { member } = backend.people;
  const { createMeeting } = await member.ask<Created>(CREATE, { input: { room, ...links } });
  const { id } = createMeeting;
  await member.ask(ADD, { id, text: 'Ada: We decided to offer a trial day.' });
  await backend.database.query('update meeting_transcripts set summary = $2 where meeting_id = $1', [
    id,
    SUMMARY,
  ]);
  await backend.database.query('update meetings set insight = $2 where id = $1', [id, { summary: SUMMARY }]);
  return id;
}

const ADD = `mutation($id: ID!, $text: String!, $kind: MeetingTextKind) {
  addMeetingTranscript(meetingId: $id, text: $text, kind: $kind) { id } }`;
const EXPORT = `query($id: ID!, $format: MeetingSummaryFormat) { meetingSummary(meetingId: $id, format: $format) }`;
const LINK = `mutation($id: ID!, $jobId: ID, $talentId: ID) {
  linkMeeting(meetingId: $id, jobId: $jobId, talentId: $talentId) { jobId talentId briefing } }`;
const MAIL = 'mutation($id: ID!, $to: [String!]!) { mailMeetingSummary(meetingId: $id, to: $to) }';

describe('P-15 changes of a meeting', () => {
  test('P-15 the job and the talent of a meeting are linked later, corrected and removed', async () => {
    const { database, companies, people, queued } = backend;
    const jobId = await addJob(database, companies.acme, {});
    const talentId = await addTalent(database, companies.acme, {});
    const { createMeeting } = await people.member.ask<Created>(CREATE, { input: { room: 'linked-later' } });
    const { id } = createMeeting;
    const before = queued.length;
    expect(await people.member.ask(LINK, { id, jobId, talentId })).toEqual({
      linkMeeting: { jobId, talentId, briefing: null },
    });
    expect(queued.slice(before)).toEqual([{ queue: 'meeting', data: { meetingId: id } }]);
    expect(await people.member.ask(LINK, { id, jobId })).toEqual({
      linkMeeting: { jobId, talentId: null, briefing: null },
    });
    const theirs = await addTalent(database, companies.other, {});
    expect((await people.member.refusal(LINK, { id, talentId: theirs })).extensions.code).toBe('NOT_FOUND');
    const theirJob = await addJob(database, companies.other, {});
    expect((await people.member.refusal(LINK, { id, jobId: theirJob })).extensions.code).toBe('NOT_FOUND');
    // Erasing a talent erases a meeting that was linked later, too.
    await people.member.ask(LINK, { id, talentId });
    await people.admin.ask('mutation($id: ID!) { eraseTalent(id: $id) }', { id: talentId });
    expect(await database.query('select 1 from meetings where id = $1', [id])).toEqual([]);
  });

  test('P-15 its summary is exported as Markdown or text, with spoken text escaped', async () => {
    const { database, companies, people } = backend;
    const jobId = await addJob(database, companies.acme, { title: 'Welder' });
    const id = await summarised('exported', { jobId });
    const { meetingSummary } = await people.member.ask<{ meetingSummary: string }>(EXPORT, { id });
    expect(meetingSummary).toBe(
      [
        '# Meeting in room exported',
        '',
        '- Job: Welder',
        '- Written by: sentences of the text, picked out',
        '',
        '## Summary',
        '- Ada: The candidate has led two teams.',
        '',
        '## Decisions',
        '- Ada: We decided to \\*offer\\* a trial day.',
        '',
        '## Open questions',
        '- When can she start?',
        '',
        '## Next steps',
        '- I will send the contract by Friday.',
        '',
      ].join('\n'),
    );
    const text = await people.member.ask<{ meetingSummary: string }>(EXPORT, { id, format: 'TEXT' });
    expect(text.meetingSummary).toContain('Next steps\n- I will send');
    expect(text.meetingSummary).not.toMatch(/^#|\\\*/m);
    const { createMeeting } = await people.member.ask<Created>(CREATE, { input: { room: 'unsaid' } });
    expect((await people.member.refusal(EXPORT, { id: createMeeting.id })).extensions.code).toBe('CONFLICT');
  });

  test('P-15 its summary is mailed to members, once per request, and the audit log has their number', async () => {
    const { people, summaries } = backend;
    const id = await summarised('mailed');
    const to = [people.admin.email, people.member.email];
    expect(await people.member.ask(MAIL, { id, to })).toEqual({ mailMeetingSummary: 2 });
    expect(summaries.map((mail) => mail.to).sort()).toEqual([...to].sort());
    expect(summaries[0]?.data).toMatchObject({
      meetingId: id,
      room: 'mailed',
      sentBy: people.member.email,
      sections: expect.arrayContaining([
        { name: 'Next steps', lines: ['I will send the contract by Friday.'] },
      ]),
    });
    const { auditLog } = await people.admin.ask<{
      auditLog: { nodes: { action: string; details: object }[] };
    }>('{ auditLog(first: 1) { nodes { action details } } }');
    expect(auditLog.nodes).toEqual([{ action: 'meeting.summary-mailed', details: { recipients: 2 } }]);
  });

  test('P-15 notes replace a transcript, and both are erased with their summary', async () => {
    const { database, people } = backend;
    const id = await summarised('erased-text');
    await people.member.ask(ADD, { id, text: 'Decisions: trial day', kind: 'NOTES' });
    expect(
      await database.query('select kind, version, summary from meeting_transcripts where meeting_id = $1', [
        id,
      ]),
    ).toEqual([{ kind: 'notes', version: 2, summary: null }]);
    const erase = 'mutation($id: ID!) { deleteMeetingTranscript(meetingId: $id) }';
    expect(await people.member.ask(erase, { id })).toEqual({ deleteMeetingTranscript: true });
    expect(await database.query('select 1 from meeting_transcripts where meeting_id = $1', [id])).toEqual([]);
    const [meeting] = await database.query<{ insight: object }>(
      'select insight from meetings where id = $1',
      [id],
    );
    expect(meeting?.insight).toEqual({ summary: null });
    expect(await people.member.ask(erase, { id })).toEqual({ deleteMeetingTranscript: false });
  });

  test('P-15 mails that wait are not sent once the text that they are about was erased', async () => {
    const { database, people, parts } = backend;
    const jobQueue = { enqueue: async () => null };
    const outbox = createMailOutbox({ ...parts, jobQueue, messageIdDomain: 'mail.example' });
    const [erased, kept] = [await summarised('waiting-1'), await summarised('waiting-2')];
    const to = people.member.email;
    const common = { companyName: 'Acme', talentName: 'Grace Waiting', jobTitle: 'Welder' };
    await database.transaction(async (transaction) => {
      for (const meetingId of [erased, kept]) {
        const reminder = { ...common, meetingId, endedAt: new Date(parts.clock.now()) };
        await outbox.send({ kind: 'scorecard-reminder', to, data: reminder }, transaction);
        const summary = { ...common, meetingId, room: 'waiting', sentBy: to, sections: [] };
        await outbox.send({ kind: 'meeting-summary', to, data: summary }, transaction);
      }
    });
    await people.member.ask('mutation($id: ID!) { deleteMeetingTranscript(meetingId: $id) }', { id: erased });
    const mails = await database.query<{ kind: string; of: string | null; state: string }>(
      `select kind, data ->> 'meetingId' as of, state from mail_outbox order by id`,
    );
    expect(mails).toEqual([
      { kind: 'scorecard-reminder', of: erased, state: 'WAITING' },
      { kind: 'meeting-summary', of: null, state: 'FAILED' },
      { kind: 'scorecard-reminder', of: kept, state: 'WAITING' },
      { kind: 'meeting-summary', of: kept, state: 'WAITING' },
    ]);
  });
});
