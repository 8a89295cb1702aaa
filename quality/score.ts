/** Right ones, made-up ones and missed ones of one field over all documents. */
export interface Tally {
  right: number;
  extra: number;
  missed: number;
}

export interface Figures {
  readonly precision: number;
  readonly recall: number;
  readonly f1: number;
  readonly wanted: number;
}

export function figuresOf({ right, extra, missed }: Tally): Figures {
  const precision = right + extra === 0 ? 0 : right / (right + extra);
  const recall = right + missed === 0 ? 0 : right / (right + missed);
  const f1 = precision + recall === 0 ? 0 : (2 * precision * recall) / (precision + recall);
  return { precision, recall, f1, wanted: right + missed };
}

export function plain(value: string): string {
  return value
    .toLowerCase()
    .normalize('NFKC')
    .replace(/[^\p{L}\p{N}+#@]+/gu, ' ')
    .trim();
}

export type Sameness = (one: string, other: string) => boolean;

export const isSame: Sameness = (one, other) =>
  one === other || one.replaceAll(' ', '') === other.replaceAll(' ', '');

/** At least half of the words that either has, they have both. */
export const isNear: Sameness = (one, other) => {
  if (isSame(one, other)) return true;
  const [left, right] = [new Set(one.split(' ')), new Set(other.split(' '))];
  let both = 0;
  for (const word of left) if (right.has(word)) both++;
  return both / (left.size + right.size - both) >= 0.5;
};

/** Every wanted value may be matched by one found value; equal ones are paired before near ones. */
export function compare(
  tally: Tally,
  wanted: readonly string[],
  found: readonly string[],
  sameness: Sameness,
): { missed: string[]; extra: string[] } {
  const left = [...new Set(wanted.map(plain))].filter((value) => value !== '');
  const right = [...new Set(found.map(plain))].filter((value) => value !== '');
  const total = left.length;
  for (const rule of [isSame, sameness]) {
    for (let at = left.length - 1; at >= 0; at--) {
      const match = right.findIndex((value) => rule(left[at] ?? '', value));
      if (match === -1) continue;
      left.splice(at, 1);
      right.splice(match, 1);
    }
  }
  tally.right += total - left.length;
  tally.missed += left.length;
  tally.extra += right.length;
  return { missed: left, extra: right };
}
