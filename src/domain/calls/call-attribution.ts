/** Whom and what a call was for, as its client and its key say. Absent costs nothing. */
export interface CallAttribution {
  /** At most 128 characters. */
  readonly endUser?: string | undefined;
  /** At most 8 of at most 64 characters each, sorted, each once. */
  readonly tags?: readonly string[] | undefined;
  /** That of the key. */
  readonly project?: string | undefined;
}

export const LONGEST_END_USER = 128;
export const MOST_TAGS = 8;
const LONGEST_TAG = 64;
export const TAGS_HEADER = 'x-turnpike-tags';

/** Cut to its bound; undefined where nothing is left of it. */
export function boundedEndUser(text: string): string | undefined {
  return storable(text, LONGEST_END_USER);
}

/** Sorted, each once, cut to their bounds; undefined without one. Of more than eight the first count. */
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

/** The value of the header: tags with commas between them. Empty ones are left out. */
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

/** Of a header that is nothing but commas no more is read. */
const MOST_WRITTEN = 64;

function refused(what: string): ReadTags {
  return { outcome: 'refused', message: `The header ${TAGS_HEADER} ${what}.` };
}

/**
 * What PostgreSQL can store as text: a zero character, or half of a surrogate pair, would refuse the row, and with it the
 * charge. Control characters become spaces, for these texts are shown in tables and files.
 */
function storable(text: string, most: number): string | undefined {
  const cut = (text.length > most ? text.slice(0, most) : text).toWellFormed();
  const clean = cut.replace(CONTROLS, ' ').trim();
  return clean === '' ? undefined : clean;
}

const CONTROLS = /\p{Cc}/gu;
