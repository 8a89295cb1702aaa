import type { Clock } from '../../ports/clock.ts';
import { isObject } from '../../ports/json-object.ts';
import type { UpstreamAnswer, UpstreamBody, UpstreamTarget } from '../../ports/model-upstream.ts';

/**
 * A provider's error for a call that it did not serve. These formats are read: OpenAI's `{error: {message, type, param,
 * code}}`, Anthropic's with `type: "error"` around it, Azure's and Gemini's with a number as `code`, Gemini's in an
 * array, vLLM's and Mistral's without `error`, Ollama's with a text in its place, and FastAPI's `detail`.
 */
export interface ProviderError {
  /** Null if there is none. It may name the provider. */
  readonly message: string | null;
  readonly param: string | null;
  /** A word that clients match, such as context_length_exceeded; null if the provider sends a number or nothing. */
  readonly code: string | null;
  /** Who has to act: the client; no one, because a retry helps (two cases); the owner of the key; or the provider. */
  readonly fault: 'request' | 'rate-limit' | 'overloaded' | 'account' | 'provider';
}

const LONGEST_MESSAGE = 2_000;
const LONGEST_PARAM = 200;
const WORD = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

/** Codes that are about one request, whatever their status. */
const REQUEST_CODES: ReadonlySet<string> = new Set([
  'context_length_exceeded',
  'content_filter',
  'content_policy_violation',
  'invalid_prompt',
  'invalid_image',
  'string_above_max_length',
]);

