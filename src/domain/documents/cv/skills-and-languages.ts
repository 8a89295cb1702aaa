import { type Traced, traced } from '../evidence.ts';
import { MOST } from '../parsed-document.ts';
import type { LaidOutText } from '../text/layout.ts';
import { createPhraseBook, firstOverlap, isTaken, type Token } from '../text/tokens.ts';
import spoken from '../words/spoken-languages.json' with { type: 'json' };
import { canonicalSkill } from '../words/word-lists.ts';
import type { SeenMentions } from './mentions.ts';

interface FoundSkill extends Traced {
  readonly canonical: string | null;
}

/** Words in lists of skills that are not skills. */
const NO_SKILL =
  /^(?:one|two|three|four|five|six|seven|eight|nine|ten|years?|months?|skills?|tools?|languages?|and|or|etc|other|various|including|experience|knowledge|less than \d+ years?|.)$/i;

/** Skills by name and skills found by the tagger, extended to the whole item in a list of skills. */
export function findSkills(laidOut: LaidOutText, { mentions, isLikely }: SeenMentions): FoundSkill[] {
  const { text } = laidOut;
  const others = mentions
    .filter(({ kind }) => kind !== 'skill' && kind !== 'degree')
    .sort((one, other) => one.start - other.start);
  const found: FoundSkill[] = [];
  for (const { start, end, from, to, value } of laidOut.skills) {
    // Names of products and everyday words also occur in texts about other things, so the tagger must confirm them.
    if (!isLikely('skill', from, to)) continue;
    if (isTaken(others, start, end) || !isClaimed(laidOut, from, value.family)) continue;
    found.push({ ...traced(text, start, end, 0.9), canonical: value.canonical });
  }
  const known = [...found].sort((one, other) => one.start - other.start);
  const ends = new Map(known.map(({ start, end }) => [start, end]));
  for (const { kind, start, end, confidence } of mentions) {
    if (kind !== 'skill' || NO_SKILL.test(text.slice(start, end))) continue;
    // A longer phrase that starts with a known name is a separate skill.
    const knownEnd = ends.get(start);
    if (
      isTaken(known, start, end) &&
      (knownEnd === undefined || knownEnd >= end || isTaken(known, knownEnd, end))
    )
      continue;
    const value = traced(text, start, end, confidence);
    found.push({ ...value, canonical: canonicalSkill(value.value) });
  }
  return unique(wholeItems(laidOut, found)).slice(0, MOST.skills);
}

