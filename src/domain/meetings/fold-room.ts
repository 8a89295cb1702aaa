import type { StoredEvent } from './room-events.ts';

/**
 * Turns a room's events into the uses that were made of it. The result depends only on the set of events and the
 * current time, not on the order of arrival.
 *
 *   not in use  A start opens a use. So does a person in the room, if the start was lost. An end without a use is
 *               the end of one of which nothing else is known.
 *   in use      An end closes it. Another start means that the end was lost: the use ended at its last event. The same
 *               applies after ORPHAN_MS without an event.
 *
 * Two senders that report the same may differ by seconds: a start or an end within SAME_MS counts as the same.
 */
export interface RoomUse {
  /** Null if only its end is known. */
  startedAtMs: number | null;
  isStartKnown: boolean;
  /** Null while it is ongoing. */
  endedAtMs: number | null;
  isEndKnown: boolean;
  readonly eventIds: bigint[];
  /** When the first of its events was received, by our own clock. */
  firstReceivedAtMs: number;
}

interface Announcement {
  readonly id: string;
  readonly announcedAtMs: number;
  readonly startsAtMs: number | null;
}

interface AssignedUses {
  /** Null for uses without an announcement, which form a meeting of their own. */
  readonly announcementId: string | null;
  readonly uses: readonly RoomUse[];
}

export const ORPHAN_MS = 12 * 3_600_000;
export const SAME_MS = 10_000;
/** Departures are reported after the room has ended, with times in whole seconds. */
export const LEAVING_MS = 300_000;

const MINUTE_MS = 60_000;
/** Earlier uses do not belong to the announcing company. This is the tolerance for clock differences between machines. */
const BEFORE_ANNOUNCEMENT_MS = 5 * MINUTE_MS;
/** How long before the planned start a use may begin, because people join early. */
export const EARLIEST_MS = 60 * MINUTE_MS;
const A_LITTLE_EARLY_MS = 5 * MINUTE_MS;
/** A planned meeting that has not begun this long after its planned start was not held. */
export const LATEST_MS = 240 * MINUTE_MS;
/** A room is destroyed when everyone has dropped out, and created again when they return. */
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
 * Assigns the uses of a room to meetings. A planned meeting gets every use that begins in its time window; if several
 * plans match, the latest one that is due, otherwise the next one. A meeting without a planned time gets the first use
 * after its announcement, and those that follow as rejoins.
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
 * Whether a use may be shown to the company that owns the room: it began after the first announcement, and none of it
 * was reported before. The second condition does not depend on the meeting server's clock: a room that was already seen
 * in use is not shown, no matter how recently the use began.
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
  /** Null for a second time in an event, such as the creation time of a destroyed room. */
  readonly eventId: bigint | null;
  readonly beganAtMs: number | null;
  readonly receivedAtMs: number;
}

/** At the same time, the end of a use sorts before the start of the next one. */
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

/** The ended use that a point still belongs to, because it repeats what is known or follows shortly after. */
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

/** Ids are in order of arrival. Between points of the same time and kind they only determine the order of the list. */
function compareIds(a: Point, b: Point): number {
  return Number((a.eventId ?? 0n) - (b.eventId ?? 0n));
}

/** Its start, or its end if only that is known. */
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
