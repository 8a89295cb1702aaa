import { describe, expect, test } from 'bun:test';
import { priceOf, type TokenPrice } from '../../src/domain/models/aliases.ts';
import { until } from '../doubles/until.ts';
import { type RecordedStream, readRecordedStream, recordedStreams } from '../recorded/streams.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post } from './gateway-under-test.ts';
import { openStream, streamOf } from './scripted-upstream.ts';

/** Of chat-default, as it is when nobody has set another. */
const price: TokenPrice = { promptMicro: 1_000_000n, cachedMicro: 500_000n, completionMicro: 4_000_000n };
const body = { model: 'svc/chat-default', messages: [], stream: true, max_tokens: 10 };

const gateway = useResource(() => openGateway({ idleTimeoutMs: 400 }));

async function start(init: RequestInit = {}) {
  const { rawKey, id } = await gateway.mint();
  const response = await post(`${gateway.url}/chat/completions`, rawKey, body, init);
  return { response, id };
}

/** What the call's row and the ledger say, and what the balance lost. */
async function bookedFor(keyId: string, before: bigint) {
  const [call] = await gateway.calls(keyId, 1);
  const charges = await gateway.credits.chargesOf(call?.id);
  await until(async () => (await gateway.credits.held()) === 0);
  const { balanceMicro } = await gateway.credits.level();
  return { call, charges, lostMicro: before - balanceMicro };
}

async function expectFree(keyId: string, before: bigint, reason: string): Promise<void> {
  const { call, charges, lostMicro } = await bookedFor(keyId, before);
  expect(call).toMatchObject({ outcome: 'FAILED', reason, charge_micro: 0n, price_id: null });
  expect(charges).toEqual([]);
  expect(lostMicro).toBe(0n);
}

const balance = async () => (await gateway.credits.level()).balanceMicro;
const ends = ({ errorAt }: RecordedStream) => errorAt === null;

describe('recorded streams over a real socket', () => {
  for (const recorded of recordedStreams) {
    const { name, usage } = recorded;
    const isCharged = ends(recorded) && usage !== null;
    test(`G-30 G-31 ${name}: ${isCharged ? 'charged by its usage, once' : 'failed and free'}`, async () => {
      gateway.upstream.answer(() => streamOf(readRecordedStream(name)));
      const before = await balance();
      const { response, id } = await start();
      const text = await response.text();
      if (!isCharged) {
        const reason = ends(recorded) ? 'no-usage' : 'upstream-error-event';
        await expectFree(id, before, reason);
        expect(text.includes('[DONE]')).toBe(false);
        return;
      }
      const cost = priceOf(price, usage);
      const { call, charges, lostMicro } = await bookedFor(id, before);
      expect(call).toMatchObject({ outcome: 'SUCCEEDED', charge_micro: cost });
      const posted = { amount_micro: -cost, type: 'USAGE', charge_micro: cost, is_priced: true };
      // Explicit zeros are usage: such a call counts, and there is nothing to book for it.
      expect(charges).toEqual(cost === 0n ? [] : [posted]);
      expect(lostMicro).toBe(cost);
    });
  }
});

/** The beginning of a recorded stream, as far as its usage or just before it; the rest stays unsent. */
function begun(until: 'usage' | 'before usage'): string {
  const events = readRecordedStream('openai-chat').split('\n\n');
  const at = events.findIndex((event) => event.includes('"usage":{'));
  const count = until === 'usage' ? at + 1 : at;
  return events
    .slice(0, count)
    .map((event) => `${event}\n\n`)
    .join('');
}

describe('recorded streams that somebody ends early', () => {
  async function leaveAfter(what: 'usage' | 'before usage') {
    const stream = openStream();
    gateway.upstream.answer(() => stream.response);
    stream.send(begun(what));
    const stop = new AbortController();
    const before = await balance();
    const { response, id } = await start({ signal: stop.signal });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = '';
    while (text.length < begun(what).length * 0.9) {
      const { value } = await reader.read();
      text += new TextDecoder().decode(value);
    }
    stop.abort();
    await reader.cancel().catch(() => {});
    await stream.left;
    return { id, before };
  }

  test('G-31, billing bug 17: the client leaves before the usage: the upstream is aborted, the call failed and free', async () => {
    const { id, before } = await leaveAfter('before usage');
    await expectFree(id, before, 'client-left');
  });

  test('G-30 the client leaves after the usage: charged', async () => {
    const { id, before } = await leaveAfter('usage');
    const { call, charges, lostMicro } = await bookedFor(id, before);
    expect(call?.outcome).toBe('SUCCEEDED');
    expect(charges).toHaveLength(1);
    expect(lostMicro).toBe(
      priceOf(price, { promptTokens: 1_287, cachedTokens: 1_024, completionTokens: 31 }),
    );
  });

  for (const [how, reason] of [
    ['resets', 'upstream-broken'],
    ['falls silent', 'upstream-idle'],
  ] as const) {
    test(`G-30 G-31 the upstream ${how} after its usage: failed and free even so`, async () => {
      const stream = openStream();
      gateway.upstream.answer(() => stream.response);
      stream.send(begun('usage'));
      const before = await balance();
      const { response, id } = await start();
      if (how === 'resets') {
        const reader = (response.body as ReadableStream<Uint8Array>).getReader();
        await reader.read();
        stream.fail();
        for (let next = await reader.read(); !next.done; next = await reader.read());
      } else {
        expect(await response.text()).toContain('LLM_GATEWAY_UNAVAILABLE');
      }
      await expectFree(id, before, reason);
    });
  }
});
