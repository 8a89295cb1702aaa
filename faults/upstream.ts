import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startForwarder } from '../test/doubles/forwarder.ts';
import { until } from '../test/doubles/until.ts';
import {
  chatAnswer,
  chunk,
  done,
  type Received,
  streamOf,
  usageChunk,
} from '../test/gateway/scripted-upstream.ts';
import { startCuttingProvider } from './frame/cutting-provider.ts';
import { holds, onlyStatuses, watchMemory } from './frame/expect.ts';
import type { FaultCase, Lab } from './frame/fault-case.ts';
import { callMany, callOnce, refusedOf, slowestMs, tally } from './frame/load.ts';

/** A call with this many tokens is the one that the provider answers badly. */
const BAD = 11;
const COOLDOWN = { BREAKER_COOLDOWN_SECONDS: '1' };
const encoder = new TextEncoder();

/** Good calls are answered as ever, so that what one bad answer does to the others can be seen. */
function answerBadly(
  lab: Lab,
  badly: (received: Received, isStream: boolean) => Response | Promise<Response>,
) {
  lab.world.upstream.answer(async (received) => {
    const text = new TextDecoder().decode(received.body);
    const isStream = text.includes('"stream":true');
    if (text.includes(`"max_tokens":${BAD}`)) return await badly(received, isStream);
    return isStream ? streamOf(chunk('one'), usageChunk, done) : Response.json(chatAnswer());
  });
}

/** For a gateway whose provider is behind this port. */
function configOf(lab: Lab, port: number): string {
  const file = join(lab.world.dataDir, `provider-${port}.json`);
  const targets = [{ base_url: `http://127.0.0.1:${port}/v1`, model: 'provider-model-x' }];
  writeFileSync(file, JSON.stringify({ aliases: { 'svc/chat-default': { targets } } }));
  return file;
}

/** Every half a second until one is answered: the breaker lets one call through after its pause. */
async function untilAnswered(lab: Lab, url: string): Promise<number> {
  const begun = performance.now();
  await until(async () => {
    const call = await callOnce(url, lab.world.rawKey);
    lab.seen.push(call);
    return call.isWhole;
  });
  return performance.now() - begun;
}

