import type { Meeting, StoredRoomUse } from './meeting.ts';
import type { Occupant, StoredEvent, TimeFlag } from './room-events.ts';
import type { TranscriptSummary } from './transcript-summary.ts';

/** The known facts of a meeting. Unknown ones are null, and `missing` explains why: nothing here is a guess. */
export interface MeetingInsight {
  readonly status: 'held' | 'ongoing' | 'not-held';
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** Time in use; pauses in which the room was empty do not count. */
  readonly durationSeconds: number | null;
  readonly startedLateSeconds: number | null;
  readonly overrunSeconds: number | null;
  /** True if at most one person attended; null if that is not known yet. */
  readonly isNoShow: boolean | null;
  readonly attendees: readonly Attendee[];
  readonly summary: TranscriptSummary | null;
  readonly missing: readonly string[];
  /** Problems with the reported times. */
  readonly warnings: readonly string[];
}

interface InsightSource {
  readonly meeting: Meeting;
  readonly events: readonly StoredEvent[];
  readonly summary: TranscriptSummary | null;
}

/** Depends only on stored data, so the order in which events arrived does not matter. */
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
    warnings: warningsOf(events),
  };
}

const TIME_WARNINGS: Readonly<Record<TimeFlag, string>> = {
  old_timestamp: 'The meeting server reported this meeting more than 7 days late.',
  future_timestamp:
    'The meeting server reported a time in the future: the time of receipt is used. Check its clock.',
  inconsistent_times:
    'The meeting server reported a beginning that does not fit the end: the beginning is not used.',
};

function warningsOf(events: readonly StoredEvent[]): readonly string[] {
  const flags = new Set(events.flatMap(({ timeFlags }) => timeFlags));
  return [...flags].sort().map((flag) => TIME_WARNINGS[flag]);
}

function durationOf(uses: readonly StoredRoomUse[]): number | null {
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
    yield 'The room was not used. There is no data about this meeting.';
    return;
  }
  if (uses.some(({ startKnown }) => !startKnown)) {
    yield 'The start was not reported. It is taken from the first event of the room, or unknown.';
  }
  if (uses.some(({ endedAt: end, endKnown }) => end !== null && !endKnown)) {
    yield 'The end was not reported. It is taken from the last event of the room.';
  }
  if (attendees.length === 0)
    yield 'The attendees were not reported: attendance, lateness and talk share are unknown.';
  else if (attendees.every(({ talkShare }) => talkShare === null))
    yield 'The meeting server does not measure who speaks: the talk share is not known.';
  if (startsAt === null) yield 'No start time was planned: lateness is not measured.';
  else if (plannedMinutes === null) yield 'No duration was planned: overtime is not measured.';
  if (summary === null && endedAt !== null) {
    yield 'There is no transcript and there are no notes: add one for a summary with decisions, open questions and next steps.';
  }
}

interface Attendee {
  readonly name: string | null;
  readonly email: string | null;
  readonly joinedAt: string;
  readonly leftAt: string | null;
  /** Time in the room, over all joins. */
  readonly seconds: number;
  readonly joins: number;
  /** After the planned start; null without one. */
  readonly lateSeconds: number | null;
  /** This person's share of the time in which anyone was the loudest, 0 to 1; null if not measured. */
  readonly talkShare: number | null;
}

interface Attendance {
  readonly person: string;
  name: string | null;
  email: string | null;
  readonly joinedAtMs: number;
  leftAtMs: number | null;
  talkMs: number | null;
}

/** Who attended and for how long, from all events that name a person: joins, departures, and the final list. */
function attendanceOf(
  events: readonly StoredEvent[],
  uses: readonly StoredRoomUse[],
  startsAtMs: number | null,
): readonly Attendee[] {
  const attendances = attendancesOf(events.filter(({ isBreakout }) => !isBreakout));
  const people = Map.groupBy(attendances, ({ person }) => person);
  const talkOf = (own: readonly Attendance[]) => own.reduce((sum, { talkMs }) => sum + (talkMs ?? 0), 0);
  const allTalkMs = talkOf(attendances);
  return [...people.values()]
    .map((own): Attendee => {
      const firstMs = Math.min(...own.map(({ joinedAtMs }) => joinedAtMs));
      const ends = own.map((attendance) => attendance.leftAtMs ?? endAfter(uses, attendance.joinedAtMs));
      const lastMs = ends.includes(null) ? null : Math.max(...ends.map(Number));
      return {
        name: own.find(({ name }) => name !== null)?.name ?? null,
        email: own.find(({ email }) => email !== null)?.email ?? null,
        joinedAt: new Date(firstMs).toISOString(),
        leftAt: lastMs === null ? null : new Date(lastMs).toISOString(),
        seconds: secondsIn(own.map(({ joinedAtMs }, at) => [joinedAtMs, ends[at] ?? joinedAtMs])),
        joins: own.length,
        lateSeconds: startsAtMs === null ? null : Math.max(0, Math.round((firstMs - startsAtMs) / 1_000)),
        talkShare: allTalkMs === 0 ? null : Math.round((talkOf(own) / allTalkMs) * 1_000) / 1_000,
      };
    })
    .sort(
      (a, b) => compare(a.joinedAt, b.joinedAt) || compare(a.email ?? a.name ?? '', b.email ?? b.name ?? ''),
    );
}

/** One per join, with the most complete data reported for it. */
function attendancesOf(events: readonly StoredEvent[]): readonly Attendance[] {
  const attendances = new Map<string, Attendance>();
  for (const event of events) {
    for (const occupant of event.occupants) {
      const joinedAtMs = occupant.joinedAtMs ?? (event.kind === 'joined' ? event.happenedAtMs : null);
      const person = occupant.id ?? occupant.email ?? occupant.name ?? occupant.jid;
      if (joinedAtMs === null || person === null) continue;
      const key = `${person}|${joinedAtMs}`;
      const attendance = attendances.get(key) ?? {
        ...{ person, joinedAtMs, name: null, email: null, leftAtMs: null, talkMs: null },
      };
      attendance.name ??= occupant.name;
      attendance.email ??= occupant.email;
      attendance.leftAtMs = most(attendance.leftAtMs, leftAtOf(event, occupant));
      attendance.talkMs = most(attendance.talkMs, occupant.talkMs);
      attendances.set(key, attendance);
    }
  }
  return [...attendances.values()].sort((a, b) => a.joinedAtMs - b.joinedAtMs || compare(a.person, b.person));
}

function leftAtOf({ kind, happenedAtMs }: StoredEvent, { leftAtMs }: Occupant): number | null {
  return leftAtMs ?? (kind === 'left' ? happenedAtMs : null);
}

function most(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

/** Without a reported departure a person stayed until the use of the room ended. */
function endAfter(uses: readonly StoredRoomUse[], joinedAtMs: number): number | null {
  const use = uses.find(({ endedAt }) => endedAt === null || Date.parse(endedAt) >= joinedAtMs);
  return use?.endedAt == null ? null : Date.parse(use.endedAt);
}

/** Overlapping attendances, such as those of a person with two devices, count once. */
function secondsIn(spans: readonly (readonly [number, number])[]): number {
  let sumMs = 0;
  let coveredUntilMs = Number.NEGATIVE_INFINITY;
  for (const [fromMs, toMs] of spans.toSorted((a, b) => a[0] - b[0])) {
    sumMs += Math.max(0, toMs - Math.max(fromMs, coveredUntilMs));
    coveredUntilMs = Math.max(coveredUntilMs, toMs);
  }
  return Math.round(sumMs / 1_000);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
