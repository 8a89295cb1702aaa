import type { Mention } from '../tagger/decode.ts';
import type { LaidOutText } from '../text/layout.ts';
import { firstOverlap, type Token } from '../text/tokens.ts';
import { companySuffixes, degreesIn, isSchoolWord } from '../words/word-lists.ts';

/** Marks and small words that no name ends with. */
export const EDGE =
  /^(?:[^\p{L}\p{N}+#)]|and|or|the|at|with|a|an|to|as|in|for|of|from|since|by|is|was|on)$/iu;
const TAIL = /^(?:of|for|de|del|della|für|di|da|do|van|voor|des|du|der|-|\/|&|and|und|et|y|e)$/i;

const MOST_WIDENED = 5;

/**
 * The start of the next mention of another kind, within the distance that a mention may be extended: "Tester - Acme
 * Ltd" ends before Acme.
 */
export function nextOther(mentions: readonly Mention[], at: number): number {
  const { kind, to } = mentions[at] ?? { kind: null, to: 0 };
  for (let next = at + 1; next < mentions.length; next++) {
    const other = mentions[next];
    if (other === undefined || other.from >= to + MOST_WIDENED) break;
    if (other.kind !== kind && other.kind !== 'place' && other.from >= to) return other.from;
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * Extends a title over the small words after it ("Jefe" "de almacén"), a school over a town that follows without a
 * comma ("Technische Universität" "München"), a company over its legal form, and a place to the range known from the
 * list of places.
 */
export function widened(
  { text, tokens, tokenStarts, places }: LaidOutText,
  mention: Mention,
  before: number,
): Mention {
  const end = Math.min(tokenStarts[mention.segment + 1] ?? 0, mention.to + MOST_WIDENED, before);
  const next = tokens[mention.to];
  let { from, to } = mention;
  if (mention.kind === 'place') {
    const known = firstOverlap(places, mention.start, mention.end);
    if (known !== undefined) [from, to] = [Math.min(from, known.from), Math.max(to, known.to)];
  } else if (mention.kind === 'title' && TAIL.test(next?.text ?? '') && next?.segment === mention.segment) {
    let at = to;
    while (at < end && (tokens[at]?.kind === 'word' || TAIL.test(tokens[at]?.text ?? ''))) at++;
    const reachesEdge =
      at === (tokenStarts[mention.segment + 1] ?? 0) ||
      tokens[at]?.text === ',' ||
      tokens[at]?.kind === 'date';
    if (reachesEdge && tokens[at - 1]?.kind === 'word' && !EDGE.test(tokens[at - 1]?.text ?? '')) to = at;
  } else if (mention.kind === 'company' && next?.segment === mention.segment) {
    if (/^(?:of|de|del|della|di|du|&|and)$/i.test(next.text) && isCapital(tokens[to + 1], mention.segment))
      to++;
    while (to < end && isCapital(tokens[to], mention.segment) && TAIL.test(tokens[to - 1]?.text ?? '')) to++;
    while (to < end && isLegalForm(tokens[to])) to++;
  } else if (mention.kind === 'school' && next?.segment === mention.segment) {
    to = endOfSchool({ text, tokens, places }, mention, end);
  }
  const [first, last] = [tokens[from], tokens[to - 1]];
  if (first === undefined || last === undefined) return mention;
  const full = mention.kind === 'company' ? nameLength(text, first.start, last.end) : 0;
  return { ...mention, from, to, start: first.start, end: Math.max(last.end, first.start + full) };
}

/** Universities in several towns, which name their town after a comma. */
const HAS_CAMPUSES =
  /\b(?:University of (?:Alabama|Arkansas|California|Colorado|Hawaii|Houston|Illinois|Louisiana|Maine|Maryland|Massachusetts|Michigan|Minnesota|Missouri|Nebraska|Nevada|North Carolina|South Carolina|South Florida|Tennessee|Texas|Wisconsin)|(?:California|Pennsylvania) State University|State University of New York|SUNY)$/;

/**
 * Extends over a town ("Technische Universität" "München", "University of California" ", Santa Cruz") and over a name
 * after "of" ("The Art Institute" "of Orange County").
 */
function endOfSchool(
  { text, tokens, places }: Pick<LaidOutText, 'text' | 'tokens' | 'places'>,
  { segment, start, end: endsAt, from, to }: Mention,
  end: number,
): number {
  const isCampus = tokens[to]?.text === ',' && HAS_CAMPUSES.test(text.slice(start, endsAt));
  const townAt = isCampus ? to + 1 : to;
  const first = tokens[townAt];
  const town = first === undefined ? undefined : firstOverlap(places, first.start, first.end);
  if (town !== undefined && town.from === townAt && town.city !== null) return town.to;
  const subject = secondSubject(tokens, segment, from, to);
  if (subject !== null && subject <= end) return subject;
  let at = to;
  const isGeneral = to - from === 1 && isSchoolWord(tokens[from]?.lower ?? '');
  if (/^(?:of|for|de|du|des|di|della|do|da)$/i.test(tokens[at]?.text ?? '')) at++;
  else if (!isGeneral) return to;
  if (!isCapital(tokens[at], segment)) return to;
  while (at < end && (isCapital(tokens[at], segment) || /^(?:of|and|&|de|la)$/.test(tokens[at]?.text ?? '')))
    at++;
  return EDGE.test(tokens[at - 1]?.text ?? '') ? to : at;
}

/** "School of Business" "and Technology": a subject after "of" may be two, at the end of a line or before a comma. */
function secondSubject(tokens: readonly Token[], segment: number, from: number, to: number): number | null {
  const own = tokens.slice(from, to);
  if (!/^(?:and|&|y|e|et|und)$/.test(tokens[to]?.text ?? '') || !own.some(({ text }) => text === 'of'))
    return null;
  const isEnd =
    tokens[to + 2]?.segment !== segment ||
    /^[,(|–—-]$/.test(tokens[to + 2]?.text ?? '') ||
    tokens[to + 2]?.kind === 'date';
  return isEnd && isCapital(tokens[to + 1], segment) ? to + 2 : null;
}

/** "AS" and "SA" are legal forms, "as" and "sa" are words. */
function isLegalForm(token: Token | undefined): boolean {
  if (token === undefined || !companySuffixes.has(token.lower) || token.text.length < 2) return false;
  return token.text.length > 2 || /^\p{Lu}/u.test(token.text);
}

export function isCapital(token: Token | undefined, segment: number): boolean {
  return (
    token !== undefined && token.segment === segment && token.kind === 'word' && /^\p{Lu}/u.test(token.text)
  );
}

/** The length of a company's name, including a legal form's full stop and a remark about the name itself. */
function nameLength(text: string, start: number, end: number): number {
  const legal = LEGAL_TAIL.exec(text.slice(start, end + 10))?.[0].length ?? 0;
  const length = Math.max(legal, end - start);
  const remark = NAME_REMARK.exec(text.slice(start + length, start + length + 60));
  if (remark === null) return legal;
  const acronym = remark[1];
  return acronym === undefined || isAcronymOf(acronym, text.slice(start, end))
    ? length + remark[0].length
    : legal;
}

/** "(ISEP)" and "(acquired by FIS)". */
const NAME_REMARK =
  /^ \((?:(\p{Lu}{2,7})|(?:acquired by|formerly|previously|now|a part of|part of) [^()\n]{2,40})\)/u;

function isAcronymOf(acronym: string, name: string): boolean {
  const initials = (name.match(/\p{Lu}/gu) ?? []).join('');
  return initials === acronym;
}

/** The full stop of "Inc." and the rest of "Sp. z o.o." belong to the name. */
const LEGAL_TAIL =
  /^.*\b(?:Sp\. ?z ?o\. ?o\.?|Inc\.|Ltd\.|Corp\.|Co\.|Pvt\. Ltd\.|S\.L\.|S\.A\.|B\.V\.|e\.V\.)(?=[\s,;)]|$)/;

const FACULTY =
  /^(?:facult(?:y|é|ad|atea)|faculdade|facoltà|fakultät|fakulta|fakultas|wydział|dep(?:artment|t)|département|departamento|dipartimento|departamentul|fachbereich|katedra|institut|lehrstuhl)$/iu;
const FACULTY_OF = /^(?:school|college|institute|division|centre|center)$/iu;

/** "Faculty of Law, University of Leeds" is one school, in either order. */
export function joinFaculties({ text, tokens }: LaidOutText, mentions: readonly Mention[]): Mention[] {
  const isOrganisation = ({ kind }: Mention) => kind === 'company' || kind === 'school';
  const isFaculty = ({ from }: Mention) =>
    FACULTY.test(tokens[from]?.text ?? '') ||
    (FACULTY_OF.test(tokens[from]?.text ?? '') && /^(?:of|for)$/.test(tokens[from + 1]?.lower ?? ''));
  const isSchool = ({ from, to }: Mention) => tokens.slice(from, to).some(({ lower }) => isSchoolWord(lower));
  const joined: Mention[] = [];
  for (const mention of mentions) {
    const last = joined.at(-1);
    const isJoined =
      last !== undefined &&
      isOrganisation(mention) &&
      last.segment === mention.segment &&
      last.to + 1 === mention.from &&
      text.slice(last.end, mention.start).trim() === ',' &&
      isFaculty(last) !== isFaculty(mention) &&
      (isFaculty(last) ? isSchool(mention) : isOrganisation(last) && isSchool(last));
    if (isJoined) joined[joined.length - 1] = { ...last, kind: 'school', to: mention.to, end: mention.end };
    else joined.push(mention);
  }
  return joined;
}

/** The words of a short name: "KU Leuven", "UC San Diego". */
const MOST_SHORT = 3;
const UNIVERSITY =
  /^(?:univer[sz]it|uniwersytet|universit|politech|polytech|politec|technolog|institut|akadem|academ|hochschule|fachhochschule|egyetem|üniversite)/iu;

/**
 * "VŠB – Technická univerzita Ostrava", "Technion – Israel Institute of Technology" and "ETH Zürich – Swiss Federal
 * Institute of Technology" are one school each: the short name, of one word or of letters and a town, and the long one.
 */
export function joinShortNames({ text, tokens }: LaidOutText, mentions: readonly Mention[]): Mention[] {
  const isShort = ({ kind, from, to }: Mention) => {
    if (kind === 'school' && to - from === 1) return !isSchoolWord(tokens[from]?.lower ?? '');
    if (!/^\p{Lu}{2,6}$/u.test(tokens[from]?.text ?? '')) return false;
    if (kind === 'school') return to - from <= MOST_SHORT;
    if (to - from > 1) return false;
    return kind === 'company' || (kind === 'degree' && degreesIn(tokens.slice(from, to)).length === 0);
  };
  const joined: Mention[] = [];
  for (const mention of mentions) {
    const last = joined.at(-1);
    const isJoined =
      last !== undefined &&
      mention.kind === 'school' &&
      last.segment === mention.segment &&
      isShort(last) &&
      /^ ?[–—-] ?$/.test(text.slice(last.end, mention.start)) &&
      tokens.slice(mention.from, mention.to).some(({ lower }) => UNIVERSITY.test(lower));
    if (isJoined) joined[joined.length - 1] = { ...last, kind: 'school', to: mention.to, end: mention.end };
    else joined.push(mention);
  }
  return joined;
}

/**
 * Two names of one kind without anything between them, of which the first has no word for its kind, are one: "Government"
 * "Inter College", "AVI Electronics" "Network Pvt Ltd". A name that begins with its kind ("University of …") is whole.
 */
export function joinAdjacent({ tokens }: LaidOutText, mentions: readonly Mention[]): Mention[] {
  const joined: Mention[] = [];
  for (const mention of mentions) {
    const last = joined.at(-1);
    const isNext =
      last !== undefined &&
      last.kind === mention.kind &&
      last.to === mention.from &&
      last.segment === mention.segment;
    if (
      isNext &&
      isRestOfName(tokens.slice(last.from, last.to), tokens.slice(mention.from, mention.to), last)
    )
      joined[joined.length - 1] = { ...last, to: mention.to, end: mention.end };
    else joined.push(mention);
  }
  return joined;
}

function isRestOfName(first: readonly Token[], second: readonly Token[], { kind }: Mention): boolean {
  if (kind === 'school') {
    const namesSchool = ({ lower }: Token) => isSchoolWord(lower);
    return (
      !first.some(namesSchool) && second.slice(1).some(namesSchool) && !second.slice(0, 1).some(namesSchool)
    );
  }
  if (kind !== 'company' || first.some(isLegalForm)) return false;
  const own = second.findIndex(isLegalForm);
  return (own === 0 || own === 1) && second.slice(own).every(isLegalForm);
}

/** "IT" before a position or a name belongs to it: the taggers take it for the word "it". */
export function withDepartment(
  { tokens }: LaidOutText,
  mention: Mention,
  last: Mention | undefined,
): Mention {
  const { kind, from, segment } = mention;
  const [own, before] = [tokens[from - 1], tokens[from - 2]];
  if ((kind !== 'title' && kind !== 'company') || own?.text !== 'IT' || own.segment !== segment)
    return mention;
  // Alone, it is also taken for a skill.
  const isTaken =
    last !== undefined && last.to > from - 1 && !(last.kind === 'skill' && last.from === from - 1);
  if (isTaken || (kind === 'company' && /^(?:in|of|for|into|and|&|,)$/i.test(before?.text ?? '')))
    return mention;
  return { ...mention, from: from - 1, start: own.start };
}

/** Words that are a part of many names and the whole of none. */
const NO_NAME =
  /^(?:it|business|networking|technology|technologies|software|engineering|government|company|industry|services?)$/i;

/** An organisation that is only such a word, or only a place; schools are named like their towns. */
export function isNoName({ tokens, places }: LaidOutText, { kind, from, to, start, end }: Mention): boolean {
  if (kind !== 'company' && kind !== 'school') return false;
  if (to - from === 1 && NO_NAME.test(tokens[from]?.text ?? '')) return true;
  const place = firstOverlap(places, start, end);
  if (place === undefined || place.start > start || place.end < end) return false;
  return kind === 'company' || place.city === null;
}
