/** What a token can be part of. */
export const KINDS = ['name', 'title', 'company', 'school', 'degree', 'place', 'skill'] as const;

export type MentionKind = (typeof KINDS)[number];

/** 0 is outside; then for each kind the label of a first token and the label of the tokens after it. */
export const LABEL_COUNT = 1 + 2 * KINDS.length;
export const OUTSIDE = 0;

export function firstLabel(kind: MentionKind): number {
  return 1 + 2 * KINDS.indexOf(kind);
}

export function isFirst(label: number): boolean {
  return label % 2 === 1;
}

export function kindOf(label: number): MentionKind | null {
  return label === OUTSIDE ? null : (KINDS[(label - 1) >> 1] ?? null);
}
