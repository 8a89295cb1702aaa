import { type ErrorEnvelope, envelopeResponse, errorEnvelope } from '../../http/error-envelope.ts';
import { ACCEPTED_ENCODINGS, UNKNOWN_ENCODING } from '../../http/read-body.ts';
import type { ClientWire } from '../json/client-wire.ts';
import { THREAD } from '../json/hosted-parts.ts';

interface RefusalRow {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
  readonly message: string;
}

/** The error table of the API, as data (G-35, G-36). Clients match on the code, people read the message. */
export const REFUSALS = {
  unauthenticated: {
    status: 401,
    type: 'authentication_error',
    code: null,
    message:
      'No valid API key was given. Send "Authorization: Bearer <key>" with a live key of your company.',
  },
  insufficientCredits: {
    status: 402,
    type: 'insufficient_quota',
    code: 'INSUFFICIENT_CREDITS',
    message: 'Your company has no credits left. Buy credits; calls resume once the payment is posted.',
  },
  keySpendingLimit: {
    status: 403,
    type: 'permission_error',
    code: 'KEY_SPENDING_LIMIT',
    message:
      "This key's monthly spending limit is used up. Raise the limit, use another key, or wait for the next month.",
  },
  budgetExceeded: {
    status: 403,
    type: 'permission_error',
    code: 'BUDGET_EXCEEDED',
    message: 'A monthly budget of your company is used up. Have it raised, or wait for the next month.',
  },
  scopeDenied: {
    status: 403,
    type: 'permission_error',
    code: 'LLM_SCOPE_DENIED',
    message: 'This key does not have the scope that the call requires. Create a key that has it.',
  },
  modelNotAllowed: {
    status: 403,
    type: 'permission_error',
    code: 'LLM_MODEL_NOT_ALLOWED',
    message:
      'This key is not allowed to call that model, or the model does not exist. GET /models, or the MCP tool list_models, lists the models it may call.',
  },
  blockedByHook: {
    status: 403,
    type: 'permission_error',
    code: 'BLOCKED_BY_HOOK',
    message: 'This request was blocked by a policy of the operator.',
  },
  planLimitExceeded: {
    status: 403,
    type: 'permission_error',
    code: 'PLAN_LIMIT_EXCEEDED',
    message: 'An invoice of your company is overdue. Pay it; calls resume once the payment is posted.',
  },
  companySuspended: {
    status: 403,
    type: 'permission_error',
    code: 'COMPANY_SUSPENDED',
    message: 'Your company is suspended. Contact the operator of this service.',
  },
  providerKeyRefused: {
    status: 403,
    type: 'permission_error',
    code: 'PROVIDER_KEY_REFUSED',
    message:
      'The provider of this model refused your company’s own key. Ask a company admin to check or replace it under Provider keys in the console.',
  },
  notFound: {
    status: 404,
    type: 'not_found_error',
    code: null,
    message: 'This route does not exist.',
  },
  idempotencyConflict: {
    status: 409,
    type: 'invalid_request_error',
    code: null,
    message: 'The Idempotency-Key is already in use.',
  },
  creditsHeld: {
    status: 429,
    type: 'rate_limit_error',
    code: 'CREDITS_HELD',
    message:
      'The credits that are left are held by calls that are still running. Retry after the time in retry-after, lower max_tokens, or buy credits.',
  },
  addressLimited: {
    status: 429,
    type: 'rate_limit_error',
    code: null,
    message:
      'Too many requests from this address, which all callers behind it share. Retry after the time in retry-after.',
  },
  rateLimited: {
    status: 429,
    type: 'rate_limit_error',
    code: null,
    message: 'Too many requests. Retry after the time in retry-after.',
  },
  providerRateLimited: {
    status: 429,
    type: 'rate_limit_error',
    code: 'PROVIDER_RATE_LIMITED',
    message:
      'Every provider of this model limits the rate of requests right now. Retry after the time in retry-after.',
  },
  unavailable: {
    status: 503,
    type: 'api_error',
    code: 'LLM_GATEWAY_UNAVAILABLE',
    message: 'The model is unavailable right now. Retry with backoff.',
  },
  invalidRequest: {
    status: 400,
    type: 'invalid_request_error',
    code: null,
    message: 'The request could not be parsed.',
  },
  unpricedLimit: {
    status: 400,
    type: 'invalid_request_error',
    code: 'UNPRICED_LIMIT',
    message:
      'Your company had too many calls today for which the provider reported a cost that the model has no price for. Leave out the fields that cause it, or ask the operator of the gateway to set a price.',
  },
  tooLarge: {
    status: 413,
    type: 'invalid_request_error',
    code: null,
    message: 'The body is too large.',
  },
  unsupportedEncoding: {
    status: 415,
    type: 'invalid_request_error',
    code: null,
    message: UNKNOWN_ENCODING,
  },
  tooSlow: {
    status: 408,
    type: 'invalid_request_error',
    code: null,
    message: 'The request body did not arrive in time.',
  },
} as const satisfies Record<string, RefusalRow>;

