import { expect, test } from 'bun:test';
import { startForwarder } from './forwarder.ts';

/** Nothing listens there. */
const REFUSING_PORT = 1;

test('a client of a server that refuses connections is disconnected', async () => {
  const forwarder = startForwarder(REFUSING_PORT);
  const ended = Promise.withResolvers<string>();
  const socket = { data() {}, error() {}, close: () => ended.resolve('disconnected') };
  await Bun.connect({ hostname: '127.0.0.1', port: forwarder.port, socket });
  expect(await ended.promise).toBe('disconnected');
  forwarder.close();
});
