import type { StoredEvent } from './room-events.ts';

/**
 * A room's events, in whatever order they came, become the uses that were made of it. The result depends on the set of
 * events and the time alone, so every order ends the same.
 *
 *   not in use  A start opens a use. A person in the room opens one too, whose start was lost. An end without a use is
 *               the end of one of which nothing else is known.
 *   in use      An end closes it. Another start means that the end was lost: it ended when it was last heard of. So does
 *               silence for ORPHAN_MS.
 *
 * Two senders that tell the same do not agree to the second: a start or an end within SAME_MS is the same one.
 */
export interface RoomUse {
  /** Null where only its end is known. */
  startedAtMs: number | null;
  isStartKnown: boolean;
  /** Null while it goes on. */
  endedAtMs: number | null;
  isEndKnown: boolean;
  readonly eventIds: bigint[];
  /** When the first of its events reached us, by our own clock. */
  firstReceivedAtMs: number;
}

/** An announced meeting. */
interface Announcement {
  readonly id: string;
  readonly announcedAtMs: number;
  readonly startsAtMs: number | null;
}

interface AssignedUses {
  /** Null for uses without an announcement: a meeting of their own. */
  readonly announcementId: string | null;
  readonly uses: readonly RoomUse[];
}

export const ORPHAN_MS = 12 * 3_600_000;
const SAME_MS = 10_000;
/** Departures are reported after the room has ended, with times in whole seconds. */
const LEAVING_MS = 300_000;

const MINUTE_MS = 60_000;
/** What was before the announcement is not the announcer's; two machines' clocks may differ by this much. */
const BEFORE_ANNOUNCEMENT_MS = 5 * MINUTE_MS;
/** People come early. */
const EARLIEST_MS = 60 * MINUTE_MS;
const A_LITTLE_EARLY_MS = 5 * MINUTE_MS;
/** Past this a planned meeting was not held. */
export const LATEST_MS = 240 * MINUTE_MS;
/** A room that everybody has dropped out of is destroyed, and made again when they are back. */
const REJOIN_MS = 10 * MINUTE_MS;

export function foldRoom(events: readonly StoredEvent[], nowMs: number): readonly RoomUse[] {
  const points = events.flatMap(pointsOf);
  points.sort((a, b) => a.atMs - b.atMs || RANKS[a.kind] - RANKS[b.kind] || compareIds(a, b));
  const uses: RoomUse[] = [];
  let current: RoomUse | null = null;
  let lastHeardMs = 0;

  function abandon(): void {
    if (current !== null) current.endedAtMs = lastHeardMs;
    current = null;
  }

  for (const point of points) {
    if (current !== null && point.atMs - lastHeardMs > ORPHAN_MS) abandon();
    if (current !== null && point.kind === 'start' && !isSameStart(current, point.atMs)) abandon();
    const use: RoomUse = current ?? closedUseOf(uses.at(-1), point) ?? open(uses, point);
    if (point.eventId !== null) use.eventIds.push(point.eventId);
    use.firstReceivedAtMs = Math.min(use.firstReceivedAtMs, point.receivedAtMs);
    if (point.kind === 'start') use.isStartKnown = true;
    if (point.kind === 'start') use.startedAtMs ??= point.atMs;
    if (use.endedAtMs === null) current = use;
    lastHeardMs = point.atMs;
    if (point.kind === 'end' && use.endedAtMs === null) {
      use.endedAtMs = point.atMs;
      use.isEndKnown = true;
      current = null;
    }
  }
  if (current !== null && nowMs - lastHeardMs > ORPHAN_MS) abandon();
  return uses;
}

/**
 * Which use of a room is which meeting. A planned meeting has every use that begins in its time: of several plans, the
 * one that is on by the plan, else the next to come. One without a time has the first use after it was announced, with
 * those that follow at once.
 */
export function assignUses(
  uses: readonly RoomUse[],
  announcements: readonly Announcement[],
  /** When a company first announced the room. */
  ownedSinceMs: number | null,
): readonly AssignedUses[] {
  const ordered = announcements.toSorted((a, b) => timeOf(a) - timeOf(b) || (a.id < b.id ? -1 : 1));
  const assigned: { announcementId: string | null; uses: RoomUse[] }[] = [];
  const groupOf = (id: string) => assigned.find(({ announcementId }) => announcementId === id) ?? null;
  for (const use of uses) {
    const candidates = isOwned(ownedSinceMs, use) ? ordered : [];
    const planned = plannedFor(use, candidates);
    const open = planned ?? unplannedFor(use, candidates, (id) => groupOf(id)?.uses.at(-1) ?? null);
    if (open !== null) {
      const group = groupOf(open.id);
      if (group === null) assigned.push({ announcementId: open.id, uses: [use] });
      else group.uses.push(use);
      continue;
    }
    const last = assigned.findLast(({ announcementId }) => announcementId === null);
    if (last !== undefined && isRejoin(last.uses.at(-1), use)) last.uses.push(use);
    else assigned.push({ announcementId: null, uses: [use] });
  }
  return assigned;
}

