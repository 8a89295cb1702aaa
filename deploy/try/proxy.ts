import type { TriedHost } from './host.ts';

/** What docs/deploying.md says of the proxy, through the real one. Each problem is a sentence. */
export async function checkProxy(host: TriedHost): Promise<string[]> {
  const key = host.key() ?? '';
  const gateway = `https://localhost:${host.ports.gatewayTls}`;
  const backend = `https://localhost:${host.ports.consoleTls}`;
  const ca = await Bun.file(host.certificate).text();
  const tls = { ca };
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const chat = (body: object) =>
    fetch(`${gateway}/llm/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body), tls });
  const messages = [{ role: 'user', content: 'Hello' }];
  const problems: string[] = [];

  const stream = await chat({ model: 'svc/chat-default', stream: true, messages });
  const arrivals = await arrivalsOf(stream);
  const apart = (arrivals.at(-1)?.atMs ?? 0) - (arrivals[0]?.atMs ?? 0);
  if (apart < 300)
    problems.push(`the stream's events came together (${Math.round(apart)} ms apart): nginx holds them back`);
  if (
    !arrivals
      .map(({ text }) => text)
      .join('')
      .includes('[DONE]')
  )
    problems.push('the stream did not end with [DONE]');

  const fits = await chat({
    model: 'svc/chat-default',
    messages: [{ role: 'user', content: 'a'.repeat(2_000_000) }],
  });
  // More than nginx lets through by itself; the gateway answers it by the limits of the key.
  if (![200, 403, 429].includes(fits.status))
    problems.push(`a body of 2 MB got ${fits.status}: ${await fits.text()}`);
  const tooLong = await chat({
    model: 'svc/chat-default',
    messages: [{ role: 'user', content: 'a'.repeat(34_000_000) }],
  });
  const envelope = await tooLong.text();
  if (tooLong.status !== 413 || !envelope.includes('"error"')) {
    problems.push(
      `a body above MAX_BODY_BYTES got ${tooLong.status} ${envelope.slice(0, 200)}, not 413 in the gateway's envelope`,
    );
  }

  for (const url of [`${gateway}/metrics`, `${backend}/metrics`]) {
    const { status } = await fetch(url, { tls });
    if (status !== 404) problems.push(`${url} answered ${status}: it must not be reachable from outside`);
  }
  const page = await fetch(`${backend}/`, { tls });
  if (!page.headers.get('content-type')?.includes('text/html')) problems.push('the console is not served');
  const opened = await socketOpens(`wss://localhost:${host.ports.consoleTls}/graphql`, ca);
  if (opened !== 'connection_ack or a refusal') problems.push(`WebSockets do not pass: ${opened}`);
  return problems;
}

async function arrivalsOf(response: Response): Promise<{ readonly atMs: number; readonly text: string }[]> {
  const arrivals: { atMs: number; text: string }[] = [];
  const decoder = new TextDecoder();
  for await (const part of response.body ?? []) {
    arrivals.push({ atMs: performance.now(), text: decoder.decode(part as Uint8Array, { stream: true }) });
  }
  return arrivals;
}

/** Without a session the server refuses by its own protocol: the handshake has passed, and so have both directions. */
function socketOpens(url: string, ca: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url, { protocols: ['graphql-transport-ws'], tls: { ca } } as never);
    const timer = setTimeout(() => resolve('nothing came within 10 s'), 10_000);
    const end = (how: string) => {
      clearTimeout(timer);
      resolve(how);
      socket.close();
    };
    socket.onopen = () => socket.send(JSON.stringify({ type: 'connection_init' }));
    socket.onmessage = () => end('connection_ack or a refusal');
    socket.onclose = ({ code }) =>
      end(code >= 4_400 && code < 4_600 ? 'connection_ack or a refusal' : `closed with ${code}`);
    socket.onerror = () => end('the handshake failed');
  });
}
