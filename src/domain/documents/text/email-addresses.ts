import type { Found } from './tokens.ts';

/** Domain endings in actual use; a sentence that continues after a dot does not match them. */
const DOMAIN_ENDINGS = new Set(
  (
    'com org net edu gov mil int info biz name io co ai app dev me tv cc in uk us de fr es it pt nl be at ch se no dk fi ' +
    'pl cz sk hu ro bg gr hr rs si ua ru by lt lv ee ie is tr il ae sa qa kw eg ir pk bd lk np cn tw jp kr sg my th vn ' +
    'id ph za ng ke gh et ug tz rw ma tn dz mx ar cl co pe ve ec uy br ca au nz eu asia xyz online site tech cloud pro jobs cv lol'
  ).split(' '),
);

/** A CV has one or two; a long list of addresses is not read completely. */
const MOST_EMAILS = 40;
/** A text with very many signs is not read completely: its addresses are at the beginning. */
const MOST_SIGNS = 400;
const LOCAL_REACH = 90;
const DOMAIN_REACH = 140;

const SIGN = /[@＠]|[([{<] ?(?:at|@) ?[)\]}>]| at (?=[\p{L}\d-]{2,60} dot )/giu;

/**
 * Addresses as people and PDF readers leave them: `jane @ example . com`, `jane@gmail. com`, `jane at example dot com`,
 * `jane@g mail.com`, broken over two lines, or joined with a label, a number or a second address. Each sign is read in
 * both directions. A gap is closed only next to the sign or a dot, or inside the name of a provider, where nothing else
 * can be meant.
 */
export function findEmails(text: string): Found<string>[] {
  const found: Found<string>[] = [];
  let [signs, last] = [0, 0];
  for (const match of text.matchAll(SIGN)) {
    if (found.length >= MOST_EMAILS || ++signs > MOST_SIGNS) break;
    const [start, end] = [match.index, match.index + match[0].length];
    if (start < last) continue;
    const isSpelled = match[0].length > 1;
    const domain = readDomain(text, end, isSpelled);
    if (domain === null) continue;
    const local = readLocal(text, Math.max(last, start - LOCAL_REACH), start, domain.isSpread);
    if (local !== null && isHandle(text, local, domain, start, end)) continue;
    if (local === null || isRemote(local.value, domain.value, text[domain.end])) continue;
    found.push({ start: local.start, end: domain.end, value: `${local.value}@${domain.value}` });
    last = domain.end;
  }
  return found;
}

/** `git@github.com:jane/tool.git` is the address of a repository. */
function isRemote(local: string, domain: string, next: string | undefined): boolean {
  return local === 'git' && (next === ':' || next === '/' || /^(?:github|gitlab|bitbucket)\./i.test(domain));
}

const PROVIDER =
  /^(?:gmail|googlemail|yahoo|hotmail|outlook|live|icloud|gmx|web|aol|protonmail|proton|mail)\./i;

/**
 * "GitHub @jane.dev" is a word, a blank and a handle. `jane @gmail.com` is an address, and so is anything outside a
 * sentence.
 */
function isHandle(text: string, local: Local, domain: Domain, start: number, end: number): boolean {
  if (!/\s/.test(text[start - 1] ?? '') || /\s/.test(text[end] ?? '') || text[start] !== '@') return false;
  const ending = domain.value.slice(domain.value.lastIndexOf('.') + 1);
  if (!isEnding(ending)) return true;
  const head = text.slice(Math.max(0, local.start - 40), local.start);
  const isInSentence = /\p{Ll}[,;]? $/u.test(head);
  return isInSentence && !/[._\d]/.test(local.value) && !PROVIDER.test(domain.value) && !LABEL.test(head);
}

interface Local {
  readonly value: string;
  readonly start: number;
}

