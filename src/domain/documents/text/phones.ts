import { type Found, isTaken } from './found.ts';

/** A run of digits with what people put between them. */
const RUN =
  /(?<![\p{L}\d@#$€£])(?:\+ ?|\(\+)?\(?\d(?:[ ()./\-–\u00a0]{0,3}\d){6,16}(?:\s?(?:x|ext\.?|extension)\s?\d{1,6})?(?![\p{L}\d@])/gu;
const LABEL =
  /(?:phone|mobile|mob|cell|tel|telephone|telefon|handy|móvil|portable|téléphone|contact|call|fax|whatsapp|ph|no|number|[mtpc])[.:#)\s\-–]{0,6}(?:no|number|nr)?[.:#)\s\-–]{0,4}$/iu;

/** Telephone numbers; `taken` are the dates, e-mails and links that the text has, sorted. */
export function findPhones(text: string, taken: readonly { start: number; end: number }[]): Found<string>[] {
  const found: Found<string>[] = [];
  for (const match of text.matchAll(RUN)) {
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
  const isLabelled = LABEL.test(text.slice(Math.max(0, start - 24), start));
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
