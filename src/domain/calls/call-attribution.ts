/** What a call was for, as given by its client and its key. Absent fields cost nothing. */
export interface CallAttribution {
  /** At most 128 characters. */
  readonly endUser?: string | undefined;
  /** At most 8, of at most 64 characters each; sorted and unique. */
  readonly tags?: readonly string[] | undefined;
  /** The project of the key. */
  readonly project?: string | undefined;
}

export const LONGEST_END_USER = 128;
const MOST_TAGS = 8;
const LONGEST_TAG = 64;
export const TAGS_HEADER = 'x-turnpike-tags';

/** Truncated to its limit; undefined if nothing remains. */
export function boundedEndUser(text: string): string | undefined {
  return storable(text, LONGEST_END_USER);
}

/** Sorted, unique and truncated to their limits; undefined if there are none. Tags after the eighth are ignored. */
export function boundedTags(given: readonly string[]): readonly string[] | undefined {
  const tags = new Set<string>();
  for (const one of given) {
    if (tags.size === MOST_TAGS) break;
    const tag = storable(one, LONGEST_TAG);
    if (tag !== undefined) tags.add(tag);
  }
  return tags.size === 0 ? undefined : [...tags].sort();
}

type ReadTags =
  | { readonly outcome: 'read'; readonly tags: readonly string[] }
  | { readonly outcome: 'refused'; readonly message: string };

/** Reads the value of the header: tags separated by commas. Empty tags are skipped. */
export function readTagsHeader(value: string): ReadTags {
  const tags = value
    .split(',', MOST_WRITTEN)
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
  if (tags.length > MOST_TAGS) return refused(`has more than ${MOST_TAGS} tags. Send at most ${MOST_TAGS}`);
  if (tags.some((tag) => tag.length > LONGEST_TAG)) {
    return refused(`has a tag of more than ${LONGEST_TAG} characters. Send shorter tags`);
  }
  return { outcome: 'read', tags };
}

/** The most fields that are read of the header, which may consist of commas only. */
const MOST_WRITTEN = 64;

function refused(what: string): ReadTags {
  return { outcome: 'refused', message: `The header ${TAGS_HEADER} ${what}.` };
}

/**
 * Makes a text storable in PostgreSQL, which would refuse the row, and with it the charge, because of a zero character or
 * half of a surrogate pair. Control characters become spaces, because these texts are shown in tables and files.
 */
function storable(text: string, most: number): string | undefined {
  const cut = (text.length > most ? text.slice(0, most) : text).toWellFormed();
  const clean = cut.replace(CONTROLS, ' ').trim();
  return clean === '' ? undefined : clean;
}

const CONTROLS = /\p{Cc}/gu;
