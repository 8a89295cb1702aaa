/**
 * What is removed from prompts and answers before they are stored. Every step takes time proportional to the text: the
 * built-in expressions have only limited repetitions, and the patterns of companies are not regular expressions.
 */
export const REDACTED_KINDS = ['email', 'phone', 'card', 'secret'] as const;

export type RedactedKind = (typeof REDACTED_KINDS)[number];

export interface Redactor {
  /** Redacts a text that people or models wrote. */
  text(text: string): string;
  /** Redacts a JSON text, which may be truncated: each string separately and unescaped, so that escapes hide nothing. */
  json(text: string): string;
}

export const MOST_PATTERNS = 50;
const SHORTEST_PATTERN = 3;
const LONGEST_PATTERN = 100;
const MOST_WILDCARDS = 3;

/** What is wrong with a pattern; null if it is valid. */
export function patternProblem(pattern: string): string | null {
  if (pattern.length > LONGEST_PATTERN) return `a pattern has at most ${LONGEST_PATTERN} characters`;
  if (/\p{C}/u.test(pattern)) return 'a pattern has no control characters';
  const pieces = piecesOf(pattern);
  if (pieces.length - 1 > MOST_WILDCARDS) return `a pattern has at most ${MOST_WILDCARDS} wildcards (*)`;
  const letters = pieces.join('').trim().length;
  return letters < SHORTEST_PATTERN
    ? `a pattern has at least ${SHORTEST_PATTERN} characters besides its wildcards`
    : null;
}

export function createRedactor(kinds: ReadonlySet<RedactedKind>, patterns: readonly string[] = []): Redactor {
  const own = patterns.map(piecesOf);

  function text(given: string): string {
    let clean = withoutPatterns(given, own);
    // Secrets before email addresses: a URL may contain both, and the longer match counts.
    if (kinds.has('secret')) clean = withoutSecrets(clean);
    if (kinds.has('email')) clean = withoutEmails(clean);
    if (kinds.has('card')) clean = clean.replace(CARD, (found) => (isCard(found) ? mark('card') : found));
    if (kinds.has('phone')) clean = clean.replace(PHONE, (found) => (isPhone(found) ? mark('phone') : found));
    return clean;
  }

  function json(given: string): string {
    let clean = '';
    let at = 0;
    while (at < given.length) {
      const quote = given.indexOf('"', at);
      const outside = given.slice(at, quote === -1 ? given.length : quote);
      clean += kinds.has('card') ? outside.replace(LONG_NUMBER, cardAsText) : outside;
      if (quote === -1) break;
      const end = endOfString(given, quote + 1);
      clean += redactedString(given.slice(quote + 1, end));
      at = end;
    }
    return clean;
  }

  /** Keeps the quotes as they were: the last string of a truncated text has no closing quote. */
  function redactedString(inner: string): string {
    const isClosed = inner.endsWith('"');
    const raw = isClosed ? inner.slice(0, -1) : inner;
    if (raw.length < SHORTEST_PATTERN) return `"${inner}`;
    const meant = raw.includes('\\') ? unescaped(raw) : raw;
    const clean = text(meant);
    const written = clean === meant ? raw : JSON.stringify(clean).slice(1, -1);
    return `"${written}${isClosed ? '"' : ''}`;
  }

  return { text, json };
}

const LOCAL_PART = /[\p{L}\p{N}._%+-]{1,64}$/u;
const LONGEST_LOCAL_PART = 64;
const DOMAIN = /[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,8}/uy;

/** Searches from each @ in both directions, so that a long run of letters is not searched again from each letter. */
function withoutEmails(text: string): string {
  let clean = '';
  let from = 0;
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    DOMAIN.lastIndex = at + 1;
    const before = LOCAL_PART.exec(text.slice(Math.max(from, at - LONGEST_LOCAL_PART), at))?.[0] ?? '';
    const domain = before === '' ? null : DOMAIN.exec(text);
    if (domain === null) continue;
    clean += text.slice(from, at - before.length) + mark('email');
    from = at + 1 + domain[0].length;
  }
  return clean + text.slice(from);
}

function mark(kind: RedactedKind | 'pattern'): string {
  return `[redacted ${kind}]`;
}

