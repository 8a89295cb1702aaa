/**
 * What a field's name says about its value.
 *
 * `credential`: never shown. `token`: never shown unless it is a number, since usage is counted in tokens too.
 * `content`: what people or models wrote (prompts, answers, CVs, bodies), never shown unless it is a number.
 * `open`: shown, after a search for secrets by shape.
 */
export type NameVerdict = 'open' | 'credential' | 'token' | 'content';

/** Anywhere in the name, once case and separators are gone: x-api-key, apiKey and API_KEY_2 are all apikey. */
const CREDENTIAL =
  /password|passwd|passphrase|secret|authorization|cookie|(?:api|access|raw|full|private|signing|encryption|master|session)key|signature|jwt|credential|bearer|connectionstring|csrf/;
const CREDENTIAL_WHOLE = new Set(['auth', 'pass', 'pwd', 'otp', 'totp', 'pin', 'sig', 'pem']);
const TOKEN = /token/;

/**
 * At the end of the name: systemPrompt and cv_text are content, promptTokens, contentType and textLength are
 * not, and neither is context.
 */
const CONTENT_END =
  /(?:prompts?|messages|contents?|(?<!con)texts?|body|bodies|payload|(?<!re)cvs?|resumes?|inputs?|outputs?|answers?|transcripts?|coverletter|excerpts?|snippets?|previews?|instructions?|paragraphs?|sentences?|summary|summaries|highlights|embeddings?)$/;
/**
 * The whole name. `message` is here because a chat's message is an object of that name: the text of an error
 * belongs into an Error, or into `reason`. `query` and `variables` because a GraphQL log-in has its password there.
 */
const CONTENT_WHOLE = new Set(
  (
    'message chatmessage usermessage systemmessage assistantmessage lastmessage completion completions choices ' +
    'delta chunk chunks question questions query searchquery variables arguments args toolcall toolcalls ' +
    'document documents attachment attachments html markdown profile basics posting responsibilities evidence ' +
    'insight insights feedback note notes bio about headline thinking reasoning rationale'
  ).split(' '),
);

export function judgeName(name: string): NameVerdict {
  const squeezed = name.toLowerCase().replace(/[^a-z0-9]|\d+$/g, '');
  if (CREDENTIAL.test(squeezed) || CREDENTIAL_WHOLE.has(squeezed)) return 'credential';
  if (TOKEN.test(squeezed)) return 'token';
  if (CONTENT_END.test(squeezed) || CONTENT_WHOLE.has(squeezed)) return 'content';
  return 'open';
}

/** Whether a value may be shown under such a name: that a password is set is no secret, a count of tokens neither. */
export function mayShow(verdict: NameVerdict, value: unknown): boolean {
  if (verdict === 'open' || value === null || value === undefined || typeof value === 'boolean') return true;
  if (verdict === 'credential') return false;
  return typeof value === 'number' || typeof value === 'bigint';
}

export const REDACTED = '[redacted]';

/** Text in quotes, the quotes themselves escaped or not (JSON inside JSON), or left open by a cut. */
const QUOTED = String.raw`"(?:[^"\\]|\\.)*"?|\\+"[^"]*"?|'[^']*'?`;

/** Each with what takes its place. All of them also find a secret whose end has been cut off. */
const SHAPES: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/-----BEGIN [^-]{0,60}-----[\s\S]*?(?:-----END [^-]{0,60}-----|$)/g, REDACTED],
  // Our raw keys and those of model and payment providers. Public identifiers (price_…, cus_…) stay.
  [/tpk_[A-Za-z0-9]+/g, REDACTED],
  [/\b(?:sk-|[sr]k_(?:live|test)_|gsk_|xai-|hf_|gh[pousr]_)[A-Za-z0-9_-]{6,}/g, REDACTED],
  [/whsec_[A-Za-z0-9+/=_-]+/g, REDACTED],
  [/\b(?:AIza[A-Za-z0-9_-]{20,}|AKIA[A-Z0-9]{12,})/g, REDACTED],
  [/eyJ[A-Za-z0-9_-]{2,300}(?:\.[A-Za-z0-9_-]*){1,4}/g, REDACTED],
  // A word in small letters behind "basic" or "bearer" is prose; sixteen characters of anything are not.
  [
    /\b([Bb]earer|[Bb]asic|BEARER|BASIC)(?:\s|%20)+(?:(?=[\w.~+/=-]*[A-Z0-9=_~+/])[\w.~+/=-]{4,}|[\w.~+/=-]{16,})/g,
    `$1 ${REDACTED}`,
  ],
  // The address and its user stay, they say which server it was. A password may hold an @ or, unescaped, a slash.
  [/:\/\/([^\s:@/?#"'<>]*):[^\s/?#"'<>]+@/g, `://$1:${REDACTED}@`],
  [/((?:postgres(?:ql)?|rediss?|mysql|amqps?|smtps?):\/\/[^\s:@/?#"'<>]*):[^\s"'<>]+@/g, `$1:${REDACTED}@`],
  [/data:[\w/+.;=-]{0,100};base64,[A-Za-z0-9+/=_-]+/g, REDACTED],
  // name=value, name: value and "name":"value". A colon behind token, jwt or signature is prose ("bad token: …").
  [
    new RegExp(String.raw`((?:set-)?cookie|authorization)(\\*["']?\s*[:=]\s*)(?:${QUOTED}|[^\r\n]+)`, 'gi'),
    `$1$2${REDACTED}`,
  ],
  [
    new RegExp(
      '(passw(?:or)?d|passphrase|secret|(?:api|raw|full|private|access)[_-]?key|credentials?|' +
        String.raw`(?:token|jwt|signature)(?==|\\*["']\s*[:=]))(\\*["']?\s*[:=]\s*)(?:${QUOTED}|[^\s"',;&}]+)`,
      'gi',
    ),
    `$1$2${REDACTED}`,
  ],
  // Content of people or models inside JSON that was logged as text. `message` stays: there it is an error's.
  [
    new RegExp(
      String.raw`"((?:[a-z_]{0,20}_)?(?:prompt|content|text|body|cv|resume|input|output|answer|arguments|query|summary)\\*"\s*:\s*)` +
        `(?:${QUOTED})`,
      'gi',
    ),
    `"$1"${REDACTED}"`,
  ],
];

/** Nearly every string passes here and no further. */
const MAY_HOLD_ONE =
  /-----BEGIN|tpk_|\b(?:sk-|[sr]k_|gsk_|xai-|hf_|gh[pousr]_)|whsec_|AIza|AKIA|eyJ|earer|asic|EARER|ASIC|:\/\/|;base64|(?:cookie|authorization|passw(?:or)?d|passphrase|secret|key|credentials?|token|jwt|signature|prompt|content|text|body|cv|resume|input|output|answer|arguments|query|summary)\\*["']?\s*[:=]/i;

export function redactShapes(text: string): string {
  if (!MAY_HOLD_ONE.test(text)) return text;
  let clean = text;
  for (const [pattern, replacement] of SHAPES) clean = clean.replace(pattern, replacement);
  return clean;
}
