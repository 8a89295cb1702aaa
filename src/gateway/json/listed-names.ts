import { TIER_FIELDS } from '../../domain/models/tiers/tiers.ts';
import { isFoldedName } from './json-text.ts';

/** Each of these decides what a call is or what it costs: twice, or in other letters, they are refused (G-13). */
export const LISTED_NAMES = [
  'model',
  'models',
  'stream',
  'stream_options',
  'include_usage',
  'max_tokens',
  'max_completion_tokens',
  'n',
  'best_of',
  ...TIER_FIELDS,
] as const;
export const LISTED_OF_RESPONSES = [
  ...LISTED_NAMES,
  'max_output_tokens',
  'background',
  'store',
  'previous_response_id',
  'max_tool_calls',
] as const;
export type ListedName = (typeof LISTED_OF_RESPONSES)[number];

/**
 * Members whose content the provider fetches or unpacks, so that the body's length says nothing about its tokens.
 * A tool's parameter of such a name counts too: then more is held than needed, never less.
 */
export const OUTSIDE_NAMES = [
  'image_url',
  'video_url',
  'audio_url',
  'input_audio',
  'audio',
  'file_id',
  'file_ids',
  'file_url',
  'file_data',
  'media_type',
  'previous_response_id',
  'conversation',
  'vector_store_ids',
  'server_url',
  'web_search_options',
  'search_parameters',
  'plugins',
] as const;

/** What is wrong with a body, and with which of its members. */
export interface BodyProblem {
  readonly message: string;
  readonly param: string;
}

export interface SeenNames {
  /** The wire's. */
  readonly listed: readonly ListedName[];
  /** The first thing that is wrong with a member. */
  problem: BodyProblem | null;
  /** A bit for each of them that was there. */
  seen: number;
}

/** `within` is empty at the top level. */
export function noteName(into: SeenNames, name: ListedName, within: string): void {
  const bit = 1 << into.listed.indexOf(name);
  if ((into.seen & bit) !== 0) refuseName(into, name, within, (full) => `Duplicate field '${full}'.`);
  into.seen |= bit;
}

/**
 * Some parsers (Go's, for one) match names whatever the case of their letters: to them "Model" is the model, and
 * "Stream" a stream that is not metered. No upstream may read the body otherwise than we did (G-13).
 */
export function refuseCaseVariant(
  bytes: Uint8Array,
  into: SeenNames,
  start: number,
  end: number,
  within: string,
): void {
  for (const name of into.listed) {
    if (!isFoldedName(bytes, start, end, name)) continue;
    refuseName(into, name, within, (full) => `Write the field '${full}' in lower case.`);
    return;
  }
}

function refuseName(into: SeenNames, name: string, within: string, message: (full: string) => string): void {
  into.problem ??= {
    message: message(within === '' ? name : `${within}.${name}`),
    param: within === '' ? name : within,
  };
}
