import { describe, expect, test } from 'bun:test';
import { assignUses, foldRoom } from './fold-room.ts';
import type { RoomEventKind, StoredEvent } from './room-events.ts';

const MINUTE = 60_000;

function event(
  id: number,
  kind: RoomEventKind,
  minute: number,
  more: Partial<StoredEvent> = {},
): StoredEvent {
  return {
    ...{ id: BigInt(id), kind, happenedAtMs: minute * MINUTE, isBreakout: false, beganAtMs: null },
    ...{ occupants: [], meetingId: null, timeFlags: [], receivedAtMs: minute * MINUTE, ...more },
  };
}

function shape(events: readonly StoredEvent[], nowMinute = 10_000) {
  return foldRoom(events, nowMinute * MINUTE).map(({ startedAtMs, endedAtMs, isStartKnown, isEndKnown }) => [
    startedAtMs === null ? null : startedAtMs / MINUTE,
    endedAtMs === null ? null : endedAtMs / MINUTE,
    isStartKnown && isEndKnown,
  ]);
}

function* permutations<T>(items: readonly T[]): Iterable<readonly T[]> {
  if (items.length === 0) yield [];
  for (const [at, item] of items.entries()) {
    for (const rest of permutations(items.toSpliced(at, 1))) yield [item, ...rest];
  }
}

describe('A-7 the uses of a room', () => {
  test('A-7 are the same for all 720 orders of arrival, whatever the ids of the events', () => {
    const events = [
      ['created', 0, {}],
      ['joined', 1, {}],
      ['destroyed', 3, { isBreakout: true, beganAtMs: 2 * MINUTE }],
      ['left', 30, { beganAtMs: MINUTE }],
      ['destroyed', 30, { beganAtMs: 0 }],
      ['created', 30, {}],
    ] as const;
    for (const order of permutations(events)) {
      const events = order.map(([kind, minute, more], at) => event(at, kind, minute, more));
      expect(shape(events, 40)).toEqual([
        [0, 30, true],
        [30, null, false],
      ]);
    }
  });

  test('A-7 missing data is not guessed: an end alone has no start, a start alone ends at its last event', () => {
    expect(shape([event(1, 'destroyed', 10)])).toEqual([[null, 10, false]]);
    expect(shape([event(1, 'destroyed', 10, { beganAtMs: 0 })])).toEqual([[0, 10, true]]);
    expect(shape([event(1, 'created', 0), event(2, 'joined', 7)])).toEqual([[0, 7, false]]);
    expect(shape([event(1, 'created', 0)], 100)).toEqual([[0, null, false]]);
    expect(shape([event(1, 'joined', 5), event(2, 'destroyed', 9)])).toEqual([[5, 9, false]]);
  });

  test('A-7 two senders that differ by seconds report one use; a room created and destroyed in one second is one too', () => {
    const near = [event(1, 'created', 0), event(2, 'created', 0.1), event(3, 'destroyed', 9)];
    expect(shape([...near, event(4, 'destroyed', 9.1)])).toEqual([[0, 9, true]]);
    expect(shape([event(1, 'created', 4), event(2, 'destroyed', 4, { beganAtMs: 4 * MINUTE })])).toEqual([
      [4, 4, true],
    ]);
  });
});

describe('A-7 the meeting of each use', () => {
  const use = (from: number, to: number) =>
    foldRoom([event(1, 'created', from), event(2, 'destroyed', to)], 10_000 * MINUTE)[0];
  const uses = (...spans: readonly (readonly [number, number])[]) =>
    spans.map(([from, to]) => use(from, to)).filter((one) => one !== undefined);
  const at = (id: string, announced: number, starts: number | null) => ({
    ...{ id, announcedAtMs: announced * MINUTE, startsAtMs: starts === null ? null : starts * MINUTE },
  });
  const assigned = (made: Parameters<typeof assignUses>[0], plans: Parameters<typeof assignUses>[1]) =>
    assignUses(made, plans, Math.min(...plans.map(({ announcedAtMs }) => announcedAtMs))).map(
      ({ announcementId, uses: own }) => [announcementId, own.length],
    );

  test('A-7 a room that is used again by plan has a meeting for each plan, and a participant who reconnects returns to theirs', () => {
    const plans = [at('a', 0, 600), at('b', 0, 630)];
    expect(assigned(uses([598, 610], [612, 629], [630, 660]), plans)).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
  });

  test('A-7 uses before the announcement do not belong to the announcer', () => {
    expect(assigned(uses([0, 30], [100, 130], [200, 230]), [at('a', 90, null)])).toEqual([
      [null, 1],
      ['a', 1],
      [null, 1],
    ]);
  });
});
