import { type Traced, traced } from '../evidence.ts';
import type { Mention } from '../tagger/decode.ts';
import { type DateSpan, isoOf } from '../text/dates.ts';
import type { LaidOutText } from '../text/layout.ts';
import type { TextRange } from '../text/tokens.ts';
import {
  canonicalSkill,
  companyHeads,
  companySuffixes,
  isSchoolWord,
  placeBook,
} from '../words/word-lists.ts';
import { firmBefore, namesFirm, namesHead } from './title.ts';

const COMPANY_LABEL =
  /^(?:company(?: name)?|employer|organi[sz]ation|school|hiring company|client|firm|firma|unternehmen|arbeitgeber|entreprise|société|empresa|azienda|bedrijf|organisatie|pracodawca)\s*[:–-]\s*/i;
const TOP = 10;

/** Up to five words separated by one blank. There is only one way to match them, so the time is linear in the length. */
const NAME = String.raw`(\p{Lu}[\p{L}\d&.'’-]{0,40}(?:[ \u00a0](?:\p{Lu}[\p{L}\d&.'’-]{0,40}|&)){0,4})`;
const IS_LOOKING = new RegExp(
  String.raw`(?:^|[.!\n]\s*)${NAME}\s(?:is (?:looking|hiring|seeking|searching|offering|committed to|proud to|a (?!plus|must|bonus)|an (?!advantage|asset)|the |one of)|are (?:looking|hiring|seeking)|(?:makes|builds|develops|provides|helps|runs|designs|operates|has an opening|entwickelt|baut|bietet)\s|sucht|recherche|busca|cerca|zoekt|ist (?:ein|eine|der|die|das)|est (?:un|une|le|la)|es (?:una?|la|el)|è (?:una?|la|il))`,
  'u',
);
const ABOUT = new RegExp(
  String.raw`^(?:[Aa]bout|[Üü]ber|[Àà] propos de|[Ss]obre|[Cc]hi è|[Oo]ver)\s+${NAME}$`,
  'u',
);
/** After the title: "… at Harley Smiles in Bristol". */
const BEHIND_TITLE = new RegExp(
  String.raw`^\s+(?:at|@|bei|chez|bij|presso|with)\s+${NAME}(?=\s*(?:$|[,.!(|\n]|in\s|[–-]\s))`,
  'u',
);
/** "Nurse (m/w/d) - Clinique Saint-Roch", "Engineer (Harrier Pumps Ltd)": a firm after a dash or bar, or in brackets. */
const FIRM_BEHIND = new RegExp(
  String.raw`^(?:\s?\([^()\n]{1,12}\))?(?:\s[–—|-]\s|\s\()${NAME}(?=\s*(?:$|[,.!()|\n]|[–-]\s))`,
  'u',
);
const ARTICLE = /^(?:Die|Der|Das|La ditta|La società|La empresa|La société|Die Firma)\s+(?=\p{Lu})/u;
/** "We're Pebblewise, a …", "At Tolman, we …", "Bei Tolman bauen wir …", "openings at Sandmoor Vets, York". */
const INTRODUCED: readonly RegExp[] = [
  `(?:^|[.!\\n]\\s*)(?:We['’]re|We are|Wir sind|Nous sommes|Somos|Siamo|Wij zijn|Jesteśmy)\\s+${NAME},\\s+(?:an?|the|ein|eine|das|der|die|une?|la|le|una?|el|il|um|uma|een|de|het)\\s`,
  `(?:^|[.!\\n]\\s*)(?:At|Chez|Bij|Bei|Presso)\\s+${NAME}(?:,\\s+(?:we|nous|wir|wij|noi)|\\s+\\p{Ll}+en\\s+(?:wir|wij|we))(?!\\p{L})`,
  `(?:openings?|vacanc(?:y|ies)|positions?|roles?|jobs|careers|opportunit(?:y|ies))\\s+at\\s+${NAME}(?=\\s*(?:$|[,.:!(|\\n]|in\\s))`,
  `(?:^|\\n)Greetings from\\s+${NAME}(?=\\s*[!.,\\n])`,
].map((pattern) => new RegExp(pattern, 'u'));
const FIRM_WORDS: ReadonlySet<string> = new Set([
  ...companySuffixes,
  ...'bank hospital clinic council trust hotel inn restaurant logistics technologies labs partners associates studios zorggroep klinik klinikum stiftung praxis kanzlei verlag werke stadtwerke banque hôpital clinique mairie ayuntamiento fundación clínica comune azienda gemeente ziekenhuis szpital'.split(
    ' ',
  ),
]);
const LONGEST_NAME_WORDS = 7;
const AT_COMPANY = new RegExp(String.raw`\s(?:at|@|bei|chez|bij)\s+${NAME}$`, 'u');
const NO_COMPANY =
  /^(?:cdi|cdd|full[ -]?time|part[ -]?time|permanent|remote|hybrid|on-?site|vollzeit|teilzeit|home-?office|télétravail|confidential|login|log in|sign in|home|careers|jobs|menu|search|apply|we|our|notre client|unser kunde|experience|knowledge|this|the (?:role|team|job|position|company|candidate|successful)|you|it|us|role|job|position|company|team|he|she|wir|nous|uns|se|cercasi|cherche|hiring|wanted|seeking|looking)\b/i;

