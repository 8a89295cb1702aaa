/** Answers to the console's playground: its pages may read them, those of any other origin may not. */
export interface ConsoleOrigin {
  /** An answer to the question that a browser asks before the call, or null for any other request. */
  preflight(request: Request): Response | null;
  admit(request: Request, response: Response): Response;
}

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
        'access-control-allow-headers': 'authorization, content-type, x-request-id',
        'access-control-max-age': '600',
      });
      named(headers);
      return new Response(null, { status: 204, headers });
    },
    admit(request, response) {
      if (!isConsole(request)) return response;
      named(response.headers);
      response.headers.set('access-control-expose-headers', 'x-request-id');
      return response;
    },
  };
}
