import type { Socket } from 'bun';
import { chatAnswer, chunk } from '../../test/gateway/scripted-upstream.ts';

/**
 * A provider by hand, which a server of the runtime's own cannot be: it begins an answer and cuts the connection. Calls
 * with other than `badTokens` tokens are passed to the provider that answers.
 */
export function startCuttingProvider(goodPort: number, badTokens: number) {
  const half = (isStream: boolean) => {
    const body = isStream ? chunk('half') : JSON.stringify(chatAnswer()).slice(0, 60);
    const type = isStream ? 'text/event-stream' : 'application/json';
    return `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: 5000\r\n\r\n${body}`;
  };
  async function pass(socket: Socket<ProviderRequest>, body: string): Promise<void> {
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
    const answer = await fetch(`http://127.0.0.1:${goodPort}/v1/chat/completions`, init);
    const text = await answer.text();
    const type = answer.headers.get('content-type');
    const length = Buffer.byteLength(text);
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${text}`,
    );
    socket.end();
  }
  const listener = Bun.listen<ProviderRequest>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { text: '' };
      },
      data(socket, bytes) {
        socket.data.text += bytes.toString();
        const body = wholeBody(socket.data.text);
        if (body === null) return;
        if (!body.includes(`"max_tokens":${badTokens}`))
          return void pass(socket, body).catch(() => socket.end());
        socket.write(half(body.includes('"stream":true')));
        setTimeout(() => socket.terminate(), 50);
      },
    },
  });
  return { port: listener.port, close: () => listener.stop(true) };
}

interface ProviderRequest {
  text: string;
}

function wholeBody(text: string): string | null {
  const head = text.indexOf('\r\n\r\n');
  if (head === -1) return null;
  const body = text.slice(head + 4);
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(text.slice(0, head + 2))?.[1] ?? 0);
  return Buffer.byteLength(body) >= length ? body : null;
}
