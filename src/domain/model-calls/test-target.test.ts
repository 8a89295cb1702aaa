import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import type { ModelUpstream, UpstreamFailure } from '../../ports/model-upstream.ts';
import { testTarget } from './test-target.ts';

const TARGET = { id: '1', baseUrl: 'https://one.example/v1', model: 'one', apiKey: 'sk-secret' };

function answering(status: number, text: string) {
  const sent: { endpoint: string; body: unknown }[] = [];
  const upstream: ModelUpstream = {
    async send(_target, { endpoint, body }) {
      sent.push({ endpoint, body: JSON.parse(new TextDecoder().decode(body)) });
      const left = [new TextEncoder().encode(text), null];
      const read = () => left.shift() ?? null;
      return { status, contentType: 'application/json', body: { read, cancel() {} } };
    },
  };
  return { sent, upstream };
}

const failing = (reason: UpstreamFailure['reason'], cause?: Error): ModelUpstream => ({
  send: () => Promise.reject(Object.assign(new Error('no', { cause }), { name: 'UpstreamFailure', reason })),
});

describe('one small call to a target', () => {
  const clock = createManualClock();

  test('a chat model is asked for one word, with the provider’s name for the maximum', async () => {
    const { sent, upstream } = answering(200, '{"choices":[]}');
    expect(await testTarget({ upstream, clock }, TARGET, 'chat')).toEqual({
      ok: true,
      status: 200,
      latencyMs: 0,
      message: 'one answered.',
    });
    expect(sent[0]).toMatchObject({ endpoint: 'chat/completions', body: { model: 'one', max_tokens: 16 } });
  });

  test('an embedding model is asked for a vector', async () => {
    const { sent, upstream } = answering(200, '{"data":[]}');
    expect((await testTarget({ upstream, clock }, TARGET, 'embed')).ok).toBe(true);
    expect(sent[0]).toEqual({ endpoint: 'embeddings', body: { model: 'one', input: 'test' } });
  });

  test.each([
    [401, '{"error":{"message":"Incorrect key sk-secret"}}', 'Incorrect key [redacted] Check the key.'],
    [404, '<html>', 'The provider answered with status 404. Check the base address'],
    [503, '{"error":"overloaded"}', 'overloaded The provider failed'],
    [200, '<html>a page</html>', 'not that of a model API'],
    [200, '{"data":[]}', 'not that of a model API'],
    [200, 'null', 'not that of a model API'],
  ])('status %i with %s explains what to do, without the key', async (status, text, message) => {
    const said = await testTarget({ upstream: answering(status, text).upstream, clock }, TARGET, 'chat');
    expect(said).toMatchObject({ ok: false, status });
    expect(said.message).toContain(message);
    expect(said.message).not.toContain('sk-secret');
  });

  test('an unreachable provider, and one that does not respond', async () => {
    const refused = failing('connect', new Error('connection refused'));
    expect((await testTarget({ upstream: refused, clock }, TARGET, 'chat')).message).toBe(
      'The provider cannot be reached (connection refused). Check the base address.',
    );
    const silent = failing('first-byte-time-out');
    expect((await testTarget({ upstream: silent, clock }, TARGET, 'chat')).message).toBe(
      'The provider did not answer within 30 seconds.',
    );
  });
});
