import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MentionKind } from '../src/domain/documents/tagger/decode.ts';
import type { LabelledCv, LabelledSpan } from './labelled-cvs.ts';

/** The letters of quality/written/README.md. */
const KINDS: Readonly<Record<string, MentionKind>> = {
  N: 'name',
  T: 'title',
  C: 'company',
  S: 'school',
  D: 'degree',
  P: 'place',
  K: 'skill',
};
const MARK = /\{([NTCSDPK]):([^{}\n]+)\}/g;
const BETWEEN = /^%%\n/m;

/** CVs of our own writing. Every mention is marked. */
export function readWrittenCvs(folder = join(import.meta.dirname, 'written')): readonly LabelledCv[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.txt'))
    .sort()
    .flatMap((file) =>
      readFileSync(join(folder, file), 'utf8')
        .split(BETWEEN)
        .map((marked, at) => withoutMarks(`${file}:${at + 1}`, marked)),
    );
}

/** `{T:Nurse} at {C:Bloom}` as its text and where the marks were. */
export function withoutMarks(name: string, marked: string): LabelledCv {
  const spans: LabelledSpan[] = [];
  let text = '';
  let last = 0;
  for (const { 0: whole, 1: letter = '', 2: value = '', index } of marked.matchAll(MARK)) {
    text += marked.slice(last, index);
    spans.push({ type: KINDS[letter] ?? '', start: text.length, end: text.length + value.length });
    text += value;
    last = index + whole.length;
  }
  text += marked.slice(last);
  const broken = /.{0,30}[{}].{0,30}/.exec(text);
  if (broken !== null)
    throw new Error(`${name} has a mark that is not closed or of no known kind: ${broken[0]}`);
  return { name, text, spans };
}
