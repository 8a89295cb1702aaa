import type { Database } from '../../ports/database.ts';
import type { JobHandler } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import { LATEST_MS } from './assign-uses.ts';
import { ORPHAN_MS } from './fold-room.ts';
import { MEETING_QUEUE } from './queues.ts';
import { lockRoom } from './receive-event.ts';
import { type RefoldParts, refoldRoom } from './refold-room.ts';

export interface MeetingUpkeepParts extends RefoldParts {
  readonly database: Database;
  readonly log: Log;
}

const DAY_MS = 86_400_000;
/** What happened in rooms that nobody has announced. */
const KEEP_UNANNOUNCED_MS = 30 * DAY_MS;
const MOST_AT_ONCE = 500;

/** Closes what nobody ends, notes what was not held, and drops what is nobody's. */
export function createMeetingUpkeepHandler(parts: MeetingUpkeepParts): JobHandler {
  return async ({ signal }) => {
    await closeOrphans(parts, signal);
    await noteNotHeld(parts);
    await dropUnannounced(parts);
  };
}

async function closeOrphans(parts: MeetingUpkeepParts, signal: AbortSignal): Promise<void> {
  const { database, clock, log } = parts;
  const rooms = await database.query<{ room: string; firstAt: Date }>(
    `select room, min(started_at) as "firstAt" from meetings
     where ended_at is null and started_at < $1 group by room order by 2 limit ${MOST_AT_ONCE}`,
    [new Date(clock.now() - ORPHAN_MS)],
  );
  for (const { room, firstAt } of rooms) {
    if (signal.aborted) return;
    await database.transaction(async (transaction) => {
      const locked = await lockRoom(transaction, room);
      await refoldRoom(transaction, parts, locked, firstAt.getTime() - DAY_MS);
    });
  }
  if (rooms.length > 0) log.info('rooms whose end may be lost were looked at', { rooms: rooms.length });
}

async function noteNotHeld({ database, clock, jobQueue }: MeetingUpkeepParts): Promise<void> {
  const meetings = await database.query<{ id: string }>(
    `select id from meetings where started_at is null and insight is null and starts_at < $1
     order by starts_at limit ${MOST_AT_ONCE}`,
    [new Date(clock.now() - LATEST_MS)],
  );
  for (const { id } of meetings) {
    await jobQueue.enqueue(MEETING_QUEUE.name, { meetingId: id }, { dedupeKey: `not held ${id}` });
  }
}

async function dropUnannounced({ database, clock }: MeetingUpkeepParts): Promise<void> {
  await database.query(
    `delete from meetings where id in (
       select id from meetings where company_id is null and updated_at < $1 order by id limit ${MOST_AT_ONCE})`,
    [new Date(clock.now() - KEEP_UNANNOUNCED_MS)],
  );
}