const MOST_ITEM = 4;
const ITEM_EDGE = /^[,;:·•|()/&.]$/;
const ITEM_WORD = /^[\p{L}\d][\p{L}\d'’.+#-]*$/u;
/** Words of a sentence, and of remarks about a skill. */
const NO_ITEM =
  /^(?:and|or|with|of|in|on|for|to|the|a|an|using|including|etc|such|as|by|like|other|various|strong|good|excellent|basic|advanced|proficient|proficiency|experience|experienced|knowledge|years?|skills?)$/i;

/**
 * "planning" in the item "Rota planning" of a list of skills is rota planning. An item with two known names is itself a
 * list.
 */
function wholeItems(
  { text, tokens, tokenStarts, sections, skills }: LaidOutText,
  found: readonly FoundSkill[],
): FoundSkill[] {
  const sorted = [...found].sort((one, other) => one.start - other.start);
  const whole: FoundSkill[] = [];
  let at = 0;
  for (const skill of sorted) {
    while ((tokens[at]?.end ?? Infinity) <= skill.start) at++;
    const segment = tokens[at]?.segment ?? 0;
    const isEdge = (token: number) => ITEM_EDGE.test(tokens[token]?.text ?? '');
    let [from, to] = [at, at];
    while (from > (tokenStarts[segment] ?? 0) && at - from <= MOST_ITEM && !isEdge(from - 1)) from--;
    while (to < (tokenStarts[segment + 1] ?? 0) && to - at <= MOST_ITEM && !isEdge(to)) to++;
    const item = tokens.slice(from, to);
    const [first, last] = [item[0], item.at(-1)];
    const isItem =
      sections[segment] === 'skills' &&
      first !== undefined &&
      last !== undefined &&
      last.end === skill.end &&
      /^\p{Lu}/u.test(first.text) &&
      /^\p{Ll}/u.test(skill.value) &&
      item.length > 1 &&
      item.length <= MOST_ITEM &&
      item.every((one) => one.kind !== 'date' && ITEM_WORD.test(one.text) && !NO_ITEM.test(one.text)) &&
      !isTaken(skills, firstOverlap(skills, first.start, last.end)?.end ?? last.end, last.end);
    if (!isItem) whole.push(skill);
    else if (whole.at(-1)?.end !== last.end)
      whole.push({
        ...traced(text, first.start, last.end, skill.confidence),
        canonical: canonicalSkill(text.slice(first.start, last.end)) ?? skill.canonical,
      });
  }
  return whole;
}

/** Families whose names are everyday words: in a sentence they describe a task, not a skill. */
const EVERYDAY: ReadonlySet<string> = new Set([
  'personal strengths',
  'methods and management',
  'marketing and sales',
  'finance, legal and people',
  'logistics, hospitality and care',
  'science and teaching',
]);

function isClaimed({ tokens, sections }: LaidOutText, from: number, family: string): boolean {
  if (!EVERYDAY.has(family)) return true;
  const section = sections[tokens[from]?.segment ?? 0];
  return section === 'skills' || section === 'languages';
}

/** Each skill once, at its first position. */
function unique(found: readonly FoundSkill[]): FoundSkill[] {
  const kept = new Map<string, FoundSkill>();
  for (const one of [...found].sort((left, right) => left.start - right.start)) {
    const key = (one.canonical ?? one.value).toLowerCase();
    if (!kept.has(key)) kept.set(key, one);
  }
  return [...kept.values()];
}

interface FoundLanguage {
  readonly language: Traced;
  readonly fluency: Traced | null;
}

function* languageEntries(lines: readonly string[]): Generator<readonly [string, string]> {
  for (const entry of lines.flatMap((line) => line.split('; '))) {
    const [name = '', others = ''] = entry.split('=');
    yield [name, name];
    for (const other of others.split('|')) if (other !== '') yield [other, name];
  }
}

const languageBook = createPhraseBook(languageEntries(spoken.languages));
const fluencyBook = createPhraseBook(languageEntries(spoken.fluency));

/** The English name of a spoken language, or null: `Französisch` is `French`. */
export function languageName(word: string): string | null {
  return languageBook.of(word) ?? null;
}

const MOST_LANGUAGES = 30;
const FLUENCY_REACH = 8;

/**
 * Under a heading for languages every language counts. Elsewhere it needs a fluency next to it or another language in
 * the same row, because "French cuisine" is not a language.
 */
export function findLanguages(laidOut: LaidOutText): FoundLanguage[] {
  const { tokens, sections, text } = laidOut;
  const seen = languageBook.find(
    tokens,
    ({ from }) =>
      /^\p{Lu}/u.test(tokens[from]?.text ?? '') || sections[tokens[from]?.segment ?? 0] === 'languages',
  );
  const fluencies = fluencyBook.find(tokens);
  const found = new Map<string, FoundLanguage>();
  const listed = new Set<string>();
  /** The first fluency after the current language; both lists are in order. */
  let ahead = 0;
  seen.forEach((one, at) => {
    const first = tokens[one.from];
    if (first === undefined || found.size >= MOST_LANGUAGES) return;
    const isUnder = sections[first.segment] === 'languages';
    const next = seen[at + 1];
    const previous = seen[at - 1];
    const limit = Math.min(one.to + FLUENCY_REACH, next?.from ?? Number.POSITIVE_INFINITY);
    while ((fluencies[ahead]?.from ?? Number.POSITIVE_INFINITY) < one.to) ahead++;
    const behind = fluencies[ahead];
    const before = fluencies[ahead - 1];
    const fluency =
      behind !== undefined && behind.from < limit && fluencyNear(first.segment, tokens[behind.from]?.segment)
        ? behind
        : before !== undefined &&
            before.to <= one.from &&
            one.from - before.to <= 2 &&
            tokens[before.to - 1]?.segment === first.segment
          ? before
          : undefined;
    const inRow = [next, previous].some(
      (other) =>
        other !== undefined &&
        tokens[other.from]?.segment === first.segment &&
        Math.abs(other.from - one.from) <= 4,
    );
    const isSkill = sections[first.segment] === 'skills' && inRow;
    const isSaid = /\b(?:languages?|speak|spoken|fluent|bilingual)\b/i.test(
      text.slice(Math.max(0, first.start - 60), first.start),
    );
    if (!isUnder && fluency === undefined && !isSkill && !(inRow && isSaid)) return;
    // "Magyar Telekom" and "Dansk Byg" are names.
    if (!isUnder && beginsName(tokens, one, fluencies[ahead]?.from)) return;
    const key = one.value;
    // The level under the heading for languages takes precedence over one in a summary.
    if (found.has(key) && (!isUnder || listed.has(key))) return;
    if (isUnder) listed.add(key);
    const place = (from: number, to: number) =>
      traced(text, tokens[from]?.start ?? 0, tokens[to - 1]?.end ?? 0, isUnder ? 0.95 : 0.7);
    found.set(key, {
      language: place(one.from, one.to),
      fluency: fluency === undefined ? null : place(fluency.from, fluency.to),
    });
  });
  return [...found.values()];
}

/** Whether the next word on the line is capitalized like a name, and is neither a fluency nor another language. */
function beginsName(
  tokens: readonly Token[],
  { to }: { readonly to: number },
  fluencyFrom: number | undefined,
): boolean {
  const [last, next] = [tokens[to - 1], tokens[to]];
  return (
    next?.kind === 'word' &&
    next.segment === last?.segment &&
    fluencyFrom !== to &&
    /^\p{Lu}\p{Ll}/u.test(next.text) &&
    languageName(next.text) === null
  );
}

function fluencyNear(segment: number, other: number | undefined): boolean {
  return other !== undefined && other >= segment && other - segment <= 1;
}
