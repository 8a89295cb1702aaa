import { until } from '../doubles/until.ts';
import { type LiveLogsUnderTest, WATCH } from './live-logs-under-test.ts';

export interface Message {
  readonly type: string;
  readonly id?: string;
  readonly payload?: { extensions?: { code: string } }[] & {
    data?: { logStream: { message: string; context: object } };
  };
}

/** A socket without a client library: what goes over it is up to the test. */
export function openRawSocket(
  live: LiveLogsUnderTest,
  protocol = 'graphql-transport-ws',
  headers: Record<string, string> = {},
) {
  const options = { headers, ...(protocol === '' ? {} : { protocols: [protocol] }) };
  const socket = new WebSocket(live.url, options as unknown as string[]);
  const messages: Message[] = [];
  socket.onmessage = ({ data }) => void messages.push(JSON.parse(String(data)));
  const closed = new Promise<{ code: number }>((resolve) => {
    socket.onclose = ({ code }) => resolve({ code });
    socket.onerror = () => resolve({ code: 0 });
  });
  const isOpen = new Promise<void>((resolve) => {
    socket.onopen = () => resolve();
  });
  return {
    messages,
    closed,
    close: () => socket.close(),
    async send(message: object | string) {
      await Promise.race([isOpen, closed]);
      socket.send(typeof message === 'string' ? message : JSON.stringify(message));
    },
    has: async (type: string, count = 1) =>
      await until(() => messages.filter((message) => message.type === type).length >= count),
  };
}

export function initOf(live: LiveLogsUnderTest) {
  const { token } = live.people.superAdmin;
  return { type: 'connection_init', payload: { Authorization: `Bearer ${token}` } };
}
export const subscribe = (id: string, query = WATCH) => ({ type: 'subscribe', id, payload: { query } });
export const codesIn = ({ payload }: Message) => payload?.map(({ extensions }) => extensions?.code);
