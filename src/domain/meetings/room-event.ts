/** Somebody in a room, as far as the meeting server tells who it is. */
export interface Occupant {
  /** One for each time somebody joins. */
  readonly jid: string | null;
  readonly id: string | null;
  readonly name: string | null;
  readonly email: string | null;
  readonly joinedAtMs: number | null;
  readonly leftAtMs: number | null;
  /** How long this one was the loudest; null where the server does not measure it. */
  readonly talkMs: number | null;
}

export type RoomEventKind = 'created' | 'destroyed' | 'joined' | 'left';

/** What the meeting server tells of a room, whichever of its two forms it came in. */
export interface RoomEvent {
  readonly kind: RoomEventKind;
  /** A breakout room carries its main room's name: it shows that the main one is in use, and ends nothing. */
  readonly isBreakout: boolean;
  readonly happenedAtMs: number;
  /** Of what ends, when it began; null where it is not told. */
  readonly beganAtMs: number | null;
  readonly occupants: readonly Occupant[];
}

/** One that was written down. */
export interface StoredEvent extends RoomEvent {
  readonly id: bigint;
  readonly meetingId: string | null;
}

/** What a sender that sends the same again sends again; bounded by the bounds of what goes in. */
export function dedupeKeyOf(
  { kind, isBreakout, happenedAtMs, occupants }: RoomEvent,
  place: { readonly jid: string | null; readonly breakoutId: string | null },
): string {
  const who = kind === 'joined' || kind === 'left' ? (occupants[0]?.jid ?? occupants[0]?.id ?? '') : '';
  const breakout = isBreakout ? (place.breakoutId ?? place.jid ?? 'breakout') : '';
  return [kind, happenedAtMs, place.jid ?? '', breakout, who].join('|').slice(0, 1_000);
}