/**
 * Whether a use may be shown to the company that owns the room: it began after the first announcement, and nothing of it had been
 * reported before. The second does not depend on the meeting server's clock: a room that was seen running is not shown,
 * however recently it began.
 */
export function isOwned(ownedSinceMs: number | null, use: RoomUse): boolean {
  return ownedSinceMs !== null && use.firstReceivedAtMs >= ownedSinceMs && isAfter(ownedSinceMs, use);
}

function isAfter(announcedAtMs: number, use: RoomUse): boolean {
  return beginOf(use) >= announcedAtMs - BEFORE_ANNOUNCEMENT_MS;
}

type PointKind = 'end' | 'start' | 'presence' | 'left';

interface Point {
  readonly atMs: number;
  readonly kind: PointKind;
  /** The moment that the event itself is about; a destroyed room also tells when it was made. */
  readonly eventId: bigint | null;
  readonly beganAtMs: number | null;
  readonly receivedAtMs: number;
}

/** At one moment the end of a use comes before the start of the next one. */
const RANKS: Readonly<Record<PointKind, number>> = { end: 0, start: 1, presence: 2, left: 3 };

function open(uses: RoomUse[], { atMs, kind, beganAtMs, receivedAtMs }: Point): RoomUse {
  const use: RoomUse = {
    startedAtMs: kind === 'end' ? beganAtMs : atMs,
    isStartKnown: kind === 'start' || (kind === 'end' && beganAtMs !== null),
    endedAtMs: null,
    isEndKnown: false,
    eventIds: [],
    firstReceivedAtMs: receivedAtMs,
  };
  uses.push(use);
  return use;
}

function isSameStart({ startedAtMs }: RoomUse, atMs: number): boolean {
  return startedAtMs !== null && atMs - startedAtMs <= SAME_MS;
}

/** The use that has ended and that a point still belongs to: it repeats what is known, or comes a little after it. */
function closedUseOf(last: RoomUse | undefined, { atMs, kind }: Point): RoomUse | null {
  if (last === undefined || last.endedAtMs === null) return null;
  const afterMs = atMs - last.endedAtMs;
  switch (kind) {
    case 'end':
      return last.isEndKnown && afterMs <= SAME_MS ? last : null;
    case 'start':
      return afterMs === 0 && (last.startedAtMs === null || last.startedAtMs === atMs) ? last : null;
    case 'presence':
      return afterMs === 0 ? last : null;
    case 'left':
      return afterMs <= LEAVING_MS ? last : null;
  }
}

function pointsOf(event: StoredEvent): readonly Point[] {
  const { id, kind, isBreakout, happenedAtMs, beganAtMs, receivedAtMs } = event;
  const at = (pointKind: PointKind): Point => ({
    atMs: happenedAtMs,
    kind: pointKind,
    eventId: id,
    beganAtMs,
    receivedAtMs,
  });
  const began = (pointKind: PointKind): readonly Point[] =>
    beganAtMs === null
      ? []
      : [{ atMs: beganAtMs, kind: pointKind, eventId: null, beganAtMs: null, receivedAtMs }];
  if (isBreakout) return [at(kind === 'created' || kind === 'joined' ? 'presence' : 'left')];
  switch (kind) {
    case 'created':
      return [at('start')];
    case 'destroyed':
      return [...began('start'), at('end')];
    case 'joined':
      return [at('presence')];
    case 'left':
      return [...began('presence'), at('left')];
  }
}

/** Ids are given in the order of arrival; at one moment they decide nothing but the order of the list. */
function compareIds(a: Point, b: Point): number {
  return Number((a.eventId ?? 0n) - (b.eventId ?? 0n));
}

/** When it began, or the little that is known of it. */
function beginOf({ startedAtMs, endedAtMs }: RoomUse): number {
  return startedAtMs ?? endedAtMs ?? 0;
}

function timeOf({ startsAtMs, announcedAtMs }: Announcement): number {
  return startsAtMs ?? announcedAtMs;
}

function plannedFor(use: RoomUse, ordered: readonly Announcement[]): Announcement | null {
  const beginMs = beginOf(use);
  const inTime = ordered.filter(({ startsAtMs, announcedAtMs }) => {
    if (startsAtMs === null || !isAfter(announcedAtMs, use)) return false;
    return beginMs >= startsAtMs - EARLIEST_MS && beginMs <= startsAtMs + LATEST_MS;
  });
  const isOn = ({ startsAtMs }: Announcement) => (startsAtMs ?? 0) <= beginMs + A_LITTLE_EARLY_MS;
  return inTime.findLast(isOn) ?? inTime[0] ?? null;
}

function unplannedFor(
  use: RoomUse,
  ordered: readonly Announcement[],
  lastUseOf: (id: string) => RoomUse | null,
): Announcement | null {
  const unplanned = ordered.filter((one) => one.startsAtMs === null && isAfter(one.announcedAtMs, use));
  return unplanned.find(({ id }) => lastUseOf(id) === null || isRejoin(lastUseOf(id), use)) ?? null;
}

function isRejoin(last: RoomUse | null | undefined, use: RoomUse): boolean {
  return last?.endedAtMs != null && beginOf(use) - last.endedAtMs <= REJOIN_MS;
}
