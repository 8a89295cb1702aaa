import type { StreamUsageChunk } from '../../domain/keys/api-key.ts';
import { isObject } from '../../ports/json-object.ts';
import type { ModelEndpoint } from '../../ports/model-upstream.ts';
import { isName, jsonAt, jsonText, OPENING_BRACE, spaceEnd } from './json-text.ts';
import { asksForUsage, type ModelBodyFields } from './request-body.ts';
import { type MemberReader, readMembers, valueEnd } from './scan-json.ts';

/**
 * How the usage chunk of a stream reaches the client. It is requested for every stream, because charges are based on it. A
 * client that did not request it reads `choices[0]` of every chunk, so it gets an empty choice, in the format of its endpoint.
 */
export type UsageChunkForm = 'as-sent' | 'empty-delta' | 'empty-text' | 'hidden';

interface StreamedCall {
  readonly key: { readonly streamUsageChunk: StreamUsageChunk | null };
  readonly route: { readonly endpoint: ModelEndpoint };
  readonly bytes: Uint8Array;
  readonly fields: Pick<ModelBodyFields, 'streamOptions'>;
}

/** `setting` applies if the key has no setting of its own. */
export function usageChunkForm(
  setting: 'always' | 'asked' = 'always',
  { key, route, bytes, fields }: StreamedCall,
): UsageChunkForm {
  if (asksForUsage(bytes, fields)) return 'as-sent';
  if ((key.streamUsageChunk?.toLowerCase() ?? setting) !== 'always') return 'hidden';
  return route.endpoint === 'completions' ? 'empty-text' : 'empty-delta';
}

/** A change of an event: these bytes in place of those from `start` to `end`. */
export interface EventChange {
  readonly start: number;
  readonly end: number;
  readonly bytes: Uint8Array;
}

/** What gives the usage chunk at bytes `start` to `end`, a valid JSON object with at least its usage, an empty choice. */
export function emptyChoiceIn(
  bytes: Uint8Array,
  start: number,
  end: number,
  form: 'empty-delta' | 'empty-text',
): EventChange {
  const chunk = bytes.subarray(start, end);
  const brace = spaceEnd(chunk, 0, chunk.length);
  if (chunk[brace] !== OPENING_BRACE) throw new Error('a usage chunk must be an object');
  const found = { start: 0, end: 0 };
  readMembers(jsonText(chunk), brace, found, noteChoices);
  if (found.end > 0)
    return { start: start + found.start, end: start + found.end, bytes: CHOICES[form].value };
  const after = start + brace + 1;
  return { start: after, end: after, bytes: CHOICES[form].member };
}

/** Finds the last member of the name, which is the one that parsers read. */
function noting(name: string): MemberReader<{ start: number; end: number }> {
  return (text, found, nameStart, nameEnd, start) => {
    const end = valueEnd(text, start);
    if (isName(text.bytes, nameStart, nameEnd, name)) Object.assign(found, { start, end });
    return end;
  };
}

const noteChoices = noting('choices');
const noteInput = noting('input_tokens');
const encoder = new TextEncoder();

/**
 * The estimate in place of the 0 with which `message_start` begins where the provider counts its prompt only at the end. Null
 * where it counts now. `start` and `end` are those of the usage.
 */
export function inputEstimateIn(
  bytes: Uint8Array,
  start: number,
  end: number,
  estimate: number,
): EventChange | null {
  const usage = bytes.subarray(start, end);
  const read = jsonAt(usage, 0, usage.length);
  if (!isObject(read) || INPUT_COUNTS.some((name) => Boolean(read[name]))) return null;
  const found = { start: 0, end: 0 };
  readMembers(jsonText(usage), 0, found, noteInput);
  if (found.end === 0) return null;
  return { start: start + found.start, end: start + found.end, bytes: encoder.encode(String(estimate)) };
}

const INPUT_COUNTS = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];

const CHOICES = {
  'empty-delta': choicesOf({ index: 0, delta: {}, finish_reason: null }),
  'empty-text': choicesOf({ index: 0, text: '', finish_reason: null, logprobs: null }),
};

function choicesOf(choice: object) {
  const value = JSON.stringify([choice]);
  return { value: encoder.encode(value), member: encoder.encode(`"choices":${value},`) };
}
