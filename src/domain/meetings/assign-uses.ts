import type { RoomUse } from './fold-room.ts';

/** A meeting that somebody has announced. */
export interface Announcement {
  readonly id: string;
  readonly announcedAtMs: number;
  readonly startsAtMs: number | null;
}

export interface AssignedUses {
  /** Null for uses that nobody has announced: a meeting of their own. */
  readonly announcementId: string | null;
  readonly uses: readonly RoomUse[];
}

const MINUTE_MS = 60_000;
/** What was before the announcement is not the announcer's; two machines' clocks may differ by this much. */
export const BEFORE_ANNOUNCEMENT_MS = 5 * MINUTE_MS;
/** People come early. */
const EARLIEST_MS = 60 * MINUTE_MS;
const A_LITTLE_EARLY_MS = 5 * MINUTE_MS;
/** Past this a planned meeting was not held. */
export const LATEST_MS = 240 * MINUTE_MS;
/** A room that everybody has dropped out of is destroyed, and made anew when they are back. */
const REJOIN_MS = 10 * MINUTE_MS;

/**
 * Which use of a room is which meeting. A planned meeting has every use that begins in its time: of several plans, the
 * one that is on by the plan, else the next to come. One without a time has the first use after it was announced, with
 * those that follow at once.
 */
export function assignUses(
  uses: readonly RoomUse[],
  announcements: readonly Announcement[],
): readonly AssignedUses[] {
  const ordered = announcements.toSorted((a, b) => timeOf(a) - timeOf(b) || (a.id < b.id ? -1 : 1));
  const assigned: { announcementId: string | null; uses: RoomUse[] }[] = [];
  const groupOf = (id: string) => assigned.find(({ announcementId }) => announcementId === id) ?? null;
  for (const use of uses) {
    const planned = plannedFor(use, ordered);
    const open = planned ?? unplannedFor(use, ordered, (id) => groupOf(id)?.uses.at(-1) ?? null);
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

/** When it began, or the little that is known of it. */
export function beginOf({ startedAtMs, endedAtMs }: RoomUse): number {
  return startedAtMs ?? endedAtMs ?? 0;
}

/** Whether a use may be shown to who announced the room. */
export function isAfter(announcedAtMs: number, use: RoomUse): boolean {
  return beginOf(use) >= announcedAtMs - BEFORE_ANNOUNCEMENT_MS;
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
