import type { ExecutionArgs, GraphQLSchema } from 'graphql';
import {
  CloseCode,
  GRAPHQL_TRANSPORT_WS_PROTOCOL,
  handleProtocols,
  makeServer,
  type SubscribePayload,
} from 'graphql-ws';
import { addressBlock } from '../../domain/limits/address-block.ts';
import { bearerToken, type ClientAddress } from '../../http/client-identity.ts';
import type { OpenSocket, SocketEvents, SocketService } from '../../http/listen.ts';
import { isNestedTooDeep } from '../../http/read-json.ts';
import { refusal, tooManyRequests } from '../graphql/errors.ts';
import { createRequestContext, type GraphqlParts } from '../graphql/request-context.ts';
import {
  type ClientOrigin,
  type ClientRegistry,
  createRights,
  createSocketClient,
  type SocketClient,
} from './connections.ts';
import { beginOperation, createSelections, messagesOf } from './subscriptions.ts';

export interface LiveLogsParts extends GraphqlParts {
  readonly clientAddress: ClientAddress;
  readonly consoleOrigin: string | null;
  readonly maxSockets?: number;
  readonly maxSocketsOfAddress?: number;
}

const PATH = '/graphql';
const MOST_SOCKETS = 2_000;
/** Of those, per address: the rest is left for others. */
const MOST_OF_ADDRESS = 1_000;
/** Of those, without a valid token yet; in total, and per address. */
const MOST_UNAUTHENTICATED = 400;
const MOST_UNAUTHENTICATED_OF_ADDRESS = 100;
const MOST_SUBSCRIPTIONS = 10;
const TRY_AGAIN = { 'retry-after': '5' };
/** graphql-ws throws this for a message that only a server sends. */
const UNEXPECTED = 'Unexpected message of type';
const encoder = new TextEncoder();