/** Includes the reason that the operator gave. */
export function suspendedMessage(reason: string): string {
  const sentence = /[.!?]$/.test(reason) ? reason : `${reason}.`;
  return `Your company is suspended: ${sentence} Contact the operator of this service.`;
}

export type RefusalName = keyof typeof REFUSALS;

export interface Refusal {
  readonly name: RefusalName;
  /** Replaces the message of the table. */
  readonly message?: string;
  readonly param?: string | null;
  /** A provider's own code for a request that it refused. Replaces the table's. */
  readonly code?: string | null;
  /** A provider's own refusal keeps its status. */
  readonly status?: number;
  readonly retryAfterMs?: number;
  /** False if the client's library would retry because of the status, without success. */
  readonly shouldRetry?: false;
  /** The connection closes with the refusal, so that its descriptor is free for a waiting one. */
  readonly closes?: true;
}

export function refusalEnvelope({ name, message, param = null, code = null }: Refusal) {
  const row = REFUSALS[name];
  return errorEnvelope(row.type, message ?? row.message, code ?? row.code, param);
}

export function refusalStatus({ name, status }: Refusal): number {
  return status ?? REFUSALS[name].status;
}

/** Additional headers of a refusal: the rest of a body that is too large is not read. */
const OWN_HEADERS: Partial<Record<RefusalName, Readonly<Record<string, string>>>> = {
  tooLarge: { connection: 'close' },
  unsupportedEncoding: { ...ACCEPTED_ENCODINGS, connection: 'close' },
};

/** The client that receives a refusal. */
export interface RefusedClient {
  readonly wire: ClientWire;
  /** Included in the body of Anthropic's errors. */
  readonly requestId: string;
}

export function refusalResponse(
  refusal: Refusal,
  headers: Readonly<Record<string, string>>,
  client: RefusedClient | null = null,
): Response {
  const { retryAfterMs } = refusal;
  const status = refusalStatus(refusal);
  const closing = refusal.closes === true ? { connection: 'close' } : {};
  const own = { ...headers, ...OWN_HEADERS[refusal.name], ...closing };
  const final = isFinal(refusal, status, client) ? { ...own, 'x-should-retry': 'false' } : own;
  const more =
    retryAfterMs === undefined
      ? final
      : {
          ...final,
          // Whole seconds, rounded up: a second too early would be refused again.
          'retry-after': String(Math.ceil(retryAfterMs / 1000)),
          'retry-after-ms': String(Math.ceil(retryAfterMs)),
        };
  const envelope = refusalEnvelope(refusal);
  if (client?.wire !== 'messages') return envelopeResponse(status, envelope, more);
  return Response.json(messagesError(status, envelope, client.requestId), { status, headers: more });
}

/** The 4xx statuses after which the same call may succeed. */
const PASSING: readonly number[] = [408, 409, 425, 429];

/**
 * Claude Code repeats every refusal for minutes, even for a wrong key, unless the response says that it is final, as
 * Anthropic's do.
 */
function isFinal({ shouldRetry }: Refusal, status: number, client: RefusedClient | null): boolean {
  if (shouldRetry === false) return true;
  return client?.wire === 'messages' && status < 500 && !PASSING.includes(status);
}

/** An error in Anthropic's format, with our code. */
export function messagesError(status: number, { error }: ErrorEnvelope, requestId: string) {
  const { type, code, param } = error;
  const isNamed = code !== CONTEXT_EXCEEDED || error.message.toLowerCase().includes(TOO_LONG);
  const message = isNamed ? error.message : `${TOO_LONG}: ${error.message}`;
  const own = { type: MESSAGES_TYPES[status] ?? type, message, code, ...(param === null ? {} : { param }) };
  const details = param === THREAD ? { details: NO_THREADS } : {};
  return { type: 'error', error: { ...own, ...details }, request_id: requestId };
}

const CONTEXT_EXCEEDED = 'context_length_exceeded';
/** Anthropic has no code for it: its clients compact the conversation on these words, and stop on others. */
const TOO_LONG = 'prompt is too long';

/** The tool runners of Anthropic's SDKs start with a thread. On this code they send the whole conversation instead. */
const NO_THREADS = { error_code: 'thread_unsupported_request' };

/** Statuses for which Anthropic has another error type. */
const MESSAGES_TYPES: Readonly<Record<number, string>> = {
  ...{ 402: 'billing_error', 404: 'not_found_error', 413: 'request_too_large' },
};

/**
 * The last event of a stream that broke off (G-38): official clients raise an error on it. It has a name in the wire formats
 * whose events have names. `sequence` is the number of the next event of a response.
 */
export function brokenStreamEvent(
  refusal: Refusal,
  { wire, requestId }: RefusedClient,
  sequence: number,
): { readonly name: string | null; readonly data: object } {
  const { error } = refusalEnvelope(refusal);
  switch (wire) {
    case 'completions':
      return { name: null, data: { error } };
    case 'responses': {
      const { code, message, param } = error;
      // Both formats that clients read: the members themselves, and `error`.
      return {
        name: 'error',
        data: { type: 'error', sequence_number: sequence, code, message, param, error },
      };
    }
    case 'messages':
      return { name: 'error', data: messagesError(refusalStatus(refusal), { error }, requestId) };
  }
}
