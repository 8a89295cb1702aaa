/** Answers to the console's playground: its pages may read them, those of any other origin may not. */
export interface ConsoleOrigin {
  /** An answer to the question that a browser asks before the call, or null for any other request. */
  preflight(request: Request): Response | null;
  admit(request: Request, response: Response): Response;
}

/** Those of the routes, then those that clients of MCP send in either era: a browser withholds what is not named. */
const ASKED_WITH = [
  ...['authorization', 'content-type', 'x-request-id'],
  ...['mcp-protocol-version', 'mcp-session-id', 'mcp-method', 'mcp-name', 'last-event-id'],
].join(', ');
/** What a page may read of an answer: without the session's name a client of 2025 could not cancel a call. */
const READABLE = 'x-request-id, mcp-session-id, www-authenticate';

export function createConsoleOrigin(consoleOrigin: string | undefined): ConsoleOrigin {
  const isConsole = (request: Request) =>
    consoleOrigin !== undefined && request.headers.get('origin') === consoleOrigin;
  const named = (headers: Headers) => {
    headers.set('access-control-allow-origin', consoleOrigin ?? '');
    headers.append('vary', 'origin');
  };
  return {
    preflight(request) {
      if (request.method !== 'OPTIONS' || !isConsole(request)) return null;
      const headers = new Headers({
        'access-control-allow-methods': 'GET, POST',
        'access-control-allow-headers': ASKED_WITH,
        'access-control-max-age': '600',
      });
      named(headers);
      return new Response(null, { status: 204, headers });
    },
    admit(request, response) {
      if (!isConsole(request)) return response;
      named(response.headers);
      response.headers.set('access-control-expose-headers', READABLE);
      return response;
    },
  };
}
