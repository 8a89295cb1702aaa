import { beforeAll, describe, expect, test } from 'bun:test';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { assignRoom, listUnassignedRooms, setRoomPrefix } from '../../src/domain/meetings/room-owners.ts';
import { MOST_OF_NO_COMPANY } from '../../src/domain/meetings/rooms.ts';
import { useDatabase } from '../setup/use-database.ts';
import { ADA, type MeetingsUnderTest, openMeetings, plain, serverEvents } from './meetings-under-test.ts';

const database = useDatabase();
let world: MeetingsUnderTest;
let other: string;
/** The companies whose calls the model was asked by. */
const asked: string[] = [];
beforeAll(async () => {
  world = await openMeetings(database, {
    async ask(_question, { companyId }) {
      asked.push(companyId);
      return { answer: null, charge: async () => {}, release: async () => {} };
    },
  });
  other = world.secrets.newId();
  await addCompany(database, { id: other, name: 'Other', billingMode: 'PREPAID' });
  await world.clock.advance(3_600_000);
});

const now = () => Math.floor(world.clock.now() / 1_000);
const DAY_MS = 86_400_000;

async function prefix(companyId: string, text: string) {
  return await database.transaction((transaction) =>
    setRoomPrefix(transaction, { companyId, prefix: text, now: new Date(world.clock.now()) }),
  );
}

async function assign(room: string, companyId: string) {
  return await database.transaction((transaction) => assignRoom(transaction, world, { room, companyId }));
}

async function unassigned(): Promise<readonly string[]> {
  return (await listUnassignedRooms(database, { limit: 50, after: null })).map(({ room }) => room);
}

/** A whole meeting of the documented events, which say nothing of people. */
async function hold(room: string) {
  // Long after another use of the room, so that it is a meeting of its own.
  await world.clock.advance(3_600_000);
  await world.post('events/room/created', plain('room_created', room, now()));
  await world.clock.advance(600_000);
  await world.post('events/room/destroyed', plain('room_destroyed', room, now()));
  await world.workOff();
  return await world.meetings(room.toLowerCase());
}

describe('A-7 a room prefix', () => {
  test('announces every room whose name begins with it, in any case', async () => {
    expect(await prefix(world.companyId, 'Acme-')).toEqual({ outcome: 'set', prefix: 'acme-' });
    const [meeting] = await hold('ACME-Daily');
    expect(meeting).toMatchObject({ room: 'acme-daily', companyId: world.companyId });
    expect(meeting?.insight).toMatchObject({ status: 'held' });
    await world.post(`meetings/${meeting?.id}/transcript`, { text: 'Ada: We hire Bob.' });
    await world.workOff();
    expect(asked).toEqual([world.companyId]);
    expect(await unassigned()).toEqual([]);
    expect(await hold('acmedaily')).toMatchObject([{ companyId: null }]);
  });

  test('counts for a meeting of which only the end is reported', async () => {
    const occupants = [{ ...ADA, joined_at: now(), left_at: now() + 1_800 }];
    await world.clock.advance(1_800_000);
    await world.post('events/room/destroyed', {
      ...{ event_name: 'muc-room-destroyed', room_name: 'acme-late', is_breakout: false },
      ...{ created_at: now() - 1_800, destroyed_at: now(), all_occupants: occupants },
    });
    expect(await world.meetings('acme-late')).toMatchObject([{ companyId: world.companyId }]);
  });

  test('leaves rooms that were reported before it to the operator, and those that others announced to them', async () => {
    await hold('seen-before');
    expect((await world.announce('seen-announced', {}, other)).outcome).toBe('announced');
    const third = world.secrets.newId();
    await addCompany(database, { id: third, name: 'Third', billingMode: 'PREPAID' });
    await prefix(third, 'seen-');
    expect(await hold('seen-before')).toMatchObject([{ companyId: null }, { companyId: null }]);
    expect(await hold('seen-announced')).toMatchObject([{ companyId: other }]);
    expect(await hold('seen-new')).toMatchObject([{ companyId: third }]);
    // Another company cannot announce what begins with it.
    expect(await world.announce('seen-next', {}, other)).toEqual({ outcome: 'taken' });
    expect((await world.announce('seen-next', {}, third)).outcome).toBe('announced');
  });

  test('that is another company’s, or overlaps with it, is refused, also at the same time', async () => {
    for (const text of ['acme-', 'acme-berlin', 'ac', 'A']) {
      const overlap = { outcome: 'overlaps', prefix: 'acme-', companyId: world.companyId };
      expect(await prefix(other, text)).toMatchObject(overlap);
    }
    const outcomes = await Promise.all([prefix(world.companyId, 'race'), prefix(other, 'race-2')]);
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['overlaps', 'set']);
    await prefix(other, '');
    expect(await prefix(world.companyId, 'acme-')).toMatchObject({ outcome: 'set' });
    expect(await prefix(world.companyId, 'ACME-')).toEqual({ outcome: 'unchanged' });
  });

  test('that cannot begin a name is refused, an empty one ends it for new rooms', async () => {
    for (const text of [' ', 'a ', ' a', 'a\u0000', 'x'.repeat(101)]) {
      expect(await prefix(other, text)).toMatchObject({ outcome: 'invalid' });
    }
    expect(await prefix(world.secrets.newId(), 'x')).toEqual({ outcome: 'no-such-company' });
    expect(await prefix(world.companyId, '')).toEqual({ outcome: 'set', prefix: null });
    expect(await prefix(world.companyId, '')).toEqual({ outcome: 'unchanged' });
    expect(await hold('acme-daily')).toMatchObject([
      { companyId: world.companyId },
      { companyId: world.companyId },
    ]);
    expect(await hold('acme-new')).toMatchObject([{ companyId: null }]);
  });
});

