import type { Mention, MentionKind } from '../tagger/decode.ts';
import type { LaidOutText } from '../text/layout.ts';
import { spelled } from '../text/sections.ts';
import labels from '../words/form-labels.json' with { type: 'json' };

/**
 * `label` names a date or a value that records do not have; `other` names a value that is not part of a job or study: a
 * birth, a sector, duties.
 */
type FormKind = Extract<MentionKind, 'company' | 'title' | 'school' | 'degree'> | 'label' | 'other';

interface FormLabel {
  readonly kind: FormKind;
  /** The length of the line before its value; the whole line if the value is elsewhere. */
  readonly length: number;
}

const KINDS = new Map<string, FormKind>();
for (const [kind, lines] of Object.entries(labels)) {
  for (const label of lines.flatMap((line) => line.split('; '))) KINDS.set(label, kind as FormKind);
}
const FIRST_WORDS = new Set([...KINDS.keys()].map(firstWord));
const LONGEST_LABEL = 130;

/** The level of a study as forms state it: "Niveau CEC 6", "EQF level 5". */
const LEVEL =
  /^(?:niveau|level|nivel|nivelul|livello|nível|poziom|úroveň|szint)?\s?(?:cec|eqf|eqr|mec|qeq|ekr|ekk|isced)(?: (?:level|niveau))?\s?\d\p{L}?$/iu;

/**
 * A label of a form such as Europass at the start of a line: alone, before a colon, or of at least two words before its
 * value.
 */
export function formLabelOf(line: string): FormLabel | null {
  const head = line.slice(0, LONGEST_LABEL);
  if (LEVEL.test(line)) return { kind: 'other', length: line.length };
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

/** "Mother tongue(s)" and "Nume / Prenume", without optional parts in brackets. */
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

/** Whether a line or cell contains a date of birth, or another value that is not part of a job or study. */
export function isBesideWork({ segments }: LaidOutText, at: number): boolean {
  const own = segments[at];
  if (own === undefined) return false;
  if (BIRTH.test(own.text) || formLabelOf(own.text)?.kind === 'other') return true;
  const left = own.beginsLine ? undefined : segments[at - 1];
  const beside = left === undefined ? null : formLabelOf(left.text);
  return beside?.kind === 'other' && beside.length === left?.text.length;
}

/** Service required by a state; a professional soldier has a position. */
const SERVICE =
  /(?<!\p{L})(?:(?:grund)?wehrdienst|zivildienst|(?:compulsory|mandatory|obligatory|national|conscript) (?:military |army |civil )?service|service (?:militaire|national)|servicio militar|servizio (?:militare|di leva)|serviço militar|służba wojskowa|zasadnicza służba|(?:základní )?vojenská (?:prezenční )?služba|základná vojenská služba|stagiul? militar|serviciul? militar|dienstplicht|militaire dienst|sorkatonai szolgálat|katonai szolgálat|värnplikt|militärtjänst|værnepligt|verneplikt|askerlik)(?!\p{L})/iu;
const SERVICE_OR_TRADE = /(?<!\p{L})military service(?!\p{L})/iu;

/**
 * By line or heading: 2 for segments of compulsory service, 1 for military service that is a job if it has a position.
 */
export function serviceSegments({ segments, headings }: LaidOutText): Uint8Array {
  const found = new Uint8Array(segments.length);
  let line = 0;
  let underHeading = 0;
  segments.forEach(({ text, beginsLine }, at) => {
    const head = text.slice(0, LONGEST_LABEL);
    const own = SERVICE.test(head) ? 2 : SERVICE_OR_TRADE.test(head) ? 1 : 0;
    if (headings[at] != null) underHeading = own;
    if (beginsLine) line = at;
    found[at] = Math.max(found[at] ?? 0, underHeading);
    if (own > 0 && text.length <= LONGEST_LABEL)
      for (let one = at; one >= line && (found[one] ?? 0) < own; one--) found[one] = own;
    else if (!beginsLine && (found[at - 1] ?? 0) > 0) found[at] = found[at - 1] ?? 0;
  });
  return found;
}

/** Whether a mention is a label of a form, or the value of a label that is not about a job or study. */
export function isOfForm(laidOut: LaidOutText, { kind, segment, start }: Mention): boolean {
  const own = laidOut.segments[segment];
  if (own === undefined || kind === 'place') return false;
  const label = formLabelOf(own.text);
  const isName = kind !== 'skill' && kind !== 'name';
  if (label !== null) return start < own.start + label.length || (label.kind === 'other' && isName);
  return isName && isBesideWork(laidOut, segment);
}
