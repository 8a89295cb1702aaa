/** The least that a proxy on this runtime can do: read, fetch, answer. */
const upstream = process.env.UPSTREAM_URL ?? '';
const headers = { 'content-type': 'application/json' };
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const body = await request.bytes();
    const answer = await fetch(`${upstream}/chat/completions`, { method: 'POST', body, headers });
    return new Response(await answer.bytes(), { headers });
  },
});
process.stdout.write(`ready: http://127.0.0.1:${server.port}/v1\n`);

export {};
