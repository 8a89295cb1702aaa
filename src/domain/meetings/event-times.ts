import type { RoomEvent, TimedEvent, TimeFlag } from './room-events.ts';

const DAY_MS = 86_400_000;
const OLDEST_MS = 7 * DAY_MS;
const NEWEST_MS = 10 * 60_000;

/**
 * The meeting server drops an event that is refused, so no time is a reason to refuse one. What cannot be right is flagged:
 *
 *   old      More than 7 days ago, as of a sender that delivers what it has stored. It counts at its own time.
 *   future   More than 10 minutes ahead. An event has happened when it arrives, so the sender's clock is wrong: it counts at
 *            the time of receipt, and its other times are moved by as much.
 *   inconsistent  What ends has begun after its end, or more than 7 days before it: the beginning is unknown.
 */
export function timesOf(event: RoomEvent, nowMs: number): TimedEvent {
  const isFuture = event.happenedAtMs > nowMs + NEWEST_MS;
  const isOld = event.happenedAtMs < nowMs - OLDEST_MS;
  const happenedAtMs = isFuture ? nowMs : event.happenedAtMs;
  const movedMs = happenedAtMs - event.happenedAtMs;
  const earliestMs = (isOld ? happenedAtMs : nowMs) - OLDEST_MS;
  const plausible = (ms: number | null, latestMs: number) => {
    const atMs = ms === null ? null : ms + movedMs;
    return atMs === null || atMs < earliestMs || atMs > latestMs ? null : atMs;
  };
  const beganAtMs = plausible(event.beganAtMs, happenedAtMs);
  const flags: readonly (readonly [flag: TimeFlag, isSet: boolean])[] = [
    ['old_timestamp', isOld],
    ['future_timestamp', isFuture],
    ['inconsistent_times', event.beganAtMs !== null && beganAtMs === null],
  ];
  return {
    happenedAtMs,
    beganAtMs,
    // Of those in the list beside the event only the time is dropped: what the room did is still true.
    occupants: event.occupants.map((occupant) => ({
      ...occupant,
      joinedAtMs: plausible(occupant.joinedAtMs, nowMs + NEWEST_MS),
      leftAtMs: plausible(occupant.leftAtMs, nowMs + NEWEST_MS),
    })),
    timeFlags: flags.flatMap(([flag, isSet]) => (isSet ? [flag] : [])),
    sentAtMs: isFuture ? event.happenedAtMs : null,
  };
}
