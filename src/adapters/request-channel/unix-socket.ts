/**
 * A request channel over a Unix socket. A frame is four bytes of length and a structured clone. Frames sent in one turn of
 * the event loop are written together.
 */
import { deserialize, serialize } from 'bun:jsc';
import { chmodSync, closeSync, existsSync, openSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Socket } from 'bun';
import type {
  ChannelFailure,
  ChannelServer,
  ChannelSession,
  OpenSession,
  RequestChannel,
} from '../../ports/request-channel.ts';

type Message =
  | { readonly kind: 'ask'; readonly id: number; readonly request: unknown }
  | { readonly kind: 'answer'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string; readonly fields: object }
  | { readonly kind: 'event'; readonly event: unknown };

const HEAD_BYTES = 4;
/** Far above the largest document or answer: a longer frame is invalid. */
const MAX_FRAME_BYTES = 512 * 1024 * 1024;
/** The path of a socket has at most 107 bytes. A longer folder is addressed through its open file descriptor. */
const LONGEST_NAME = 100;

/** Listens at `path`, for the owner of the folder only. An existing socket is replaced: the caller uses the folder exclusively. */
export function serveChannel(path: string, openSession: OpenSession): ChannelServer {
  const place = socketPlace(path);
  if (existsSync(place.path)) unlinkSync(place.path);
  const sessions = new Map<Socket<unknown>, { session: ChannelSession; wire: Wire }>();
  const listener = Bun.listen<unknown>({
    unix: place.path,
    socket: {
      open(socket) {
        const wire = createWire(socket, (message) => void serve(message));
        const session = openSession((event) => wire.send({ kind: 'event', event }));
        sessions.set(socket, { session, wire });
        async function serve(message: Message): Promise<void> {
          if (message.kind !== 'ask') return;
          const { id } = message;
          try {
            wire.send({ kind: 'answer', id, result: await session.answer(message.request) });
          } catch (error) {
            const { message: text, ...fields } = described(error);
            wire.send({ kind: 'failed', id, message: text, fields });
          }
        }
      },
      data: (socket, bytes) => sessions.get(socket)?.wire.received(bytes),
      drain: (socket) => sessions.get(socket)?.wire.flush(),
      close: (socket) => leave(socket),
      error: (socket) => leave(socket),
    },
  });
  chmodSync(place.path, 0o600);

  function leave(socket: Socket<unknown>): void {
    const left = sessions.get(socket);
    sessions.delete(socket);
    left?.session.left();
  }

  return {
    close() {
      listener.stop(true);
      place.release();
    },
  };
}

interface ConnectOptions {
  readonly path: string;
  readonly onEvent: (event: unknown) => void;
  readonly onClosed: () => void;
}

/** Rejects if no process listens there. */
export async function connectChannel({ path, onEvent, onClosed }: ConnectOptions): Promise<RequestChannel> {
  const waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  let lastId = 0;
  let wire: Wire | null = null;
  const place = socketPlace(path);

  function onMessage(message: Message): void {
    if (message.kind === 'ask') return;
    if (message.kind === 'event') {
      onEvent(message.event);
      return;
    }
    const pending = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.kind === 'answer') pending?.resolve(message.result);
    else pending?.reject(Object.assign(new Error(message.message), message.fields));
  }

  function die(): void {
    if (wire === null) return;
    wire = null;
    place.release();
    for (const pending of waiting.values()) pending.reject(channelFailure());
    waiting.clear();
    onClosed();
  }

  const socket = await Bun.connect<unknown>({
    unix: place.path,
    socket: {
      open(opened) {
        wire = createWire(opened, onMessage);
      },
      data: (_, bytes) => wire?.received(bytes),
      drain: () => wire?.flush(),
      close: die,
      error: die,
    },
  });
  return {
    ask(request) {
      if (wire === null) return Promise.reject(channelFailure());
      lastId += 1;
      const id = lastId;
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      waiting.set(id, { resolve, reject });
      wire.send({ kind: 'ask', id, request });
      return promise;
    },
    isOpen: () => wire !== null,
    close() {
      socket.end();
      die();
    },
  };
}

function channelFailure(): ChannelFailure {
  const error = new Error('the other process has closed the connection, or has ended');
  return Object.assign(error, { name: 'ChannelFailure' as const });
}

function described(error: unknown): { readonly message: string } & Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { message, name } = error;
  return { ...error, name, message, stack: undefined, cause: undefined };
}

interface Wire {
  send(message: Message): void;
  received(bytes: Uint8Array): void;
  flush(): void;
}

function createWire(socket: Socket<unknown>, onMessage: (message: Message) => void): Wire {
  let unsent: Uint8Array[] = [];
  let unsentBytes = 0;
  let isFlushing = false;
  const parts: Uint8Array[] = [];
  let partBytes = 0;
  /** The length of the current frame; null between frames. */
  let bodyBytes: number | null = null;

  function flush(): void {
    isFlushing = false;
    if (unsent.length === 0) return;
    const bytes = unsent.length === 1 ? (unsent[0] as Uint8Array) : Buffer.concat(unsent);
    const written = Math.max(0, socket.write(bytes));
    // The rest is sent when the other side has read more.
    unsent = written < bytes.byteLength ? [bytes.subarray(written)] : [];
    unsentBytes = bytes.byteLength - written;
  }

  /** The first `length` received bytes. */
  function take(length: number): Uint8Array {
    const joined = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
    parts.length = 0;
    partBytes = joined.byteLength - length;
    if (partBytes > 0) parts.push(joined.subarray(length));
    return joined.subarray(0, length);
  }

  function readOn(): void {
    for (;;) {
      if (bodyBytes === null) {
        if (partBytes < HEAD_BYTES) return;
        const head = take(HEAD_BYTES);
        bodyBytes = new DataView(head.buffer, head.byteOffset).getUint32(0, true);
        if (bodyBytes > MAX_FRAME_BYTES) return void socket.terminate();
      }
      if (partBytes < bodyBytes) return;
      const body = take(bodyBytes);
      bodyBytes = null;
      onMessage(deserialize(new Uint8Array(body).buffer) as Message);
    }
  }

  return {
    send(message) {
      const body = new Uint8Array(serialize(message));
      const head = new Uint8Array(HEAD_BYTES);
      new DataView(head.buffer).setUint32(0, body.byteLength, true);
      unsent.push(head, body);
      unsentBytes += HEAD_BYTES + body.byteLength;
      // The other side hangs and does not read: the connection is closed before it uses too much memory.
      if (unsentBytes > MAX_FRAME_BYTES) return void socket.terminate();
      if (isFlushing) return;
      isFlushing = true;
      queueMicrotask(flush);
    },
    received(bytes) {
      // The runtime reuses its buffer.
      parts.push(new Uint8Array(bytes));
      partBytes += bytes.byteLength;
      readOn();
    },
    flush,
  };
}

/** A short path to the socket, regardless of its folder. */
export function socketPlace(path: string): { readonly path: string; release(): void } {
  if (Buffer.byteLength(path) <= LONGEST_NAME) return { path, release() {} };
  const handle = openSync(dirname(path), 'r');
  return { path: join(`/proc/self/fd/${handle}`, basename(path)), release: () => closeSync(handle) };
}