describe('A-7 a room of no company', () => {
  test('is listed, and starts its workflow when it is assigned', async () => {
    const room = 'lost';
    for (const { path, body } of serverEvents(room, now() - 3_000, now() - 2_000))
      await world.post(path, body);
    await world.clock.advance(60_000);
    const [later] = await hold(room).then((meetings) => meetings.slice(-1));
    const [listed] = await listUnassignedRooms(database, { limit: 1, after: null });
    expect(listed).toMatchObject({ room, eventCount: 8n });
    expect(listed?.firstEventAt.getTime()).toBeLessThan(listed?.lastEventAt.getTime() ?? 0);
    world.waiting.length = 0;
    const assigned = await assign('LOST', other);
    expect(assigned).toMatchObject({ outcome: 'assigned', isChanged: true, meeting: { id: later?.id } });
    expect(world.waiting).toHaveLength(2);
    await world.workOff();
    const meetings = await world.meetings(room);
    expect(meetings.map(({ companyId }) => companyId)).toEqual([other, other]);
    expect(JSON.stringify(meetings[0]?.insight)).toContain('Ada');
    expect(await unassigned()).not.toContain(room);
    expect(await hold(room)).toMatchObject([{}, {}, { companyId: other }]);
    expect(await assign(room, other)).toMatchObject({ outcome: 'assigned', isChanged: false });
    expect(await assign(room, world.companyId)).toEqual({ outcome: 'taken' });
  });

  test('that is unknown cannot be assigned, nor to an unknown company', async () => {
    expect(await assign('never-reported', other)).toEqual({ outcome: 'no-such-room' });
    expect(await assign(' ', other)).toEqual({ outcome: 'no-such-room' });
    expect(await assign('never-reported', world.secrets.newId())).toEqual({ outcome: 'no-such-company' });
  });

  test('is deleted after 30 days, and is then like a new one', async () => {
    await hold('forgotten');
    await world.clock.advance(20 * DAY_MS);
    await hold('used-again');
    await world.clock.advance(11 * DAY_MS);
    await world.retention();
    expect(await unassigned()).toEqual(['used-again']);
    expect(await database.query(`select 1 from rooms where room = 'forgotten'`)).toEqual([]);
    await prefix(other, 'forgotten');
    expect(await hold('forgotten')).toMatchObject([{ companyId: other }]);
  });

  test('is not stored beyond the limit for all of them, those of companies are', async () => {
    const [count] = await database.query<{ events: bigint }>(
      'select sum(event_count)::bigint as events from rooms where company_id is null',
    );
    const left = BigInt(MOST_OF_NO_COMPANY.events) - (count?.events ?? 0n);
    await database.query(`update rooms set event_count = event_count + $1 where room = 'used-again'`, [left]);
    const event = plain('room_created', 'one-too-many', now());
    const refused = await world.post('events/room/created', event);
    expect(refused).toMatchObject({ status: 429, body: { error: { type: 'rate_limit_error' } } });
    expect(await database.query(`select 1 from rooms where room = 'one-too-many'`)).toEqual([]);
    expect((await world.post('events/room/created', plain('room_created', 'forgotten', now()))).status).toBe(
      202,
    );
  });
});
