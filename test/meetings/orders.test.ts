import { beforeAll, describe, expect, test } from 'bun:test';
import { hideRoomsOf, recordErasedMeetings } from '../../src/domain/meetings/erased-meetings.ts';
import { eraseTalent } from '../../src/domain/talents/personal-data.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { addTalent, addTestCompany } from '../matching/matching-world.ts';
import { useDatabase } from '../setup/use-database.ts';
import { type MeetingsUnderTest, openMeetings, plain, serverEvents, T0 } from './meetings-under-test.ts';

const database = useDatabase();
let world: MeetingsUnderTest;
beforeAll(async () => {
  world = await openMeetings(database);
  await world.clock.advance(3_600_000);
});

/** What a company sees of a room, without ids. */
async function ending(room: string) {
  await world.workOff();
  const meetings = await world.meetings(room);
  return meetings.map(({ sessions, startedAt, endedAt, insight, origin, companyId }) => {
    return { sessions, startedAt, endedAt, insight, origin, companyId };
  });
}

describe('A-7 a meeting’s events', () => {
  test('A-7 a day of a room: uses one after the other, repeats, losses, and plans: all shuffles end the same', async () => {
    const random = createSeededRandom(7);
    for (let round = 0; round < 4; round += 1) {
      const starts = [0, 2_400, 4_800].map((offset) => T0 - 7_200 + offset + random.below(300));
      const sent = starts.flatMap((start, at) => {
        const pair = [
          plain('room_created', `day-${round}`, start),
          plain('room_destroyed', `day-${round}`, start + 1_500),
        ];
        // Of each day's third use one of the two is lost.
        return at === 2 ? [pair[random.below(2)] ?? plain('room_created', `day-${round}`, start)] : pair;
      });
      let expected: unknown = null;
      for (let shuffle = 0; shuffle < 6; shuffle += 1) {
        const room = `day-${round}-${shuffle}`;
        const events = [...sent, ...sent].map((event) => ({ ...event, room, order: random.below(1_000) }));
        events.sort((a, b) => a.order - b.order);
        for (const { order: _order, ...event } of events) {
          const path = event.event === 'room_created' ? 'events/room/created' : 'events/room/destroyed';
          expect((await world.post(path, event)).status).toBe(202);
        }
        const ended = await ending(room);
        expected ??= ended;
        expect(ended).toEqual(expected as typeof ended);
      }
      expect(expected).toHaveLength(3);
    }
  });

  test('A-7 the same event again is answered with the same meeting, and changes nothing', async () => {
    const event = plain('room_created', 'again', T0);
    const first = await world.post('events/room/created', event);
    const again = await world.post('events/room/created', event);
    expect([first.status, again.status]).toEqual([202, 202]);
    expect(again.body).toEqual({ meeting_id: first.body.meeting_id, repeated: true, flags: [] });
    const later = await world.post('events/room/destroyed', plain('room_destroyed', 'AGAIN', T0 + 600));
    expect(later.body.meeting_id).toBe(first.body.meeting_id);
  });

  test('A-7 a room whose end is lost is closed after twelve hours without events; a new start closes it too', async () => {
    await world.post('events/room/created', plain('room_created', 'orphan', T0));
    await world.post('events/room/created', plain('room_created', 'twice', T0));
    await world.post('events/room/created', plain('room_created', 'twice', T0 + 1_800));
    expect((await world.meetings('twice')).map(({ endedAt }) => endedAt?.getTime() ?? null)).toEqual([
      T0 * 1_000,
      null,
    ]);
    await world.retention();
    expect((await world.meetings('orphan'))[0]?.endedAt).toBeNull();
    await world.clock.advance(12 * 3_600_000);
    await world.retention();
    const [orphan] = await ending('orphan');
    expect(orphan?.endedAt?.getTime()).toBe(T0 * 1_000);
    expect(orphan?.insight?.missing.join()).toContain('The end was not reported');
  });

  async function erase(talentId: string): Promise<void> {
    const { companyId, clock } = world;
    await database.transaction(async (transaction) => {
      let meetingIds: readonly string[] = [];
      await eraseTalent(transaction, { companyId, talentId }, async (ids) => {
        meetingIds = await recordErasedMeetings(transaction, clock, ids);
        return meetingIds;
      });
      await hideRoomsOf(transaction, meetingIds);
    });
  }

  test('P-15 events of an erased talent’s meeting that arrive late or again are not stored; the next meeting’s are', async () => {
    const { clock, companyId } = world;
    const stranger = await addTestCompany(database);
    for (let before = 0; before <= 6; before += 1) {
      const room = `erased-${before}`;
      const talentId = await addTalent(database, companyId, {});
      const announced = await world.announce(room, { talentId });
      const meetingId = announced.outcome === 'announced' ? announced.meeting.id : '';
      const from = clock.now() / 1_000 + 60;
      const events = serverEvents(room, from, from + 1_800);
      await clock.advance(3_600_000);
      for (const { path, body } of events.slice(0, before)) await world.post(path, body);
      await erase(talentId);
      expect(await world.announce(room, {}, stranger)).toEqual({ outcome: 'taken' });
      for (const { path, body } of events) {
        const late = await world.post(path, body);
        expect(late).toMatchObject({ status: 202, body: { meeting_id: meetingId, repeated: true } });
      }
      expect(await ending(room)).toEqual([]);
      expect(await database.query('select 1 from room_events where room = $1', [room])).toEqual([]);
      // Not even the name of the room is left by what arrived late.
      expect(await database.query('select 1 from rooms where room = $1', [room])).toEqual([]);
      await clock.advance(600_000);
      const next = clock.now() / 1_000;
      for (const { path, body } of serverEvents(room, next, next + 900)) await world.post(path, body);
      expect(await ending(room)).toMatchObject([{ companyId, insight: { attendees: [{}, {}] } }]);
    }
  });

  test('P-15 an erased meeting whose end is unknown ends where the next one in its room begins', async () => {
    const { clock, companyId } = world;
    const talentId = await addTalent(database, companyId, {});
    await world.announce('shared', { talentId });
    await world.post('events/room/created', plain('room_created', 'shared', clock.now() / 1_000));
    await clock.advance(3_600_000);
    const next = clock.now() / 1_000;
    const events = serverEvents('shared', next, next + 900);
    for (const { path, body } of events.slice(0, 3)) await world.post(path, body);
    await erase(talentId);
    await clock.advance(1_200_000);
    for (const { path, body } of events.slice(3)) await world.post(path, body);
    const [meeting, ...others] = await ending('shared');
    expect(others).toEqual([]);
    expect(meeting).toMatchObject({ insight: { durationSeconds: 900, attendees: [{}, {}] } });
    await clock.advance(401 * 86_400_000);
    await world.retention();
    expect(await database.query('select 1 from erased_meetings')).toEqual([]);
  });
});
