import type { LaidOutText } from '../text/layout.ts';
import { firstOverlap, isTaken, type Token } from '../text/tokens.ts';
import stopWords from '../words/stop-words.json' with { type: 'json' };
import {
  companySuffixes,
  isFirstName,
  isLastName,
  isNameWord,
  isPositionWord,
  placeBook,
  schoolHeads,
  titleHeads,
  titleModifiers,
} from '../words/word-lists.ts';

/** Tokens `from` to `to`, exclusive. */
export interface Run {
  readonly from: number;
  readonly to: number;
}

/** Points for and against a run of words being the person's name. */
export interface NameSigns {
  /** Points for the words themselves. */
  looks(run: Run): number;
  /** Points for the text after the run on the same line, which ends at the token `lineEnd`. */
  ending(run: Run, lineEnd: number): number;
  /** Whether an email or profile address contains one of its words. */
  sharesWord(run: Run): boolean;
  /** Whether such an address consists of all its words. */
  isSpelt(run: Run): boolean;
}

const PARTICLE =
  /^(?:de|da|do|di|das|dos|du|des|del|della|van|von|der|den|dem|zu|zum|zur|ter|ten|la|las|le|los|y|bin|al|el)$/i;
const NO_NAME =
  /^(?:resume|curriculum|vitae|cv|lebenslauf|street|road|avenue|drive|lane|city|district|ward|india|usa|email|phone|mobile|address|objective|summary|profile|skills|experience|education|engineering|software|management|marketing|page|contact|confidential|applicant|candidate|degree|highest)$/i;
/** Words that follow a name in a text that has lost its lines. */
const FOLLOWS =
  /^(?:address|adresse|email|e-mail|mail|phone|mobile|mob|ph|tel|cell|contact|current|permanent|home|location|basics|label|gender|sex|male|female|date|dob|born|birth|nationality|age|linkedin|github|profile|summary|objective|about|education|experience|experienced|skills|position|having|im|seeking|willing|looking|working|need|total)$/i;
