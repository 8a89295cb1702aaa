import { expect, test } from 'bun:test';
import { drippingBody } from '../../../test/doubles/dripping-body.ts';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import type { FinishedCall } from '../../domain/calls/settlement/finished-call.ts';
import { createMemoryLimit } from '../../http/memory-limit.ts';
import type { AdmittedModelCall } from '../admission/admit.ts';
import { readModelBody } from '../json/request-body.ts';
import { answerStream } from '../streaming/answer-stream.ts';
import type { Answering } from './end-call.ts';
import { answerModelCall, type ModelCallParts } from './model-call.ts';
import { passedOn } from './provider-errors.ts';

function given(
  order: () => never[],
  steered: Record<string, unknown> = {},
  clientSignal = new AbortController().signal,
) {
  const written: FinishedCall[] = [];
  const settled: (number | null)[] = [];
  const parts = {
    clock: createManualClock(),
    log: createSilentLog(),
    secrets: createSystemSecrets(),
    models: { order },
    calls: {
      settle: async (call: FinishedCall) => {
        written.push(call);
        return { outcome: 'settled', level: null, spending: null };
      },
      ...steered,
    },
    holds: { levelsAfter: () => [], ...steered },
    billingStatuses: { latest: () => null },
    idleTimeoutMs: 1_000,
    answerMemory: createMemoryLimit(1_000),
  } as unknown as ModelCallParts;
  const bytes = new TextEncoder().encode('{"model":"svc/chat-default"}');
  const read = readModelBody(bytes);
  if (read.outcome !== 'read') throw new Error(read.message);
  const call = {
    id: 'call',
    bytes,
    fields: read.fields,
    route: { endpoint: 'chat/completions' },
    key: { id: 'key', companyId: 'company' },
    payer: { companyId: 'company', keyId: 'key', monthlyLimitMicro: null, startedAtMs: 0 },
    alias: { alias: 'svc/chat-default', targets: [] },
    estimatedTokens: 10,
    claim: null,
    reservation: { end: async (tokens: number | null) => void settled.push(tokens), ...steered },
  } as unknown as AdmittedModelCall;
  const context = { requestId: 'r', startedAtMs: 0, clientSignal, forwardedHeaders: {}, headers: {} };
  return { written, settled, answer: () => answerModelCall(parts, call, context) };
}

test('releases the hold and records the call when an unexpected error is thrown', async () => {
  const { written, settled, answer } = given(() => {
    throw new Error('a fault of ours');
  });
  expect(await answer().catch((error: Error) => error.message)).toBe('a fault of ours');
  expect(settled).toEqual([0]);
  expect(written).toMatchObject([{ outcome: 'FAILED', reason: 'internal', keyId: 'key' }]);
});

test('an alias without targets ends its call as unavailable, once', async () => {
  const { written, settled, answer } = given(() => []);
  expect((await answer()).status).toBe(503);
  expect(settled).toEqual([0]);
  expect(written).toMatchObject([{ outcome: 'FAILED', reason: 'LLM_GATEWAY_UNAVAILABLE' }]);
});

test('G-31 no provider is called for a client that left while its call was admitted', async () => {
  const { written, settled, answer } = given(() => [], {}, AbortSignal.abort());
  await answer();
  expect(settled).toEqual([null]);
  expect(written).toMatchObject([{ outcome: 'FAILED', reason: 'client-left', targetId: null }]);
});

test('G-33 a call is committed before its hold is released, with the levels of that commit', async () => {
  const order: string[] = [];
  const { answer } = given(() => [], {
    settle: async () => {
      order.push('commit');
      return { outcome: 'settled', level: 'level', spending: null };
    },
    levelsAfter: (_: unknown, { level }: { level: unknown }) => [level],
    end: async (_: unknown, levels: unknown) => void order.push(`end ${levels}`),
  });
  await answer();
  expect(order).toEqual(['commit', 'end level']);
});

test('releases the hold and returns 503 when the call cannot be recorded', async () => {
  const ended: unknown[] = [];
  const { answer } = given(() => [], {
    settle: () => Promise.reject(new Error('unforeseen')),
    end: async (_: unknown, levels: unknown) => void ended.push(levels),
  });
  expect((await answer()).status).toBe(503);
  expect(ended).toEqual([[]]);
});

test('G-36 an error body that arrives byte by byte is read for five seconds in all', async () => {
  const { body, clock } = drippingBody(500);
  const target = { id: 'target', baseUrl: null, model: 'model', apiKey: null };
  const refusal = await passedOn('svc/chat-default', target, { status: 422, contentType: '', body }, clock);
  expect([refusal.status, clock.uptimeMs()]).toEqual([422, 5_000]);
});

test('G-30 a provider that keeps sending pings after [DONE] does not delay the end of the stream', async () => {
  const usage = 'data: {"choices":[{}],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n';
  const { body, clock } = drippingBody(400, [usage, 'data: [DONE]\n\n'], ': ping\n\n');
  const endings: unknown[] = [];
  const answering = {
    parts: {
      clock: { ...createManualClock(), ...clock },
      idleTimeoutMs: 60_000,
      keepAlive: { add() {}, remove() {} },
    },
    call: { id: 'call', bytes: new Uint8Array(), alias: { alias: 'svc/chat-default' }, claim: null },
    context: { requestId: 'r', clientSignal: new AbortController().signal, headers: {} },
    target: { id: 'target' },
    answer: { status: 200, contentType: 'text/event-stream', body },
    upstreamAbort: { abort() {} },
    end: async (ending: unknown) => endings.push(ending),
  } as unknown as Answering;
  Object.assign(answering.call, { route: { wire: 'completions' }, key: {}, fields: {} });
  const text = await answerStream(answering).text();
  expect(text).toBe(`${usage}: ping\n\n: ping\n\ndata: [DONE]\n\n`);
  expect([clock.uptimeMs(), endings]).toMatchObject([1_000, [{ outcome: 'SUCCEEDED' }]]);
});

test('large answers have a limit in all and one for each company; small ones are not counted', () => {
  const mebibyte = 1024 * 1024;
  const memory = createMemoryLimit(8 * mebibyte);
  const [one, other, third] = [memory.share('a'), memory.share('a'), memory.share('b')];
  for (const bytes of [mebibyte, 2 * mebibyte, 3 * mebibyte]) expect(one.hold(bytes)).toBe(true);
  expect(other.hold(mebibyte)).toBe(true);
  expect([other.hold(2 * mebibyte), other.wasRefused(), other.hold(1)]).toEqual([false, true, false]);
  expect([third.hold(4 * mebibyte), memory.share('c').hold(2 * mebibyte)]).toEqual([true, false]);
  expect(memory.heldBytes()).toBe(7 * mebibyte);
  for (const share of [one, one, other, third]) share.release();
  expect(memory.heldBytes()).toBe(0);
});
