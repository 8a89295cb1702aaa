import type { RoomEvent, TimedEvent, TimeFlag } from './room-events.ts';

const DAY_MS = 86_400_000;
const OLDEST_MS = 7 * DAY_MS;
const NEWEST_MS = 10 * 60_000;

/**
 * The meeting server drops an event that is refused, so no event is refused for its times. Implausible times are
 * flagged:
 *
 *   old           More than 7 days ago, for example from a sender that delivers stored events. The event keeps its
 *                 own time.
 *   future        More than 10 minutes ahead. The sender's clock must be wrong: the event gets the time of receipt,
 *                 and its other times are shifted by the same amount.
 *   inconsistent  The reported beginning is after the end, or more than 7 days before the receipt (of an old event:
 *                 before the end). The beginning is then unknown.
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
    // For listed occupants only the implausible time is dropped: the rest of the event is still true.
    occupants: event.occupants.map((occupant) => ({
      ...occupant,
      joinedAtMs: plausible(occupant.joinedAtMs, nowMs + NEWEST_MS),
      leftAtMs: plausible(occupant.leftAtMs, nowMs + NEWEST_MS),
    })),
    timeFlags: flags.flatMap(([flag, isSet]) => (isSet ? [flag] : [])),
    sentAtMs: isFuture ? event.happenedAtMs : null,
  };
}
