/**
 * Stands before gateways and hands each request to the next of them in turn, with a key that the client does not have:
 * the official suite sends no headers of its own.
 */
export function startForwardingProxy(gateways: readonly string[], rawKey: string | null = null) {
  let turn = 0;
  const served: string[] = [];
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const gateway = gateways[turn % gateways.length] ?? '';
      turn += 1;
      served.push(gateway);
      const headers = new Headers(request.headers);
      if (rawKey !== null) headers.set('authorization', `Bearer ${rawKey}`);
      const { pathname, search } = new URL(request.url);
      const body = request.method === 'POST' ? await request.arrayBuffer() : null;
      // The host goes along as the client wrote it, for the gateway to judge.
      const target = `${new URL(gateway).origin}${pathname}${search}`;
      return await fetch(target, { method: request.method, headers, body, signal: request.signal });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/llm/v1`,
    served,
    close: () => void server.stop(true),
  };
}
