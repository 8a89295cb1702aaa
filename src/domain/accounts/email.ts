/**
 * The one normalisation of e-mail addresses. What this returns is stored beside the address as `email_key`, and is what
 * accounts, invitations and counted attempts are found by. SQL compares it byte for byte and never changes case itself:
 * PostgreSQL's lower() depends on the database's locale and folds other letters than JavaScript does.
 *
 * Local part: NFKC, then Unicode case folding. Domain: IDNA as in URLs (UTS 46), so `bücher.example` and
 * `xn--bcher-kva.example` are one.
 */

/** Excludes characters that could add a recipient or a header to a mail, and invisible characters. */
const EMAIL =
  /^[^\s\p{C}\p{DI}<>()[\]\\,;:"@]{1,64}@[^\s\p{C}\p{DI}<>()[\]\\,;:"@]{1,185}\.[^\s\p{C}\p{DI}<>()[\]\\,;:"@.]{2,63}$/u;
const LONGEST_EMAIL = 254;
/** Nothing that a URL would decode or interpret. */
const DOMAIN = /^[\p{L}\p{M}\p{N}_.-]+$/u;
/** Non-empty labels; the last one is not a number, so that it is never read as an IP address. */
const ASCII_DOMAIN = /^(?:[a-z0-9_-]{1,63}\.)+(?!\d+$)[a-z0-9-]{2,63}$/;

export function isEmail(text: string): boolean {
  return normalise(text) !== null;
}

/** The same for all spellings of an address. For invalid input, the folded text, which matches no address. */
export function emailKey(text: string): string {
  return normalise(text) ?? fold(text.trim());
}

function normalise(text: string): string | null {
  const typed = text.trim();
  const address = typed.normalize('NFKC');
  if (typed.length > LONGEST_EMAIL || !EMAIL.test(typed) || !EMAIL.test(address)) return null;
  const at = address.indexOf('@');
  const domain = asciiDomain(address.slice(at + 1));
  return domain === null ? null : `${fold(address.slice(0, at))}@${domain}`;
}

function asciiDomain(domain: string): string | null {
  if (!DOMAIN.test(domain)) return null;
  const host = URL.parse(`http://${domain}`)?.hostname ?? '';
  return ASCII_DOMAIN.test(host) ? host : null;
}

/**
 * Unicode's full case folding, character by character: `toLowerCase` alone leaves ß and ẞ apart, and its final sigma
 * depends on the position in the word. The dotless ı is a letter of its own, although its capital is I.
 */
function fold(text: string): string {
  const composed = text.normalize('NFKC');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII
  if (/^[\x00-\x7f]*$/.test(composed)) return composed.toLowerCase();
  let folded = '';
  for (const letter of composed) {
    folded += letter === 'ı' ? letter : letter.toLowerCase().toUpperCase().toLowerCase();
  }
  return folded.normalize('NFKC');
}
