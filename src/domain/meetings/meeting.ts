import type { RoomUse } from './fold-room.ts';

export interface Meeting {
  readonly id: string;
  readonly room: string;
  /** Null for what happened in a room that nobody had announced. */
  readonly companyId: string | null;
  readonly origin: 'announced' | 'room';
  readonly startsAt: Date | null;
  readonly plannedMinutes: number | null;
  readonly jobId: string | null;
  readonly talentId: string | null;
  readonly createdBy: string | null;
  readonly announcedAt: Date | null;
  readonly sessions: readonly KeptUse[];
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  readonly briefing: Readonly<Record<string, unknown>> | null;
  readonly insight: Readonly<Record<string, unknown>> | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A use of the room, as it is kept. */
export interface KeptUse {
  readonly startedAt: string | null;
  readonly startKnown: boolean;
  readonly endedAt: string | null;
  readonly endKnown: boolean;
}

export const MEETING_COLUMNS = `id, room, company_id as "companyId", origin, starts_at as "startsAt",
  planned_minutes as "plannedMinutes", job_id as "jobId", talent_id as "talentId", created_by as "createdBy",
  announced_at as "announcedAt", sessions, started_at as "startedAt", ended_at as "endedAt", briefing, insight,
  created_at as "createdAt", updated_at as "updatedAt"`;

export function keptUse({ startedAtMs, isStartKnown, endedAtMs, isEndKnown }: RoomUse): KeptUse {
  const iso = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    startedAt: iso(startedAtMs),
    startKnown: isStartKnown,
    endedAt: iso(endedAtMs),
    endKnown: isEndKnown,
  };
}

/** From the first start to the last end; without an end while one of them goes on. */
export function spanOf(uses: readonly KeptUse[]): {
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
} {
  const date = (text: string | null | undefined) => (text == null ? null : new Date(text));
  // Only its end is known of a use that was told of by its end alone: the meeting has begun by then.
  const [first] = uses;
  const last = uses.at(-1);
  return { startedAt: date(first?.startedAt ?? first?.endedAt), endedAt: date(last?.endedAt) };
}
