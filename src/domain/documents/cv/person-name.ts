import { type Traced, traced } from '../evidence.ts';
import type { Mention } from '../tagger/decode.ts';
import { guessLanguage } from '../text/classify.ts';
import type { LaidOutText } from '../text/layout.ts';
import { headingOf } from '../text/sections.ts';
import { firstOverlap, type Token } from '../text/tokens.ts';
import { firstNames, isNameWord } from '../words/word-lists.ts';
import { createNameSigns, INITIAL, isParticle, type NameSigns, type Run } from './name-signs.ts';

interface Candidate extends Run {
  readonly score: number;
}

interface Search {
  readonly laidOut: LaidOutText;
  readonly mentions: readonly Mention[];
  readonly signs: NameSigns;
  /** "M. Dupont" is Monsieur Dupont; in other languages the letter is an initial. */
  readonly isFrench: boolean;
}

/** A CV names its person at the top; lines further down name other people, except those near the email address. */
const TOP_SEGMENTS = 14;
/** The number of tokens that count as the top of a text that has lost its lines. */
const TOP_TOKENS = 80;
const NEAR_ADDRESS = 2;
const LEAST_SCORE = 2.5;

const LABEL =
  /^(?:(?:full|candidate(?: ?[’']?s)?|student(?: ?[’']?s)?|applicant(?: ?[’']?s)?|first and last) )?(?:name|applicant|nom|nombre|nome|naam|namn|navn|surname)$|^name (?:of|in full)(?: the)?(?: (?:candidate|applicant|student|person))?$|^(?:nom et prénoms?|prénom et nom|nombre y apellidos|nombre completo|nome completo|nome e cognome|cognome e nome|vor ?- und nachname|vor- und nachname|vor- und zuname|imię i nazwisko|ad soyad|adı soyadı|nume și prenume|фио|имя)$/iu;
const HONORIFIC =
  /^(?:mr|mrs|ms|miss|dr|dra|prof|herr|frau|mme|sr|sra|ing|eng|er|dott|dott\.ssa|shri|smt|dipl|kfm|kffr|mag|mgr|inż|bc|mudr|judr|phdr|rndr|lic)$/iu;
const CREDENTIAL =
  /^(?:phd|ph\.d|md|m\.d|mba|cpa|pmp|rn|msc|bsc|esq|pe|cfa|jr|sr|ii|iii|iv|dipl|ing|ma|ba|ms|bs|med|msn|bsn|cissp|csm|acca|ca|p\.?eng)$/i;
const DOCUMENT_WORD =
  /^(?:resume|résumé|cv|c\.v|curriculum|vitae|vitæ|lebenslauf|biodata|bio-data|bewerbung|currículum|życiorys|özgeçmiş)$/iu;
const DOCUMENT_JOINT = /^(?:of|for|de|del|di|von|van|für|do|da|pour|:|-|–|—)$/i;

/** The best of the lines and mentions at the top, by the form of names and by the email address. */
export function findName(laidOut: LaidOutText, mentions: readonly Mention[]): Traced | null {
  const { tokens, segments, sections, text, isFlat } = laidOut;
  const spread = spreadName(laidOut);
  if (spread !== null) return spread;
  const isFrench = guessLanguage(tokens) === 'fr';
  const search = { laidOut, mentions, signs: createNameSigns(laidOut), isFrench };
  const candidates: Candidate[] = [];
  const last = Math.min(segments.length, TOP_SEGMENTS);
  for (let segment = 0; segment < last; segment++) candidates.push(...candidatesIn(search, segment));
  candidates.push(...besideAddress(search, last));
  if (isFlat) candidates.push(...withinLines(search));
  for (const mention of mentions) {
    if (mention.kind !== 'name' || mention.to - mention.from > 6) continue;
    const isEarly = isFlat ? mention.from < TOP_TOKENS : mention.segment < TOP_SEGMENTS;
    // "References", "Publications" and similar sections name other people.
    if (!isEarly && sections[mention.segment] === 'other' && !search.signs.sharesWord(mention)) continue;
    candidates.push(...aroundMention(search, mention, isEarly ? 5.5 : isFlat ? 2 : 3.5));
  }
  const best = candidates.reduce<Candidate | null>(
    (top, one) => (top === null || one.score > top.score ? one : top),
    null,
  );
  if (best === null || best.score < LEAST_SCORE) return null;
  const to = withGeneration(tokens, withoutLetters(tokens, best));
  const [start, end] = [tokens[best.from]?.start ?? 0, tokens[to - 1]?.end ?? 0];
  return traced(text, start, end, Math.min(0.99, 0.4 + best.score / 16));
}

/** The name found by the tagger, and in a text without lines also slightly shorter and longer variants. */
function aroundMention({ laidOut, signs }: Search, mention: Mention, bonus: number): Candidate[] {
  const { tokens, tokenStarts, isFlat } = laidOut;
  if (!isFlat) return [{ from: mention.from, to: mention.to, score: signs.looks(mention) + bonus }];
  const [begin, end] = [tokenStarts[mention.segment] ?? 0, tokenStarts[mention.segment + 1] ?? 0];
  let from = mention.from;
  while (from + 1 < mention.to && HONORIFIC.test(tokens[from]?.text ?? '')) from++;
  while (from > begin && INITIAL.test(tokens[from - 1]?.text ?? '')) from--;
  const found: Candidate[] = [];
  for (let to = from + 1; to <= Math.min(end, mention.to + 2); to++) {
    const added = tokens[to - 1]?.text ?? '';
    if (to > mention.to && (!NAME_TOKEN.test(added) || CREDENTIAL.test(added))) break;
    const score = signs.looks({ from, to }) + signs.ending({ from, to }, end) + bonus;
    found.push({ from, to, score: to === mention.to ? score : score - 0.5 });
  }
  return found;
}

/** In a text that has lost its lines, the name may follow a label or other words: "Sample Resume Jane Doe". */
function withinLines(search: Search): Candidate[] {
  const { tokens, tokenStarts } = search.laidOut;
  const found: Candidate[] = [];
  const last = Math.min(tokens.length, TOP_TOKENS);
  for (let at = 1; at < last; at++) {
    const segment = tokens[at]?.segment ?? 0;
    const begin = tokenStarts[segment] ?? 0;
    const before = tokens[at - 1];
    if (at === begin) continue;
    if (isBehindLabel(tokens, begin, at)) found.push(...scored(search, segment, at, 7));
    else if (HEADS_NAME.test(before?.text ?? '') || isSpeltFrom(search, at))
      found.push(...scored(search, segment, at, 1));
    else if (isNameWord(tokens[at]?.lower ?? '') && !isNameWord(before?.lower ?? ''))
      found.push(
        ...scored(search, segment, at, 0).filter(({ to }) => isNameWord(tokens[to - 1]?.lower ?? '')),
      );
  }
  return found;
}

function isSpeltFrom({ signs }: Search, from: number): boolean {
  return [2, 3, 4].some((count) => signs.isSpelt({ from, to: from + count }));
}

const HEADS_NAME = /^(?:resume|résumé|cv|vitae|template|example|information|details)$/i;
const OTHERS_NAME =
  /^(?:company|firm|employer|organi[sz]ation|client|project|product|school|college|university|institute|institution|course|degree|father|mother|husband|spouse|guardian|reference|referee|user|file|domain|team|s)$/i;

function isBehindLabel(tokens: readonly Token[], begin: number, at: number): boolean {
  for (const count of [3, 2, 1]) {
    const from = at - count;
    if (from < begin || !LABEL.test(textOf(tokens, { from, to: at }))) continue;
    return from === begin || !OTHERS_NAME.test(tokens[from - 1]?.text ?? '');
  }
  return /^my name is$/i.test(textOf(tokens, { from: Math.max(begin, at - 3), to: at }));
}

/** "Jane Doe BEng MIMechE" is Jane Doe: no name starts with two capitals. */
function withoutLetters(tokens: readonly Token[], { from, to }: Run): number {
  let end = to;
  while (end > from + 2 && /^\p{Lu}{2,}\p{Ll}/u.test(tokens[end - 1]?.text ?? '')) end--;
  return end;
}

const GENERATION = /^(?:jr|sr|ii|iii|iv)$/i;

/** "Gifford Jr." and "Gifford, III" at the end of a line; "Gifford Sr. Developer" is a developer. */
function withGeneration(tokens: readonly Token[], to: number): number {
  const at = tokens[to]?.text === ',' ? to + 1 : to;
  if (!GENERATION.test(tokens[at]?.text.replace('.', '') ?? '')) return to;
  const next = tokens[tokens[at + 1]?.text === '.' ? at + 2 : at + 1];
  return next?.segment === tokens[at]?.segment ? to : at + 1;
}

function candidatesIn(search: Search, segment: number): Candidate[] {
  const { tokens, tokenStarts } = search.laidOut;
  const [from, to] = [tokenStarts[segment] ?? 0, tokenStarts[segment + 1] ?? 0];
  const begin = beginOf(tokens, from, to, search.isFrench);
  if (begin === null) return [];
  const early = segment === 0 ? 2 : segment < 3 ? 1 : 0;
  return scored(search, segment, begin.at, early + (begin.isLabelled ? 5 : 0));
}

/** The runs that start at a token, with their points. */
function scored(
  { laidOut, mentions, signs }: Search,
  segment: number,
  at: number,
  points: number,
): Candidate[] {
  const { tokens, tokenStarts, segments, isFlat } = laidOut;
  const line = segments[segment];
  const end = tokenStarts[segment + 1] ?? 0;
  if (line === undefined) return [];
  const found: Candidate[] = [];
  for (const run of runsOf(tokens, at, end)) {
    if (headingOf({ ...line, text: textOf(tokens, run) }) !== null) continue;
    const ending = signs.ending(run, end);
    // If a line is a name, its beginning alone is not.
    if (!isFlat && ending < 0) continue;
    const touches = (one: Mention) => one.from < run.to && run.from < one.to;
    const tagged = mentions.some((one) => one.kind === 'name' && touches(one));
    const other = mentions.some((one) => one.kind !== 'name' && touches(one));
    const score = signs.looks(run) + ending + points + (tagged ? 3 : 0) - (other ? 2 : 0) + run.bonus;
    found.push({ from: run.from, to: run.to, score });
  }
  return found;
}

/** Where a name may start on a line: after a label, "Curriculum Vitae of", an honorific and marks. */
function beginOf(
  tokens: readonly Token[],
  from: number,
  to: number,
  isFrench: boolean,
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
  for (; at < to; at++) {
    const word = tokens[at]?.text ?? '';
    const isHonorific = HONORIFIC.test(word) || (isFrench && word === 'M');
    if (!isHonorific && !/^(?:["'.*_–-]|\d{1,2})$/.test(word)) break;
  }
  return at < to ? { at, isLabelled } : null;
}

const NAME_TOKEN = /^(?:\p{L}[\p{L}\p{M}.'’-]*|\.)$/u;
const LONGEST_NAME = 5;
const MOST_TOKENS = 9;

/** Runs of words that may be a name: all words, and the beginnings of a line that continues after the name. */
function runsOf(tokens: readonly Token[], from: number, to: number): (Run & { bonus: number })[] {
  let end = from;
  while (end < to && end - from < MOST_TOKENS) {
    const token = tokens[end];
    if (token === undefined || !NAME_TOKEN.test(token.text)) break;
    if (CREDENTIAL.test(token.text) && end - from >= 2) break;
    end++;
  }
  while (end > from && tokens[end - 1]?.text === '.') end--;
  const words = countWords(tokens, from, end);
  const runs = words === 0 || words > LONGEST_NAME ? [] : [{ from, to: end, bonus: 0 }];
  const family = familyFirst(tokens, from, end, to);
  if (family !== null) runs.push(family);
  for (let stop = from + 2; stop < end && countWords(tokens, from, stop) <= LONGEST_NAME; stop++)
    runs.push({ from, to: stop, bonus: 0 });
  return runs;
}

/** "Ruiz de la Torre" counts as two words. */
function countWords(tokens: readonly Token[], from: number, to: number): number {
  return tokens.slice(from, to).filter(({ kind, text }) => kind === 'word' && !isParticle(text)).length;
}

/** "Doe, Jane": one or two words, a comma and one or two more, one of which is a known name. */
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
  return given.some(({ lower }) => isNameWord(lower)) ? { from, to: stop, bonus: 1.5 } : null;
}

/** Lines near the email address that share a word with it, wherever the address is. */
function besideAddress(search: Search, after: number): Candidate[] {
  const { emails, segments } = search.laidOut;
  const email = emails[0];
  if (email === undefined) return [];
  const at = firstOverlap(segments, email.start, email.end);
  const segment = at === undefined ? -1 : segments.indexOf(at);
  const found: Candidate[] = [];
  for (let near = Math.max(after, segment - NEAR_ADDRESS); near <= segment + NEAR_ADDRESS; near++)
    found.push(...candidatesIn(search, near).filter((one) => search.signs.sharesWord(one)));
  return found;
}

const SPREAD =
  /^[ \t]*((?:\p{Lu}[ \u00a0]){2,20}\p{Lu}(?:[ \u00a0]{2,8}(?:\p{Lu}[ \u00a0]){1,20}\p{Lu}){0,3})[ \t]*$/u;
const TOP_LINES = 6;

/** "J A N E   D O E": spaced letters, with words separated by wider gaps or by a known first name. */
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

function textOf(tokens: readonly Token[], { from, to }: Run): string {
  return tokens
    .slice(from, to)
    .map((token) => token.text)
    .join(' ');
}