/** P-13: GraphQL subscriptions over WebSocket, by the protocol graphql-transport-ws. */
export function createLiveLogs(schema: GraphQLSchema, parts: LiveLogsParts): SocketService {
  const { clock, log, secrets, consoleOrigin, maxSockets = MOST_SOCKETS } = parts;
  const { maxSocketsOfAddress = MOST_OF_ADDRESS } = parts;
  const registry: ClientRegistry = {
    clock,
    rights: createRights(parts),
    clients: new Set(),
    unauthenticated: new Set(),
  };
  const selections = createSelections();
  const deliveries = new WeakMap<ExecutionArgs, AsyncIterable<never>>();

  const server = makeServer<Record<string, unknown>, { readonly client: SocketClient }>({
    // Clients have a timeout of their own, by our clock.
    connectionInitWaitTimeout: 0,
    async onConnect({ connectionParams, extra: { client } }) {
      await client.authenticate(connectionParams ?? {});
      return true;
    },
    onSubscribe: ({ extra, subscriptions }, id, payload) =>
      subscribe(extra.client, Object.keys(subscriptions).length, id, payload),
    subscribe: (args) => deliveries.get(args) ?? Promise.reject(new Error('nothing was begun')),
    onComplete: ({ extra }, id) => extra.client.unsubscribed(id),
  });

  async function subscribe(client: SocketClient, running: number, id: string, payload: SubscribePayload) {
    if (running > MOST_SUBSCRIPTIONS) {
      const message = `A socket has at most ${MOST_SUBSCRIPTIONS} subscriptions: complete one first.`;
      return [refusal('RATE_LIMITED', message)];
    }
    const { token, clientAddress } = client.origin;
    const subject = token === null ? null : await parts.accessTokens.verify(token);
    const counted = await parts.requestLimits.countRequest(clientAddress, subject?.userId ?? null);
    if (counted.outcome === 'refused') {
      client.refused();
      return [tooManyRequests(counted.retryAfterMs)];
    }
    const context = createRequestContext(parts, { ...client.origin, requestId: `req_${secrets.newId()}` });
    const begun = await beginOperation(schema, payload, context);
    if (begun.outcome === 'refused') {
      client.refused();
      return begun.errors;
    }
    deliveries.set(begun.args, deliver(client, id, payload, begun));
    client.subscribed(id);
    return begun.args;
  }

  /** Work for a client that has left is of no use to anyone, so its failure is no fault. */
  function failed({ socket, hasLeft }: SocketClient, error: unknown): void {
    if (hasLeft) log.debug('a WebSocket was left while work for it was under way', { error });
    else if (error instanceof Error && error.message.startsWith(UNEXPECTED)) {
      socket.close(CloseCode.BadRequest, 'Invalid message received');
    } else {
      log.error('a WebSocket failed', { error });
      socket.close(CloseCode.InternalServerError, 'Internal server error');
    }
  }

  /** Yields nothing itself: the lines go straight to the socket. Ends with the watcher. */
  function deliver(
    client: SocketClient,
    id: string,
    { query }: SubscribePayload,
    { args, watched: { watcher } }: Extract<Awaited<ReturnType<typeof beginOperation>>, { outcome: 'begun' }>,
  ): AsyncIterableIterator<never> {
    const selection = selections.take(args, query);
    async function run(): Promise<void> {
      try {
        for (let lines = await watcher.next(); lines !== null; lines = await watcher.next()) {
          await client.socket.send(await messagesOf(id, selection, lines));
        }
      } catch (error) {
        failed(client, error);
      } finally {
        watcher.close();
        selection.release();
      }
    }
    const running = run();
    const ended = { done: true, value: undefined } as const;
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      async next() {
        await running;
        return ended;
      },
      async return() {
        watcher.close();
        return ended;
      },
    };
  }

  function open(socket: OpenSocket, origin: ClientOrigin, protocol: string | null): SocketEvents {
    const client = createSocketClient(registry, socket, origin);
    let receive: (text: string) => Promise<void> = async () => {};
    const closed = server.opened(
      {
        protocol: protocol ?? '',
        send: async (text) => await socket.send([text]),
        close: (code, reason) => socket.close(code ?? 1000, reason ?? ''),
        onMessage: (listener) => {
          receive = listener;
        },
      },
      { client },
    );
    return {
      message(text) {
        if (!isNestedTooDeep(encoder.encode(text)))
          void receive(text).catch((error: unknown) => failed(client, error));
        else socket.close(CloseCode.BadRequest, 'Nested too deep');
      },
      closed(code, reason) {
        client.closed();
        void Promise.resolve(closed(code, reason)).catch((error: unknown) => failed(client, error));
      },
    };
  }

  function isFull(clientAddress: string): boolean {
    if (registry.clients.size >= maxSockets || registry.unauthenticated.size >= MOST_UNAUTHENTICATED)
      return true;
    const own = addressBlock(clientAddress);
    const isOwn = ({ origin }: SocketClient) => addressBlock(origin.clientAddress) === own;
    const ofAddress = [...registry.clients].filter(isOwn);
    if (ofAddress.length >= maxSocketsOfAddress) return true;
    return (
      ofAddress.filter((client) => registry.unauthenticated.has(client)).length >=
      MOST_UNAUTHENTICATED_OF_ADDRESS
    );
  }

  return {
    answer(request, connection) {
      if (new URL(request.url).pathname !== PATH) return null;
      if (!isOwnOrigin(request, consoleOrigin)) {
        return { outcome: 'refused', status: 403, message: 'Pages of this origin may open no socket here.' };
      }
      const clientAddress = parts.clientAddress(request, connection.peerAddress);
      if (isFull(clientAddress)) {
        const message = 'Too many sockets are open. Try again later.';
        return { outcome: 'refused', status: 503, message, headers: TRY_AGAIN };
      }
      const offered = request.headers.get('sec-websocket-protocol') ?? '';
      // Without a common protocol the socket is opened and closed with 4406, which a browser can see.
      const protocol = handleProtocols(offered) === false ? null : GRAPHQL_TRANSPORT_WS_PROTOCOL;
      // Read now: after the upgrade the request is no longer available.
      const origin = {
        clientAddress,
        userAgent: (request.headers.get('user-agent') ?? '').replaceAll(/\p{C}/gu, ''),
        token: bearerToken(request),
      };
      return { outcome: 'accepted', protocol, opened: (socket) => open(socket, origin, protocol) };
    },
  };
}

/**
 * Browsers send the origin of the page that opens a socket: only our own pages are allowed. Other clients send none.
 */
function isOwnOrigin(request: Request, consoleOrigin: string | null): boolean {
  const origin = request.headers.get('origin');
  if (origin === null || origin === consoleOrigin) return true;
  const host = request.headers.get('host');
  return origin === `http://${host}` || origin === `https://${host}`;
}