export const upstreamFaults: readonly FaultCase[] = [
  {
    name: 'upstream-refusing',
    what: 'the provider refuses every connection, then is back',
    isQuick: true,
    async run(lab) {
      const link = startForwarder(Number(new URL(lab.world.upstream.url).port));
      lab.whenEnding(link.close);
      const { url } = await lab.gateway({ ...COOLDOWN, MODEL_CONFIG: configOf(lab, link.port) });
      lab.seen.push(...(await callMany(4, url, lab.world.rawKey)));
      link.cut();
      const refused = await callMany(30, url, lab.world.rawKey);
      lab.seen.push(...refused);
      link.restore();
      const recoveryMs = await untilAnswered(lab, url);
      return {
        kept: `the gateway answers each refusal within ${slowestMs(refused)} ms`,
        refused: refusedOf(refused),
        ...{ recoveryMs, lost: '', chargesOnlyWhole: true },
        problems: onlyStatuses(refused, [502, 503]),
      };
    },
  },
  {
    name: 'upstream-hanging',
    what: 'the provider takes calls and never answers',
    async run(lab) {
      const { url } = await lab.gateway({ ...COOLDOWN, UPSTREAM_FIRST_BYTE_TIMEOUT_MS: '1000' });
      answerBadly(lab, () => new Promise<Response>(() => {}));
      const [good, bad] = await Promise.all([
        callMany(20, url, lab.world.rawKey),
        callMany(4, url, lab.world.rawKey, BAD),
      ]);
      lab.seen.push(...good, ...bad);
      const recoveryMs = await untilAnswered(lab, url);
      return {
        kept: `${tally(good)} beside them, slowest ${slowestMs(good)} ms`,
        refused: `${refusedOf(bad)}, after ${slowestMs(bad)} ms`,
        ...{ recoveryMs, lost: '', chargesOnlyWhole: true },
        problems: [...onlyStatuses(bad, [502, 503, 504]), ...onlyStatuses(good, [200])],
      };
    },
  },
  {
    name: 'upstream-dripping',
    what: 'a hundred streams come at a byte a second, beside calls as ever',
    async run(lab) {
      const { url, pid } = await lab.gateway();
      let left = 0;
      answerBadly(lab, ({ closed }) => {
        closed.then(() => (left += 1));
        return new Response(
          new ReadableStream({
            async pull(controller) {
              await Bun.sleep(1_000);
              controller.enqueue(encoder.encode('d'));
            },
          }),
          { headers: { 'content-type': 'text/event-stream' } },
        );
      });
      const most = watchMemory(pid);
      const leaving = new AbortController();
      const headers = { authorization: `Bearer ${lab.world.rawKey}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ model: 'svc/chat-default', messages: [], stream: true, max_tokens: BAD });
      const dripping = Array.from({ length: 100 }, () =>
        fetch(`${url}/chat/completions`, { method: 'POST', headers, body, signal: leaving.signal })
          .then((response) => response.text())
          .catch(() => 'left'),
      );
      await until(() => lab.world.upstream.received.length >= 100);
      await Bun.sleep(3_000);
      const good = await callMany(40, url, lab.world.rawKey);
      lab.seen.push(...good);
      leaving.abort();
      await Promise.all(dripping);
      await until(() => left === 100);
      return {
        kept: `${tally(good)} beside them, slowest ${slowestMs(good)} ms; the gateway at ${most()} MB`,
        refused: 'nothing; the provider is left as soon as the client has left',
        ...{ recoveryMs: null, lost: '', chargesOnlyWhole: true },
        problems: onlyStatuses(good, [200]),
      };
    },
  },
  {
    name: 'upstream-garbage',
    what: 'the provider sends random bytes, as an answer and as a stream',
    async run(lab) {
      const { url } = await lab.gateway(COOLDOWN);
      answerBadly(lab, (_, isStream) => {
        const bytes = crypto.getRandomValues(new Uint8Array(20_000));
        const type = isStream ? 'text/event-stream' : 'application/json';
        return new Response(bytes, { headers: { 'content-type': type } });
      });
      const bad = await callMany(20, url, lab.world.rawKey, BAD);
      const recoveryMs = await untilAnswered(lab, url);
      const good = await callMany(20, url, lab.world.rawKey);
      lab.seen.push(...bad, ...good);
      return {
        kept: `${tally(good)} after them`,
        refused: refusedOf(bad),
        ...{ recoveryMs, lost: '', chargesOnlyWhole: true },
        problems: [
          ...onlyStatuses(good, [200]),
          ...holds(
            bad.every(({ isWhole }) => !isWhole),
            'garbage was passed on as an answer',
          ),
        ],
      };
    },
  },
  {
    name: 'upstream-cutting',
    what: 'the provider cuts every answer in the middle',
    isQuick: true,
    async run(lab) {
      const cutter = startCuttingProvider(Number(new URL(lab.world.upstream.url).port), BAD);
      lab.whenEnding(cutter.close);
      const { url } = await lab.gateway({ ...COOLDOWN, MODEL_CONFIG: configOf(lab, cutter.port) });
      const bad = await callMany(20, url, lab.world.rawKey, BAD);
      const recoveryMs = await untilAnswered(lab, url);
      lab.seen.push(...bad);
      return {
        kept: 'a stream that has begun ends with an error and without [DONE]',
        refused: refusedOf(bad),
        ...{ recoveryMs, lost: '', chargesOnlyWhole: true },
        problems: holds(
          bad.every(({ isWhole }) => !isWhole),
          'half an answer was passed on as a whole one',
        ),
      };
    },
  },
  {
    name: 'upstream-gigabyte',
    what: 'the provider sends a gigabyte: as one answer, and as one event of a stream that never ends',
    async run(lab) {
      const { url, pid } = await lab.gateway(COOLDOWN);
      const piece = new Uint8Array(1024 * 1024).fill(120);
      let sentMb = 0;
      answerBadly(lab, (_, isStream) => {
        const type = isStream ? 'text/event-stream' : 'application/json';
        let ownMb = 0;
        const body = new ReadableStream({
          start: (controller) => controller.enqueue(encoder.encode(isStream ? 'data: {"x":"' : '{"x":"')),
          pull(controller) {
            controller.enqueue(piece);
            sentMb += 1;
            ownMb += 1;
            if (ownMb >= 1024) controller.close();
          },
        });
        return new Response(body, { headers: { 'content-type': type } });
      });
      const most = watchMemory(pid);
      const bad = await callMany(4, url, lab.world.rawKey, BAD);
      const recoveryMs = await untilAnswered(lab, url);
      const mostMb = most();
      lab.seen.push(...bad);
      return {
        kept: `the gateway stayed below ${mostMb} MB; it took ${sentMb} MB of the four gigabytes`,
        refused: refusedOf(bad),
        ...{ recoveryMs, lost: '', chargesOnlyWhole: true },
        problems: [
          ...holds(mostMb < 1_000, `the gateway grew to ${mostMb} MB`),
          ...holds(
            bad.every(({ isWhole }) => !isWhole),
            'a gigabyte was passed on as an answer',
          ),
        ],
      };
    },
  },
];
