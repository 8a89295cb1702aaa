import type { Statements } from '../../ports/database.ts';
import { MEETING_COLUMNS, type Meeting } from './meeting.ts';

export interface MeetingWish {
  readonly limit: number;
  /** The id of the last meeting of the page before. */
  readonly after: string | null;
}

/** The newest first. Null lists what happened in rooms that nobody had announced. */
export async function listMeetings(
  statements: Statements,
  companyId: string | null,
  { limit, after }: MeetingWish,
): Promise<readonly Meeting[]> {
  return await statements.query<Meeting>(
    `select ${MEETING_COLUMNS} from meetings
     where ${companyId === null ? 'company_id is null and $1::uuid is null' : 'company_id = $1::uuid'}
       and ($2::uuid is null or id < $2::uuid)
     order by id desc limit $3`,
    [companyId, after, limit],
  );
}

export async function findMeeting(statements: Statements, id: string): Promise<Meeting | null> {
  const [meeting] = await statements.query<Meeting>(`select ${MEETING_COLUMNS} from meetings where id = $1`, [
    id,
  ]);
  return meeting ?? null;
}
