import { beforeAll, describe, expect, test } from 'bun:test';
import { CV_TEXT } from '../ai-service/workers-under-test.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';

let rawKey: string;
const gateway = useResource(() => openGateway({ embeddedAllowed: true, maxBodyBytes: 16 * 1024 * 1024 }));
beforeAll(async () => {
  rawKey = (await gateway.mint()).rawKey;
});

const model = 'svc/extract-fast';
const parse = (body: unknown, key = rawKey, init: RequestInit = {}) =>
  post(`${gateway.url}/parse/cv`, key, body, init);
const base64 = (text: string) => new TextEncoder().encode(text).toBase64();

describe('refusals of a parse call, in their order (G-37)', () => {
  test('G-26 the scope inference:parse comes before the body', async () => {
    const { rawKey: chatOnly } = await gateway.mint({ scopes: ['inference:chat'] });
    expect(await refusalOf(parse('{', chatOnly))).toMatchObject({ status: 403, code: 'LLM_SCOPE_DENIED' });
  });

  test.each([
    ['no JSON', '{', null],
    ['a list', [], null],
    ['neither text nor file', {}, 'text'],
    ['both', { text: 'a', file: { name: 'a', content_base64: 'YQ==' } }, 'file'],
    ['an empty text', { text: ' \n' }, 'text'],
    ['a text that is a number', { text: 7 }, 'text'],
    ['a model that is a number', { text: 'a', model: 7 }, 'model'],
    ['a file without content', { file: { name: 'a' } }, 'file.content_base64'],
    ['content that is no base64', { file: { name: 'a', content_base64: '***' } }, 'file.content_base64'],
    ['an empty file', { file: { name: 'a', content_base64: '' } }, 'file'],
  ])('G-36 %s is a 400 that names the field', async (_what, body, param) => {
    expect(await refusalOf(parse(body))).toMatchObject({ status: 400, type: 'invalid_request_error', param });
  });

  test('G-36 a body of another kind is a 400', async () => {
    const init = { headers: { 'content-type': 'text/plain' } };
    expect(await refusalOf(parse('Ada', rawKey, init))).toMatchObject({ status: 400 });
    const form = { headers: { 'content-type': 'multipart/form-data' } };
    expect(await refusalOf(parse('no boundary', rawKey, form))).toMatchObject({ status: 400 });
  });

  test('G-7 a text or a file past its bound is a 413 that says the bound', async () => {
    const long = await refusalOf(parse({ text: 'a'.repeat(500_001) }));
    expect(long).toMatchObject({ status: 413, param: 'text', message: expect.stringContaining('500000') });
    const bytes = new Uint8Array(10 * 1024 * 1024 + 1);
    const large = await refusalOf(parse({ file: { name: 'a.pdf', content_base64: bytes.toBase64() } }));
    expect(large).toMatchObject({ status: 413, param: 'file', message: expect.stringContaining('10485760') });
  });

  test('G-27 an alias outside the allowlist, unknown, or not an extract one', async () => {
    const { rawKey: narrow } = await gateway.mint({ models: ['svc/extract-fast'] });
    // G-28: the default alias is held to the allowlist too.
    for (const body of [{ text: CV_TEXT }, { text: CV_TEXT, model: 'gpt-5' }]) {
      const refused = await refusalOf(parse(body, narrow));
      expect(refused).toMatchObject({ status: 403, code: 'LLM_MODEL_NOT_ALLOWED', param: 'model' });
    }
    expect((await parse({ text: CV_TEXT, model }, narrow)).status).toBe(200);
    const chat = await refusalOf(parse({ text: CV_TEXT, model: 'svc/chat-default' }));
    expect(chat).toMatchObject({ status: 400, param: 'model' });
  });

  test('G-40 the key’s limits hold for parse calls', async () => {
    const { rawKey: slow } = await gateway.mint({ requestsPerMinute: 1 });
    expect((await parse({ text: CV_TEXT, model }, slow)).status).toBe(200);
    const refused = await refusalOf(parse({ text: CV_TEXT, model }, slow));
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
  });

  test('G-7 a file that cannot be read is a 422 that says why, and costs nothing', async () => {
    const key = await gateway.mint();
    const before = (await gateway.credits.level()).balanceMicro;
    for (const content of ['%PDF-1.7\nthis is no PDF', '\u0000\u0001\u0002\u0003 binary \u0000']) {
      const file = { name: 'cv.pdf', content_base64: base64(content) };
      const refused = await refusalOf(parse({ file, model }, key.rawKey));
      expect(refused).toMatchObject({ status: 422, type: 'invalid_request_error', param: 'file' });
      expect(String(refused.message).length).toBeGreaterThan(10);
    }
    const calls = await gateway.calls(key.id, 2);
    expect(calls).toMatchObject([
      { outcome: 'FAILED', http_status: 422, charge_micro: 0n },
      { outcome: 'FAILED', http_status: 422 },
    ]);
    expect((await gateway.credits.level()).balanceMicro).toBe(before);
    expect(await gateway.credits.held()).toBe(0);
  });

  test('G-29 without credits a parse is a 402, also where the embedded engine is the model', async () => {
    const poor = await openGateway({ embeddedAllowed: true, balanceMicro: 0n });
    const { rawKey: own } = await poor.mint();
    const refused = await refusalOf(post(`${poor.url}/parse/cv`, own, { text: CV_TEXT, model }));
    expect(refused).toMatchObject({ status: 402, code: 'INSUFFICIENT_CREDITS' });
    await poor.close();
  });

  test('G-31 a client that leaves is not charged, and the provider is let go', async () => {
    const key = await gateway.mint();
    const leaving = new AbortController();
    const begun = Promise.withResolvers<void>();
    gateway.upstream.answer(async ({ closed }) => {
      begun.resolve();
      await closed;
      return new Response();
    });
    const call = parse({ text: CV_TEXT }, key.rawKey, { signal: leaving.signal }).catch(() => 'left');
    await begun.promise;
    leaving.abort();
    expect(await call).toBe('left');
    const [row] = await gateway.calls(key.id, 1);
    expect(row).toMatchObject({ outcome: 'FAILED', reason: 'client-left', charge_micro: 0n });
    expect(await gateway.credits.held()).toBe(0);
  });
});