/** The prompt is too long, in the words of OpenAI, vLLM, Anthropic, Gemini, llama.cpp, Ollama, Bedrock and Groq. */
const TOO_LONG =
  /maximum context length|context length exceeded|exceeds? (?:the )?(?:available |maximum |model'?s? )*context (?:length|size|window)|prompt is too long|input (?:is|prompt is) too long|input token count .{0,40}exceeds|reduce the length of the (?:messages|prompt|input)/i;

const RATE_WORDS: ReadonlySet<string> = new Set([
  'rate_limit_error',
  'rate_limit_exceeded',
  'too_many_requests',
  'RESOURCE_EXHAUSTED',
]);
const OVERLOADED_WORDS: ReadonlySet<string> = new Set([
  'overloaded_error',
  'overloaded',
  'server_is_overloaded',
]);
/** About the key or the account behind it. */
const ACCOUNT_WORDS: ReadonlySet<string> = new Set([
  ...['authentication_error', 'permission_error', 'billing_error'],
  ...['invalid_api_key', 'account_deactivated', 'insufficient_quota', 'UNAUTHENTICATED', 'PERMISSION_DENIED'],
]);
/**
 * Gemini's words for a wrong key, and Anthropic's for an empty account, both sent with 400. Matched at the start only:
 * the client's text may follow.
 */
const WRONG_KEY = /^api key (?:not valid|expired|not found)/i;
const NO_CREDIT = /^your credit balance is too low/i;
const ACCOUNT_STATUSES: ReadonlySet<number> = new Set([401, 402, 403, 407]);
const REQUEST_STATUSES: ReadonlySet<number> = new Set([400, 413, 415, 422]);

export function readProviderError(text: string): ProviderError {
  const error = fieldsOf(parsed(text));
  const reported = textIn(error.message) ?? textIn(error.detail) ?? firstDetail(error.detail);
  const message = reported === null ? null : reported.slice(0, LONGEST_MESSAGE);
  const isTooLong = message !== null && TOO_LONG.test(message);
  const given = typeof error.code === 'string' && WORD.test(error.code) ? error.code : null;
  const code = given === null && isTooLong ? 'context_length_exceeded' : given;
  return {
    message,
    param: textIn(error.param)?.slice(0, LONGEST_PARAM) ?? null,
    code,
    fault: isTooLong ? 'request' : isAboutAccount(message) ? 'account' : faultOf(error, code),
  };
}

/** Local servers take any word as their key, such as `none` or `ollama`: it is no secret, and is in other words too. */
const SHORTEST_SECRET = 8;

/** The text without the key that the provider was called with. To be used before a text is cut: half a key is not found. */
export function withoutKey(text: string, { apiKey }: Pick<UpstreamTarget, 'apiKey'>): string {
  if (apiKey === null || apiKey.length < SHORTEST_SECRET) return text;
  return text.replaceAll(apiKey, '[redacted]');
}

function isAboutAccount(message: string | null): boolean {
  return message !== null && (WRONG_KEY.test(message) || NO_CREDIT.test(message));
}

function faultOf(error: Readonly<Record<string, unknown>>, code: string | null): ProviderError['fault'] {
  const words = [code, error.type, error.status].filter((word) => typeof word === 'string');
  const status = [error.code, error.status].map(Number).find((value) => value >= 400 && value < 600);
  if (code !== null && REQUEST_CODES.has(code)) return 'request';
  if (status === 429 || words.some((word) => RATE_WORDS.has(word))) return 'rate-limit';
  if (status === 529 || words.some((word) => OVERLOADED_WORDS.has(word))) return 'overloaded';
  const isAccount = status !== undefined && ACCOUNT_STATUSES.has(status);
  if (isAccount || words.some((word) => ACCOUNT_WORDS.has(word))) return 'account';
  if (status !== undefined) return REQUEST_STATUSES.has(status) ? 'request' : 'provider';
  return words.includes('invalid_request_error') ? 'request' : 'provider';
}

function fieldsOf(body: unknown): Readonly<Record<string, unknown>> {
  const outer = Array.isArray(body) ? body[0] : body;
  if (!isObject(outer)) return {};
  const inner = outer.error ?? outer;
  if (typeof inner === 'string') return { message: inner };
  if (!isObject(inner)) return {};
  // Mistral has an object with details where others have a text.
  return isObject(inner.message) ? { ...inner, ...inner.message, message: null } : inner;
}

/** FastAPI's first problem. */
function firstDetail(detail: unknown): string | null {
  const [first] = Array.isArray(detail) ? detail : [];
  return isObject(first) ? textIn(first.msg) : null;
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const MOST_BYTES = 64 * 1024;
const BODY_MS = 2_000;

/**
 * Corrects the status of an error. Some servers answer 500 to a prompt that is too long, or to content that they
 * filter: then the request is at fault and no other target would do better. Others answer 400 although the key or its
 * account is at fault, and another target may serve the call. Every other answer stays unchanged.
 */
export async function withMeantStatus(answer: UpstreamAnswer, clock: Uptime): Promise<UpstreamAnswer> {
  const text = await shortText(answer.body, clock);
  if (text === null) return answer;
  const { code, fault, message } = readProviderError(text);
  const body = bodyOf(text);
  if (answer.status === 400) {
    if (fault !== 'account') return { ...answer, body };
    return { ...answer, status: NO_CREDIT.test(message ?? '') ? 402 : 401, body };
  }
  return code === null || !REQUEST_CODES.has(code) ? { ...answer, body } : { ...answer, status: 400, body };
}

/** Reads what a provider says about a request that it refused. Waits only briefly for the body, and discards it. */
export async function readRefusal({ body }: UpstreamAnswer, clock: Uptime): Promise<ProviderError | null> {
  try {
    const text = await shortText(body, clock);
    return text === null ? null : readProviderError(text);
  } catch {
    return null;
  } finally {
    body.cancel();
  }
}

type Uptime = Pick<Clock, 'uptimeMs'>;

/** A body that is idle once `totalMs` have passed, however often a byte arrives. */
export function bodyWithin(body: UpstreamBody, totalMs: number, clock: Uptime): UpstreamBody {
  const dueMs = clock.uptimeMs() + totalMs;
  return {
    read(idleMs) {
      const leftMs = dueMs - clock.uptimeMs();
      return leftMs > 0 ? body.read(Math.min(idleMs, leftMs)) : 'idle';
    },
    cancel: () => body.cancel(),
  };
}

/** Null if it is long, slow or broken. */
async function shortText(whole: UpstreamBody, clock: Uptime): Promise<string | null> {
  const body = bodyWithin(whole, BODY_MS, clock);
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for (;;) {
    const next = await body.read(BODY_MS);
    if (next === null) return text + decoder.decode();
    if (typeof next === 'string') return null;
    size += next.length;
    if (size > MOST_BYTES) return null;
    text += decoder.decode(next, { stream: true });
  }
}

function bodyOf(text: string): UpstreamBody {
  let left: Uint8Array<ArrayBuffer> | null = new TextEncoder().encode(text);
  return {
    read() {
      const bytes = left;
      left = null;
      return bytes;
    },
    cancel() {
      left = null;
    },
  };
}
