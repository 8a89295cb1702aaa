import type { Mention, MentionKind } from '../tagger/decode.ts';
import type { LaidOutText } from '../text/layout.ts';
import type { Token } from '../text/tokens.ts';
import { degreesIn, isPositionWord } from '../words/word-lists.ts';

const AT = /^(?:at|@|bei|chez|bij|presso)$/i;
const MOST_EMPLOYER = 6;

/**
 * "Voilier chez Atlantique Voiles", tagged as one title or company, is a position and its employer; "Maurer, 20 Jahre
 * Erfahrung" and "Designer - Photoshop" are positions followed by other text.
 */
export function plainParts({ tokens }: LaidOutText, mention: Mention): Mention[] {
  if (mention.kind !== 'title' && mention.kind !== 'company') return [mention];
  if (mention.kind === 'company' && namesDegree(tokens.slice(mention.from, mention.to)))
    return [{ ...mention, kind: 'degree' }];
  const cut = tokens
    .slice(mention.from, mention.to)
    .findIndex(({ text, end }, at) =>
      /^[-–—]$/.test(text)
        ? tokens[mention.from + at + 1]?.start !== end
        : text === ',' && tokens[mention.from + at + 1]?.kind === 'number',
    );
  if (cut > 0 && mention.kind === 'title') {
    const short = mentionOf(tokens, 'title', mention.from, mention.from + cut);
    return short === null ? [] : [{ ...short, confidence: mention.confidence }];
  }
  const joint = tokens.slice(mention.from, mention.to).findIndex(({ text }) => AT.test(text));
  if (joint <= 0) return [mention];
  const at = mention.from + joint;
  const parts = [
    mentionOf(tokens, 'title', mention.from, at),
    mentionOf(tokens, 'company', at + 1, mention.to),
  ];
  return parts.flatMap((part) => (part === null ? [] : [{ ...part, confidence: mention.confidence }]));
}

/** English "at" is not among them: the tagger knows it, and names contain it. */
const BEFORE_COMPANY = /^(?:presso|chez|bei|beim|bij)$/i;

/**
 * What is behind "chez" is an employer: "Vendeuse chez Zara", tagged as one position, and "presso" "Studio Commercialista"
 * "Galli e Associati", of which the first was taken for a position.
 */
export function partedEmployers({ tokens }: LaidOutText, mentions: readonly Mention[]): Mention[] {
  const parted: Mention[] = [];
  for (const mention of mentions) {
    const last = parted.at(-1);
    const { from, to, confidence } = mention;
    const isRest = last?.kind === 'company' && last.to === from && last.segment === mention.segment;
    if (mention.kind === 'company' && isRest && startsBehind(tokens, last)) {
      parted[parted.length - 1] = { ...last, to, end: mention.end };
      continue;
    }
    const at = jointOf(tokens, mention);
    if (at === null) {
      parted.push(mention);
      continue;
    }
    let begin = at + 1;
    while (begin < to && /^\p{Ll}/u.test(tokens[begin]?.text ?? '')) begin++;
    const parts = [mentionOf(tokens, 'title', from, at), mentionOf(tokens, 'company', begin, to)];
    parted.push(...parts.flatMap((part) => (part === null ? [] : [{ ...part, confidence }])));
  }
  return parted;
}

/** The word before the employer, in the mention or before a position; "Chez Paul" is a name. */
function jointOf(tokens: readonly Token[], { kind, from, to, segment }: Mention): number | null {
  if (kind !== 'title' && kind !== 'company') return null;
  for (let at = kind === 'title' ? from - 1 : from; at < to; at++) {
    const token = tokens[at];
    if (token?.segment !== segment || !BEFORE_COMPANY.test(token.text)) continue;
    if (kind === 'title' || /^\p{Ll}/u.test(token.text)) return at;
  }
  return null;
}

function startsBehind(tokens: readonly Token[], { from, segment }: Mention): boolean {
  const before = tokens[from - 1];
  return before?.segment === segment && BEFORE_COMPANY.test(before.text);
}

/** "BSc Physics", but not "Forklift licence". */
export function namesDegree(words: readonly Token[]): boolean {
  return degreesIn(words).length > 0 && !words.some(({ text }) => /^licen[cs]e$/i.test(text));
}

/** Words before a position in a sentence: "I am a …", "worked as a …", "als …". */
const BEFORE_TITLE = /^(?:an?|as|am|als|eine?|einen|une?|una?|comme|como|come|een|uma?)$/i;
const MOST_MODIFIERS = 3;
/** "I worked for …", "ten years at …". */
const BEFORE_EMPLOYER = /^(?:for|at|with|bei|für|chez|pour|en|para|presso|per|bij|voor|na)$/i;
const WORKED =
  /^(?:work(?:s|ed|ing)?|employed|years?|arbeite(?:te)?|gearbeitet|jahren?|travaill\p{L}*|ans|trabaj\p{L}*|años|lavor\p{L}*|anni|trabalh\p{L}*|anos|werk\p{L}*|jaar)$/iu;
const REACH = 6;

/** Positions and employers in the sentences of a text of a few lines, where nothing else was found. */
export function inSentences(
  { tokens, tokenStarts, segments }: LaidOutText,
  seen: readonly Mention[],
): Mention[] {
  const found: Mention[] = [];
  const isFree = (from: number, to: number) => !seen.some((one) => one.from < to && from < one.to);
  const add = (mention: Mention | null) => {
    if (mention !== null && isFree(mention.from, mention.to)) found.push(mention);
  };
  for (let segment = 0; segment < segments.length; segment++) {
    const [first, end] = [tokenStarts[segment] ?? 0, tokenStarts[segment + 1] ?? 0];
    for (let at = first; at < end; at++) {
      if (isPositionWord(tokens[at]?.lower ?? '')) add(titleBehindWord(tokens, first, at));
      const isEmployer = BEFORE_EMPLOYER.test(tokens[at]?.text ?? '');
      const before = tokens.slice(Math.max(first, at - REACH), at);
      if (isEmployer && before.some(({ text }) => WORKED.test(text)))
        add(mentionOf(tokens, 'company', at + 1, capitalsEnd(tokens, at + 1, end)));
    }
  }
  return found;
}

function titleBehindWord(tokens: readonly Token[], first: number, head: number): Mention | null {
  for (let from = head; from > first && head - from <= MOST_MODIFIERS; from--) {
    if (BEFORE_TITLE.test(tokens[from - 1]?.text ?? '')) return mentionOf(tokens, 'title', from, head + 1);
    if (tokens[from - 1]?.kind !== 'word') return null;
  }
  return null;
}

function capitalsEnd(tokens: readonly Token[], from: number, end: number): number {
  let to = from;
  for (let at = from; at < end && at - from < MOST_EMPLOYER; at++) {
    const token = tokens[at];
    if (token?.kind === 'word' && /^\p{Lu}/u.test(token.text)) to = at + 1;
    else if (!/^(?:&|and|of|de|und)$/i.test(token?.text ?? '')) break;
  }
  return to;
}

function mentionOf(tokens: readonly Token[], kind: MentionKind, from: number, to: number): Mention | null {
  const [first, last] = [tokens[from], tokens[to - 1]];
  if (from >= to || first === undefined || last === undefined) return null;
  return { kind, from, to, start: first.start, end: last.end, segment: first.segment, confidence: 0.4 };
}
