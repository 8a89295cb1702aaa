import type { Database, Transaction } from '../../ports/database.ts';
import { type LockedRoom, type RefoldParts, refoldRoom } from './refold-room.ts';
import { dedupeKeyOf, type Occupant, type RoomEvent } from './room-event.ts';
import { findMeetingOfEvent, insertEvent } from './room-events-kept.ts';

export interface ReceivedEvent extends RoomEvent {
  readonly room: string;
  readonly roomJid: string | null;
  readonly breakoutId: string | null;
}

export type Reception =
  | { readonly outcome: 'received'; readonly meetingId: string; readonly isNew: boolean }
  /** Its time is so far off that it cannot be one of ours. */
  | { readonly outcome: 'far-off'; readonly message: string };

const MINUTE_MS = 60_000;
/** A sender that was away tells what it has kept; one whose clock is wrong must not end a meeting of next year. */
const OLDEST_MS = 7 * 24 * 60 * MINUTE_MS;
const NEWEST_MS = 10 * MINUTE_MS;

/**
 * Writes down what the meeting server told and says which meeting it belongs to. All of it is one short transaction;
 * what takes longer is in the queue when it commits. The same event again changes nothing.
 */
export async function receiveEvent(
  { database, ...parts }: RefoldParts & { readonly database: Database },
  event: ReceivedEvent,
): Promise<Reception> {
  const nowMs = parts.clock.now();
  const isFarOff = (ms: number) => ms < nowMs - OLDEST_MS || ms > nowMs + NEWEST_MS;
  if (isFarOff(event.happenedAtMs) || isFarOff(event.beganAtMs ?? event.happenedAtMs)) {
    const message =
      'The time is more than 7 days ago or more than 10 minutes ahead: check the sender’s clock.';
    return { outcome: 'far-off', message };
  }
  if (event.beganAtMs !== null && event.beganAtMs > event.happenedAtMs) {
    return { outcome: 'far-off', message: 'What ends must have begun before: the two times are mixed up.' };
  }
  const { room, roomJid: jid, breakoutId } = event;
  const dedupeKey = dedupeKeyOf(event, { jid, breakoutId });
  const occupants = event.occupants.map((occupant) => withoutFarOff(occupant, isFarOff));
  return await database.transaction(async (transaction) => {
    const locked = await lockRoom(transaction, room);
    const added = await insertEvent(transaction, room, {
      ...event,
      ...{ occupants, dedupeKey, receivedAt: new Date(nowMs) },
    });
    if (added !== null) await refoldRoom(transaction, parts, locked);
    const meetingId = await findMeetingOfEvent(transaction, room, dedupeKey);
    if (meetingId === null) throw new Error('an event of a room belongs to no meeting');
    return { outcome: 'received', meetingId, isNew: added !== null };
  });
}

/** Of who is in a list beside the event only the time is dropped: what the room did is still true. */
function withoutFarOff(occupant: Occupant, isFarOff: (ms: number) => boolean): Occupant {
  const near = (ms: number | null) => (ms === null || isFarOff(ms) ? null : ms);
  return { ...occupant, joinedAtMs: near(occupant.joinedAtMs), leftAtMs: near(occupant.leftAtMs) };
}

/** Makes the room known, too. Whoever else comes waits for this transaction's end. */
export async function lockRoom(transaction: Transaction, room: string): Promise<LockedRoom> {
  const [locked] = await transaction.query<LockedRoom>(
    `insert into rooms (room) values ($1) on conflict (room) do update set room = excluded.room
     returning room, company_id as "companyId", announced_at as "announcedAt"`,
    [room],
  );
  if (locked === undefined) throw new Error('a room could not be locked');
  return locked;
}
