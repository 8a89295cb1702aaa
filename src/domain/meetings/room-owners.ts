import type { Statements, Transaction } from '../../ports/database.ts';
import { findCompany } from '../accounts/company.ts';
import { MEETING_COLUMNS, type Meeting } from './meeting.ts';
import { roomNameOf } from './room-events.ts';
import { type RefoldParts, refoldRoom } from './rooms.ts';

/** What operators decide about rooms that no company announced: whose they are, by their beginning or one by one. */

const LONGEST_PREFIX = 100;

interface PrefixParams {
  readonly companyId: string;
  /** In any case, as names of rooms. Empty removes the prefix that the company has. */
  readonly prefix: string;
  readonly now: Date;
}

type PrefixChange =
  | { readonly outcome: 'set'; readonly prefix: string | null }
  | { readonly outcome: 'unchanged' | 'no-such-company' }
  | { readonly outcome: 'invalid'; readonly message: string }
  /** Rooms could belong to both companies. */
  | { readonly outcome: 'overlaps'; readonly prefix: string; readonly companyId: string };

/**
 * Gives the company all rooms that are reported from now on for the first time and whose names begin with the prefix, unless
 * another company has announced them. Rooms that it has already stay its own.
 */
export async function setRoomPrefix(
  transaction: Transaction,
  { companyId, prefix: text, now }: PrefixParams,
): Promise<PrefixChange> {
  const prefix = text.toLowerCase();
  if (prefix !== '' && (roomNameOf(prefix) !== prefix || prefix.length > LONGEST_PREFIX)) {
    const message = `a prefix has 1 to ${LONGEST_PREFIX} characters, none of them a control character, and no space at its ends`;
    return { outcome: 'invalid', message };
  }
  if ((await findCompany(transaction, companyId)) === null) return { outcome: 'no-such-company' };
  // Of two prefixes that are set at once, the second is compared with the first.
  await transaction.query('lock table room_prefixes in share row exclusive mode');
  const before = await findRoomPrefixes(transaction, [companyId]);
  if ((before.get(companyId) ?? '') === prefix) return { outcome: 'unchanged' };
  if (prefix === '') {
    await transaction.query('delete from room_prefixes where company_id = $1', [companyId]);
    return { outcome: 'set', prefix: null };
  }
  const [other] = await transaction.query<{ prefix: string; companyId: string }>(
    `select prefix, company_id as "companyId" from room_prefixes
     where company_id <> $1 and (starts_with(prefix, $2) or starts_with($2, prefix)) order by prefix limit 1`,
    [companyId, prefix],
  );
  if (other !== undefined) return { outcome: 'overlaps', ...other };
  await transaction.query(
    `insert into room_prefixes (company_id, prefix, set_at) values ($1, $2, $3)
     on conflict (company_id) do update set prefix = excluded.prefix, set_at = excluded.set_at`,
    [companyId, prefix, now],
  );
  return { outcome: 'set', prefix };
}

/** By company; those without a prefix are left out. */
export async function findRoomPrefixes(
  statements: Statements,
  companyIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await statements.query<{ companyId: string; prefix: string }>(
    'select company_id as "companyId", prefix from room_prefixes where company_id = any($1::uuid[])',
    [companyIds],
  );
  return new Map(rows.map(({ companyId, prefix }) => [companyId, prefix]));
}

/** A room of no company. Its times are those of receipt. */
export interface UnassignedRoom {
  readonly number: bigint;
  readonly room: string;
  readonly eventCount: bigint;
  readonly firstEventAt: Date;
  readonly lastEventAt: Date;
}

/** Newest first. `after` is the last number of the previous page. */
export async function listUnassignedRooms(
  statements: Statements,
  { limit, after }: { readonly limit: number; readonly after: bigint | null },
): Promise<readonly UnassignedRoom[]> {
  return await statements.query<UnassignedRoom>(
    `select number, room, event_count as "eventCount", first_event_at as "firstEventAt",
       last_event_at as "lastEventAt" from rooms
     where company_id is null and first_event_at is not null and ($1::bigint is null or number < $1)
     order by number desc limit $2`,
    [after, limit],
  );
}

type Assigned =
  | { readonly outcome: 'assigned'; readonly meeting: Meeting; readonly isChanged: boolean }
  /** Nothing was reported of such a room, or it was more than 30 days ago. */
  | { readonly outcome: 'no-such-room' }
  | { readonly outcome: 'no-such-company' }
  /** It belongs to another company. */
  | { readonly outcome: 'taken' };

/**
 * Gives a room to the company, with everything that is stored of it, and returns its newest meeting. Its meetings are then
 * processed as those of an announced room.
 */
export async function assignRoom(
  transaction: Transaction,
  parts: RefoldParts,
  { room: text, companyId }: { readonly room: string; readonly companyId: string },
): Promise<Assigned> {
  const room = roomNameOf(text);
  if ((await findCompany(transaction, companyId)) === null) return { outcome: 'no-such-company' };
  const [locked] = await transaction.query<{ companyId: string | null; announcedAt: Date | null }>(
    'select company_id as "companyId", announced_at as "announcedAt" from rooms where room = $1 for update',
    [room],
  );
  if (room === null || locked === undefined) return { outcome: 'no-such-room' };
  if (locked.companyId !== null && locked.companyId !== companyId) return { outcome: 'taken' };
  const [first] = await transaction.query<{ at: Date | null }>(
    'select min(least(received_at, happened_at, began_at)) as at from room_events where room = $1',
    [room],
  );
  const firstAt = first?.at ?? null;
  const isChanged = firstAt !== null && (locked.announcedAt === null || firstAt < locked.announcedAt);
  if (isChanged) {
    await transaction.query('update rooms set company_id = $2, announced_at = $3 where room = $1', [
      room,
      companyId,
      firstAt,
    ]);
    await refoldRoom(transaction, parts, { room, companyId, announcedAt: firstAt }, firstAt.getTime());
  }
  const [meeting] = await transaction.query<Meeting>(
    `select ${MEETING_COLUMNS} from meetings where room = $1 and company_id = $2
     order by coalesce(started_at, ended_at, starts_at, created_at) desc, id desc limit 1`,
    [room, companyId],
  );
  return meeting === undefined ? { outcome: 'no-such-room' } : { outcome: 'assigned', meeting, isChanged };
}
