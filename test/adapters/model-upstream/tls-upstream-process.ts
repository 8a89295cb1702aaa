/** Calls a provider with a certificate for localhost, by several names, and prints what comes of it. */
import { createSystemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createSocketUpstream } from '../../../src/adapters/model-upstream/sockets.ts';
import type { UpstreamFailure } from '../../../src/ports/model-upstream.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { textIn } from '../../doubles/upstream-body.ts';
import { TEST_CERTIFICATE, TEST_KEY } from '../mail/mail-certificate.ts';

let askedFor = '';
const provider = Bun.listen({
  hostname: '127.0.0.1',
  port: 0,
  tls: { key: TEST_KEY, cert: TEST_CERTIFICATE },
  socket: {
    handshake(socket) {
      askedFor = socket.getServername();
    },
    data: (socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi'),
  },
});
const upstream = createSocketUpstream({
  clock: createSystemClock(),
  log: createSilentLog(),
  approveHost: () => ({ outcome: 'approved', addresses: ['127.0.0.1'] }),
});

async function call(baseUrl: string): Promise<string> {
  const { signal } = new AbortController();
  const sent = { endpoint: 'embeddings', body: new Uint8Array(2), headers: {}, signal } as const;
  try {
    const { body } = await upstream.send({ id: 't', baseUrl, model: 'm', apiKey: null }, sent);
    return await textIn(body);
  } catch (error) {
    return (error as UpstreamFailure).reason ?? (error as Error).message;
  }
}

const byName = await call(`https://localhost:${provider.port}/v1`);
process.stdout.write(`localhost: ${byName}${byName === 'hi' ? `, asked for ${askedFor}` : ''}\n`);
process.stdout.write(`address: ${await call(`https://127.0.0.1:${provider.port}/v1`)}\n`);
process.stdout.write(`other name: ${await call(`https://provider.test:${provider.port}/v1`)}\n`);
process.exit(0);
