/**
 * The tokenizer of BERT's uncased networks: accents and case are dropped, words are cut at white space, punctuation and
 * CJK characters, and each word becomes the longest pieces in the vocabulary. The pieces are the same as those of the
 * tokenizers that the networks were trained with; `word-pieces.test.ts` compares recorded ones. Names of special pieces
 * in a text ("[SEP]") are ordinary text.
 */
export interface WordPieces {
  encode(text: string): EncodedText;
}

export interface EncodedText {
  readonly ids: readonly number[];
  /** The position of each piece in the text, in UTF-16 units: start, and end (exclusive). */
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Whether a piece starts a word; the others continue it. */
  readonly isFirst: readonly boolean[];
}

export const CLS_PIECE = 101;
export const SEP_PIECE = 102;
export const UNKNOWN_PIECE = 100;

/** In characters. Longer words are unknown, as in training. */
const LONGEST_WORD = 100;

/** `vocabulary` has one piece per line; the number of the line is the piece's id. */
export function createWordPieces(vocabulary: string): WordPieces {
  const ids = new Map(
    vocabulary
      .trimEnd()
      .split('\n')
      .map((piece, id) => [piece, id]),
  );
  return {
    encode(text) {
      const pieces = { ids: [], starts: [], ends: [], isFirst: [] };
      for (const word of wordsOf(text)) addPieces(ids, word, pieces);
      return pieces;
    },
  };
}

/** A word as in the vocabulary: lower case, without accents. */
interface Word {
  /** One entry per character: some characters of a text become several ("ﬁ" stays one, "한" becomes three). */
  readonly characters: string[];
  readonly starts: number[];
  readonly ends: number[];
}

interface Pieces {
  readonly ids: number[];
  readonly starts: number[];
  readonly ends: number[];
  readonly isFirst: boolean[];
}

function addPieces(known: ReadonlyMap<string, number>, word: Word, pieces: Pieces): void {
  const { characters } = word;
  const found: { readonly id: number; readonly from: number; readonly to: number }[] = [];
  let from = characters.length > LONGEST_WORD ? -1 : 0;
  while (from >= 0 && from < characters.length) {
    let to = characters.length;
    let id: number | undefined;
    for (; to > from; to -= 1) {
      const piece = characters.slice(from, to).join('');
      id = known.get(from === 0 ? piece : `##${piece}`);
      if (id !== undefined) break;
    }
    if (id === undefined) from = -1;
    else {
      found.push({ id, from, to });
      from = to;
    }
  }
  const whole = { id: UNKNOWN_PIECE, from: 0, to: characters.length };
  for (const [at, piece] of (from < 0 ? [whole] : found).entries()) {
    pieces.ids.push(piece.id);
    pieces.starts.push(word.starts[piece.from] ?? 0);
    pieces.ends.push(word.ends[piece.to - 1] ?? 0);
    pieces.isFirst.push(at === 0);
  }
}

function* wordsOf(text: string): Generator<Word> {
  let word: Word = { characters: [], starts: [], ends: [] };
  /** Yields the current word, if there is one, and starts the next. */
  function* cut(): Generator<Word> {
    if (word.characters.length === 0) return;
    yield word;
    word = { characters: [], starts: [], ends: [] };
  }
  let end = 0;
  for (const character of text) {
    const start = end;
    end += character.length;
    if (isDropped(character)) continue;
    if (isSpace(character)) {
      yield* cut();
      continue;
    }
    const isWord = isCjk(character);
    for (const part of folded(character)) {
      const isAlone = isWord || isPunctuation(part);
      if (isAlone) yield* cut();
      word.characters.push(part);
      word.starts.push(start);
      word.ends.push(end);
      if (isAlone) yield* cut();
    }
  }
  yield* cut();
}

const ASCII_LETTER = /^[0-9A-Za-z]$/;
const CONTROL = /^[\p{Cc}\p{Cf}\p{Co}\p{Cs}\uFFFD]$/u;
const SPACE = /^\p{White_Space}$/u;
const PUNCTUATION = /^[\p{P}!-/:-@[-`{-~]$/u;

/** Control characters are dropped, except line ends and tabs, which are spaces. */
function isDropped(character: string): boolean {
  return !ASCII_LETTER.test(character) && !'\t\n\r'.includes(character) && CONTROL.test(character);
}

function isSpace(character: string): boolean {
  return character === ' ' || (!ASCII_LETTER.test(character) && SPACE.test(character));
}

function isPunctuation(character: string): boolean {
  return !ASCII_LETTER.test(character) && PUNCTUATION.test(character);
}

const CJK_RANGES = [
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xf900, 0xfaff],
  [0x20000, 0x2a6df],
  [0x2a700, 0x2b73f],
  [0x2b740, 0x2b81f],
  [0x2b920, 0x2ceaf],
  [0x2f800, 0x2fa1f],
] as const;

/** Chinese characters, including those of Japanese; Hangul and kana are written in words. */
function isCjk(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return CJK_RANGES.some(([first, last]) => code >= first && code <= last);
}

/** Lower case without accents: most characters become one, some none or several. */
function folded(character: string): readonly string[] {
  if (character <= '\u007f') return [character.toLowerCase()];
  const parts: string[] = [];
  for (const part of character.normalize('NFD')) {
    if (!/^\p{Mn}$/u.test(part)) parts.push(...part.toLowerCase());
  }
  return parts;
}
