import { beforeAll, describe, expect, test } from 'bun:test';
import { CV_TEXT, POSTING_TEXT } from '../ai-service/workers-under-test.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer } from './scripted-upstream.ts';

interface Parsed {
  readonly object: string;
  readonly model: string;
  readonly engine: string;
  readonly document: { readonly kind: string; readonly warnings: readonly string[] };
  readonly profile: { readonly basics: Record<string, unknown>; readonly skills: readonly object[] } | null;
  readonly posting: Record<string, unknown> | null;
  readonly evidence: readonly { readonly path: string; readonly start: number; readonly end: number }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

const answering = (profile: object) => () => {
  const message = { role: 'assistant', content: JSON.stringify(profile) };
  return Response.json(chatAnswer({ choices: [{ index: 0, message }] }));
};

const PROFILE = {
  document_kind: 'cv',
  basics: { name: 'Ada Byron', email: 'ada.byron@example.org' },
  work: [],
  education: [],
  skills: ['Python'],
};

const model = 'svc/extract-fast';
const base64 = (text: string) => new TextEncoder().encode(text).toBase64();

describe('POST /parse/cv and /parse/jd', () => {
  const gateway = useResource(() => openGateway({ embeddedAllowed: true }));

  async function parse(body: unknown, { path = 'parse/cv', rawKey = '' } = {}): Promise<Parsed> {
    const response = await post(`${gateway.url}/${path}`, rawKey, body);
    expect(response.status).toBe(200);
    return (await response.json()) as Parsed;
  }

  test('G-7 a model reads the CV by a JSON schema, and every value has its position in the text', async () => {
    const key = await gateway.mint();
    gateway.upstream.answer(answering({ ...PROFILE, skills: ['Python', 'Fortran'] }));
    const parsed = await parse({ text: CV_TEXT }, key);
    expect(parsed).toMatchObject({ object: 'parsed_cv', model: 'svc/extract-default', engine: 'model' });
    expect(parsed).toMatchObject({ document: { kind: 'cv' }, profile: { basics: { name: 'Ada Byron' } } });
    // Not in the text, so not in the record.
    expect(JSON.stringify(parsed.profile)).not.toContain('Fortran');
    const name = parsed.evidence.find(({ path }) => path === 'basics.name');
    expect(CV_TEXT.slice(name?.start, name?.end)).toBe('Ada Byron');
    const sent = JSON.parse(new TextDecoder().decode(gateway.upstream.received.at(-1)?.body));
    expect([sent.model, sent.response_format.type]).toEqual(['provider-model-x', 'json_schema']);
    expect(parsed.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 5 });
    const [call] = await gateway.calls(key.id, 1);
    expect(call).toMatchObject({ endpoint: 'parse/cv', outcome: 'SUCCEEDED', alias: 'svc/extract-default' });
    expect(await gateway.credits.chargesOf(call?.id)).toHaveLength(1);
  });

  test('G-28 where the model fails, the embedded engine answers, and nothing is charged', async () => {
    const key = await gateway.mint();
    gateway.upstream.answer(() => new Response('no', { status: 500 }));
    const parsed = await parse({ text: CV_TEXT }, key);
    const usage = { prompt_tokens: 0, total_tokens: 0 };
    expect(parsed).toMatchObject({ engine: 'embedded', document: { kind: 'cv' }, usage });
    expect(parsed.profile?.basics.email).toBe('ada.byron@example.org');
    const [call] = await gateway.calls(key.id, 1);
    expect(call).toMatchObject({ outcome: 'FAILED', charge_micro: 0n, http_status: 200 });
  });

  test('G-8 a posting without a provider: the embedded engine is the model, and its tokens are charged', async () => {
    const key = await gateway.mint();
    const asked = { text: POSTING_TEXT, model: 'svc/extract-fast' };
    const parsed = await parse(asked, { path: 'parse/jd', rawKey: key.rawKey });
    expect(parsed).toMatchObject({ object: 'parsed_jd', model: 'svc/extract-fast', engine: 'embedded' });
    expect(parsed.posting).toMatchObject({ title: 'Senior Backend Engineer' });
    expect(Object.keys(parsed)).not.toContain('profile');
    const [call] = await gateway.calls(key.id, 1);
    const prompt_tokens = BigInt(Math.ceil(POSTING_TEXT.length / 4));
    expect(call).toMatchObject({ outcome: 'SUCCEEDED', prompt_tokens });
    expect(call?.charge_micro as bigint).toBeGreaterThan(0n);
    expect(parsed.usage.prompt_tokens).toBe(Number(call?.prompt_tokens));
  });

  test('G-7 the same CV as a text, a file and a form gives the same record', async () => {
    const { rawKey } = await gateway.mint();
    const model = 'svc/extract-fast';
    const bytes = new TextEncoder().encode(CV_TEXT);
    const form = new FormData();
    form.set('file', new File([bytes], 'cv.txt'));
    form.set('model', model);
    const headers = { authorization: `Bearer ${rawKey}` };
    const uploaded = await fetch(`${gateway.url}/parse/cv`, { method: 'POST', headers, body: form });
    const records = [
      await parse({ text: CV_TEXT, model }, { rawKey }),
      await parse({ file: { name: 'x.pdf', content_base64: bytes.toBase64() }, model }, { rawKey }),
      (await uploaded.json()) as Parsed,
    ].map(({ profile }) => profile);
    expect(records[0]).not.toBeNull();
    for (const record of records) expect(record).toEqual(records[0] as never);
  });

  test('G-47 the same parse with the same Idempotency-Key is answered from the stored answer, without a second charge', async () => {
    const key = await gateway.mint();
    gateway.upstream.answer(answering(PROFILE));
    const init = { headers: { 'idempotency-key': 'parse-1' } };
    const first = await post(`${gateway.url}/parse/cv`, key.rawKey, { text: CV_TEXT }, init);
    const before = gateway.upstream.received.length;
    const again = await post(`${gateway.url}/parse/cv`, key.rawKey, { text: CV_TEXT }, init);
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(await again.text()).toBe(await first.text());
    expect(gateway.upstream.received.length).toBe(before);
  });
});

