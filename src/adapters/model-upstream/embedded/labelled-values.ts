import { linesOf, wordsOfName } from './text-parts.ts';

/** What a text says in so many words, by the words of its labels: `first name`. The first of a label wins. */
export interface LabelledValues {
  readonly values: ReadonlyMap<string, string>;
  /** Lists that stand below a heading. */
  readonly lists: ReadonlyMap<string, readonly string[]>;
}

const LONGEST_LINE = 2_000;
const LABELLED =
  /^\s*(?:[-*•#]+\s*)?["'`*_]*(\p{L}[\p{L}\p{N} _-]{0,40}?)["'`*_]*\s*[:=]["'`*_]*(?!\/\/)\s*(.*?)\s*,?\s*$/u;
const HEADING = /^\s*#{1,6}\s+\S/u;
const LIST_ITEM = /^\s*(?:[-*•]|\d{1,3}[.)])\s+\S/u;
/** JSON in a text, on one line or on many, is read as a list of labels: each of its keys begins a line. */
const BEFORE_KEY = /([{,])\s*(?=["'][\p{L}_])/gu;

/** `"name": string` in a prompt shows a shape and no value. */
const PLACEHOLDER =
  /^[[{"'<]{0,3}(?:string|number|integer|float|boolean|bool|array|object|list|\.{3}|…)[^\p{L}\p{N}]{0,6}$|^<[^>]*>$/iu;

export function labelsIn(text: string): LabelledValues {
  const values = new Map<string, string>();
  const lists = new Map<string, string[]>();
  let heading: string | null = null;
  for (const line of text.replace(BEFORE_KEY, '$1\n').split('\n')) {
    if (line.length > LONGEST_LINE) continue;
    const match = LABELLED.exec(line.replace(/[\s}]+$/u, ''));
    const label = wordsOfName(match?.[1] ?? '').join(' ');
    const value = withoutQuotes(match?.[2] ?? '');
    if (label !== '' && value !== '') {
      heading = null;
      if (!PLACEHOLDER.test(value) && !values.has(label)) values.set(label, value);
    } else if (label !== '' || HEADING.test(line)) {
      heading = label === '' ? wordsOfName(line).join(' ') : label;
    } else if (heading !== null && LIST_ITEM.test(line)) {
      const list = lists.get(heading) ?? [];
      list.push(...linesOf(line));
      lists.set(heading, list);
    } else if (line.trim() !== '') {
      heading = null;
    }
  }
  return { values, lists };
}

export function withoutQuotes(value: string): string {
  return value.trim().replace(/^(["'`])(.*)\1$/u, '$2');
}
