import { type Traced, traced } from '../evidence-notes.ts';
import type { LaidOutText } from '../text/lay-out.ts';
import { createPhraseBook } from '../text/phrases.ts';
import spoken from '../words/spoken-languages.json' with { type: 'json' };

export interface FoundLanguage {
  readonly language: Traced;
  readonly fluency: Traced | null;
}

function* entriesOf(lines: readonly string[]): Generator<readonly [string, string]> {
  for (const entry of lines.flatMap((line) => line.split('; '))) {
    const [name = '', others = ''] = entry.split('=');
    yield [name, name];
    for (const other of others.split('|')) if (other !== '') yield [other, name];
  }
}

const languageBook = createPhraseBook(entriesOf(spoken.languages));
const fluencyBook = createPhraseBook(entriesOf(spoken.fluency));

/** The English name of a spoken language, or null: `Französisch` is `French`. */
export function languageName(word: string): string | null {
  return languageBook.of(word) ?? null;
}

const MOST_LANGUAGES = 30;
const REACH = 8;

/**
 * Under a heading for languages every language counts; elsewhere one needs a fluency beside it, or another language
 * in the same row, because "French cuisine" is no language.
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
  /** The first fluency behind the language in hand; both lists are in order. */
  let ahead = 0;
  seen.forEach((one, at) => {
    const first = tokens[one.from];
    if (first === undefined || found.size >= MOST_LANGUAGES) return;
    const isUnder = sections[first.segment] === 'languages';
    const next = seen[at + 1];
    const previous = seen[at - 1];
    const limit = Math.min(one.to + REACH, next?.from ?? Number.POSITIVE_INFINITY);
    while ((fluencies[ahead]?.from ?? Number.POSITIVE_INFINITY) < one.to) ahead++;
    const behind = fluencies[ahead];
    const before = fluencies[ahead - 1];
    const fluency =
      behind !== undefined && behind.from < limit && near(first.segment, tokens[behind.from]?.segment)
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
    const key = one.value;
    if (found.has(key)) return;
    const place = (from: number, to: number) =>
      traced(text, tokens[from]?.start ?? 0, tokens[to - 1]?.end ?? 0, isUnder ? 0.95 : 0.7);
    found.set(key, {
      language: place(one.from, one.to),
      fluency: fluency === undefined ? null : place(fluency.from, fluency.to),
    });
  });
  return [...found.values()];
}

function near(segment: number, other: number | undefined): boolean {
  return other !== undefined && other >= segment && other - segment <= 1;
}
