import type { Page, WebSocketRoute } from 'playwright-core';

/** The backend's end of the live log of one page, by graphql-transport-ws. */
export async function mockLogStream(page: Page) {
  let [opened, refused] = [0, 0];
  let current: { readonly socket: WebSocketRoute; readonly id: string } | null = null;
  const stream = {
    /** Every connection is closed at once. */
    isUnavailable: false,
    /** Pings are not answered. */
    isSilent: false,
    opened: () => opened,
    refused: () => refused,
    drop: async () => await current?.socket.close({ code: 1012 }),
    line: (message: string) => send({ level: 'INFO', message, context: { requestId: 'req_1' } }),
  };
  const send = (line: object) => {
    const logStream = { timestamp: '2030-01-02T03:04:05.678Z', ...line };
    current?.socket.send(JSON.stringify({ id: current.id, type: 'next', payload: { data: { logStream } } }));
  };
  await page.routeWebSocket(/\/graphql$/, (socket) => {
    if (stream.isUnavailable) {
      refused += 1;
      void socket.close({ code: 1012 });
      return;
    }
    opened += 1;
    socket.onMessage((text) => {
      const { type, id } = JSON.parse(String(text)) as { type: string; id: string };
      if (type === 'connection_init') socket.send(JSON.stringify({ type: 'connection_ack' }));
      if (type === 'ping' && !stream.isSilent) socket.send(JSON.stringify({ type: 'pong' }));
      if (type !== 'subscribe') return;
      current = { socket, id };
      send({ level: 'INFO', message: 'watching', context: { watching: true } });
    });
  });
  return stream;
}
