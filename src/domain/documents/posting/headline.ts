import { type Traced, traced } from '../evidence.ts';
import type { Mention } from '../tagger/decode.ts';
import { type DateSpan, isoOf } from '../text/dates.ts';
import type { LaidOutText } from '../text/layout.ts';
import { companyHeads, companySuffixes, isPositionWord, isSchoolWord } from '../words/word-lists.ts';

const TITLE_LABEL =
  /^(?:job title|position(?: title)?|title|role|job|stelle|stellenbezeichnung|poste|intitulé du poste|puesto|posizione|cargo|vaga|functie)\s*[:–-]\s*/i;
const COMPANY_LABEL =
  /^(?:company(?: name)?|employer|organi[sz]ation|hiring company|client|firma|unternehmen|arbeitgeber|entreprise|société|empresa|azienda|bedrijf)\s*[:–-]\s*/i;
const SOUGHT =
  /\b(?:looking for|seeking|hiring|recruiting|searching for|we need|suchen(?: wir)?|(?:re)?cherchons|(?:re)?cherche|buscamos|busca|necesita|cerchiamo|cercasi|cerca|necesitamos|procuramos|procura-se|precisamos de|precisa-se|zoeken(?: wij| we)?|zoekt|(?:gezocht|gesucht|wanted|needed|vacancy)(?=\s?:))(?:\s+|\s?:\s*)(?:an?|one|eine?n?|une?|una?|um|uma|een|the|our next|several|ab sofort eine?n?)?\s*((?:[\p{L}\d+#/&-]+(?:\.[\p{L}\d]+)*\s?){1,7}?)(?=\s*(?:\(|\d|two\b|three\b|four\b|five\b|full\b|part\b|from\b|to\b|who\b|with\b|for\b|in\b|at\b|that\b|as\b|,|\.|!|zur|für|mit|pour|avec|para|con\b|per\b|com\b|voor|met|$))/iu;
const GENDERS =
  /\s*[([]?\s*(?:[mwfdxh]\s*[/|]\s*){1,3}[mwfdxha*]\s*[)\]]?\s*$|\s*\((?:all genders|gn|w\/m\/d)\)\s*$/i;
const TOP = 10;
const LONGEST_TITLE = 110;

export function findTitle(laidOut: LaidOutText): Traced | null {
  const { segments, text } = laidOut;
  for (const segment of segments.slice(0, 30)) {
    const label = TITLE_LABEL.exec(segment.text);
    const rest = segment.text.slice(label?.[0].length ?? 0);
    if (label !== null && rest.length > 2 && rest.length <= LONGEST_TITLE)
      return cleaned(text, segment.start + label[0].length, segment.end, 0.95);
  }
  for (const segment of segments.slice(0, TOP)) {
    if (segment.text.length > LONGEST_TITLE || /[.!?]$/.test(segment.text) || segment.isBulleted) continue;
    const words = segment.text.toLowerCase().match(/[\p{L}.+#-]+/gu) ?? [];
    const isTitle = words.length <= 12 && (words.some((word) => isHead(word)) || GENDERS.test(segment.text));
    if (isTitle && !COMPANY_LABEL.test(segment.text)) return cleaned(text, segment.start, segment.end, 0.85);
  }
  const sought = SOUGHT.exec(text.slice(0, 6000));
  if (sought?.[1] !== undefined && /\p{L}{3}/u.test(sought[1])) {
    const start = sought.index + sought[0].length - sought[1].length;
    return cleaned(text, start, start + sought[1].trimEnd().length, 0.7);
  }
  return openingTitle(laidOut);
}

const WANTED_BEHIND =
  /\s+(?:(?:is |are )?(?:urgently )?(?:needed|wanted|required|sought)|gesucht|recherchée?|gezocht)(?=[\s.,:!]|$).*$/iu;
const MOST_TITLE_WORDS = 8;

/** "Waiter wanted, weekends" and "Java developer, Berlin. Spring, SQL.": the first clause, if it names a position. */
function openingTitle({ segments, text }: LaidOutText): Traced | null {
  const [first] = segments;
  if (first === undefined) return null;
  const clause = (first.text.split(/[,;:!(]|\.(?=\s|$)|\s[–—-]\s/)[0] ?? '').replace(WANTED_BEHIND, '');
  const words = clause.toLowerCase().match(/[\p{L}.+#-]+/gu) ?? [];
  if (words.length > MOST_TITLE_WORDS || !words.some((word) => isHead(word))) return null;
  // "Sales manager for our Madrid office": the title ends before the employer speaks.
  const title = clause.replace(
    /\s+(?:for|in|at|für|bei|pour|para|per|voor) (?:our|the|unser|das|die|notre|nuestr|nostr|ons).*$/iu,
    '',
  );
  return cleaned(text, first.start, first.start + title.length, 0.5);
}

/** German and Dutch write titles as one word: Softwareentwickler, Projektleiterin. */
function isHead(word: string): boolean {
  if (isPositionWord(word) || isPositionWord(word.replace(/(?:\*in|:in|_in|s)$/, ''))) return true;
  return /(?:entwickler|ingenieur|leiter|berater|manager|kaufmann|kauffrau|techniker|fahrer|pfleger|lehrer|medewerker|ontwikkelaar|adviseur)(?:in|innen)?$/.test(
    word,
  );
}

/** The title alone: without genders, place, company and number behind it. */
function cleaned(text: string, start: number, end: number, confidence: number): Traced | null {
  let value = text.slice(start, end);
  value = value.replace(/\s+(?:at|@|bei|chez|bij)\s+\p{Lu}.*$/u, '');
  value = value.replace(
    /\s+[–—|-]\s+(?:remote|hybrid|on-?site|full[ -]?time|part[ -]?time|job id|req|ref|#|[\p{Lu}][\p{L}. ]+,\s).*$/iu,
    '',
  );
  value = value.replace(
    /\s*[([](?:remote|hybrid|full[ -]?time|part[ -]?time|on-?site|contract|all levels)[^)\]]*[)\]]\s*$/i,
    '',
  );
  value = value
    .replace(WANTED_BEHIND, '')
    .replace(GENDERS, '')
    .replace(/[\s,;:–-]+$|(?<=\p{L}{3})\.$/u, '');
  return value.length < 2 ? null : traced(text, start, start + value.length, confidence);
}

const IS_LOOKING =
  /(?:^|[.!\n]\s*)((?:\p{Lu}[\p{L}\d&.'-]*\s?){1,5}?)\s(?:is (?:looking|hiring|seeking|searching|a (?!plus|must|bonus)|an (?!advantage|asset)|the |one of)|are (?:looking|hiring|seeking)|sucht|recherche|busca|cerca|zoekt|ist (?:ein|eine|der|die|das)|est (?:un|une|le|la)|es (?:una?|la|el)|è (?:una?|la|il))/u;
const ABOUT = /^(?:about|über|à propos de|sobre|chi è|over)\s+((?:\p{Lu}[\p{L}\d&.'-]*\s?){1,5})$/u;
const AT_COMPANY = /\s(?:at|@|bei|chez|bij)\s+((?:\p{Lu}[\p{L}\d&.'-]*\s?){1,5})$/u;
const NO_COMPANY =
  /^(?:we|our|this|the (?:role|team|job|position|company|candidate|successful)|you|it|us|role|job|position|company|team|he|she|wir|nous|uns|se|cercasi|cherche|hiring|wanted|seeking|looking)\b/i;

/** `isPlain`: a text of a few lines, in which a tagged name must also have the word of a firm or a school. */
export function findOrganisation(
  laidOut: LaidOutText,
  mentions: readonly Mention[],
  isPlain = false,
): Traced | null {
  const { segments, text } = laidOut;
  const accept = (start: number, raw: string, confidence: number): Traced | null => {
    const value = raw.replace(/[\s,.;:]+$/, '');
    return value.length < 2 || NO_COMPANY.test(value)
      ? null
      : traced(text, start, start + value.length, confidence);
  };
  for (const segment of segments.slice(0, 60)) {
    const label = COMPANY_LABEL.exec(segment.text);
    if (label !== null && segment.text.length - label[0].length >= 2 && segment.text.length < 100) {
      return accept(segment.start + label[0].length, segment.text.slice(label[0].length), 0.95);
    }
  }
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
  const looking = IS_LOOKING.exec(text.slice(0, 8000));
  if (looking?.[1] !== undefined) {
    const start = looking.index + looking[0].indexOf(looking[1]);
    const found = accept(start, looking[1], 0.75);
    if (found !== null) return found;
  }
  const suffixed = laidOut.tokens.findIndex(
    ({ lower, text: word }, at) =>
      at < 400 && companySuffixes.has(lower) && /^\p{Lu}/u.test(word) && lower.length > 1 && lower !== 'as',
  );
  if (suffixed > 0) {
    let from = suffixed;
    while (
      from > 0 &&
      suffixed - from < 4 &&
      /^[\p{Lu}&]/u.test(laidOut.tokens[from - 1]?.text ?? '') &&
      laidOut.tokens[from - 1]?.segment === laidOut.tokens[suffixed]?.segment
    )
      from--;
    const [first, last] = [laidOut.tokens[from], laidOut.tokens[suffixed]];
    if (from < suffixed && first !== undefined && last !== undefined)
      return accept(first.start, text.slice(first.start, last.end), 0.7);
  }
  const isNamed = ({ from, to }: Mention) =>
    laidOut.tokens
      .slice(from, to)
      .some(({ lower }) => companySuffixes.has(lower) || companyHeads.has(lower) || isSchoolWord(lower));
  const mention = mentions.find(
    (one) => one.kind === 'company' && one.segment < TOP && (!isPlain || isNamed(one)),
  );
  return mention === undefined ? null : accept(mention.start, text.slice(mention.start, mention.end), 0.5);
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

/** The day, where the date names one beside its month. */
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
