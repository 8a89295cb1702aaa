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
