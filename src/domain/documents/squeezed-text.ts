/**
 * A text without its white space and in small letters, with the way back to the offsets of the original. Line breaks
 * that a reader put into a name, blanks that a PDF put into an address, and capitals are no difference in it.
 */
export interface SqueezedText {
  readonly text: string;
  /** The offset in the original of each character, and one more for the end. */
  readonly offsets: Int32Array;
}

const BLANK = /\s|\u00a0|\u00ad|\u200b|\u200c|\u200d|\ufeff/;

/** One character for one character, so that offsets hold: what would become longer stays as it is. */
function folded(character: string): string {
  switch (character) {
    case '’':
    case '‘':
    case '`':
    case '´':
      return "'";
    case '“':
    case '”':
    case '„':
      return '"';
    case '–':
    case '—':
    case '−':
    case '‐':
    case '‑':
      return '-';
    default: {
      const lower = character.toLowerCase();
      return lower.length === character.length ? lower : character;
    }
  }
}

export function squeeze(original: string): SqueezedText {
  const kept: string[] = [];
  const offsets = new Int32Array(original.length + 1);
  let count = 0;
  for (let at = 0; at < original.length; at++) {
    const character = original[at] ?? '';
    if (BLANK.test(character)) continue;
    kept.push(folded(character));
    offsets[count++] = at;
  }
  offsets[count] = original.length;
  return { text: kept.join(''), offsets };
}
