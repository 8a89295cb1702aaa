import type { Mention, MentionKind } from '../tagger/decode.ts';
import type { LaidOutText } from '../text/layout.ts';
import { firstOverlap, type Token } from '../text/tokens.ts';
import { companySuffixes } from '../words/word-lists.ts';
import { formLabelOf } from './form-labels.ts';

/** The labels for parts of an entry in forms and tables, in ten languages. */
const LABELS: readonly (readonly [MentionKind, string])[] = [
  [
    'company',
    'company|company name|name of (?:the )?company|employer|employer name|organi[sz]ation|organi[sz]ation name|firm|firma|arbeitgeber|unternehmen|entreprise|société|employeur|empresa|compañía|empleador|azienda|datore di lavoro|società|empregador|werkgever|bedrijf|organisatie|pracodawca|şirket|arbetsgivare|företag|arbejdsgiver|virksomhed',
  ],
  [
    'title',
    'position|position held|job title|title|designation|role|job role|post held|occupation|tätigkeit|stelle|funktion|berufsbezeichnung|beruf|poste|poste occupé|fonction|intitulé du poste|puesto|cargo|cargo ocupado|ruolo|mansione|posizione|qualifica|função|functie|functietitel|stanowisko|pozisyon|unvan|befattning|stilling|titel',
  ],
  [
    'school',
    'institution|institute|institution name|university|college|school|name of (?:the )?(?:institution|institute|school|college|university)|universität|hochschule|schule|établissement|école|université|universidad|centro|centro de estudios|università|istituto|universidade|instituição|instelling|universiteit|uczelnia|okul|üniversite|lärosäte|skola',
  ],
  [
    'degree',
    'degree|degree name|qualification|study ?type|diploma|abschluss|studiengang|diplôme|título|titulación|titolo di studio|grau|opleiding|stopień|examen',
  ],
];

const KIND_OF = LABELS.map(([kind, words]) => [kind, new RegExp(`^(?:${words})$`, 'iu')] as const);
/** Headers of other columns and labels of other lines: never a value. */
const OTHER_LABEL =
  /^(?:from|to|start ?date|end ?date|dates?|period|duration|years?|year of passing|location|place|city|address|responsibilities|duties|summary|description|highlights|website|url|email|e-mail|phone|mobile|name|area|major|field of study|gpa|grade|percentage|board|courses?|zeitraum|von|bis|ort|aufgaben|fechas?|funciones|période|lieu|missions|periodo|período|luogo|atividades|periode)$/iu;

/** Labels for descriptions of the person's work. */
const DUTIES =
  /^(?:(?:key |main )?(?:responsibilities|duties|tasks)|(?:job )?description|aufgaben|aufgabengebiet|tätigkeiten|funciones|tareas|missions|tâches|atividades|mansioni|attività|taken|werkzaamheden|obowiązki|arbetsuppgifter|opgaver|görevler)\s?[:–]?$/iu;

const IN_LINE = /^([\p{L}][\p{L} /-]{2,28}?)\s?[:–]\s?(?=\S)/u;
const MOST_TOKENS = 10;
/** "Role: worked on the chat service of a bank" is a description. */
const MOST_TITLE_TOKENS = 6;

/**
 * Values named by a label: "Employer: Blue Harbour", a cell next to the label, or the line after "Employer:". Roles in
 * projects are left to the tagger.
 */
export function labelledFields(laidOut: LaidOutText): Mention[] {
  const { segments, sections, headings } = laidOut;
  const found: Mention[] = [];
  segments.forEach((segment, at) => {
    if (sections[at] === 'projects' || sections[at] === 'skills') return;
    const form = formLabelOf(segment.text);
    if (form !== null) {
      const mention = formField(laidOut, at, form);
      if (mention !== null) found.push(mention);
      return;
    }
    const inLine = IN_LINE.exec(segment.text);
    const kind = kindOf(inLine?.[1] ?? segment.text.replace(/\s?:$/, ''));
    if (kind === null) return;
    if (inLine !== null) {
      const mention = mentionIn(laidOut, kind, at, segment.start + inLine[0].length);
      if (mention !== null) found.push(mention);
      return;
    }
    const next = segments[at + 1];
    const isBeside = next?.beginsLine === false || segment.text.endsWith(':');
    if (next === undefined || !isBeside || headings[at + 1] != null || isLabelText(next.text)) return;
    // The header of a table column has another header next to it.
    if (!segment.text.endsWith(':') && at > 0 && !segment.beginsLine) return;
    const colon = /^:\s?/.exec(next.text)?.[0].length ?? 0;
    const mention = mentionIn(laidOut, kind, at + 1, next.start + colon);
    if (mention !== null) found.push(mention);
  });
  return found;
}

