import { type Traced, traced } from '../evidence.ts';
import type { Mention } from '../tagger/decode.ts';
import type { LaidOutText } from '../text/layout.ts';
import { headingOf } from '../text/sections.ts';
import { firstOverlap, type Token } from '../text/tokens.ts';
import {
  companySuffixes,
  firstNames,
  lastNames,
  schoolHeads,
  titleHeads,
  titleModifiers,
} from '../words/word-lists.ts';

interface Run {
  readonly from: number;
  readonly to: number;
}

interface Candidate extends Run {
  readonly score: number;
}

/** A CV says whose it is at its top; lines further down are other people, but for those beside the e-mail address. */
const TOP_SEGMENTS = 14;
const NEAR_ADDRESS = 2;
const LEAST_SCORE = 2.5;

const LABEL =
  /^(?:(?:full|candidate(?: ?[’']?s)?|student(?: ?[’']?s)?|applicant(?: ?[’']?s)?|first and last) )?(?:name|applicant|nom|nombre|nome|naam|namn|navn|surname)$|^name (?:of|in full)(?: the)?(?: (?:candidate|applicant|student|person))?$|^(?:nom et prénoms?|prénom et nom|nombre y apellidos|nombre completo|nome completo|nome e cognome|cognome e nome|vor ?- und nachname|vor- und nachname|vor- und zuname|imię i nazwisko|ad soyad|adı soyadı|nume și prenume|фио|имя)$/iu;
const HONORIFIC = /^(?:mr|mrs|ms|miss|dr|prof|herr|frau|m|mme|sr|sra|ing|eng|er)$/i;
const CREDENTIAL =
  /^(?:phd|ph\.d|md|m\.d|mba|cpa|pmp|rn|msc|bsc|esq|pe|cfa|jr|sr|ii|iii|iv|dipl|ing|ma|ba|ms|bs|med|msn|bsn|cissp|csm|acca|ca)$/i;
const DOCUMENT_WORD =
  /^(?:resume|résumé|cv|c\.v|curriculum|vitae|vitæ|lebenslauf|biodata|bio-data|bewerbung|currículum|życiorys|özgeçmiş)$/iu;
const DOCUMENT_JOINT = /^(?:of|for|de|del|di|von|van|für|do|da|pour|:|-|–|—)$/i;
const PARTICLE = /^(?:de|da|di|van|von|der|den|la|le|bin|al|el|dos|del)$/i;
/** What stands behind a name where a text has lost its lines. */
const FOLLOWS =
  /^(?:address|adresse|email|e-mail|mail|phone|mobile|tel|cell|contact|gender|sex|male|female|date|dob|born|birth|nationality|age|linkedin|github|profile|summary|objective|about|education|experience|skills|position)$/i;

/** The best of the lines and mentions at the top, by what names look like and by the e-mail address. */
export function findName(laidOut: LaidOutText, mentions: readonly Mention[]): Traced | null {
  const { tokens, segments, sections, text, emails } = laidOut;
  const spread = spreadName(laidOut);
  if (spread !== null) return spread;
  const address = (emails[0]?.value.split('@')[0] ?? '').toLowerCase().replace(/[^\p{L}]/gu, '');
  const candidates: Candidate[] = [];
  const last = Math.min(segments.length, TOP_SEGMENTS);
  for (let segment = 0; segment < last; segment++)
    candidates.push(...candidatesIn(laidOut, mentions, segment, address));
  candidates.push(...besideAddress(laidOut, mentions, last, address));
  for (const mention of mentions) {
    if (mention.kind !== 'name' || mention.to - mention.from > 6) continue;
    const early = mention.segment < TOP_SEGMENTS ? 2 : 0;
    // Under "References", "Publications" and the like stand other people.
    if (early === 0 && sections[mention.segment] === 'other' && !sharesWord(tokens, mention, address))
      continue;
    candidates.push({
      from: mention.from,
      to: mention.to,
      score: looks(tokens, mention, address) + 3.5 + early,
    });
  }
  const best = candidates.reduce<Candidate | null>(
    (top, one) => (top === null || one.score > top.score ? one : top),
    null,
  );
  if (best === null || best.score < LEAST_SCORE) return null;
  const [start, end] = [tokens[best.from]?.start ?? 0, tokens[withGeneration(tokens, best.to) - 1]?.end ?? 0];
  return traced(text, start, end, Math.min(0.99, 0.4 + best.score / 16));
}

const GENERATION = /^(?:jr|sr|ii|iii|iv)$/i;

/** "Gifford Jr." and "Gifford, III" at the end of a line; "Gifford Sr. Developer" is a developer. */
function withGeneration(tokens: readonly Token[], to: number): number {
  const at = tokens[to]?.text === ',' ? to + 1 : to;
  if (!GENERATION.test(tokens[at]?.text.replace('.', '') ?? '')) return to;
  const next = tokens[tokens[at + 1]?.text === '.' ? at + 2 : at + 1];
  return next?.segment === tokens[at]?.segment ? to : at + 1;
}

function sharesWord(tokens: readonly Token[], { from, to }: Run, address: string): boolean {
  return tokens.slice(from, to).some(({ lower }) => lower.length > 2 && address.includes(lower));
}

function candidatesIn(
  laidOut: LaidOutText,
  mentions: readonly Mention[],
  segment: number,
  address: string,
): Candidate[] {
  const { tokens, tokenStarts, segments } = laidOut;
  const [from, end] = [tokenStarts[segment] ?? 0, tokenStarts[segment + 1] ?? 0];
  const line = segments[segment];
  const begin = beginOf(tokens, from, end);
  if (line === undefined || begin === null) return [];
  const found: Candidate[] = [];
  for (const run of runsOf(tokens, begin.at, end, address)) {
    if (headingOf({ ...line, text: textOf(tokens, run) }) !== null) continue;
    const tagged = mentions.some((one) => one.kind === 'name' && one.from < run.to && run.from < one.to);
    const other = mentions.some((one) => one.kind !== 'name' && one.from < run.to && run.from < one.to);
    const score =
      looks(tokens, run, address) +
      (segment === 0 ? 2 : segment < 3 ? 1 : 0) +
      (run.to === end ? 1 : 0) +
      (tagged ? 3 : 0) -
      (other ? 2 : 0) +
      (begin.isLabelled ? 5 : 0) +
      run.bonus;
    found.push({ from: run.from, to: run.to, score });
  }
  return found;
}

/** Where a name could begin on a line: behind a label, "Curriculum Vitae of", a title of honour and marks. */
function beginOf(
  tokens: readonly Token[],
  from: number,
  to: number,
): { at: number; isLabelled: boolean } | null {
  let at = from;
  while (at < to && DOCUMENT_WORD.test(tokens[at]?.text ?? '')) at++;
  if (at > from) while (at < to && DOCUMENT_JOINT.test(tokens[at]?.text ?? '')) at++;
  let isLabelled = at > from && /^(?:of|de|von|di)$/i.test(tokens[at - 1]?.text ?? '');
  const colon = tokens.slice(at, Math.min(to, at + 7)).findIndex((token) => token.text === ':');
  if (colon > 0 && LABEL.test(textOf(tokens, { from: at, to: at + colon }))) {
    at += colon + 1;
    isLabelled = true;
  } else {
    // A text without punctuation: "Name Thu Anh Vu Gender Male".
    for (const count of [3, 2, 1]) {
      if (at + count >= to || !LABEL.test(textOf(tokens, { from: at, to: at + count }))) continue;
      at += count;
      isLabelled = true;
      break;
    }
  }
  while (
    at < to &&
    (HONORIFIC.test(tokens[at]?.text ?? '') || /^(?:["'.*_–-]|\d{1,2})$/.test(tokens[at]?.text ?? ''))
  )
    at++;
  return at < to ? { at, isLabelled } : null;
}

/**
 * Runs of words that could be a name. A line that goes on behind the name (a text that has lost its lines) gives its
 * beginnings too, where something marks their end or they are known as names.
 */
function runsOf(
  tokens: readonly Token[],
  from: number,
  to: number,
  address: string,
): (Run & { bonus: number })[] {
  let end = from;
  while (end < to && end - from < 9) {
    const token = tokens[end];
    if (token === undefined || !/^(?:\p{L}[\p{L}\p{M}.'’-]*|\.)$/u.test(token.text)) break;
    if (CREDENTIAL.test(token.text) && end - from >= 2) break;
    end++;
  }
  while (end > from && tokens[end - 1]?.text === '.') end--;
  const words = countWords(tokens, from, end);
  const runs = words === 0 || words > 5 ? [] : [{ from, to: end, bonus: 0 }];
  const family = familyFirst(tokens, from, end, to);
  if (family !== null) runs.push(family);
  if (words <= 3) return runs;
  for (let stop = from + 2; stop <= Math.min(end, from + 5); stop++) {
    const bonus = endBonus(tokens, from, stop, address);
    if (bonus !== null) runs.push({ from, to: stop, bonus });
  }
  return runs;
}

function countWords(tokens: readonly Token[], from: number, to: number): number {
  return tokens.slice(from, to).filter((token) => token.kind === 'word').length;
}

/** "Doe, Jane": one or two words, a comma and one or two more, of which one is a known name. */
function familyFirst(
  tokens: readonly Token[],
  from: number,
  end: number,
  to: number,
): (Run & { bonus: number }) | null {
  if (tokens[end]?.text !== ',' || countWords(tokens, from, end) > 2) return null;
  let stop = end + 1;
  while (stop < to && stop - end <= 3 && /^\p{Lu}[\p{L}\p{M}.'’-]*$/u.test(tokens[stop]?.text ?? '')) stop++;
  const given = tokens.slice(end + 1, stop);
  if (given.length === 0 || given.length > 2 || stop !== to) return null;
  return given.some(({ lower }) => firstNames.has(lower)) ? { from, to: stop, bonus: 1.5 } : null;
}

const CAPITALS = /^[\p{Lu}][\p{Lu}.'’-]+$/u;

/** How well the beginning of a longer run ends a name; null where nothing speaks for it. */
function endBonus(tokens: readonly Token[], from: number, stop: number, address: string): number | null {
  const words = tokens.slice(from, stop);
  const next = tokens[stop];
  if (next === undefined) return null;
  const isCapital = words.every(({ text }) => CAPITALS.test(text));
  if (isCapital && !CAPITALS.test(next.text)) return 1.5;
  const isKnown =
    firstNames.has(words[0]?.lower ?? '') ||
    lastNames.has(words.at(-1)?.lower ?? '') ||
    words.some(({ lower }) => lower.length > 2 && address.includes(lower));
  if (FOLLOWS.test(next.text) || titleHeads.has(next.lower) || titleModifiers.has(next.lower))
    return isKnown ? 1 : 0;
  return isKnown && !isCapital ? 0 : null;
}

/** A line beside the e-mail address that shares a word with it, wherever the address stands. */
function besideAddress(
  laidOut: LaidOutText,
  mentions: readonly Mention[],
  after: number,
  address: string,
): Candidate[] {
  const email = laidOut.emails[0];
  if (email === undefined || address.length < 4) return [];
  const at = firstOverlap(laidOut.segments, email.start, email.end);
  const segment = at === undefined ? -1 : laidOut.segments.indexOf(at);
  const found: Candidate[] = [];
  for (let near = Math.max(after, segment - NEAR_ADDRESS); near <= segment + NEAR_ADDRESS; near++) {
    for (const one of candidatesIn(laidOut, mentions, near, address)) {
      if (sharesWord(laidOut.tokens, one, address)) found.push(one);
    }
  }
  return found;
}

const SPREAD =
  /^[ \t]*((?:\p{Lu}[ \u00a0]){2,20}\p{Lu}(?:[ \u00a0]{2,8}(?:\p{Lu}[ \u00a0]){1,20}\p{Lu}){0,3})[ \t]*$/u;
const TOP_LINES = 6;

/** "J A N E   D O E": letters apart, words by wider gaps or by a known first name. */
function spreadName({ text }: LaidOutText): Traced | null {
  let start = 0;
  for (const line of text.slice(0, 600).split('\n').slice(0, TOP_LINES)) {
    const letters = SPREAD.exec(line)?.[1];
    if (letters !== undefined) {
      const words = letters.split(/[ \u00a0]{2,}/).map((word) => word.replace(/[ \u00a0]/g, ''));
      const value = words.length > 1 ? words.join(' ') : parted(words[0] ?? '');
      const from = start + line.indexOf(letters);
      if (value !== null && headingOf({ text: value } as Parameters<typeof headingOf>[0]) === null)
        return { value, start: from, end: from + letters.length, confidence: 0.8 };
    }
    start += line.length + 1;
  }
  return null;
}

function parted(letters: string): string | null {
  for (let at = letters.length - 2; at >= 2; at--) {
    if (firstNames.has(letters.slice(0, at).toLowerCase()))
      return `${letters.slice(0, at)} ${letters.slice(at)}`;
  }
  return null;
}

const NO_NAME =
  /^(?:resume|curriculum|vitae|cv|lebenslauf|street|road|avenue|drive|lane|city|india|usa|email|phone|mobile|address|objective|summary|profile|skills|experience|education|engineering|software|management|marketing|page|contact|confidential|applicant|candidate|degree|highest)$/i;

function looks(tokens: readonly Token[], run: Run, address: string): number {
  const words = tokens.slice(run.from, run.to).filter((token) => token.kind === 'word');
  let score = words.length === 2 || words.length === 3 ? 1.5 : words.length === 1 ? -2 : 0;
  const first = words[0]?.lower ?? '';
  if (firstNames.has(first)) score += 2;
  else if (words.some((word) => firstNames.has(word.lower))) score += 1;
  if (lastNames.has(words.at(-1)?.lower ?? '')) score += 1;
  const inAddress = words.filter(
    (word) => word.lower.length > 2 && address.includes(word.lower.replace(/[^\p{L}]/gu, '')),
  );
  score += Math.min(2, inAddress.length) * 2;
  if (words.some((word) => !/^\p{Lu}/u.test(word.text) && !PARTICLE.test(word.text))) score -= 2;
  for (const word of words) {
    if (titleHeads.has(word.lower) || schoolHeads.has(word.lower)) score -= 4;
    if (companySuffixes.has(word.lower) && words.length > 1) score -= 2;
    if (NO_NAME.test(word.text)) score -= 5;
  }
  return score;
}

function textOf(tokens: readonly Token[], { from, to }: Run): string {
  return tokens
    .slice(from, to)
    .map((token) => token.text)
    .join(' ');
}