const STREET = /^(?:street|st|road|rd|avenue|ave|lane|drive|boulevard|blvd)$/i;
const STOP_WORDS: ReadonlySet<string> = new Set(stopWords.en.split(' '));
const ACRONYM = /^\p{Lu}{2,4}$/u;
const CAPITALS = /^[\p{Lu}][\p{Lu}.'’-]+$/u;
/** A single letter for a name. */
export const INITIAL = /^\p{Lu}\.?$/u;

export function createNameSigns(laidOut: LaidOutText): NameSigns {
  const { tokens, text, places, skills, isFlat } = laidOut;
  const handles = handlesIn(laidOut);
  const isSmall = !/\p{Lu}/u.test(text.slice(0, 400));
  const ordinary = isSmall ? new Set<string>() : lowerCaseWords(tokens);

  const wordsOf = ({ from, to }: Run) => tokens.slice(from, to).filter(({ kind }) => kind === 'word');
  const isPlace = ({ start, end, lower }: Token) =>
    isTaken(places, start, end) || (isSmall && placeBook.of(lower) !== undefined);
  // "San Francisco" and "Ho Chi Minh" consist of names.
  const isInLongPlace = ({ start, end }: Token) => {
    const place = firstOverlap(places, start, end);
    return place !== undefined && place.to - place.from > 1;
  };
  const isShared = (word: Token) => handles.some((one) => holds(one, word));
  /** "Bidar Karnataka": a word before a region is a town, even if it is not in the list. */
  const isTown = (at: number) => {
    const next = tokens[at + 1];
    const place = next === undefined ? undefined : firstOverlap(places, next.start, next.end);
    const word = tokens[at];
    return (
      word !== undefined &&
      !isNameWord(word.lower) &&
      !isShared(word) &&
      place !== undefined &&
      place.from === at + 1 &&
      place.city === null &&
      tokens[at]?.segment === next?.segment
    );
  };
  const sharesWord = (run: Run) => wordsOf(run).some(isShared);

  const isSpelt = (run: Run) => {
    const words = wordsOf(run);
    return handles.some((one) => spells(words, one));
  };

  const looks = (run: Run) => {
    const words = wordsOf(run);
    const full = words.filter((word) => !INITIAL.test(word.text));
    const known = full.filter(({ lower }) => isNameWord(lower));
    // "Jan van den Berg" has two words, as "Jan Berg" has, and "Jan van" is not a name. Texts without lines may have no
    // capitals.
    const own = words.filter((word, at) => isFlat || at === words.length - 1 || !isParticle(word.text));
    const fullOwn = own.filter((word) => !INITIAL.test(word.text));
    let score = own.length === 2 || own.length === 3 ? 1.5 : own.length === 1 ? -2 : 0;
    const last = words.at(-1);
    if (!isSmall && last !== undefined && last.text === last.lower && isParticle(last.text)) score -= 4;
    if (isFirstName(words[0]?.lower ?? '')) score += 2;
    else if (known.length > 0) score += 1;
    if (isLastName(last?.lower ?? '')) score += 1;
    if (fullOwn.length > 1 && fullOwn.every(({ lower }) => isNameWord(lower))) score += 1;
    if (new Set(fullOwn.map(({ lower }) => lower)).size < fullOwn.length) score -= 3;
    const shared = Math.max(0, ...handles.map((one) => words.filter((word) => holds(one, word)).length));
    score += Math.min(2, shared) * 2;
    if (known.length + shared === 0) score -= 1;
    if (isSpelt(run)) score += 3;
    if (!isSmall && words.some((word) => !/^\p{Lu}/u.test(word.text) && !PARTICLE.test(word.text)))
      score -= 2;
    for (let at = run.from; at < run.to; at++) if (isTown(at)) score -= 2;
    for (const word of words) {
      if (titleHeads.has(word.lower) || schoolHeads.has(word.lower)) score -= 4;
      if (companySuffixes.has(word.lower) && words.length > 1) score -= 2;
      if (NO_NAME.test(word.text)) score -= 5;
      if (isInLongPlace(word)) score -= 4;
      else if (ACRONYM.test(word.text) && isTaken(skills, word.start, word.end)) score -= 3;
      else if (!isSmall && word.text === word.lower && STOP_WORDS.has(word.lower)) score -= 4;
      else if (isNameWord(word.lower) || isShared(word) || PARTICLE.test(word.text)) continue;
      else if (FOLLOWS.test(word.text) || STOP_WORDS.has(word.lower)) score -= 4;
      else if (isPositionWord(word.lower) && !titleHeads.has(word.lower)) score -= 2;
      else if (isPlace(word)) score -= 4;
      else if (isTaken(skills, word.start, word.end) || ordinary.has(word.lower)) score -= 1.5;
    }
    return score;
  };

  const ending = (run: Run, lineEnd: number) => {
    const words = wordsOf(run);
    const last = words.at(-1);
    const endsInInitial = words.length > 1 && INITIAL.test(last?.text ?? '');
    const to = endsInInitial && tokens[run.to]?.text === '.' ? run.to + 1 : run.to;
    if (to >= lineEnd) return 1;
    const next = tokens[to];
    if (next === undefined || next.kind !== 'word' || (isFlat && isSpelt(run))) return 1;
    if (!isFlat && isParticle(next.text) && to + 1 < lineEnd) return -2;
    const isLastSure = last === undefined || isNameWord(last.lower) || isShared(last);
    if (words.every((word) => CAPITALS.test(word.text)) && !CAPITALS.test(next.text)) return 1.5;
    const score = words.length > 2 && !isLastSure && !isGivenName(words.at(-2)) ? -1.25 : 0;
    if (words.length > 2 && STREET.test(next.text)) return score - 2;
    const isKnown = isNameWord(next.lower);
    if (FOLLOWS.test(next.text) || STOP_WORDS.has(next.lower)) return score + 1;
    if (titleHeads.has(next.lower) || titleModifiers.has(next.lower)) return score + 1;
    if (isPositionWord(next.lower) && !isKnown) return score + 1;
    if (isPlace(next)) return isKnown ? score : score + 1;
    if (isKnown || INITIAL.test(next.text)) return score - (endsInInitial ? 3 : 1.5);
    if (ordinary.has(next.lower) || isTown(to)) return score + 1;
    // "Jane Maria Robinson Quillfeather": after three known names, the last word is also a name.
    const known = words.filter(({ lower }) => isNameWord(lower));
    if (!isFlat && known.length > 2 && to + 1 === lineEnd && /^\p{Lu}/u.test(next.text)) return score - 1;
    // "Jane D Robinson", "Jane Maria Robinson": the name continues after an initial or a second given name.
    return endsInInitial ? score - 3 : isGivenName(last) ? score - 1 : score;
  };

  return { looks, ending, sharesWord, isSpelt };
}

/** Small words within names; "Das" and "Le" are names. */
export function isParticle(word: string): boolean {
  return PARTICLE.test(word) && !/^\p{Lu}\p{Ll}/u.test(word);
}

function isGivenName(word: Token | undefined): boolean {
  return word !== undefined && isFirstName(word.lower) && !isLastName(word.lower);
}

function lowerCaseWords(tokens: readonly Token[]): ReadonlySet<string> {
  return new Set(
    tokens.filter(({ kind, text, lower }) => kind === 'word' && text === lower).map(({ lower }) => lower),
  );
}

/** The address of a CV at Indeed, also without its punctuation: `indeed.com/r/Jane-Doe/…`, `indeedcomrJaneDoe…`. */
const INDEED = /indeed\.?com\/?r\/?(\p{L}[\p{L} -]{2,60}?)\/?[\da-f]{16}(?![\p{L}\d])/giu;
const JOINED_PROFILE = /linkedincomin(\p{L}[\p{L}\d]{3,60})(?![\p{L}\d])/giu;
const JOINED_EMAIL =
  /(?<![\p{L}\d])(\p{L}[\p{L}\d]{3,40}?)\d{0,8}(?:gmail|googlemail|yahoo|hotmail|outlook|icloud|rediffmail|live|ymail)(?:com|co[a-z]{2}|in|de|fr|es|it)(?![\p{L}\d])/giu;
const MOST_CHARACTERS = 12_000;

/** The letters of the email address and of user names in web profiles, which often are the person's name. */
function handlesIn({ emails, links, text }: LaidOutText): string[] {
  const part = text.slice(0, MOST_CHARACTERS);
  const joined = [INDEED, JOINED_PROFILE, JOINED_EMAIL].flatMap((pattern) =>
    [...part.matchAll(pattern)].map((match) => match[1] ?? ''),
  );
  const profiles = links.flatMap(({ value: { network, username } }) =>
    network === null || network === 'Indeed' ? [] : (username?.replace(/-[\da-f]*\d[\da-f]*$/, '') ?? []),
  );
  const [local = '', domain = ''] = emails[0]?.value.split('@') ?? [];
  return [local, ...joined, ...profiles, domain.split('.')[0] ?? '']
    .map((one) => one.toLowerCase().replace(/[^\p{L}]/gu, ''))
    .filter((one) => one.length > 3);
}

function holds(handle: string, { lower }: Token): boolean {
  return lower.length > 2 && handle.includes(lower.replace(/[^\p{L}]/gu, ''));
}

const MOST_SPELT = 5;

/** Whether a handle consists of exactly these words, each in full or as its first letter, in any order: `hanhnt`. */
function spells(words: readonly Token[], handle: string): boolean {
  if (words.length < 2 || words.length > MOST_SPELT) return false;
  const letters = words.map(({ lower }) => lower.replace(/[^\p{L}]/gu, ''));
  const fits = (rest: string, left: readonly string[], whole: boolean): boolean => {
    if (left.length === 0) return rest === '' && whole;
    return left.some((word, at) => {
      const others = left.filter((_, other) => other !== at);
      if (
        word !== '' &&
        rest.startsWith(word) &&
        fits(rest.slice(word.length), others, whole || word.length > 2)
      )
        return true;
      return rest[0] === word[0] && fits(rest.slice(1), others, whole);
    });
  };
  return fits(handle, letters, false);
}
