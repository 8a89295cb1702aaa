import { beforeAll, describe, expect, test } from 'bun:test';
import { useDatabase } from '../setup/use-database.ts';
import { ADA, type MeetingsUnderTest, openMeetings, plain, T0 } from './meetings-under-test.ts';

const DAY = 86_400;
const database = useDatabase();
let world: MeetingsUnderTest;
beforeAll(async () => {
  world = await openMeetings(database);
});

const created = (room: string, timestamp: string) => ({ event: 'room_created', room, timestamp });
const iso = (ms: number | null | undefined) => (ms == null ? null : new Date(ms).toISOString());

describe('A-7 the times of room events', () => {
  test('A-7 any ISO 8601 time is accepted, and one without a zone is in UTC', async () => {
    const sent = ['2030-01-01T00:00:00', '2030-01-01T01:00:00+01:00', '2030-W01-2T00'];
    for (const [at, timestamp] of sent.entries()) {
      const { status, body } = await world.post('events/room/created', created(`iso-${at}`, timestamp));
      expect([timestamp, status, body.flags]).toEqual([timestamp, 202, []]);
      const [meeting] = await world.meetings(`iso-${at}`);
      expect([timestamp, iso(meeting?.startedAt?.getTime())]).toEqual([timestamp, iso(T0 * 1_000)]);
    }
    const server = { event_name: 'muc-room-created', room_name: 'iso-ms', created_at: T0 * 1_000 };
    expect((await world.post('events/room/created', server)).body.flags).toEqual([]);
    const refused = await world.post('events/room/created', created('iso', 'yesterday'));
    expect([refused.status, refused.body.error]).toMatchObject([400, { param: 'timestamp' }]);
  });

  test('A-7 an event of the past is recorded at its own time and flagged; no reminder is sent for it', async () => {
    const at = T0 - 400 * DAY;
    const first = await world.post('events/room/created', plain('room_created', 'old', at));
    const last = await world.post('events/room/destroyed', plain('room_destroyed', 'old', at + 1_800));
    expect([first.status, first.body.flags]).toEqual([202, ['old_timestamp']]);
    expect([last.status, last.body.meeting_id]).toEqual([202, first.body.meeting_id]);
    const again = await world.post('events/room/created', plain('room_created', 'old', at));
    expect(again.body).toEqual({
      meeting_id: first.body.meeting_id,
      ...{ repeated: true, flags: ['old_timestamp'] },
    });
    await world.workOff();
    const meetings = await world.meetings('old');
    expect(
      meetings.map(({ startedAt, endedAt }) => [iso(startedAt?.getTime()), iso(endedAt?.getTime())]),
    ).toEqual([[iso(at * 1_000), iso((at + 1_800) * 1_000)]]);
    expect(meetings[0]?.insight?.warnings).toEqual([expect.stringContaining('more than 7 days late')]);
    // What is new in the room is a meeting of its own, and the old one stays.
    await world.post('events/room/created', plain('room_created', 'old', T0));
    expect((await world.meetings('old')).map(({ id }) => id)[0]).toBe(String(first.body.meeting_id));
    expect(await world.meetings('old')).toHaveLength(2);
    expect(world.mails.size).toBe(0);
  });

  test('A-7 an event of the future counts at its arrival: a wrong clock ends no meeting of next year', async () => {
    const next = await world.announce('future', { startsAt: new Date((T0 + 365 * DAY) * 1_000) });
    const ahead = T0 + 365 * DAY;
    const first = await world.post('events/room/created', plain('room_created', 'future', ahead));
    expect([first.status, first.body.flags]).toEqual([202, ['future_timestamp']]);
    await world.clock.advance(600_000);
    const place = { room_name: 'future', is_breakout: false };
    const body = { event_name: 'muc-room-destroyed', ...place, created_at: ahead, destroyed_at: ahead + 600 };
    const ada = { ...ADA, joined_at: ahead + 60, left_at: ahead + 540 };
    const last = await world.post('events/room/destroyed', { ...body, all_occupants: [ada] });
    expect([last.status, last.body.meeting_id]).toEqual([202, first.body.meeting_id]);
    expect(
      (await world.post('events/room/created', plain('room_created', 'future', ahead))).body.repeated,
    ).toBe(true);
    await world.workOff();
    const [held, planned] = await world.meetings('future');
    expect([held?.startedAt, held?.endedAt].map((one) => iso(one?.getTime()))).toEqual([
      iso(T0 * 1_000),
      iso((T0 + 600) * 1_000),
    ]);
    expect(held?.insight?.attendees).toMatchObject([{ joinedAt: iso((T0 + 60) * 1_000), seconds: 480 }]);
    expect(held?.insight?.warnings).toEqual([expect.stringContaining('time of receipt')]);
    expect([planned?.id, planned?.startedAt]).toEqual([
      next.outcome === 'announced' ? next.meeting.id : '',
      null,
    ]);
    const stored = await database.query<{ sentAt: Date }>(
      `select sent_at as "sentAt" from room_events where room = 'future' and kind = 'created'`,
    );
    expect(iso(stored[0]?.sentAt.getTime())).toBe(iso(ahead * 1_000));
  });

  test('A-7 a start that does not match the end is not used; occupants of both hooks are read alike', async () => {
    const now = T0 + 600;
    const place = { room_name: 'mixed', room_jid: 'j'.repeat(900), is_breakout: false };
    const ended = { event_name: 'muc-room-destroyed', ...place, created_at: now + 60, destroyed_at: now };
    const { status, body } = await world.post('events/room/destroyed', ended);
    expect([status, body.flags]).toEqual([202, ['inconsistent_times']]);
    const [meeting] = await world.meetings('mixed');
    expect(meeting?.sessions).toMatchObject([{ startedAt: null, startKnown: false, endKnown: true }]);
    const who = { ...ADA, name: 'A'.repeat(5_000), joined_at: '2030-01-01T00:01:00', left_at: -1 };
    const joined = { event_name: 'muc-occupant-joined', ...place, room_name: 'named', occupant: who };
    const came = await world.post('events/occupant/joined', joined);
    expect([came.status, came.body.flags]).toEqual([202, []]);
    const [row] = await database.query<{ occupants: readonly { name: string; leftAtMs: unknown }[] }>(
      `select occupants from room_events where room = 'named'`,
    );
    expect([row?.occupants[0]?.name.length, row?.occupants[0]?.leftAtMs]).toEqual([300, null]);
    const left = { ...who, left_at: (T0 + 400 * DAY) * 1_000 };
    const gone = await world.post('events/occupant/left', {
      ...{ event_name: 'muc-occupant-left', ...place, room_name: 'named', occupant: left },
    });
    expect([gone.status, gone.body.flags]).toEqual([202, ['future_timestamp', 'inconsistent_times']]);
  });

  test('A-7 an old event of a room with more events than are read is a separate meeting, and ends no other', async () => {
    await world.post('events/room/created', plain('room_created', 'busy', T0 - 20 * DAY));
    await database.query(
      `insert into room_events (room, kind, is_breakout, happened_at, dedupe_key, received_at)
       select 'busy', 'joined', false, $1::timestamptz + n * interval '1 second', n::text, $1 from generate_series(1, 20000) as n`,
      [new Date(T0 * 1_000 - DAY * 1_000)],
    );
    const [before] = await world.meetings('busy');
    const old = await world.post('events/room/destroyed', plain('room_destroyed', 'busy', T0 - 30 * DAY));
    expect([old.status, old.body.flags]).toEqual([202, ['old_timestamp']]);
    const meetings = await world.meetings('busy');
    expect(meetings.map(({ id }) => id).slice(0, 2)).toEqual([
      String(old.body.meeting_id),
      String(before?.id),
    ]);
  });
});