const UNSEEN = /[\u00ad\u200b-\u200d\ufeff]/g;
const WORD = /[\p{L}\d_][\p{L}\d._%+'\u00ad\u200b-\u200d\ufeff-]{0,63}$/u;
const LABEL =
  /(?:^|[^\p{L}])(?:e-?mails?|mail|correo|courriel|posta)(?: ?id| address| adresse)?\s{0,3}[:\-–]?\s{0,3}$/iu;
/** Possible gaps between two parts of the local part, at the end of the preceding text. */
const LOOSE_JOINT = / \. ?$|_\n[ \t]{0,3}$/;
/** The same after a label, where a dot does not end a sentence. */
const LABELLED_JOINT = /[._-][ \n][ \t]{0,3}$| [._-]$/;
const SPREAD_LETTERS = /(?:(?<![\p{L}\d])[\p{L}\d._-] ){1,40}$/u;

/** The local part, read backwards from `end`, at most to `from`. */
function readLocal(text: string, from: number, end: number, isSpread: boolean): Local | null {
  const before = text.slice(from, end).replace(/(?:[ \u00a0]{0,2}|\n[ \t]{0,3}|\\)$/, '');
  const word = WORD.exec(before);
  if (word === null) return null;
  let start = word.index;
  let value = word[0];
  if (isSpread && value.replace(UNSEEN, '').length === 1) {
    const letters = SPREAD_LETTERS.exec(before.slice(0, start))?.[0] ?? '';
    return { value: `${letters}${value}`.replaceAll(' ', ''), start: from + start - letters.length };
  }
  for (let part = 0; part < 3; part++) {
    const head = before.slice(0, start);
    const joint = LOOSE_JOINT.exec(head)?.[0] ?? LABELLED_JOINT.exec(head)?.[0];
    if (joint === undefined) break;
    const first = WORD.exec(head.slice(0, head.length - joint.length).replace(/[._-]+$/, ''));
    if (first === null) break;
    const isLabelled = LABEL.test(before.slice(0, first.index));
    if (!LOOSE_JOINT.test(head) && !isLabelled) break;
    const whole = head.slice(first.index);
    value = `${isHyphenation(text, whole, value) ? whole.replace(/-\n[ \t]*$/, '') : whole}${value}`;
    start = first.index;
  }
  return unglued({ value: value.replace(/\s/g, '').replace(UNSEEN, ''), start: from + start });
}

/** `Emailjane@…`, `9876543210jane@…`: removes what the layout joined to the address. */
function unglued({ value, start }: Local): Local | null {
  const glued =
    /^(?:E-?[Mm]ail(?:ID|Id)?|EMAIL|Mailto)(?=[\p{L}\d])|^\d{10,14}(?=\p{L})/u.exec(value)?.[0].length ?? 0;
  const clean = value.slice(glued);
  return clean === '' || /^[._%+'-]|\.\./.test(clean)
    ? null
    : { value: clean.replace(/[.]+$/, ''), start: start + glued };
}

/** A hyphen at the end of a line belongs to the layout, unless the text contains the hyphenated word elsewhere. */
function isHyphenation(text: string, first: string, second: string): boolean {
  const cut = /([\p{L}\d]+)-\n[ \t]*$/u.exec(first)?.[1];
  const next = /^[\p{L}\d]+/u.exec(second)?.[0];
  if (cut === undefined || next === undefined) return false;
  return !text.toLowerCase().includes(`${cut}-${next}`.toLowerCase());
}

interface Domain {
  readonly value: string;
  readonly end: number;
  /** Whether its letters are separated by blanks: `g m a i l . c o m`. */
  readonly isSpread: boolean;
}

const SPLIT_PROVIDER =
  /^ ?(?:g ?m ?a ?i ?l|y ?a ?h ?o ?o|h ?o ?t ?m ?a ?i ?l|o ?u ?t ?l ?o ?o ?k|i ?c ?l ?o ?u ?d) ?\. ?(?:c ?o ?m|n ?e ?t|co\.in|co\.uk|de|fr)(?![\p{L}\d]|\.\p{Ll}{2}(?![\p{L}\d]))/u;
const SPREAD = /^ {0,2}(?:[\p{L}\d-] ){1,40}\. (?:[\p{L}] ){0,6}[\p{L}](?![\p{L}\d])/u;
const DOMAIN_LABEL = /^[\p{L}\d](?:[\p{L}\d-]{0,61}[\p{L}\d])?/u;
const TIGHT_DOT = /^(?:\.(?=[\p{L}\d])| {0,2}[([{]dot[)\]}] {0,2})/iu;
const SPELLED_DOT = /^ dot /i;
const WIDE_DOT = /^(?: {1,2}\. {0,2}|\n[ \t]{0,3}\.)(?=\p{L})/u;
const LAST_DOT = /^\.(?: {1,2}|\n[ \t]{0,3})(?=\p{L})/u;
const COMMA = /^, ?(?=(?:com|org|net|edu)(?![\p{L}\d]))/u;

interface DomainPart {
  text: string;
  start: number;
  end: number;
}

function readDomain(text: string, from: number, isSpelled: boolean): Domain | null {
  const after = text.slice(from, from + DOMAIN_REACH);
  const split = SPLIT_PROVIDER.exec(after)?.[0];
  if (split !== undefined)
    return {
      value: split.replaceAll(' ', ''),
      end: from + split.length,
      isSpread: / .* .* /.test(split.trim()),
    };
  const spread = SPREAD.exec(after)?.[0];
  if (spread !== undefined && isEnding(spread.slice(spread.lastIndexOf('.') + 1).replaceAll(' ', '')))
    return { value: spread.replaceAll(' ', ''), end: from + spread.length, isSpread: true };
  const parts = partsOf(text, after, isSpelled);
  const last = parts.at(-1);
  if (parts.length < 2 || last === undefined || !/^\p{L}{2,24}$/u.test(last.text)) return null;
  return { value: parts.map((part) => part.text).join('.'), end: from + last.end, isSpread: false };
}

function partsOf(text: string, after: string, isSpelled: boolean): DomainPart[] {
  const parts: DomainPart[] = [];
  let at = /^(?:[ \u00a0]{0,2}(?=[\p{L}\d])|\n[ \t]{0,3})/u.exec(after)?.[0].length ?? 0;
  while (parts.length < 6) {
    const part = labelAt(text, after, at);
    if (part === null) break;
    const glued = gluedFrom(part.text, parts, after.slice(part.end));
    if (glued === 0) break;
    if (glued !== null) {
      parts.push({ text: part.text.slice(0, glued), start: at, end: at + glued });
      break;
    }
    parts.push(part);
    const dot = dotAt(after.slice(part.end), part.text, parts.length, isSpelled);
    if (dot === 0) break;
    at = part.end + dot;
  }
  // `jane@example.co m`
  const last = parts.at(-1);
  if (last?.text === 'co' && /^ m(?![\p{L}\d])/u.test(after.slice(last.end))) {
    last.text = 'com';
    last.end += 2;
  }
  return parts;
}

/** One part of a domain, continued on the next line after a hyphen. */
function labelAt(text: string, after: string, at: number): DomainPart | null {
  const label = DOMAIN_LABEL.exec(after.slice(at))?.[0];
  if (label === undefined) return null;
  const end = at + label.length;
  const wrap = /^-\n[ \t]{0,3}(?=[\p{Ll}\d])/u.exec(after.slice(end))?.[0].length ?? 0;
  const rest = wrap === 0 ? undefined : DOMAIN_LABEL.exec(after.slice(end + wrap))?.[0];
  if (rest === undefined) return { text: label, start: at, end };
  const hyphen = isHyphenation(text, `${label}-\n`, rest) ? '' : '-';
  return { text: `${label}${hyphen}${rest}`, start: at, end: end + wrap + rest.length };
}

/** The length of the dot before the next part, with surrounding blanks; 0 if the domain ends. */
function dotAt(rest: string, label: string, count: number, isSpelled: boolean): number {
  const tight = TIGHT_DOT.exec(rest)?.[0] ?? (isSpelled ? SPELLED_DOT.exec(rest)?.[0] : undefined);
  if (tight !== undefined) return tight.length;
  if (count === 1 && COMMA.test(rest)) return 1;
  const wide = WIDE_DOT.exec(rest)?.[0];
  const isWhole = count > 1 && isEnding(label);
  const last = isWhole ? undefined : LAST_DOT.exec(rest)?.[0];
  const gap = wide ?? last;
  if (gap === undefined) return 0;
  // After a gap, a word of the next sentence is not part of the address: only an ending is.
  const next = /^[\p{L}\d-]+/u.exec(rest.slice(gap.length))?.[0] ?? '';
  const goesOn = /^\./.test(rest.slice(gap.length + next.length));
  return isEnding(next) || (wide !== undefined && goesOn && !isWhole) ? gap.length : 0;
}

const GLUED_ENDING =
  /^(?:com|org|net|edu|gov|info|io|dev|eu|de|fr|es|it|pt|nl|be|at|ch|uk|in|us|ca|au|ie|pl|se|dk|no|fi|br|mx|co)/;
const GLUED_WORD =
  /^(?:https?|www|linkedin|github|gitlab|twitter|skype|phone|mobile|mob|tel|telefon|cell|fax|website|web|address|e-?mail)/i;

/**
 * How much of the part belongs to the domain if the layout joined something to it (`example.comPhone`,
 * `example.com555`, `example.comwww`, `gmail.comjohn@…`). Null if all of it does.
 */
function gluedFrom(label: string, parts: readonly DomainPart[], rest: string): number | null {
  const before = parts.at(-1)?.text;
  if (before === undefined) return null;
  // `jane@example.com.My site`
  if (isEnding(before) && /^\p{Lu}\p{Ll}/u.test(label) && parts.every(({ text }) => !/\p{Lu}/u.test(text)))
    return 0;
  if (isEnding(label)) return null;
  // A capital or a run of digits starts the joined text, whatever the ending, because no ending contains either.
  const other = /^\p{Ll}{2,12}(?=\p{Lu})|^\p{L}{2,12}(?=\d{3})/u.exec(label)?.[0].length;
  if (other !== undefined) return other;
  const ending = GLUED_ENDING.exec(label)?.[0];
  if (ending === undefined) return null;
  const tail = label.slice(ending.length);
  const isNextAddress = /^(?:[\p{L}\d._%+-]{0,60})@/u.test(rest);
  return /^\d/.test(tail) || GLUED_WORD.test(tail) || isNextAddress ? ending.length : null;
}

function isEnding(label: string): boolean {
  return DOMAIN_ENDINGS.has(label.toLowerCase());
}
