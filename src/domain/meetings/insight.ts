import { type Attendee, attendanceOf } from './attendance.ts';
import type { KeptUse, Meeting } from './meeting.ts';
import type { StoredEvent } from './room-event.ts';
import type { TranscriptSummary } from './summarise-transcript.ts';

/** What is known of a meeting. What is not known is null, and `missing` says why: nothing here is a guess. */
export interface MeetingInsight {
  readonly status: 'held' | 'ongoing' | 'not-held';
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** In the room; pauses in which the room was empty do not count. */
  readonly durationSeconds: number | null;
  readonly startedLateSeconds: number | null;
  readonly overrunSeconds: number | null;
  /** Nobody came, or one alone. */
  readonly isNoShow: boolean | null;
  readonly attendees: readonly Attendee[];
  readonly summary: TranscriptSummary | null;
  readonly missing: readonly string[];
}

export interface InsightSource {
  readonly meeting: Meeting;
  readonly events: readonly StoredEvent[];
  readonly summary: TranscriptSummary | null;
}

/** Depends on what is kept alone, so that it is the same whatever order the events came in. */
export function insightOf({ meeting, events, summary }: InsightSource): MeetingInsight {
  const { sessions: uses, startedAt, endedAt, startsAt, plannedMinutes } = meeting;
  const startsAtMs = startsAt?.getTime() ?? null;
  const attendees = attendanceOf(events, uses, startsAtMs);
  const status = startedAt === null ? 'not-held' : endedAt === null ? 'ongoing' : 'held';
  const firstMs = uses[0]?.startedAt == null ? null : Date.parse(uses[0].startedAt);
  const hasPlan = startsAtMs !== null && plannedMinutes !== null;
  const dueMs = hasPlan ? startsAtMs + plannedMinutes * 60_000 : null;
  return {
    status,
    startedAt: uses[0]?.startedAt ?? null,
    endedAt: endedAt?.toISOString() ?? null,
    durationSeconds: durationOf(uses),
    startedLateSeconds: startsAtMs === null || firstMs === null ? null : secondsPast(firstMs, startsAtMs),
    overrunSeconds: dueMs === null || endedAt === null ? null : secondsPast(endedAt.getTime(), dueMs),
    isNoShow: noShow(status, attendees),
    attendees,
    summary,
    missing: [...missingOf(meeting, attendees, summary)],
  };
}

function durationOf(uses: readonly KeptUse[]): number | null {
  if (uses.length === 0) return null;
  let sumMs = 0;
  for (const { startedAt, endedAt } of uses) {
    if (startedAt === null || endedAt === null) return null;
    sumMs += Date.parse(endedAt) - Date.parse(startedAt);
  }
  return Math.round(sumMs / 1_000);
}

function secondsPast(ms: number, dueMs: number): number {
  return Math.max(0, Math.round((ms - dueMs) / 1_000));
}

function noShow(status: MeetingInsight['status'], attendees: readonly Attendee[]): boolean | null {
  if (status === 'not-held') return true;
  if (status === 'ongoing' || attendees.length === 0) return null;
  return attendees.length === 1;
}

function* missingOf(
  { sessions: uses, startedAt, endedAt, startsAt, plannedMinutes }: Meeting,
  attendees: readonly Attendee[],
  summary: TranscriptSummary | null,
): Iterable<string> {
  if (startedAt === null) {
    yield 'The room was not used: there is nothing to tell of this meeting.';
    return;
  }
  if (uses.some(({ startKnown }) => !startKnown)) {
    yield 'The start was not told: it is when the room was first heard of, or not known.';
  }
  if (uses.some(({ endedAt: end, endKnown }) => end !== null && !endKnown)) {
    yield 'The end was not told: it is when the room was last heard of.';
  }
  if (attendees.length === 0)
    yield 'Who took part was not told: attendance, lateness and talk share are not known.';
  else if (attendees.every(({ talkShare }) => talkShare === null))
    yield 'The meeting server does not measure who speaks: the talk share is not known.';
  if (startsAt === null) yield 'No time was planned: nobody can be late.';
  else if (plannedMinutes === null) yield 'No length was planned: it cannot run over.';
  if (summary === null && endedAt !== null) {
    yield 'There is no transcript: a summary, decisions, action items and questions need one.';
  }
}