/** The value of a form's label, on its line or the next. The address follows the comma of a name. */
function formField(
  laidOut: LaidOutText,
  at: number,
  { kind, length }: NonNullable<ReturnType<typeof formLabelOf>>,
): Mention | null {
  if (kind === 'label' || kind === 'other') return null;
  const { segments, headings } = laidOut;
  const own = segments[at];
  const next = segments[at + 1];
  if (own === undefined) return null;
  if (length < own.text.length) return mentionIn(laidOut, kind, at, own.start + length, true);
  if (next === undefined || headings[at + 1] != null || isLabelText(next.text)) return null;
  const colon = /^:\s?/.exec(next.text)?.[0].length ?? 0;
  return mentionIn(laidOut, kind, at + 1, next.start + colon, true);
}

/** Whether a mention follows "Responsibilities:", on its line or in the next cell. */
export function isBesideDuties({ segments }: LaidOutText, { segment }: Mention): boolean {
  const own = segments[segment];
  const label = IN_LINE.exec(own?.text ?? '')?.[1] ?? (own?.beginsLine ? '' : segments[segment - 1]?.text);
  return DUTIES.test(label?.trim() ?? '');
}

function kindOf(label: string): MentionKind | null {
  return KIND_OF.find(([, words]) => words.test(label.trim()))?.[0] ?? null;
}

function isLabelText(text: string): boolean {
  const bare = text.replace(/\s?:.*$/, '').trim();
  return kindOf(bare) !== null || OTHER_LABEL.test(bare) || formLabelOf(text) !== null;
}

/** The tokens from an offset to the end of the segment, or to its first date or link. */
function mentionIn(
  laidOut: LaidOutText,
  kind: MentionKind,
  segment: number,
  from: number,
  isOfForm = false,
): Mention | null {
  const { tokens, tokenStarts, text } = laidOut;
  const last = tokenStarts[segment + 1] ?? 0;
  let first = tokenStarts[segment] ?? 0;
  while (first < last && (tokens[first]?.start ?? 0) < from) first++;
  let end = first;
  const isEnd = (at: number) =>
    tokens[at]?.kind === 'date' || tokens[at]?.kind === 'link' || (isOfForm && isAddress(tokens, at, kind));
  while (end < last && !isEnd(end)) end++;
  while (end > first && /^[^\p{L}\p{N})+#.]$/u.test(tokens[end - 1]?.text ?? '')) end--;
  const [begin, close] = [tokens[first], tokens[end - 1]];
  if (begin === undefined || close === undefined || end <= first) return null;
  if (end - first > (kind === 'title' ? MOST_TITLE_TOKENS : MOST_TOKENS)) return null;
  if (!/\p{L}{2}/u.test(text.slice(begin.start, close.end)) || /[:]/.test(text.slice(begin.start, close.end)))
    return null;
  return {
    kind,
    from: first,
    to: end,
    start: begin.start,
    end: close.end,
    segment,
    confidence: 0.9,
    isLabelled: true,
  };
}

/** Whether the address of an employer or school starts here: after a comma or in brackets. */
function isAddress(tokens: readonly Token[], at: number, kind: MentionKind): boolean {
  if ((kind !== 'company' && kind !== 'school') || !/^[,(;]$/.test(tokens[at]?.text ?? '')) return false;
  return !companySuffixes.has(tokens[at + 1]?.lower ?? '');
}

/** Labels take precedence over the tagger, whose mentions on a labelled value are removed. */
export function withLabelled(mentions: readonly Mention[], labelled: readonly Mention[]): Mention[] {
  if (labelled.length === 0) return [...mentions];
  const rest = mentions.filter(
    ({ kind, start, end }) =>
      kind === 'skill' || kind === 'place' || firstOverlap(labelled, start, end) === undefined,
  );
  return [...rest, ...labelled].sort((one, other) => one.from - other.from);
}
