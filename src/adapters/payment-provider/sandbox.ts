/**
 * The payment sandbox: stands in for the payment provider on a fresh machine, on the provider's own wire. So far
 * it answers what the provider answers to an address it does not know; what is sold through it comes with the
 * catalogue.
 */
export function createSandbox(): { fetch(request: Request): Response } {
  return {
    fetch(request) {
      const { pathname } = new URL(request.url);
      if (request.method === 'GET' && pathname === '/healthz') return new Response('ok');
      const message = `Unrecognized request URL (${request.method}: ${pathname}).`;
      return Response.json({ error: { type: 'invalid_request_error', message } }, { status: 404 });
    },
  };
}