/** Thirteen to nineteen digits, grouped or not. */
const CARD = /(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)/g;
const LONG_NUMBER = /(?<![\d.])\d{13,19}(?![\d.])/g;
const PHONE = /(?<![\w+])(?:\+|\(|\d)[\d ()/-]{6,22}\d(?!\w)/g;
const DATE = /^(?:19|20)\d\d-\d\d-\d\d/;
const FEWEST_PHONE_DIGITS = 7;
const FEWEST_LOCAL_DIGITS = 9;
const MOST_PHONE_DIGITS = 15;

/** With a plus sign or 00, or grouped as people write phone numbers; not a date, an id or an amount. */
function isPhone(found: string): boolean {
  const digits = found.replace(/\D/g, '').length;
  if (digits < FEWEST_PHONE_DIGITS || digits > MOST_PHONE_DIGITS) return false;
  if (found.startsWith('+') || found.startsWith('00')) return true;
  return digits >= FEWEST_LOCAL_DIGITS && /\d[ ()/-]/.test(found) && !DATE.test(found);
}

/** By its check digit (Luhn). */
function isCard(found: string): boolean {
  let sum = 0;
  const digits = found.replace(/\D/g, '');
  for (let at = 0; at < digits.length; at += 1) {
    const digit = Number(digits[digits.length - 1 - at]);
    const doubled = at % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** Replaces the number by a string, so that the text stays valid JSON. */
function cardAsText(found: string): string {
  return isCard(found) ? `"${mark('card')}"` : found;
}

/** Our keys and those of common services, tokens, and credentials in URLs. */
const SECRETS: readonly RegExp[] = [
  /tpk_[A-Za-z0-9]{8,200}/g,
  /\b(?:sk-|[sr]k_(?:live|test)_|gsk_|xai-|hf_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-)[A-Za-z0-9_-]{6,200}/g,
  /whsec_[A-Za-z0-9+/=_-]{8,200}/g,
  /\b(?:AIza[A-Za-z0-9_-]{20,60}|(?:AKIA|ASIA)[A-Z0-9]{12,30})/g,
  /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,1000}\.[A-Za-z0-9_-]{1,4000}(?:\.[A-Za-z0-9_-]{0,2000})?/g,
  /\b(?:[Bb]earer|BEARER)\s{1,4}[\w.~+/=-]{12,4000}/g,
  /(?<=:\/\/)[^\s:@/?#"'<>]{0,100}:[^\s/?#"'<>@]{1,200}(?=@)/g,
];
const PEM_BEGIN = '-----BEGIN ';
const PEM_END = '-----END ';
const DASHES = '-----';

function withoutSecrets(text: string): string {
  let clean = withoutPem(text);
  for (const secret of SECRETS) clean = clean.replace(secret, mark('secret'));
  return clean;
}

/** A block without an end is removed up to the end of the text. */
function withoutPem(text: string): string {
  let at = text.indexOf(PEM_BEGIN);
  if (at === -1) return text;
  let clean = '';
  let from = 0;
  while (at !== -1) {
    clean += text.slice(from, at) + mark('secret');
    const end = text.indexOf(PEM_END, at);
    const dashes = end === -1 ? -1 : text.indexOf(DASHES, end + PEM_END.length);
    from = dashes === -1 ? text.length : dashes + DASHES.length;
    at = text.indexOf(PEM_BEGIN, from);
  }
  return clean + text.slice(from);
}

function piecesOf(pattern: string): readonly string[] {
  return pattern.trim().toLowerCase().split(/\*+/);
}

/**
 * Each pattern searches only what the previous ones left, never their marks: a pattern that matches a mark would multiply it.
 */
function withoutPatterns(text: string, patterns: readonly (readonly string[])[]): string {
  let left: readonly string[] = [text];
  for (const pieces of patterns) {
    left = left.flatMap((part) => (part.length < SHORTEST_PATTERN ? part : partsWithout(part, pieces)));
  }
  return left.join(mark('pattern'));
}

/**
 * The text before, between and after the matches. A match has the pieces in order, with anything but white space between
 * them, ignoring case. If the first piece is found but the others do not follow in the same word, they do not follow a later
 * start in that word either, so the search continues after it: each character is checked a limited number of times.
 */
function partsWithout(text: string, pieces: readonly string[]): readonly string[] {
  // The only letter whose lower case is longer; it would shift all positions after it.
  const haystack = text.replaceAll('İ', 'i').toLowerCase();
  const [first = '', ...rest] = pieces;
  const parts: string[] = [];
  let from = 0;
  let search = 0;
  let wordEnd = -1;
  for (;;) {
    const start = first === '' ? nextWord(haystack, search) : haystack.indexOf(first, search);
    if (start === -1 || start >= haystack.length) {
      parts.push(text.slice(from));
      return parts;
    }
    const behindFirst = start + first.length;
    if (behindFirst > wordEnd) wordEnd = endOfWord(haystack, behindFirst);
    const end = endOfPieces(haystack, rest, behindFirst, wordEnd);
    if (end === -1) {
      search = Math.max(wordEnd, start + 1);
      continue;
    }
    parts.push(text.slice(from, start));
    from = end;
    search = Math.max(end, start + 1);
  }
}

/** The position after the last piece; a wildcard at the end matches the rest of the word. -1 if a piece is missing. */
function endOfPieces(text: string, pieces: readonly string[], from: number, wordEnd: number): number {
  let at = from;
  for (const [index, piece] of pieces.entries()) {
    if (piece === '' && index === pieces.length - 1) return wordEnd;
    // A piece with a space in it may extend beyond the end of the word, but not start after it.
    const found = text.slice(at, wordEnd + piece.length).indexOf(piece);
    if (found === -1) return -1;
    at += found + piece.length;
  }
  return at;
}

const SPACE = /\s/g;
const NO_SPACE = /\S/g;

function endOfWord(text: string, from: number): number {
  SPACE.lastIndex = from;
  return SPACE.exec(text)?.index ?? text.length;
}

function nextWord(text: string, from: number): number {
  NO_SPACE.lastIndex = from;
  return NO_SPACE.exec(text)?.index ?? -1;
}

/** The position after the closing quote, or the end of the text. */
function endOfString(text: string, from: number): number {
  let at = from;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote === -1) return text.length;
    let escapes = 0;
    while (text[quote - 1 - escapes] === '\\' && quote - 1 - escapes >= from) escapes += 1;
    if (escapes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

/** The raw text if it is not a valid string, because it was truncated within an escape. */
function unescaped(raw: string): string {
  try {
    return JSON.parse(`"${raw}"`) as string;
  } catch {
    return raw;
  }
}
