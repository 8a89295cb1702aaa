/** What a token of a CV can be part of. */
export const CV_KINDS = ['name', 'title', 'company', 'school', 'degree', 'place', 'skill'] as const;
/** What a token of a posting can be part of: something that somebody can do, or something that somebody knows. */
export const POSTING_KINDS = ['ability', 'knowledge'] as const;

export type MentionKind = (typeof CV_KINDS)[number];
export type PostingKind = (typeof POSTING_KINDS)[number];

/** 0 is outside; then for each kind the label of a first token and the label of the tokens after it. */
export const OUTSIDE = 0;

export function labelCount(kinds: readonly string[]): number {
  return 1 + 2 * kinds.length;
}

export function firstLabel<Kind extends string>(kinds: readonly Kind[], kind: Kind): number {
  return 1 + 2 * kinds.indexOf(kind);
}

export function isFirst(label: number): boolean {
  return label % 2 === 1;
}

export function kindOf<Kind extends string>(kinds: readonly Kind[], label: number): Kind | null {
  return label === OUTSIDE ? null : (kinds[(label - 1) >> 1] ?? null);
}
