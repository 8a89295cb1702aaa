import type { Transaction } from '../../ports/database.ts';
import { lockJobKey } from '../jobs/job.ts';
import { lockTalentKey } from '../talents/talent.ts';
import { lockMeeting, MEETING_COLUMNS, MEETING_QUEUE, type Meeting } from './meeting.ts';
import { roomNameOf } from './room-events.ts';
import { lockRoom, type RefoldParts, refoldRoom, wasUsedByOthers } from './rooms.ts';

interface MeetingParams {
  readonly companyId: string;
  readonly createdBy: string;
  readonly room: string;
  readonly startsAt: Date | null;
  readonly plannedMinutes: number | null;
  readonly jobId: string | null;
  readonly talentId: string | null;
}

type Announced =
  | { readonly outcome: 'announced'; readonly meeting: Meeting }
  /** Another company has announced this room. */
  | { readonly outcome: 'taken' }
  /** The room is in use, or people were in it before any company announced it: they may be strangers to this company. */
  | { readonly outcome: 'used-unannounced' }
  | { readonly outcome: 'unknown'; readonly what: 'job' | 'talent' }
  | {
      readonly outcome: 'invalid';
      readonly field: 'room' | 'startsAt' | 'plannedMinutes';
      readonly message: string;
    };

const DAY_MS = 86_400_000;
const LONGEST_MINUTES = 1_440;

/**
 * Announces a room for the company, which owns its name from then on. Earlier reports about the room stay visible to
 * super admins only.
 */
export async function announceMeeting(
  transaction: Transaction,
  parts: RefoldParts,
  params: MeetingParams,
): Promise<Announced> {
  const { companyId, createdBy, startsAt, plannedMinutes, jobId, talentId } = params;
  const now = new Date(parts.clock.now());
  const invalid = problemOf(params, now.getTime());
  if (invalid !== null) return invalid;
  const room = roomNameOf(params.room) ?? '';
  if (jobId !== null && !(await lockJobKey(transaction, companyId, jobId)))
    return { outcome: 'unknown', what: 'job' };
  if (talentId !== null && !(await lockTalentKey(transaction, companyId, talentId)))
    return { outcome: 'unknown', what: 'talent' };
  const locked = await lockRoom(transaction, room);
  if (locked.companyId !== null && locked.companyId !== companyId) return { outcome: 'taken' };
  if (locked.companyId === null && (await wasUsedByOthers(transaction, room, now.getTime()))) {
    return { outcome: 'used-unannounced' };
  }
  const announcedAt = locked.announcedAt ?? now;
  await transaction.query('update rooms set company_id = $2, announced_at = $3 where room = $1', [
    room,
    companyId,
    announcedAt,
  ]);
  const id = parts.secrets.newId();
  await transaction.query(
    `insert into meetings (id, room, company_id, origin, starts_at, planned_minutes, job_id, talent_id, created_by,
       announced_at, created_at, updated_at)
     values ($1, $2, $3, 'announced', $4, $5, $6, $7, $8, $9, $9, $9)`,
    [id, room, companyId, startsAt, plannedMinutes, jobId, talentId, createdBy, now],
  );
  await refoldRoom(transaction, parts, { room, companyId, announcedAt });
  const [meeting] = await transaction.query<Meeting>(
    `select ${MEETING_COLUMNS} from meetings where id = $1`,
    [id],
  );
  if (meeting === undefined) throw new Error('a meeting that was just announced is not there');
  return { outcome: 'announced', meeting };
}

interface MeetingLinkParams {
  readonly meetingId: string;
  readonly companyId: string;
  /** Null removes the link. */
  readonly jobId: string | null;
  readonly talentId: string | null;
}

type Linked =
  | { readonly outcome: 'linked'; readonly meeting: Meeting }
  | { readonly outcome: 'unknown'; readonly what: 'meeting' | 'job' | 'talent' };

/**
 * Sets or corrects what a meeting was about; its briefing and insight are derived again. Locks are taken in the same
 * order as in an erasure, which locks the talent before the meeting.
 */
export async function linkMeeting(
  transaction: Transaction,
  { jobQueue, clock }: Pick<RefoldParts, 'jobQueue' | 'clock'>,
  { meetingId, companyId, jobId, talentId }: MeetingLinkParams,
): Promise<Linked> {
  if (jobId !== null && !(await lockJobKey(transaction, companyId, jobId)))
    return { outcome: 'unknown', what: 'job' };
  if (talentId !== null && !(await lockTalentKey(transaction, companyId, talentId)))
    return { outcome: 'unknown', what: 'talent' };
  const before = await lockMeeting(transaction, meetingId);
  if (before === null || before.companyId !== companyId) return { outcome: 'unknown', what: 'meeting' };
  const [meeting] = await transaction.query<Meeting>(
    `update meetings set job_id = $2, talent_id = $3, updated_at = $4,
       briefing = case when job_id is distinct from $2 or talent_id is distinct from $3 then null else briefing end
     where id = $1 returning ${MEETING_COLUMNS}`,
    [meetingId, jobId, talentId, new Date(clock.now())],
  );
  if (meeting === undefined) return { outcome: 'unknown', what: 'meeting' };
  await jobQueue.enqueue(MEETING_QUEUE.name, { meetingId }, { within: transaction, owner: companyId });
  return { outcome: 'linked', meeting };
}

function problemOf(
  { room, startsAt, plannedMinutes }: MeetingParams,
  nowMs: number,
): Extract<Announced, { outcome: 'invalid' }> | null {
  if (roomNameOf(room) === null) {
    const message = 'a room’s name has 1 to 300 characters, none of them a control character';
    return { outcome: 'invalid', field: 'room', message };
  }
  const awayMs = (startsAt?.getTime() ?? nowMs) - nowMs;
  if (awayMs < -DAY_MS || awayMs > 730 * DAY_MS) {
    const message = 'a meeting begins at most a day ago and within two years';
    return { outcome: 'invalid', field: 'startsAt', message };
  }
  const minutes = plannedMinutes ?? 1;
  if (minutes >= 1 && minutes <= LONGEST_MINUTES) return null;
  const message = `a whole number from 1 to ${LONGEST_MINUTES} is needed`;
  return { outcome: 'invalid', field: 'plannedMinutes', message };
}