/**
 * `title` is the position after which the employer may be named. `isPlain` is a text of a few lines, in which a tagged
 * name must also contain a word for a firm or school.
 */
export function findOrganisation(
  laidOut: LaidOutText,
  mentions: readonly Mention[],
  title: TextRange | null,
  isPlain = false,
): Traced | null {
  const { segments, text } = laidOut;
  const accept = (start: number, raw: string, confidence: number): Traced | null => {
    const skipped = ARTICLE.exec(raw)?.[0].length ?? 0;
    const value = raw.slice(skipped).replace(/[\s,.;:]+$/, '');
    const isName =
      value.length >= 2 && value.split(/\s+/).length <= LONGEST_NAME_WORDS && !/[€£$:]/.test(value);
    return isName && !NO_COMPANY.test(raw) && !NO_COMPANY.test(value) && !namesSkill(value)
      ? traced(text, start + skipped, start + skipped + value.length, confidence)
      : null;
  };
  for (const segment of segments.slice(0, 60)) {
    const label = COMPANY_LABEL.exec(segment.text);
    if (label !== null && segment.text.length - label[0].length >= 2 && segment.text.length < 100) {
      return accept(segment.start + label[0].length, segment.text.slice(label[0].length), 0.95);
    }
  }
  const beside = title === null ? null : BEHIND_TITLE.exec(text.slice(title.end, title.end + 100));
  if (title !== null && beside?.[1] !== undefined) {
    const found = accept(title.end + beside[0].length - beside[1].length, beside[1], 0.8);
    if (found !== null) return found;
  }
  const firm = title === null ? null : firmBesideTitle(text, title);
  const besideTitle = firm === null ? null : accept(firm.start, text.slice(firm.start, firm.end), 0.75);
  if (besideTitle !== null) return besideTitle;
  for (const segment of segments) {
    for (const pattern of segment.start < 400 ? [ABOUT, AT_COMPANY] : [ABOUT]) {
      const match = pattern.exec(segment.text.slice(0, 120));
      const found =
        match?.[1] === undefined
          ? null
          : accept(segment.start + match[0].length - match[1].length + match.index, match[1], 0.85);
      if (found !== null) return found;
    }
  }
  for (const pattern of INTRODUCED) {
    const match = pattern.exec(text.slice(0, 8000));
    const name = match?.[1];
    const found =
      match === null || name === undefined ? null : accept(match.index + match[0].indexOf(name), name, 0.75);
    if (found !== null && placeBook.of(found.value) === undefined) return found;
  }
  const looking = IS_LOOKING.exec(text.slice(0, 8000));
  if (looking?.[1] !== undefined) {
    const start = looking.index + looking[0].indexOf(looking[1]);
    const found = accept(start, looking[1], 0.75);
    if (found !== null) return found;
  }
  const line = title === null ? null : lineBesideTitle(laidOut, title);
  const named = line === null ? null : accept(line.start, text.slice(line.start, line.end), 0.6);
  if (named !== null) return named;
  const suffixed = suffixedName(laidOut);
  if (suffixed !== null) return accept(suffixed.start, text.slice(suffixed.start, suffixed.end), 0.7);
  const isNamed = ({ from, to }: Mention) =>
    laidOut.tokens
      .slice(from, to)
      .some(({ lower }) => companySuffixes.has(lower) || companyHeads.has(lower) || isSchoolWord(lower));
  const mention = mentions.find(
    (one) =>
      one.kind === 'company' &&
      one.segment < TOP &&
      laidOut.segments[one.segment]?.isBulleted !== true &&
      (!isPlain || isNamed(one)),
  );
  return mention === undefined ? null : accept(mention.start, text.slice(mention.start, mention.end), 0.5);
}

/** The employer on the line of the title: before it, or after it with a word for a firm. */
function firmBesideTitle(text: string, title: TextRange): TextRange | null {
  const lineStart = text.lastIndexOf('\n', title.start - 1) + 1;
  const before = firmBefore(text.slice(lineStart, lineStart + 200));
  if (before !== null && lineStart + before.end === title.start)
    return { start: lineStart, end: lineStart + before.name.length };
  const behind = FIRM_BEHIND.exec(text.slice(title.end, title.end + 120));
  const name = behind?.[1];
  if (behind === null || name === undefined || !namesFirm(name)) return null;
  const end = title.end + behind[0].length;
  return { start: end - name.length, end };
}

