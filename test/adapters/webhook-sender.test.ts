import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Stripe from 'stripe';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { createApproveHost } from '../../src/adapters/outgoing-addresses/approve-host.ts';
import { createWebhookSender } from '../../src/adapters/webhook-sender/webhook-sender.ts';
import type { ApproveHost } from '../../src/ports/outgoing-addresses.ts';
import type { Webhook } from '../../src/ports/webhooks/webhook-sender.ts';
import { httpProxyOf } from '../../src/start/settings/http-proxy.ts';
import { senderByRoute } from '../../src/start/wiring/routes-by-proxy.ts';
import { createManualClock } from '../doubles/manual-clock.ts';

const seen: { path: string; body: string; headers: Headers }[] = [];
const server: Bun.Server<undefined> = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const path = new URL(request.url).pathname;
    seen.push({ path, body: await request.text(), headers: request.headers });
    if (path === '/large') return new Response(new Uint8Array(10 * 1024 * 1024).fill(65));
    if (path === '/redirect') return Response.redirect(`http://127.0.0.1:${server.port}/other`, 307);
    if (path.startsWith('/silent')) return await new Promise<Response>(() => undefined);
    if (path === '/error') return new Response('no', { status: 503 });
    return new Response('{"ok":true}');
  },
});
afterAll(() => server.stop(true));

type Check = (body: string, header: string | null, secret: string, nowSeconds: number) => boolean;

/** The function that docs/alerts.md gives to receivers, as it is written there. */
async function docSample(): Promise<Check> {
  const page = await Bun.file(new URL('../../docs/alerts.md', import.meta.url)).text();
  const code = /```js\n(import \{ createHmac[\s\S]*?)```/.exec(page)?.[1] ?? '';
  const file = join(await mkdtemp(join(tmpdir(), 'turnpike-signature-')), 'sample.mjs');
  await Bun.write(file, code);
  const loaded = await import(file);
  await rm(dirname(file), { recursive: true });
  return loaded.isFromTurnpike as Check;
}

const local: ApproveHost = () => ({ outcome: 'approved', addresses: ['127.0.0.1'] });

for (const connects of ['approved', 'runtime'] as const) {
  describe(`webhooks by ${connects} connections`, () => {
    const host = connects === 'approved' ? 'hooks.example' : '127.0.0.1';
    const clock = createManualClock(Date.UTC(2030, 0, 1));
    const sender = createWebhookSender({ clock, approveHost: local, connects });
    const send = (path: string, changes: Partial<Webhook> = {}, by = sender) =>
      by.send({
        url: `http://${host}:${server.port}${path}`,
        ...{ body: '{"id":"evt_1"}', secrets: [], timeoutMs: 10_000, maxAnswerBytes: 1_000, ...changes },
      });

    test('are signed as the payment provider signs, by every secret', async () => {
      const answer = await send('/signed', { secrets: ['whsec_new', 'whsec_old'] });
      expect(answer).toMatchObject({ outcome: 'answered', status: 200, isWhole: true });
      const { body = '', headers } = seen.findLast(({ path }) => path === '/signed') ?? {};
      expect(body).toBe('{"id":"evt_1"}');
      const signature = headers?.get('turnpike-signature') ?? '';
      const check = (secret: string) =>
        Stripe.webhooks.constructEvent(body, signature, secret, 300, undefined, clock.now());
      const sample = await docSample();
      const checked = (header: string | null, secret: string, nowMs = clock.now()) =>
        sample(body, header, secret, nowMs / 1000);
      expect([checked(signature, 'whsec_new'), checked(signature, 'whsec_old')]).toEqual([true, true]);
      expect(checked(signature, 'whsec_other')).toBe(false);
      expect(checked(signature, 'whsec_new', clock.now() + 301_000)).toBe(false);
      for (const header of [null, '', 't=x,v1=', signature.replace('v1=', 'v1=0')]) {
        expect(checked(header, 'whsec_new')).toBe(false);
      }
      expect(check('whsec_new')).toMatchObject({ id: 'evt_1' });
      expect(check('whsec_old')).toMatchObject({ id: 'evt_1' });
    });

    test('are read up to a bound, and no redirect is followed', async () => {
      const large = await send('/large');
      expect(large).toMatchObject({ outcome: 'answered', status: 200, isWhole: false });
      expect(large.outcome === 'answered' && large.body.length).toBe(1_000);
      expect(await send('/redirect')).toMatchObject({ outcome: 'answered', status: 307 });
      expect(seen.some(({ path }) => path === '/other')).toBe(false);
      expect(await send('/error')).toMatchObject({ outcome: 'answered', status: 503 });
    });

    test('end at their time-out, and when they are aborted', async () => {
      const running = send(`/silent/${connects}`);
      while (!seen.some(({ path }) => path === `/silent/${connects}`)) await createSystemClock().turn();
      await clock.advance(10_000);
      expect(await running).toMatchObject({ outcome: 'failed', reason: 'timed-out' });
      const signal = AbortSignal.abort();
      expect(await send('/silent', { signal })).toMatchObject({ outcome: 'failed', reason: 'aborted' });
    });

    test('that cannot connect fail without naming the address', async () => {
      const answer = await sender.send({
        ...{
          url: 'http://127.0.0.1:1/secret-path',
          body: '{}',
          secrets: [],
          timeoutMs: 5_000,
          maxAnswerBytes: 10,
        },
      });
      expect(answer).toMatchObject({ outcome: 'failed' });
      expect(JSON.stringify(answer)).not.toContain('secret-path');
    });
  });
}

