import { type Found, firstOverlap, type TextRange } from './tokens.ts';

/** A run of digits with the usual separators; a label that the layout joined to its end is not part of it. */
const PHONE_RUN =
  /(?<![\p{L}\d@#$€£])(?:[+＋] ?|\([+＋])?\(?\d(?:[ ()./\-–\u00a0]{0,3}\d){6,16}(?:\s?(?:x|ext\.?|extension)\s?\d{1,6})?(?![\d@]|(?!E-?mail|EMAIL|Mail|Address|Linked|Skype|Web|Mobile|Phone|Tel|Fax|Git|Date|DOB)\p{L})/gu;
/** A number broken by a narrow column; it needs a country code or a label. */
const BROKEN_RUN =
  /(?<![\p{L}\d])(?:\(?[+＋] ?)?\d[\d ()./–-]{2,14}\n[ \t]{0,8}\d[\d ()./–-]{1,12}\d(?=[ \t]*(?:\n|$|[|,;•]))/gu;
const PHONE_LABEL =
  /(?<!\p{L})(?:phone|mobile|mob|mobil|cell|cel|celular|cellulare|tel|telephone|telefon|telefono|telefone|teléfono|tlf|tfno|handy|handynummer|rufnummer|telefonnummer|mobilnummer|móvil|movil|portable|téléphone|tél|gsm|natel|contact|contacto|call|fax|whatsapp|numéro|número|numero|ph|no|number|[mtpc])[.:#)\s\-–]{0,6}(?:(?:no|number|nr)(?!\p{L}))?(?:\((?:mobile|cell|home|work|privat|m)\))?[.:#)\s\-–]{0,4}$/iu;

/** Telephone numbers; `taken` contains the dates, email addresses, links and codes of the text, sorted. */
export function findPhones(text: string, taken: readonly TextRange[]): Found<string>[] {
  const found: Found<string>[] = [];
  const add = (start: number, end: number, value: string) => {
    if (found.length >= MOST_PHONES || found.some((one) => one.start < end && start < one.end)) return;
    found.push({ start, end, value: balanced(value) });
  };
  for (const match of text.matchAll(BROKEN_RUN)) {
    const value = match[0].trim();
    const end = match.index + value.length;
    if (isBrokenPhone(text, value, match.index) && !isOther(taken, match.index, end, true))
      add(match.index, end, value.replace(/\s*\n\s*/, ' ').replace(/- /, '-'));
  }
  for (const match of text.matchAll(PHONE_RUN)) {
    // A postal code before it and a house number after it belong to the address.
    const lead = /^\d{5} (?=\()/.exec(match[0])?.[0].length ?? 0;
    const value = firstNumber(match[0].slice(lead).trim());
    const start = match.index + lead;
    const end = start + value.length;
    const before = text.slice(Math.max(0, start - 8), start);
    if (/\bIS[BS]N[:\s-]*$|\/$/i.test(before)) continue;
    const isSure = isLabelled(text, start) || IS_SURE.test(value);
    if (looksLikePhone(value, isSure) && !isOther(taken, start, end, isSure)) add(start, end, value);
  }
  return found.sort((one, other) => one.start - other.start);
}

/**
 * Starts with a plus, or with the North American 1 before three, three and four digits; or a Brazilian number, whose last nine
 * digits alone would be a postal code of the United States: "(11) 98765-4321".
 */
const IS_SURE = /^(?:\(?[+＋]|1[-. ]\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}$|\(0?\d{2}\) ?\d{4,5}-\d{4}$)/;

/** Without a house number after it, or a second number after a slash. */
function firstNumber(value: string): string {
  const short = value.replace(/ \d{1,3}\/\d{1,3}$| ?\/ ?\(?\d{3,}[^/]*$/, '');
  return short.replace(/\D/g, '').length >= 9 ? short : value;
}

/** A CV usually has one or two. */
const MOST_PHONES = 20;

/** A number with a label or country code is accepted even if its last digits alone would be a postal code or a year. */
function isOther(taken: readonly TextRange[], start: number, end: number, isSure: boolean): boolean {
  const other = firstOverlap(taken, start, end);
  if (other === undefined) return false;
  const isPart = other.start >= start && other.end <= end && other.end - other.start < end - start;
  return !isSure || !isPart;
}

function isLabelled(text: string, start: number): boolean {
  return PHONE_LABEL.test(text.slice(Math.max(0, start - 28), start));
}

/** Each line has too few digits for a number, but together they have enough. */
function isBrokenPhone(text: string, value: string, start: number): boolean {
  const [first = '', second = ''] = value.split('\n').map((line) => line.replace(/\D/g, ''));
  if (first.length >= 10 || second.length > 8 || /(?:19|20)\d\d\s*$/.test(value.split('\n')[0] ?? ''))
    return false;
  const isSure = isLabelled(text, start) || /^\(?[+＋]/.test(value);
  const digits = first.length + second.length;
  return isSure && digits >= 10 && digits <= 13 && !/^(?:19|20)\d\d$/.test(second);
}

const DAY = /(?<![\d./-])(?:0?[1-9]|[12]\d|3[01])[./-](?:0?[1-9]|1[0-2])[./-](?:19|20)?\d\d(?!\d|[./-]\d)/;

function looksLikePhone(value: string, isSure: boolean): boolean {
  const digits = value.replace(/(?:x|ext).*$/i, '').replace(/\D/g, '');
  if (digits.length < 7 || digits.length > 15 || new Set(digits).size < 3) return false;
  if (/^\d{1,2}\/\d\d ?[-–] ?\d{1,2}\/\d\d$/.test(value)) return false;
  if (isSure) return true;
  // Houses with two numbers, as in Prague: "Vinohradská 1511/230".
  if (/^[1-9]\d{1,3}\/\d{1,3}$/.test(value)) return false;
  // Two years are a time span, and a single run of seven to nine digits is usually an id or an amount.
  if (/^(?:19|20)\d\d\D{1,5}(?:19|20)\d\d$/.test(value)) return false;
  if (DAY.test(value) || /\d {2,}\d/.test(value)) return false;
  const isParted = /\d[ ().\-–/]{1,3}\d/.test(value);
  // Four pairs are a Danish or Norwegian number; other runs of eight digits are usually a date or an id.
  const isNordic = /^[2-9]\d(?: \d\d){3}$/.test(value);
  return digits.length >= 10 || isNordic || (digits.length >= 7 && isParted && digits.length !== 8);
}

/** An unbalanced bracket does not belong to the number. */
function balanced(value: string): string {
  const opened = value.split('(').length;
  const closed = value.split(')').length;
  return opened === closed ? value : value.replace(/^\(|[()]$/g, '');
}

const LINK =
  /(?:https?:\/\/|www\.)[^\s<>"'()|,;]{3,300}|(?<![@\p{L}\d.-])(?:[a-z]{2,3}\.)?(?:linkedin\.com|github\.com|gitlab\.com|stackoverflow\.com|behance\.net|dribbble\.com|medium\.com|xing\.com|twitter\.com|x\.com|kaggle\.com|bitbucket\.org|researchgate\.net|facebook\.com|instagram\.com|youtube\.com|scholar\.google\.com|about\.me|indeed\.com\/r)\/[^\s<>"'()|,;]{1,200}/giu;
const BARE_SITE =
  /(?<![@\p{L}\d.-])(?:[a-z\d-]{2,40}\.)+(?:com|org|net|io|dev|me|de|co|ai|app|info)(?:\/[^\s<>"'()|,;]{0,120})?(?![\p{L}\d@.-])/giu;

const NETWORKS: readonly (readonly [RegExp, string])[] = [
  [/linkedin\./i, 'LinkedIn'],
  [/github\./i, 'GitHub'],
  [/gitlab\./i, 'GitLab'],
  [/stackoverflow\./i, 'Stack Overflow'],
  [/behance\./i, 'Behance'],
  [/dribbble\./i, 'Dribbble'],
  [/medium\./i, 'Medium'],
  [/xing\./i, 'XING'],
  [/twitter\.|\/\/x\.com|^x\.com/i, 'Twitter'],
  [/kaggle\./i, 'Kaggle'],
  [/bitbucket\./i, 'Bitbucket'],
  [/researchgate\./i, 'ResearchGate'],
  [/facebook\./i, 'Facebook'],
  [/instagram\./i, 'Instagram'],
  [/youtube\./i, 'YouTube'],
  [/indeed\./i, 'Indeed'],
];

/** Names of technologies and products that look like a site. */
const NO_SITES = /^(?:asp|ado|vb|vs|ml|socket|monday|salesforce|node|booking|amazon)\.(?:net|io|com|js)$/i;

export interface Link {
  readonly url: string;
  readonly network: string | null;
  readonly username: string | null;
}

export function findLinks(text: string): Found<Link>[] {
  const found: Found<Link>[] = [];
  const add = (start: number, raw: string) => {
    const url = raw.replace(/[.,:;!?\]}]+$/, '');
    if (url.length < 5 || found.length >= 50) return;
    if (found.some((one) => one.start < start + url.length && start < one.end)) return;
    const network = NETWORKS.find(([pattern]) => pattern.test(url))?.[1] ?? null;
    found.push({
      start,
      end: start + url.length,
      value: { url, network, username: usernameIn(url, network) },
    });
  };
  for (const match of text.matchAll(LINK)) add(match.index, match[0]);
  for (const match of text.slice(0, 4000).matchAll(BARE_SITE)) {
    if (!NO_SITES.test(match[0]) && /[a-z]/.test(match[0])) add(match.index, match[0]);
  }
  return found.sort((one, other) => one.start - other.start);
}

function usernameIn(url: string, network: string | null): string | null {
  if (network === null) return null;
  const path = url.replace(/^(?:https?:\/\/)?[^/]+\/?/i, '').split(/[?#]/)[0] ?? '';
  const parts = path
    .split('/')
    .filter((part) => part !== '' && !/^(?:in|pub|profile|users?|r|channel)$/i.test(part));
  const last = network === 'LinkedIn' || network === 'GitHub' ? parts[0] : parts.at(-1);
  return last === undefined || last === '' ? null : last.replace(/^@/, '');
}