describe('refusals of a parse call, in their order (G-37)', () => {
  let rawKey: string;
  const gateway = useResource(() => openGateway({ embeddedAllowed: true, maxBodyBytes: 16 * 1024 * 1024 }));
  beforeAll(async () => {
    rawKey = (await gateway.mint()).rawKey;
  });
  const parse = (body: unknown, key = rawKey, init: RequestInit = {}) =>
    post(`${gateway.url}/parse/cv`, key, body, init);

  test.each([
    ['no JSON', '{', null],
    ['neither text nor file', {}, 'text'],
    ['both', { text: 'a', file: { name: 'a', content_base64: 'YQ==' } }, 'file'],
    ['an empty text', { text: ' \n' }, 'text'],
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

  test('G-7 a text or a file past its bound is a 413 that names the bound', async () => {
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

  test('G-7 a file that cannot be read is a 422 with the reason, and costs nothing', async () => {
    const key = await gateway.mint();
    const before = (await gateway.credits.level()).balanceMicro;
    for (const content of ['%PDF-1.7\nthis is no PDF', '\u0000\u0001\u0002\u0003 binary \u0000']) {
      const file = { name: 'cv.pdf', content_base64: base64(content) };
      const refused = await refusalOf(parse({ file, model }, key.rawKey));
      expect(refused).toMatchObject({ status: 422, type: 'invalid_request_error', param: 'file' });
      expect(String(refused.message).length).toBeGreaterThan(10);
    }
    const calls = await gateway.calls(key.id, 2);
    expect(calls[0]).toMatchObject({ outcome: 'FAILED', http_status: 422, charge_micro: 0n });
    expect((await gateway.credits.level()).balanceMicro).toBe(before);
    expect(await gateway.credits.held()).toBe(0);
  });

  test('G-31 a client that disconnects is not charged, and the provider’s call is aborted', async () => {
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
