import { TAGS_HEADER } from '../domain/calls/call-attribution.ts';
import { CACHE_HEADER } from './admission/cached-answer.ts';
import {
  DROPPED_FIELDS_HEADER,
  DROPPED_TOOLS_HEADER,
  SERVED_BY_HEADER,
  TRIES_HEADER,
  UNPRICED_HEADER,
} from './forwarding/model-call.ts';

/** Pages of these origins may call the gateway from a browser and read its answers: those of any other may not. */
export interface CrossOrigin {
  allows(origin: string): boolean;
  /** Whether a browser asks if such a page may call. */
  isPreflight(request: Request): boolean;
  preflight(request: Request): Response;
  /** The answer, which the page may read. */
  admit(request: Request, response: Response): Response;
}

export const ANY_ORIGIN = '*';

/** Those of the routes, then those that clients of MCP send in either era: a browser withholds what is not named. */
const ALLOWED_HEADERS = [
  ...[
    'authorization',
    'content-type',
    'x-request-id',
    'idempotency-key',
    'x-api-key',
    'api-key',
    'user-agent',
  ],
  ...[TAGS_HEADER, CACHE_HEADER],
  ...['mcp-protocol-version', 'mcp-session-id', 'mcp-method', 'mcp-name', 'last-event-id'],
];
/** What the SDKs of OpenAI and Anthropic add in a browser: more with each version, and none of it decides anything here. */
const SDK_HEADER = /^(?:anthropic|openai|x-stainless|x-turnpike)-[a-z-]{1,50}$/;
const MOST_SDK_HEADERS = 32;

/**
 * What a page may read of an answer: without the session's name a client of 2025 could not cancel a call, and without those
 * about limits and retries the SDKs guess when to try again.
 */
const EXPOSED_HEADERS = [
  ...['x-request-id', 'request-id', 'retry-after', 'retry-after-ms', 'x-should-retry'],
  ...['requests', 'tokens'].flatMap((what) =>
    ['limit', 'remaining', 'reset'].map((which) => `x-ratelimit-${which}-${what}`),
  ),
  ...['mcp-session-id', 'www-authenticate', DROPPED_TOOLS_HEADER, DROPPED_FIELDS_HEADER],
  ...[UNPRICED_HEADER, CACHE_HEADER, TRIES_HEADER, SERVED_BY_HEADER],
].join(', ');

export function createCrossOrigin(origins: readonly string[]): CrossOrigin {
  const allowed = new Set(origins);
  const allowsAny = allowed.has(ANY_ORIGIN);
  const allows = (origin: string) => allowsAny || allowed.has(origin);
  const isAllowed = (request: Request) => {
    const origin = request.headers.get('origin');
    return origin !== null && allows(origin);
  };
  const named = (request: Request, headers: Headers) => {
    headers.set(
      'access-control-allow-origin',
      allowsAny ? ANY_ORIGIN : (request.headers.get('origin') ?? ''),
    );
    if (!allowsAny) headers.append('vary', 'origin');
  };
  return {
    allows,
    isPreflight: (request) => request.method === 'OPTIONS' && isAllowed(request),
    preflight(request) {
      const headers = new Headers({
        'access-control-allow-methods': 'GET, POST, DELETE',
        'access-control-allow-headers': allowedHeaders(request),
        'access-control-max-age': '600',
      });
      return new Response(null, { status: 204, headers });
    },
    admit(request, response) {
      if (!isAllowed(request)) return response;
      named(request, response.headers);
      response.headers.set('access-control-expose-headers', EXPOSED_HEADERS);
      return response;
    },
  };
}

function allowedHeaders(request: Request): string {
  const requested = request.headers.get('access-control-request-headers') ?? '';
  const names = requested.split(',').map((name) => name.trim().toLowerCase());
  const ofSdks = names.filter((name) => SDK_HEADER.test(name)).slice(0, MOST_SDK_HEADERS);
  return [...ALLOWED_HEADERS, ...ofSdks].join(', ');
}
