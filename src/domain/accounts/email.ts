/**
 * The one normalisation of e-mail addresses. What this returns is stored beside the address as `email_key`, and is what
 * accounts, invitations and counted attempts are found by. SQL compares it byte for byte and never changes case itself:
 * PostgreSQL's lower() depends on the database's locale and folds other letters than JavaScript does.
 *
 * Local part: NFKC, then Unicode case folding. Domain: IDNA as in URLs (UTS 46), so `bücher.example` and
 * `xn--bcher-kva.example` are one.
 */

/** Without what could be a second recipient or a header where it is mailed to, and without what cannot be seen. */
const EMAIL =
  /^[^\s\p{C}\p{DI}<>()[\]\\,;:"@]{1,64}@[^\s\p{C}\p{DI}<>()[\]\\,;:"@]{1,185}\.[^\s\p{C}\p{DI}<>()[\]\\,;:"@.]{2,63}$/u;
const LONGEST_EMAIL = 254;
/** Nothing that a URL would decode or read as something else. */
const DOMAIN = /^[\p{L}\p{M}\p{N}_.-]+$/u;
/** Labels with something in them; the last one is no number, so that no IP address is read out of it. */
const ASCII_DOMAIN = /^(?:[a-z0-9_-]{1,63}\.)+(?!\d+$)[a-z0-9-]{2,63}$/;

export function isEmail(text: string): boolean {
  return normalise(text) !== null;
}

/** The same for all ways of writing an address. Of what is no address, the folded text, so that it finds nothing else. */
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
 * Unicode's full case folding, letter by letter: `toLowerCase` alone leaves ß and ẞ apart, and its final sigma depends on
 * the place in the word. The dotless ı is a letter of its own there, although its capital is I.
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
