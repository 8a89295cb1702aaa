import type { Alias } from '../../domain/models/aliases.ts';
import { joinBytes } from '../../http/bytes.ts';
import type { ClientWire } from '../json/client-wire.ts';
import type { Span } from '../json/hosted-parts.ts';
import { jsonText, nameAmong, spaceEnd } from '../json/json-text.ts';
import { type ModelBodyFields, readModelBody } from '../json/request-body.ts';
import { readMembers, valueEnd } from '../json/scan-json.ts';
import { removals } from './hosted-tools.ts';

interface ReadBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly fields: ModelBodyFields;
}

interface WithoutFields extends ReadBody {
  /** The names of the removed fields. */
  readonly dropped: readonly string[];
}

/**
 * Removes the top-level fields that the alias drops, and leaves all other bytes. Null if the body has none of them. A
 * Responses body keeps its `store`: without it, a provider would store what the client wants nobody to store.
 */
export function withoutDropped(
  { bytes, fields }: ReadBody,
  { drop }: Pick<Alias, 'drop'>,
  wire: ClientWire,
): WithoutFields | null {
  const names = wire === 'responses' ? drop.filter((name) => name !== 'store') : drop;
  if (names.length === 0) return null;
  const all: Span[] = [];
  const kept: Span[] = [];
  const dropped = new Set<string>();
  readMembers(jsonText(bytes), spaceEnd(bytes, 0, bytes.length), all, (text, into, start, nameEnd, at) => {
    const member = { start, end: valueEnd(text, at) };
    const name = nameAmong(bytes, start, nameEnd, names);
    into.push(member);
    if (name === null) kept.push(member);
    else dropped.add(name);
    return member.end;
  });
  if (dropped.size === 0) return null;
  const without = withoutSpans(bytes, removals(all, kept));
  const read = readModelBody(without, wire);
  if (read.outcome === 'invalid') throw new Error(`a body without some of its fields: ${read.message}`);
  const { models } = fields;
  return { bytes: without, fields: { ...read.fields, models }, dropped: [...dropped] };
}

function withoutSpans(bytes: Uint8Array, spans: readonly Span[]): Uint8Array<ArrayBuffer> {
  const ends = [0, ...spans.map(({ end }) => end)];
  const starts = [...spans.map(({ start }) => start), bytes.length];
  const pieces = ends.map((end, at) => bytes.subarray(end, starts[at]));
  return joinBytes(
    pieces,
    pieces.reduce((sum, { length }) => sum + length, 0),
  );
}
