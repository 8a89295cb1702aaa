import { readFileSync } from 'node:fs';
import { layOut } from '../src/domain/documents/text/lay-out.ts';
import type { Tally } from './score.ts';

interface TaggedSentence {
  readonly tokens: readonly string[];
  readonly tags_skill: readonly string[];
  readonly tags_knowledge: readonly string[];
}

interface Span {
  readonly start: number;
  readonly end: number;
}

export interface PostingSkillTallies {
  readonly exact: Tally;
  /** A span that shares a character with a wanted one. */
  readonly touching: Tally;
  readonly baseline: Tally;
}

/** Sentences of postings, one JSON object a line, with BIO tags for skills and for knowledge; both are wanted. */
export function measurePostingSkills(file: string): PostingSkillTallies {
  const tallies = { exact: tally(), touching: tally(), baseline: tally() };
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line.trim() === '') continue;
    const sentence = JSON.parse(line) as TaggedSentence;
    const { text, starts } = joined(sentence.tokens);
    const wanted = [
      ...spansOf(sentence.tags_skill, sentence.tokens, starts),
      ...spansOf(sentence.tags_knowledge, sentence.tokens, starts),
    ];
    const found = layOut(text).skills.map(({ start, end }) => ({ start, end }));
    count(tallies.exact, wanted, found, (one, other) => one.start === other.start && one.end === other.end);
    count(tallies.touching, wanted, found, (one, other) => one.start < other.end && other.start < one.end);
    const capitals = [...text.matchAll(/(?<=\s)[A-Z][\w+#.-]*[A-Z+#][\w+#.-]*/g)].map((match) => ({
      start: match.index,
      end: match.index + match[0].length,
    }));
    count(
      tallies.baseline,
      wanted,
      capitals,
      (one, other) => one.start === other.start && one.end === other.end,
    );
  }
  return tallies;
}

function tally(): Tally {
  return { right: 0, extra: 0, missed: 0 };
}

function joined(tokens: readonly string[]): { text: string; starts: number[] } {
  const starts: number[] = [];
  let text = '';
  for (const token of tokens) {
    if (text !== '') text += ' ';
    starts.push(text.length);
    text += token;
  }
  return { text, starts };
}

function spansOf(tags: readonly string[], tokens: readonly string[], starts: readonly number[]): Span[] {
  const spans: Span[] = [];
  tags.forEach((tag, at) => {
    const end = (starts[at] ?? 0) + (tokens[at]?.length ?? 0);
    const last = spans.at(-1);
    if (tag === 'B') spans.push({ start: starts[at] ?? 0, end });
    else if (tag === 'I' && last !== undefined) spans[spans.length - 1] = { ...last, end };
  });
  return spans;
}

function count(
  into: Tally,
  wanted: readonly Span[],
  found: readonly Span[],
  isSame: (one: Span, other: Span) => boolean,
): void {
  const left = [...found];
  for (const one of wanted) {
    const at = left.findIndex((other) => isSame(one, other));
    if (at === -1) into.missed++;
    else {
      left.splice(at, 1);
      into.right++;
    }
  }
  into.extra += left.length;
}
