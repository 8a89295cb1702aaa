/** Titles and degrees that one CV of a person has and another has not. */
const TITLES = new Set(
  'dr prof professor mr mrs ms mx miss herr frau sir ing dipl mag phd md mba msc bsc ba ma jr sr mme mlle'.split(
    ' ',
  ),
);
/** Letters that do not decompose into a base letter and marks. */
const SPELLED = new Map(
  'ßss æae øo œoe łl đd ðd þth ıi'.split(' ').map((pair) => [pair.slice(0, 1), pair.slice(1)]),
);

/**
 * Whether two names can be of one person: each word of the shorter one occurs in the other, as it is or as its initial,
 * in any order. "A. Byron" and "Byron, Ada Augusta" agree; "Ada Byron" and "Anna Byron" do not, as a family shares an
 * address; neither do "Ada Byron" and "Ada King", because people at an agency share one. A name that is missing agrees
 * with none.
 */
export function namesAgree(one: string | null, other: string | null): boolean {
  const [shorter = [], longer = []] = [wordsOf(one), wordsOf(other)].sort((a, b) => a.length - b.length);
  if (shorter.length === 0) return false;
  // A first name or a surname alone may be of anyone.
  if (shorter.length === 1 && longer.length > 1) return false;
  const left = [...longer];
  const take = (isSame: (word: string) => boolean) => {
    const at = left.findIndex(isSame);
    if (at !== -1) left.splice(at, 1);
    return at !== -1;
  };
  const rest = shorter.filter((word) => !take((candidate) => candidate === word));
  // Initials alone may be of anyone.
  if (rest.length > 0 && !shorter.some((word) => word.length > 1 && !rest.includes(word))) return false;
  return rest.every((word) => take((candidate) => isInitial(word, candidate) || isInitial(candidate, word)));
}

const isInitial = (letter: string, word: string) => letter.length === 1 && word.startsWith(letter);

function wordsOf(name: string | null): readonly string[] {
  const plain = (name ?? '')
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .replaceAll(/[ßæøœłđðþı]/g, (letter) => SPELLED.get(letter) ?? letter)
    .replaceAll(/['’ʼ]/g, '')
    // As "Müller" and "Mueller".
    .replaceAll(/([aou])e/g, '$1');
  const words = plain.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const named = words.filter((word) => !TITLES.has(word));
  return named.length === 0 ? words : named;
}
