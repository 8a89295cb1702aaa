/** The least that a Bun process can be that serves HTTP: what start and memory are measured beside. */
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('nothing') });
process.stdout.write(`ready: ${server.url.href}\n`);

export {};
