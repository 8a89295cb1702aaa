import { readFileSync } from 'node:fs';

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A sentence of a posting with its annotations: skills and knowledge. */
export interface TaggedSentence {
  readonly text: string;
  readonly abilities: readonly Span[];
  readonly knowledge: readonly Span[];
}

/** One JSON object a line, with tokens and BIO tags for skills and for knowledge. */
export function readSentences(file: string): TaggedSentence[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const { tokens, tags_skill, tags_knowledge } = JSON.parse(line) as {
        tokens: string[];
        tags_skill: string[];
        tags_knowledge: string[];
      };
      const { text, starts } = joined(tokens);
      return {
        text,
        abilities: spansOf(tags_skill, tokens, starts),
        knowledge: spansOf(tags_knowledge, tokens, starts),
      };
    });
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
