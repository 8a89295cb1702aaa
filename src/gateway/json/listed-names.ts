import { TIER_FIELDS } from '../../domain/models/tiers/tiers.ts';
import { isFoldedName } from './json-text.ts';

/** Fields that determine what a call is or costs: they are refused if repeated or in a different case (G-13). */
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
 * Members whose content the provider fetches or unpacks, so that the length of the body does not indicate its tokens. A tool
 * parameter with such a name counts too: then more is held than needed, never less.
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
  'enable_search',
  'cached_content',
  'plugins',
] as const;

/** A problem with a body, and the member that caused it. */
export interface BodyProblem {
  readonly message: string;
  readonly param: string;
}

export interface SeenNames {
  /** The listed names of the wire format. */
  readonly listed: readonly ListedName[];
  /** The first problem with a member. */
  problem: BodyProblem | null;
  /** One bit for each listed name that occurred. */
  seen: number;
  /** How many members were read that are not listed. */
  others: number;
}

/**
 * The members that a body may have besides the listed ones. Each is compared with every listed name: a megabyte of them takes
 * a third of a second. APIs of models have fewer than a hundred.
 */
export const MOST_OTHER_MEMBERS = 1_000;

/** Counts a member that is not listed. */
export function isOneTooMany(into: SeenNames): boolean {
  into.others += 1;
  return into.others > MOST_OTHER_MEMBERS;
}

/** `within` is empty at the top level. */
export function noteName(into: SeenNames, name: ListedName, within: string): void {
  const bit = 1 << into.listed.indexOf(name);
  if ((into.seen & bit) !== 0) refuseName(into, name, within, (full) => `Duplicate field '${full}'.`);
  into.seen |= bit;
}

/**
 * Some parsers (such as Go's) ignore case in names: they treat "Model" as the model, and "Stream" as a stream that is not
 * metered. No upstream may read the body differently than we do (G-13).
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
