import { type Found, isTaken, type TextRange } from './tokens.ts';

/**
 * Addresses as people and PDF readers leave them: `jane @ example . com`, `jane@gmail. com`, `jane at example dot com`,
 * `jane@g mail.com`. A blank is repaired only next to the @ or a dot of the domain, or inside the name of a provider,
 * where nothing else can be meant.
 */
const PLAIN_EMAIL = /[\p{L}\d](?:[\p{L}\d._%+'-]{0,63})@[\p{L}\d](?:[\p{L}\d.-]{0,120})\.[\p{L}]{2,24}/gu;
const STRAY =
  /[\p{L}\d][\p{L}\d._%+-]{0,63} {0,2}(?:@|\(at\)|\[at\]) {0,2}(?:[\p{L}\d][\p{L}\d-]{0,60} {0,2}(?:\.|\(dot\)|\[dot\]) {0,2}){1,4}[\p{L}]{2,24}(?![\p{L}\d])/gu;
const SPELLED =
  /[\p{L}\d][\p{L}\d._-]{1,63} at [\p{L}\d-]{2,60} dot (?:com|org|net|edu|de|co|io|in|fr|uk)\b/giu;
const SPLIT_PROVIDER =
  /[\p{L}\d][\p{L}\d._%+-]{0,63} ?@ ?(g ?m ?a ?i ?l|y ?a ?h ?o ?o|h ?o ?t ?m ?a ?i ?l|o ?u ?t ?l ?o ?o ?k|i ?c ?l ?o ?u ?d) ?\. ?(c ?o ?m|n ?e ?t|co\.in|co\.uk|de|fr)(?![\p{L}\d])/gu;

/** After a label, a blank inside the part before the @ is a stray one too: `E-mail: jane. doe@example.com`. */
const LABELLED =
  /\be-?mails?(?: id| address)?\s{0,3}[:\-–]\s{0,3}([\p{L}\d._-]{1,40}) ([\p{L}\d._-]{1,40}@[\p{L}\d.-]{1,80}\.[\p{L}]{2,24})/giu;

/** Endings of addresses in real use; a sentence that goes on after a dot is not one of them. */
const DOMAIN_ENDINGS = new Set(
  (
    'com org net edu gov mil int info biz name io co ai app dev me tv cc in uk us de fr es it pt nl be at ch se no dk fi ' +
    'pl cz sk hu ro bg gr hr rs si ua ru by lt lv ee ie is tr il ae sa qa kw eg ir pk bd lk np cn tw jp kr sg my th vn ' +
    'id ph za ng ke gh et ug tz rw ma tn dz mx ar cl co pe ve ec uy br ca au nz eu asia xyz online site tech cloud pro jobs'
  ).split(' '),
);

/** A CV has one or two; a list of addresses is not read to its end. */
const MOST_EMAILS = 40;

export function findEmails(text: string): Found<string>[] {
  const found: Found<string>[] = [];
  for (const { start, end } of windowsOf(text)) {
    if (found.length >= MOST_EMAILS) break;
    findEmailsIn(text.slice(start, end), start, found);
  }
  return found.sort((one, other) => one.start - other.start);
}

const SIGN = /@|\(at\)|\[at\]| at (?=[\p{L}\d-]{2,60} dot )/giu;
const EMAIL_REACH = 150;
const LONGEST_WINDOW = 20_000;

/** The surroundings of whatever can be the sign of an address: the patterns below are too dear for a whole text. */
function windowsOf(text: string): { start: number; end: number }[] {
  const windows: { start: number; end: number }[] = [];
  for (const match of text.matchAll(SIGN)) {
    const [start, end] = [
      Math.max(0, match.index - EMAIL_REACH),
      Math.min(text.length, match.index + EMAIL_REACH),
    ];
    const last = windows.at(-1);
    if (last !== undefined && start <= last.end) last.end = end;
    else if (windows.length < MOST_EMAILS * 2) windows.push({ start, end });
    else break;
    // A text that is nothing but signs is cut: its addresses stand at its beginning.
    if ((windows.at(-1)?.end ?? 0) - (windows.at(-1)?.start ?? 0) > LONGEST_WINDOW) break;
  }
  return windows;
}

function findEmailsIn(text: string, offset: number, found: Found<string>[]): void {
  const add = (start: number, end: number, value: string) => {
    const [from, to] = [start + offset, end + offset];
    const isNew = !found.some((one) => one.start < to && from < one.end);
    if (isNew && found.length < MOST_EMAILS) found.push({ start: from, end: to, value });
  };
  for (const match of text.matchAll(LABELLED)) {
    const [whole, first = '', rest = ''] = match;
    const looksCut = /[._-]$/.test(first) || /^[._-]/.test(rest);
    if (!looksCut) continue;
    const start = match.index + whole.length - first.length - rest.length - 1;
    add(start, match.index + whole.length, `${first}${rest}`);
  }
  for (const match of text.matchAll(PLAIN_EMAIL)) {
    const value = trimmed(match[0]);
    if (value !== null && !goesOn(text, match.index + match[0].length, value)) {
      add(match.index, match.index + value.length, value);
    }
  }
  for (const match of text.matchAll(SPLIT_PROVIDER)) {
    add(match.index, match.index + match[0].length, match[0].replaceAll(' ', ''));
  }
  for (const match of text.matchAll(STRAY)) {
    const value = joined(match[0]);
    if (value !== null) add(match.index, match.index + match[0].length, value);
  }
  for (const match of text.matchAll(SPELLED)) {
    const value = match[0].replace(/ at /i, '@').replace(/ dot /i, '.');
    add(match.index, match.index + match[0].length, value);
  }
}

/** `jane@example.co m` and `jane@example.co .uk`: the domain goes on behind a blank. */
function goesOn(text: string, end: number, value: string): boolean {
  const rest = text.slice(end, end + 6);
  return (
    (/^ \.[a-z]{2,3}\b/i.test(rest) || (/^ ?m\b/.test(rest) && value.endsWith('.co'))) && rest.startsWith(' ')
  );
}

function trimmed(address: string): string | null {
  const clean = address.replace(/[.-]+$/, '');
  const [before = '', domain = ''] = clean.split('@');
  if (before === '' || domain.includes('..')) return null;
  // A word glued on behind the ending is left off: `jane@example.comPhone`.
  const glued = /^(.*\.(?:com|org|net|edu|de|fr|info))[A-Z][a-z]+$/.exec(domain)?.[1];
  return glued === undefined ? clean : `${before}@${glued}`;
}

function joined(address: string): string | null {
  const value = address
    .replace(/\(at\)|\[at\]/i, '@')
    .replace(/\(dot\)|\[dot\]/gi, '.')
    .replaceAll(' ', '');
  const ending = value.slice(value.lastIndexOf('.') + 1).toLowerCase();
  return DOMAIN_ENDINGS.has(ending) ? value : null;
}

/** A run of digits with what people put between them. */
const PHONE_RUN =
  /(?<![\p{L}\d@#$€£])(?:\+ ?|\(\+)?\(?\d(?:[ ()./\-–\u00a0]{0,3}\d){6,16}(?:\s?(?:x|ext\.?|extension)\s?\d{1,6})?(?![\p{L}\d@])/gu;
const PHONE_LABEL =
  /(?:phone|mobile|mob|cell|tel|telephone|telefon|handy|móvil|portable|téléphone|contact|call|fax|whatsapp|ph|no|number|[mtpc])[.:#)\s\-–]{0,6}(?:no|number|nr)?[.:#)\s\-–]{0,4}$/iu;

/** Telephone numbers; `taken` are the dates, e-mails and links that the text has, sorted. */
export function findPhones(text: string, taken: readonly TextRange[]): Found<string>[] {
  const found: Found<string>[] = [];
  for (const match of text.matchAll(PHONE_RUN)) {
    const value = match[0].trim();
    const start = match.index;
    const end = start + value.length;
    if (!looksLikePhone(text, value, start) || isTaken(taken, start, end)) continue;
    found.push({ start, end, value: balanced(value) });
    if (found.length >= 20) break;
  }
  return found;
}

function looksLikePhone(text: string, value: string, start: number): boolean {
  const digits = value.replace(/(?:x|ext).*$/i, '').replace(/\D/g, '');
  if (digits.length < 7 || digits.length > 15 || new Set(digits).size < 3) return false;
  const isLabelled = PHONE_LABEL.test(text.slice(Math.max(0, start - 24), start));
  if (isLabelled || /^\(?\+/.test(value)) return true;
  // Two years are a span of time, and a lone run of seven to nine digits is more often an id or a sum.
  if (/^(?:19|20)\d\d\D{1,5}(?:19|20)\d\d$/.test(value)) return false;
  if (/\d{1,2}[./-]\d{1,2}[./-](?:19|20)?\d\d/.test(value)) return false;
  const isParted = /\d[ ().\-–/]{1,3}\d/.test(value);
  return digits.length >= 10 || (digits.length >= 7 && isParted && digits.length !== 8);
}

/** A bracket that the run opened and did not close belongs to what follows. */
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

/** Names that end like a site and are technologies. */
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
