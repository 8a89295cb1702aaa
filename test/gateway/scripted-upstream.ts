/** Of calls to it: long enough for a busy machine. A test that needs a time-out sets its clock ahead. */
export const TIMEOUT_MS = 30_000;

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
  /** Resolves when the gateway has closed this connection. */
  readonly closed: Promise<void>;
}

export type Script = (received: Received) => Response | Promise<Response>;

export interface ScriptedUpstream {
  /** As a target's base address. */
  readonly url: string;
  readonly received: Received[];
  /** What it answers from now on. */
  answer(script: Script): void;
  close(): void;
}

/** A provider on a real socket that does what a test tells it to. */
export function startScriptedUpstream(): ScriptedUpstream {
  const received: Received[] = [];
  let script: Script = () => Response.json(chatAnswer());
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    maxRequestBodySize: 64 * 1024 * 1024,
    async fetch(request) {
      const closed = new Promise<void>((resolve) =>
        request.signal.addEventListener('abort', () => resolve()),
      );
      const one: Received = {
        method: request.method,
        path: new URL(request.url).pathname,
        headers: Object.fromEntries(request.headers),
        body: new Uint8Array(await request.arrayBuffer()),
        closed,
      };
      received.push(one);
      return await script(one);
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    received,
    answer(next) {
      script = next;
    },
    close: () => void server.stop(true),
  };
}

export const USAGE = {
  prompt_tokens: 7,
  completion_tokens: 5,
  total_tokens: 12,
  prompt_tokens_details: { cached_tokens: 2 },
};

export function chatAnswer(changes: Record<string, unknown> = {}) {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'provider-model-x',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
    usage: USAGE,
    ...changes,
  };
}

export function chunk(content: string, changes: Record<string, unknown> = {}): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: null }];
  const body = {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'provider-model-x',
    choices,
    ...changes,
  };
  return `data: ${JSON.stringify(body)}\n\n`;
}

export const usageChunk = chunk('', { choices: [], usage: USAGE });
/** As a client gets it that did not ask for it. */
export const unaskedUsageChunk = chunk('', {
  choices: [{ index: 0, delta: {}, finish_reason: null }],
  usage: USAGE,
});
export const done = 'data: [DONE]\n\n';

export interface StreamScript {
  readonly response: Response;
  send(text: string): void;
  end(): void;
  /** Ends as a broken connection does. */
  fail(): void;
  /** Resolves when the gateway has left. */
  readonly left: Promise<void>;
}

/** A stream whose moments a test decides. */
export function openStream(status = 200): StreamScript {
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  const left = Promise.withResolvers<void>();
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given;
    },
    cancel: () => left.resolve(),
  });
  return {
    response: new Response(body, { status, headers: { 'content-type': 'text/event-stream' } }),
    send: (text) => controller?.enqueue(new TextEncoder().encode(text)),
    end: () => controller?.close(),
    fail: () => controller?.error(new Error('the upstream broke')),
    left: left.promise,
  };
}

/** A whole stream at once. */
export function streamOf(...parts: readonly string[]): Response {
  return new Response(parts.join(''), { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
}
