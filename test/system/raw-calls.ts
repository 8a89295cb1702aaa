import type { SeenCall } from './credit-clients.ts';

export type Connections = 'new for each call' | 'kept';

interface RawCaller {
  readonly seen: SeenCall[];
  /** Resolves when the calls under way have ended. */
  stop(): Promise<SeenCall[]>;
}

interface Lane {
  socket: { write(text: string): number; terminate(): void } | null;
  received: string;
  finish: (ended: 'whole' | 'cut') => void;
}

let made = 0;

/**
 * Chat calls one after the other on each of `lanes` connections, over sockets by hand: a client library asks again by
 * itself on a connection that broke, and would hide what is looked for.
 */
export function keepCallingRaw(
  url: string,
  rawKey: string,
  connections: Connections,
  lanes: number,
): RawCaller {
  const seen: SeenCall[] = [];
  let isStopped = false;
  const running = Array.from({ length: lanes }, async () => {
    const lane: Lane = { socket: null, received: '', finish: () => {} };
    while (!isStopped) seen.push(await callRaw(new URL(url), rawKey, connections, lane));
    lane.socket?.terminate();
  });
  return {
    seen,
    async stop() {
      isStopped = true;
      await Promise.all(running);
      return seen;
    },
  };
}

async function callRaw(
  { hostname, port, pathname }: URL,
  rawKey: string,
  connections: Connections,
  lane: Lane,
): Promise<SeenCall> {
  made += 1;
  const requestId = `raw-${process.pid}-${made}`;
  const body = '{"model":"svc/chat-default","messages":[],"max_tokens":10}';
  const request = [
    `POST ${pathname}/chat/completions HTTP/1.1`,
    `host: ${hostname}:${port}`,
    `authorization: Bearer ${rawKey}`,
    `x-request-id: ${requestId}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    ...(connections === 'kept' ? [] : ['connection: close']),
    '',
    body,
  ].join('\r\n');
  const startedAt = performance.now();
  const ended = Promise.withResolvers<'whole' | 'cut'>();
  lane.received = '';
  lane.finish = ended.resolve;
  try {
    lane.socket ??= await open(hostname, Number(port), lane);
    lane.socket.write(request);
    await ended.promise;
  } catch {
    // Refused: the call below says that no answer began.
  }
  const answer = lane.received;
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0) || null;
  const isWhole = status === 200 && isComplete(answer);
  if (!isWhole || connections !== 'kept' || /\r\nconnection: close/i.test(answer)) {
    lane.socket?.terminate();
    lane.socket = null;
  }
  const reason = isWhole ? null : answer.slice(0, 400) || 'the connection was cut before an answer';
  return { requestId, isWhole, status, reason, tookMs: performance.now() - startedAt };
}

async function open(hostname: string, port: number, lane: Lane) {
  const forget = (socket: object) => {
    // The lane may have another connection by now, whose call goes on.
    if (lane.socket !== null && lane.socket !== socket) return;
    lane.socket = null;
    lane.finish('cut');
  };
  return await Bun.connect({
    hostname,
    port,
    socket: {
      data(_, bytes) {
        lane.received += bytes.toString();
        if (isComplete(lane.received)) lane.finish('whole');
      },
      close: forget,
      error: forget,
    },
  });
}

function isComplete(answer: string): boolean {
  const head = answer.indexOf('\r\n\r\n');
  if (head === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(answer.slice(0, head + 2))?.[1];
  return length === undefined
    ? answer.endsWith('0\r\n\r\n')
    : Buffer.byteLength(answer) >= Buffer.byteLength(answer.slice(0, head + 4)) + Number(length);
}
