import type { Mention, MentionKind } from '../tagger/decode.ts';
import type { LaidOutText } from '../text/layout.ts';
import { spelled } from '../text/sections.ts';
import labels from '../words/form-labels.json' with { type: 'json' };

/** `label` names a date or nothing that a record has; beside `other` stands what is no job and no study: a birth, a sector, duties. */
type FormKind = Extract<MentionKind, 'company' | 'title' | 'school' | 'degree'> | 'label' | 'other';

interface FormLabel {
  readonly kind: FormKind;
  /** How many characters of the line come before its value; all of them where the value stands elsewhere. */
  readonly length: number;
}

const KINDS = new Map<string, FormKind>();
for (const [kind, lines] of Object.entries(labels)) {
  for (const label of lines.flatMap((line) => line.split('; '))) KINDS.set(label, kind as FormKind);
}
const FIRST_WORDS = new Set([...KINDS.keys()].map(firstWord));
const LONGEST_LABEL = 130;

/** The label of a form, as that of Europass, at the beginning of a line: alone, before a colon, or of two words and more before its value. */
export function formLabelOf(line: string): FormLabel | null {
  const head = line.slice(0, LONGEST_LABEL);
  if (!FIRST_WORDS.has(firstWord(spelled(head)))) return null;
  const colon = head.indexOf(':');
  const before = colon > 0 ? KINDS.get(plainLabel(head.slice(0, colon))) : undefined;
  if (before !== undefined) return { kind: before, length: valueAt(line, colon + 1) };
  const alone = line.length <= LONGEST_LABEL ? KINDS.get(plainLabel(line)) : undefined;
  if (alone !== undefined) return { kind: alone, length: line.length };
  let found: FormLabel | null = null;
  for (const { index } of head.matchAll(/ (?=[\p{Lu}\d])/gu)) {
    const label = plainLabel(head.slice(0, index));
    const kind = label.includes(' ') ? KINDS.get(label) : undefined;
    if (kind !== undefined) found = { kind, length: index + 1 };
  }
  return found;
}

/** "Mother tongue(s)" and "Nume / Prenume", without what forms leave open. */
function plainLabel(label: string): string {
  return spelled(label)
    .replace(/\([^()]{1,12}\)/g, '')
    .replace(/ ?\/ ?/g, '/')
    .replace(/\s+/g, ' ')
    .replace(/^[^\p{L}]+|[^\p{L}.]+$/gu, '');
}

function firstWord(label: string): string {
  return /\p{L}+/u.exec(label)?.[0] ?? '';
}

function valueAt(line: string, from: number): number {
  return from + (/^\s*/.exec(line.slice(from))?.[0].length ?? 0);
}

/** A birth without a label: "geboren am 3. Februar 1971 in Kassel", "ur. 14.02.1987". */
const BIRTH =
  /^(?:born|geboren|geb\.|née? (?:le|à|en)|nat[oa] (?:a|il|nel)|nacid[oa]|nascid[oa]|născut|ur\.|urodzon[ya]|nar\.|narozen|született|född|født|d\.?o\.?b)(?!\p{L})/iu;

/** Whether a line says when or where the person was born, or of what sex or country. */
export function isPersonalLine(line: string): boolean {
  return BIRTH.test(line) || formLabelOf(line)?.kind === 'other';
}

/** Whether a mention is a label of a form, or stands beside one of what is no job and no study. */
export function isOfForm({ segments }: LaidOutText, { kind, segment, start }: Mention): boolean {
  const own = segments[segment];
  if (own === undefined || kind === 'place') return false;
  const label = formLabelOf(own.text);
  const isName = kind !== 'skill' && kind !== 'name';
  if (label !== null) return start < own.start + label.length || (label.kind === 'other' && isName);
  if (!isName) return false;
  const left = own.beginsLine ? undefined : segments[segment - 1];
  const beside = left === undefined ? null : formLabelOf(left.text);
  return beside?.kind === 'other' && beside.length === left?.text.length;
}