test('behind a proxy for other URLs, webhooks connect to approved addresses, and a name without one is refused', async () => {
  const usesProxy = httpProxyOf({ HTTPS_PROXY: 'http://proxy.example:3128' });
  if (usesProxy === null) throw new Error('a proxy is set');
  const clock = createManualClock();
  const approving = (hasProxy: boolean) =>
    createApproveHost({
      ...{ clock, allowed: ['127.0.0.0/8'], hasProxy },
      addressesOf: async (name) => (name === 'hooks.example' ? ['127.0.0.1'] : []),
    });
  const direct = createWebhookSender({ clock, approveHost: approving(false), connects: 'approved' });
  const proxied = createWebhookSender({ clock, approveHost: approving(true), connects: 'runtime' });
  const sender = senderByRoute({ usesProxy, direct, proxied });
  const send = (url: string) =>
    sender.send({ ...{ url, body: '{}', secrets: [], timeoutMs: 10_000, maxAnswerBytes: 1_000 } });
  expect(await send(`http://hooks.example:${server.port}/direct`)).toMatchObject({ status: 200 });
  expect(await send(`http://later.example:${server.port}/`)).toMatchObject({ reason: 'address-refused' });
  expect(await sender.addressProblem('http://later.example/')).toContain('has no address');
  expect(await sender.addressProblem('https://later.example/')).toBeNull();
});

test('what this process cannot send for want of a descriptor says so, and not that the address is wrong', async () => {
  const clock = createManualClock();
  const problem = 'no name can be resolved right now';
  const unresolving = createWebhookSender({
    ...{ clock, connects: 'approved' },
    approveHost: () => ({ outcome: 'local-fault', problem }),
  });
  const unconnected = createWebhookSender({
    ...{ clock, approveHost: null, connects: 'approved' },
    localFaults: { explain: () => 'descriptors' },
  });
  const webhook = { url: 'http://127.0.0.1:1/', body: '{}', secrets: [], timeoutMs: 10_000 };
  const failed = { outcome: 'failed', reason: 'not-connected' };
  expect(await unresolving.send({ ...webhook, maxAnswerBytes: 10 })).toMatchObject({ ...failed, problem });
  expect(await unconnected.send({ ...webhook, maxAnswerBytes: 10 })).toMatchObject({
    ...failed,
    problem: 'it was not sent, because our side could not open a connection',
  });
});
