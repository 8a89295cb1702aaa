import { beforeAll, describe, expect, test } from 'bun:test';
import { addCompany } from '../../src/domain/accounts/company.ts';
import {
  ADA,
  type MeetingsUnderTest,
  openMeetings,
  plain,
  serverEvents,
} from '../meetings/meetings-under-test.ts';
import { useDatabase } from '../setup/use-database.ts';

const database = useDatabase();
let world: MeetingsUnderTest;
let stranger: string;
beforeAll(async () => {
  world = await openMeetings(database);
  stranger = world.secrets.newId();
  await addCompany(database, { id: stranger, name: 'Stranger', billingMode: 'PREPAID' });
  await world.clock.advance(3_600_000);
});

const now = () => Math.floor(world.clock.now() / 1_000);

/** Everything of a room that any company could read, as one text. */
async function readable(room: string): Promise<string> {
  await world.workOff();
  return JSON.stringify((await world.meetings(room)).filter(({ companyId }) => companyId !== null));
}

async function join(room: string, atSeconds: number) {
  const occupant = { ...ADA, joined_at: atSeconds };
  return await world.post('events/occupant/joined', {
    ...{ event_name: 'muc-occupant-joined', room_name: room, is_breakout: false, occupant },
  });
}

describe('a room that runs unannounced', () => {
  test('cannot be announced a minute after it began, with a plan or without, and its participants stay hidden', async () => {
    const room = 'board-meeting';
    await world.post('events/room/created', plain('room_created', room, now()));
    await join(room, now());
    await world.clock.advance(60_000);
    const startsAt = new Date(world.clock.now());
    for (const plan of [{}, { startsAt }, { startsAt: new Date(startsAt.getTime() - 60_000) }]) {
      expect(await world.announce(room, plan, stranger)).toEqual({ outcome: 'used-unannounced' });
      expect(await world.announce('BOARD-meeting', plan, stranger)).toEqual({ outcome: 'used-unannounced' });
    }
    await join(room, now());
    await world.post('events/room/destroyed', plain('room_destroyed', room, now() + 1));
    expect(await readable(room)).toBe('[]');
  });

  test('cannot be announced after it ended either: the next meeting under its name would be visible', async () => {
    const room = 'weekly';
    for (const { path, body } of serverEvents(room, now() - 2_000, now() - 200)) await world.post(path, body);
    expect(await world.announce(room, {}, stranger)).toEqual({ outcome: 'used-unannounced' });
    await world.clock.advance(7 * 86_400_000);
    expect(await world.announce(room, {}, stranger)).toEqual({ outcome: 'used-unannounced' });
    for (const { path, body } of serverEvents(room, now() - 2_000, now() - 200)) await world.post(path, body);
    expect(await readable(room)).toBe('[]');
  });

  test('events before the announcement are not shown, though the participants are reported after it', async () => {
    const room = 'short';
    await world.post('events/room/created', plain('room_created', room, now() - 60));
    await world.post('events/room/destroyed', plain('room_destroyed', room, now() - 1));
    await world.clock.advance(1_000);
    // No participant is known, so the name is free; its earlier use still does not belong to the announcer.
    expect((await world.announce(room, {}, stranger)).outcome).toBe('announced');
    const occupant = { ...ADA, joined_at: now() - 50, left_at: now() - 1 };
    await world.post('events/occupant/left', {
      ...{ event_name: 'muc-occupant-left', room_name: room, is_breakout: false, occupant },
    });
    expect(await readable(room)).not.toContain('Ada');
  });

  test('an owner announces its own room while it runs, and still sees all of it', async () => {
    const room = 'own-room';
    expect((await world.announce(room)).outcome).toBe('announced');
    await world.clock.advance(60_000);
    await join(room, now());
    expect((await world.announce(room)).outcome).toBe('announced');
    await world.post('events/room/destroyed', plain('room_destroyed', room, now() + 60));
    expect(await readable(room)).toContain('Ada');
    expect(await world.announce(room, {}, stranger)).toEqual({ outcome: 'taken' });
  });
});
