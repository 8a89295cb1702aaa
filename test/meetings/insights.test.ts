import { describe, expect, test } from 'bun:test';
import { deleteTranscript } from '../../src/domain/meetings/transcript.ts';
import { addJob, addTalent } from '../matching/matching-world.ts';
import { useDatabase } from '../setup/use-database.ts';
import { ADA, type MeetingsUnderTest, openMeetings, plain, serverEvents, T0 } from './meetings-under-test.ts';

const TRANSCRIPT = `Ada: Welcome Bob. Today we look at your experience with databases and at the plan for the first months.
Bob: I worked with databases for six years, mostly PostgreSQL, and planned the migration of a large warehouse.
Ada: How did you test the migration?
Bob: We compared every table of the warehouse before and after, and measured the queries of the databases.
Ada: We decided to offer you the second interview with the platform team.
Ada: I will send you the exercise by Friday.`;

const database = useDatabase();
let world: MeetingsUnderTest;

async function held(room: string, until = T0 + 1_860) {
  for (const { path, body } of serverEvents(room, T0 + 60, until)) await world.post(path, body);
}

async function addMatch(jobId: string, talentId: string): Promise<void> {
  await database.query(
    `insert into match_scores (id, job_id, talent_id, company_id, job_version, talent_version, scorer_version,
       weights_version, score, job_to_talent, talent_to_job, parts, reasons, missing, engine, updated_at)
     values ($1, $2, $3, $4, 1, 1, 1, 0, 80, 80, 80, '[]', '{"Has python."}', '{"sql"}', 'embedded', now())`,
    [world.secrets.newId(), jobId, talentId, world.companyId],
  );
}

