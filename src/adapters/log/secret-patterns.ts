/**
 * What a field's name says about its value.
 *
 * `credential`: never shown. `token`: never shown unless it is a number, since usage is counted in tokens too.
 * `content`: what people or models wrote (prompts, answers, CVs, bodies), never shown unless it is a number.
 * `open`: shown, after a search for secrets by shape.
 */
export type NameVerdict = 'open' | 'credential' | 'token' | 'content';

/** Anywhere in the normalized name: x-api-key, apiKey and API_KEY_2 all become apikey. */
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
 * The whole name. `message` is included because chat messages have that name; the text of an error belongs in an Error or
 * in `reason`. `query` and `variables` are included because a GraphQL log-in contains the password.
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

/** Whether a value may be shown under such a name: a boolean or a count of tokens is not secret. */
export function mayShow(verdict: NameVerdict, value: unknown): boolean {
  if (verdict === 'open' || value === null || value === undefined || typeof value === 'boolean') return true;
  if (verdict === 'credential') return false;
  return typeof value === 'number' || typeof value === 'bigint';
}

export const REDACTED = '[redacted]';

/** A quoted string: its quotes may be escaped (JSON inside JSON), and it may be truncated. */
const QUOTED = String.raw`"(?:[^"\\]|\\.)*"?|\\+"[^"]*"?|'[^']*'?`;

/** Each pattern with its replacement. All of them also match a truncated secret. */
const SHAPES: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/-----BEGIN [^-]{0,60}-----[\s\S]*?(?:-----END [^-]{0,60}-----|$)/g, REDACTED],
  // Our raw keys and those of model and payment providers. Public identifiers (price_…, cus_…) stay.
  [/tpk_[A-Za-z0-9]+/g, REDACTED],
  [/\b(?:sk-|[sr]k_(?:live|test)_|gsk_|xai-|hf_|gh[pousr]_)[A-Za-z0-9_-]{6,}/g, REDACTED],
  [/whsec_[A-Za-z0-9+/=_-]+/g, REDACTED],
  [/\b(?:AIza[A-Za-z0-9_-]{20,}|AKIA[A-Z0-9]{12,})/g, REDACTED],
  [/eyJ[A-Za-z0-9_-]{2,300}(?:\.[A-Za-z0-9_-]*){1,4}/g, REDACTED],
  // A lower-case word after "basic" or "bearer" is prose, unless it has sixteen or more characters.
  [
    /\b([Bb]earer|[Bb]asic|BEARER|BASIC)(?:\s|%20)+(?:(?=[\w.~+/=-]*[A-Z0-9=_~+/])[\w.~+/=-]{4,}|[\w.~+/=-]{16,})/g,
    `$1 ${REDACTED}`,
  ],
  // The host and user stay, to identify the server. A password may contain an @ or an unescaped slash.
  [/:\/\/([^\s:@/?#"'<>]*):[^\s/?#"'<>]+@/g, `://$1:${REDACTED}@`],
  [/((?:postgres(?:ql)?|rediss?|mysql|amqps?|smtps?):\/\/[^\s:@/?#"'<>]*):[^\s"'<>]+@/g, `$1:${REDACTED}@`],
  [/data:[\w/+.;=-]{0,100};base64,[A-Za-z0-9+/=_-]+/g, REDACTED],
  // name=value, name: value and "name":"value". A colon after token, jwt or signature is prose ("bad token: …").
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
  // User and model content in JSON that was logged as text. `message` stays: there it is an error message.
  [
    new RegExp(
      String.raw`"((?:[a-z_]{0,20}_)?(?:prompt|content|text|body|cv|resume|input|output|answer|arguments|query|summary)\\*"\s*:\s*)` +
        `(?:${QUOTED})`,
      'gi',
    ),
    `"$1"${REDACTED}"`,
  ],
];

/** A quick check that almost every string passes. */
const MAY_HOLD_ONE =
  /-----BEGIN|tpk_|\b(?:sk-|[sr]k_|gsk_|xai-|hf_|gh[pousr]_)|whsec_|AIza|AKIA|eyJ|earer|asic|EARER|ASIC|:\/\/|;base64|(?:cookie|authorization|passw(?:or)?d|passphrase|secret|key|credentials?|token|jwt|signature|prompt|content|text|body|cv|resume|input|output|answer|arguments|query|summary)\\*["']?\s*[:=]/i;

export function redactShapes(text: string): string {
  if (!MAY_HOLD_ONE.test(text)) return text;
  let clean = text;
  for (const [pattern, replacement] of SHAPES) clean = clean.replace(pattern, replacement);
  return clean;
}
