import { isObject } from '../../../../ports/json-object.ts';
import type { JsonObject } from './members.ts';

/** Anthropic's limit for a request. */
const MOST_BREAKPOINTS = 4;

/** A block or tool of the body that may end a cached prefix. */
interface Place {
  readonly holder: JsonObject;
  /** Ours are set by it, the most useful first; null if we set none here. */
  readonly rank: number | null;
}

/**
 * Marks where Anthropic ends cached prefixes, because clients of other APIs cannot: at the last two turns of the user, the
 * system prompt and the tools. The last turn is read by the next call of the conversation; the one before it is where the
 * previous call ended, which Anthropic finds by itself only 20 blocks back; the others are shared by conversations.
 * Breakpoints of the client stay and count. None of ours, which last five minutes, is before one of an hour: Anthropic
 * refuses that order.
 */
export function addBreakpoints(body: JsonObject): void {
  const places = placesIn(body);
  const isMarked = ({ holder }: Place) => isObject(holder.cache_control);
  const free = MOST_BREAKPOINTS - places.filter(isMarked).length;
  const lastHour = places.findLastIndex(({ holder }) => lastsAnHour(holder.cache_control));
  const usable = places.slice(lastHour + 1).filter((place) => place.rank !== null && !isMarked(place));
  usable.sort((one, other) => (one.rank ?? 0) - (other.rank ?? 0));
  for (const { holder } of usable.slice(0, Math.max(0, free))) holder.cache_control = { type: 'ephemeral' };
}

function lastsAnHour(mark: unknown): boolean {
  return isObject(mark) && mark.ttl !== undefined && mark.ttl !== '5m';
}

/** In the order in which Anthropic caches them: tools, system prompt, messages. */
function placesIn({ tools, system, messages }: JsonObject): readonly Place[] {
  const turns = objectsIn(messages);
  const ofUser = turns.filter(({ role }) => role === 'user').slice(-2);
  const rankOf = (turn: JsonObject) =>
    ofUser.includes(turn) ? ofUser.length - 1 - ofUser.indexOf(turn) : null;
  return [
    ...listed(tools, 3),
    ...listed(system, 2),
    ...turns.flatMap((turn) => listed(turn.content, rankOf(turn))),
  ];
}

/** Only the last element gets the rank. Blocks within a tool's result may have breakpoints of the client. */
function listed(list: unknown, rank: number | null): readonly Place[] {
  const holders = objectsIn(list);
  return holders.flatMap((holder) => [
    ...objectsIn(holder.content).map((inner) => ({ holder: inner, rank: null })),
    { holder, rank: holder === holders.at(-1) ? rank : null },
  ]);
}

function objectsIn(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isObject) : [];
}