/** The capitalized words before "Ltd" or "GmbH". */
function suffixedName({ tokens }: LaidOutText): TextRange | null {
  const suffixed = tokens.findIndex(
    ({ lower, text: word }, at) =>
      at < 400 && companySuffixes.has(lower) && /^\p{Lu}/u.test(word) && lower.length > 1 && lower !== 'as',
  );
  let from = suffixed;
  while (
    from > 0 &&
    suffixed - from < 4 &&
    /^[\p{Lu}&]/u.test(tokens[from - 1]?.text ?? '') &&
    tokens[from - 1]?.segment === tokens[suffixed]?.segment
  )
    from--;
  const [first, last] = [tokens[from], tokens[suffixed]];
  return from < suffixed && first !== undefined && last !== undefined
    ? { start: first.start, end: last.end }
    : null;
}

const NAME_LINE =
  /^(?:The )?\p{Lu}[\p{L}\d&.'’-]*(?: (?:\p{Lu}[\p{L}\d&.'’-]*|&|of|and|for|de|du|des|la|für|und|der|van|von)){0,5}$/u;
const CLAUSE_END = /\s*(?:[·•|,(]|\s[–—-]\s)\s*/;

/**
 * "Nordhaven Bank | Copenhagen" above or below the title: contains a word for a firm or school, or is followed by a
 * place.
 */
function lineBesideTitle({ text, places }: LaidOutText, title: TextRange): TextRange | null {
  const lineStart = text.lastIndexOf('\n', title.start) + 1;
  const lineEnd = text.indexOf('\n', title.end);
  const above = text.slice(0, lineStart).trimEnd();
  const aboveStart = above.lastIndexOf('\n') + 1;
  const belowStart =
    lineEnd === -1 ? text.length : lineEnd + (/^\s*/.exec(text.slice(lineEnd))?.[0].length ?? 0);
  for (const start of [belowStart, aboveStart]) {
    if (start >= lineStart && start <= title.start) continue;
    const line = /^[^\n]{0,160}/.exec(text.slice(start))?.[0] ?? '';
    const end = CLAUSE_END.exec(line);
    const name = line.slice(0, end?.index ?? line.length).trim();
    if (!NAME_LINE.test(name) || namesHead(name) || placeBook.of(name) !== undefined) continue;
    const behind = end === null ? -1 : start + end.index + end[0].length;
    const words = name.toLowerCase().split(/[\s.]+/);
    const isFirm = words.length > 1 && words.some((word) => FIRM_WORDS.has(word) || isSchoolWord(word));
    if (isFirm || places.some((place) => place.start === behind)) {
      const skipped = /^The (?=University|College|School)/.exec(name)?.[0].length ?? 0;
      return { start: start + skipped, end: start + name.length };
    }
  }
  return null;
}

/** "Excel is a must": a skill before the verb is not an employer. */
function namesSkill(value: string): boolean {
  return canonicalSkill(value) !== null;
}

const POSTED =
  /(?:date )?posted(?: on)?|publish(?:ed)?(?: on)?|publication date|veröffentlicht(?: am)?|publiée? le|publicad[oa](?: el)?|pubblicat[oa](?: il)?|geplaatst(?: op)?/i;
const UNTIL =
  /(?:application )?deadline|apply (?:by|before|until)|closing date|clos(?:es|ing)(?: on)?|valid (?:through|until)|expires?(?: on)?|applications? (?:close|until|by)|bewerbungsfrist|bewerben sie sich bis|bis zum|date limite|avant le|fecha límite|hasta el|scadenza|entro il|prazo|até|sluitingsdatum|reageren (?:voor|tot)/i;
const DATE_REACH = 40;

export function findPostingDates(laidOut: LaidOutText): { posted: Traced | null; until: Traced | null } {
  return { posted: dateAfter(laidOut, POSTED), until: dateAfter(laidOut, UNTIL) };
}

function dateAfter({ dates, text }: LaidOutText, label: RegExp): Traced | null {
  for (const date of dates) {
    const before = text.slice(Math.max(0, date.start - DATE_REACH), date.start);
    const line = before.slice(before.lastIndexOf('\n') + 1);
    const match = label.exec(line);
    if (match === null || date.from === null) continue;
    const value = dayOf(text, date) ?? isoOf(date.from);
    return { value, start: date.start, end: date.end, confidence: 0.85 };
  }
  return null;
}

/** The date with its day, if it names one next to its month. */
function dayOf(text: string, { start, end, from }: DateSpan): string | null {
  if (from === null || from.month === null) return null;
  const raw = text.slice(start, end);
  const iso = /^\d{4}[-/.]\d{1,2}[-/.](\d{1,2})/.exec(raw)?.[1];
  const numeric = /^(\d{1,2})[./-](\d{1,2})[./-]\d{2,4}/.exec(raw);
  const word = /(?:^|\D)(\d{1,2})(?:st|nd|rd|th|\.)?(?:\s|,|$)/.exec(raw.replace(/(?:19|20)\d\d/, ''))?.[1];
  const other = numeric === null ? undefined : Number(numeric[2]) === from.month ? numeric[1] : numeric[2];
  const day = Number(iso ?? other ?? word ?? 0);
  return day >= 1 && day <= 31 ? `${isoOf(from)}-${String(day).padStart(2, '0')}` : null;
}