describe('A-7 insights', () => {
  test('A-7 attendance, lateness, overrun and talk share; a briefing, and one reminder for the interviewer', async () => {
    world = await openMeetings(database);
    const [jobId, talentId] = [
      await addJob(database, world.companyId, {}),
      await addTalent(database, world.companyId, {}),
    ];
    await addMatch(jobId, talentId);
    const startsAt = new Date(T0 * 1_000);
    const announced = await world.announce('Interview', { startsAt, plannedMinutes: 20, jobId, talentId });
    expect(announced.outcome).toBe('announced');
    await world.clock.advance(2_000_000);
    await held('interview');
    await world.workOff();
    const [meeting] = await world.meetings('interview');
    expect(meeting?.briefing).toMatchObject({ score: 80, fits: ['Has python.'], askAbout: ['sql'] });
    expect(meeting?.insight).toMatchObject({
      status: 'held',
      durationSeconds: 1_800,
      startedLateSeconds: 60,
      overrunSeconds: 660,
      isNoShow: false,
      summary: null,
      attendees: [
        { name: 'Ada', seconds: 1_800, joins: 1, lateSeconds: 60, talkShare: 0.25 },
        { name: 'Bob', seconds: 1_620, joins: 1, lateSeconds: 180, talkShare: 0.75 },
      ],
    });
    expect(meeting?.insight?.missing.join()).toContain('There is no transcript');
    expect(world.mails.size).toBe(0);
    await world.clock.advance(1_000_000);
    await world.workOff();
    expect([...world.mails.values()]).toEqual([
      expect.objectContaining({ to: expect.stringContaining('@acme.example') }),
    ]);
  });

  test('A-7 no one is reminded of an interview whose notes are there', async () => {
    const links = {
      jobId: await addJob(database, world.companyId, {}),
      talentId: await addTalent(database, world.companyId, {}),
    };
    const announced = await world.announce('noted', links);
    const id = announced.outcome === 'announced' ? announced.meeting.id : '';
    const nowSeconds = world.clock.now() / 1_000;
    for (const { path, body } of serverEvents('noted', nowSeconds, nowSeconds + 600)) {
      expect((await world.post(path, body)).status).toBe(202);
    }
    await world.clock.advance(600_000);
    await world.workOff();
    await world.post(`meetings/${id}/transcript`, { kind: 'notes', text: 'Has led two teams.' });
    await world.clock.advance(1_000_000);
    await world.workOff();
    const [meeting] = await world.meetings('noted');
    expect(meeting?.insight).toMatchObject({ status: 'held', isNoShow: false });
    expect([...world.mails.values()].filter(({ data }) => data.meetingId === id)).toEqual([]);
  });

  test('A-7 a transcript gives summary, decisions, action items and questions in its own words, and once', async () => {
    const announced = await world.announce('talk');
    const id = announced.outcome === 'announced' ? announced.meeting.id : '';
    expect((await world.post(`meetings/${id}/transcript`, { text: TRANSCRIPT })).status).toBe(202);
    await world.workOff();
    const [meeting] = await world.meetings('talk');
    const summary = meeting?.insight?.summary;
    expect(summary).toMatchObject({
      engine: 'embedded',
      decisions: [
        { speaker: 'Ada', text: 'We decided to offer you the second interview with the platform team.' },
      ],
      actionItems: [{ speaker: 'Ada', text: 'I will send you the exercise by Friday.' }],
      questions: [{ speaker: 'Ada', text: 'How did you test the migration?' }],
    });
    for (const sentence of summary?.summary ?? [''])
      expect(TRANSCRIPT).toContain(sentence.split(': ')[1] ?? '?');
    await world.post(`meetings/${id}/transcript`, { text: TRANSCRIPT });
    expect(world.waiting.filter(({ dueMs }) => dueMs === 0)).toEqual([]);
  });

  test('G-28 a model’s summary is stored and charged once, and invented content is left out', async () => {
    const charges: boolean[] = [];
    const said = (text: string, quote: string) => ({ text, quote, speaker: 'Ada' });
    const answer = JSON.stringify({
      summary: ['An interview about databases.'],
      decisions: [said('Offer a second interview.', 'offer you the second interview')],
      actionItems: [said('Pay a million.', 'I will pay you a million')],
      questions: [],
    });
    const modelled = await openMeetings(database, {
      ask: async () => ({
        answer,
        charge: async (_transaction, isUsable) => void charges.push(isUsable),
        release: async () => {},
      }),
    });
    const announced = await modelled.announce('modelled');
    const id = announced.outcome === 'announced' ? announced.meeting.id : '';
    await modelled.post(`meetings/${id}/transcript`, { text: TRANSCRIPT });
    await modelled.workOff();
    await modelled.post('events/room/created', plain('room_created', 'modelled', T0));
    await modelled.workOff();
    const [meeting] = await modelled.meetings('modelled');
    expect(meeting?.insight?.summary).toMatchObject({
      engine: 'model',
      decisions: [{ text: 'Offer a second interview.' }],
      actionItems: [],
    });
    expect(charges).toEqual([true]);
  });

  test('A-7 the summary of a text that is deleted while a model reads it is discarded, whatever follows', async () => {
    const charges: boolean[] = [];
    const readings: string[] = [];
    const deleting = await openMeetings(database, {
      async ask(question) {
        readings.push(question.data);
        if (readings.length === 1) {
          const wanted = { meetingId: id, companyId: deleting.companyId };
          await database.transaction((transaction) => deleteTranscript(transaction, deleting, wanted));
          await deleting.post(`meetings/${id}/transcript`, { text: 'Decisions: none yet', kind: 'notes' });
        }
        return {
          answer: JSON.stringify({ summary: [question.data], decisions: [], actionItems: [], questions: [] }),
          charge: async (_transaction, isUsable) => void charges.push(isUsable),
          release: async () => {},
        };
      },
    });
    const announced = await deleting.announce('deleted-meanwhile');
    const id = announced.outcome === 'announced' ? announced.meeting.id : '';
    await deleting.post(`meetings/${id}/transcript`, { text: 'Ada: This must be forgotten.' });
    await deleting.workOff();
    const [meeting] = await deleting.meetings('deleted-meanwhile');
    expect(meeting?.insight?.summary?.summary.join()).toContain('none yet');
    expect(JSON.stringify(meeting)).not.toContain('forgotten');
    expect(charges).toEqual([true]);
  });

  test('A-7 an answer with characters that cannot be stored is rejected', async () => {
    const lists = { decisions: [], actionItems: [], questions: [] };
    const odd = await openMeetings(database, {
      ask: async () => ({
        answer: JSON.stringify({ summary: ['a\u0000b'], ...lists }),
        charge: async () => {},
        release: async () => {},
      }),
    });
    const announced = await odd.announce('odd-answer');
    const id = announced.outcome === 'announced' ? announced.meeting.id : '';
    await odd.post(`meetings/${id}/transcript`, { text: TRANSCRIPT });
    await odd.workOff();
    expect((await odd.meetings('odd-answer'))[0]?.insight?.summary?.engine).toBe('embedded');
  });

  test('A-7 a meeting without participants, or with one, is reported as such, and no reminder is sent', async () => {
    const startsAt = new Date(world.clock.now());
    await world.announce('nobody', { startsAt });
    await world.clock.advance(4 * 3_600_000 + 1);
    await world.retention();
    await world.workOff();
    expect((await world.meetings('nobody'))[0]?.insight).toMatchObject({
      status: 'not-held',
      isNoShow: true,
    });
    const now = Math.floor(world.clock.now() / 1_000);
    await world.announce('alone');
    const place = {
      room_name: 'alone',
      event_name: 'muc-room-destroyed',
      created_at: now,
      destroyed_at: now + 300,
    };
    const all_occupants = [{ ...ADA, joined_at: now, left_at: now + 300 }];
    await world.post('events/room/destroyed', { ...place, all_occupants });
    await world.workOff();
    expect((await world.meetings('alone'))[0]?.insight).toMatchObject({ isNoShow: true, status: 'held' });
  });

  test('A-7 an interview with a duplicate is briefed by the match of the talent that is matched instead', async () => {
    const [jobId, talentId, twin] = [
      await addJob(database, world.companyId, {}),
      await addTalent(database, world.companyId, {}),
      await addTalent(database, world.companyId, {}),
    ];
    await database.query('update talents set duplicate_of = $2 where id = $1', [twin, talentId]);
    await addMatch(jobId, talentId);
    await world.announce('twin', { jobId, talentId: twin });
    const now = Math.floor(world.clock.now() / 1_000);
    await world.post('events/room/created', plain('room_created', 'twin', now));
    await world.workOff();
    expect((await world.meetings('twin'))[0]?.briefing).toMatchObject({ score: 80 });
  });
});
