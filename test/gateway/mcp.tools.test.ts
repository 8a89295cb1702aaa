import { describe, expect, test } from 'bun:test';
import { createJob } from '../../src/domain/jobs/job-changes.ts';
import type { Scope } from '../../src/domain/keys/api-key.ts';
import { CV_TEXT, POSTING_TEXT } from '../ai-service/workers-under-test.ts';
import { callTool, ERAS, type Era, openClient } from '../mcp/mcp-client.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway } from './gateway-under-test.ts';
import { chatAnswer, chunk, done, openStream, streamOf, USAGE, usageChunk } from './scripted-upstream.ts';

const ALL: readonly Scope[] = ['inference:chat', 'inference:parse', 'usage:read', 'jobs:read'];
const PRICED = { model: 'svc/chat-default' };

const gateway = useResource(() => openGateway());

async function open(era: Era, scopes: readonly Scope[] | undefined = ALL) {
  gateway.upstream.answer(() => Response.json(chatAnswer()));
  const minted = await gateway.mint(scopes === undefined ? {} : { scopes: [...scopes] });
  return { ...minted, client: await openClient(gateway.url, minted.rawKey, era) };
}

const sent = () =>
  JSON.parse(new TextDecoder().decode(gateway.upstream.received.at(-1)?.body)) as Record<string, unknown>;

describe.each([...ERAS])('a client of %s', (era) => {
  test('G-43 G-21 sees the tools of its key’s scopes, in one order, described', async () => {
    const expected: [readonly Scope[] | undefined, readonly string[]][] = [
      [['inference:chat'], ['chat', 'list_models']],
      [['usage:read'], ['get_usage']],
      [['jobs:read'], ['list_jobs']],
      [['inference:parse'], ['parse_cv', 'parse_jd']],
      [ALL, ['chat', 'list_models', 'get_usage', 'list_jobs', 'parse_cv', 'parse_jd']],
    ];
    for (const [scopes, names] of expected) {
      const { client } = await open(era, scopes);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual([...names]);
      for (const tool of tools) {
        expect(tool.title).toBeTruthy();
        expect(tool.description).toBeTruthy();
        expect(tool.annotations?.destructiveHint).toBe(false);
        // G-45: an output with nothing but the envelope fits the schema.
        expect(tool.outputSchema?.required).toBeUndefined();
        expect(tool.outputSchema?.properties).toHaveProperty('error');
      }
      await client.close();
    }
    const usual = await gateway.mint();
    const client = await openClient(gateway.url, usual.rawKey, era);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toEqual(['chat', 'list_models', 'get_usage', 'parse_cv', 'parse_jd']);
    await client.close();
  });

  test('G-44 chat takes prompt or messages and is charged as the same call over REST', async () => {
    const { client, rawKey, id } = await open(era);
    const messages = [{ role: 'user', content: 'Hi' }];
    const answered = await callTool(client, 'chat', {
      ...PRICED,
      prompt: 'Hi',
      temperature: 0,
      max_tokens: 5,
    });
    expect(sent()).toEqual({ model: 'provider-model-x', messages, temperature: 0, max_tokens: 5 });
    expect(answered).toEqual({
      isError: false,
      text: 'Hello.',
      body: { model: 'svc/chat-default', text: 'Hello.', finish_reason: 'stop', usage: USAGE },
    });
    const asked = { ...PRICED, messages, temperature: 0, max_tokens: 5 };
    await callTool(client, 'chat', asked);
    const url = `${gateway.url}/chat/completions`;
    const headers = { authorization: `Bearer ${rawKey}`, 'content-type': 'application/json' };
    await (await fetch(url, { method: 'POST', headers, body: JSON.stringify(asked) })).text();
    const rows = await gateway.calls(id, 3);
    const books = rows.map((row) => ({
      row: [row.endpoint, row.outcome, row.alias, row.prompt_tokens, row.completion_tokens, row.charge_micro],
      limits: [row.estimated_tokens, row.streamed, row.http_status],
    }));
    expect(books[0]).toEqual(books[2] as never);
    expect(books[1]).toEqual(books[2] as never);
    expect(rows[2]?.charge_micro).toBeGreaterThan(0n);
    for (const row of rows) expect(await gateway.credits.chargesOf(row.id)).toHaveLength(1);
    await client.close();
  });

  test('G-44 chat tells what has come where progress is asked for, and the call is charged once', async () => {
    const { client, id } = await open(era);
    const stream = openStream();
    gateway.upstream.answer(() => stream.response);
    const told: { progress: number; message?: string | undefined }[] = [];
    const first = Promise.withResolvers<void>();
    const onprogress = (progress: { progress: number; message?: string | undefined }) => {
      told.push({ progress: progress.progress, message: progress.message });
      first.resolve();
    };
    const answering = callTool(client, 'chat', { ...PRICED, prompt: 'Hi' }, { onprogress });
    stream.send(chunk('Good '));
    // It is told before the model has finished.
    await first.promise;
    expect(told).toEqual([{ progress: 5, message: 'Good ' }]);
    stream.send(chunk('morning.') + usageChunk + done);
    stream.end();
    const { text, body, isError } = await answering;
    expect({ text, isError, usage: body.usage }).toEqual({
      text: 'Good morning.',
      isError: false,
      usage: USAGE,
    });
    expect(told.map(({ message }) => message).join('')).toBe('Good morning.');
    expect(told.at(-1)?.progress).toBe(13);
    const [row] = await gateway.calls(id, 1);
    expect(row).toMatchObject({ outcome: 'SUCCEEDED', streamed: true, prompt_tokens: 7n });
    await client.close();
  });

  test('G-31 G-44 a stream that breaks off is a failed result and free', async () => {
    const { client, id } = await open(era);
    gateway.upstream.answer(() => streamOf(chunk('Half')));
    const result = await callTool(client, 'chat', { ...PRICED, prompt: 'Hi' }, { onprogress: () => {} });
    expect(result.isError).toBe(true);
    expect(result.body.error?.code).toBe('LLM_GATEWAY_UNAVAILABLE');
    const [row] = await gateway.calls(id, 1);
    expect(row).toMatchObject({ outcome: 'FAILED', charge_micro: 0n });
    await client.close();
  });

  test('G-43 list_models, get_usage and list_jobs answer what their routes answer', async () => {
    const { client, rawKey } = await open(era);
    const { database, clock, secrets } = gateway.parts;
    const jobQueue = { enqueue: async () => null };
    for (const title of ['Welder', 'Turner', 'Miller']) {
      await database.transaction((transaction) =>
        createJob(
          transaction,
          { clock, secrets, jobQueue },
          { companyId: gateway.companyId, createdBy: null, fields: { title } },
        ),
      );
    }
    const rest = async (path: string) => {
      const response = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${rawKey}` } });
      return (await response.json()) as Record<string, unknown>;
    };
    const models = await callTool(client, 'list_models');
    expect(models.body).toEqual(await rest('/models'));
    expect(models.text.split('\n')).toContain('svc/chat-default');
    const usage = await callTool(client, 'get_usage', {
      from: '2026-01-01',
      to: '2026-01-31',
      group_by: ['model', 'day'],
    });
    const { limits: _, ...same } = await rest('/usage?from=2026-01-01&to=2026-01-31&group_by=model,day');
    expect(usage.body).toMatchObject(same);
    expect(JSON.parse(usage.text)).toEqual(usage.body);
    const page = await callTool(client, 'list_jobs', { limit: 2 });
    expect(page.body).toEqual(await rest('/jobs?limit=2'));
    const next = await callTool(client, 'list_jobs', { limit: 2, after: page.body.next_cursor });
    expect(next.body).toEqual(await rest(`/jobs?limit=2&after=${page.body.next_cursor}`));
    expect((next.body.data as unknown[]).length).toBeGreaterThan(0);
    await client.close();
  });

  test('G-7 G-8 G-43 parse_cv and parse_jd read a text or a file in base64, and are charged once', async () => {
    const { client, id } = await open(era);
    const answering = (content: unknown) => () =>
      Response.json(
        chatAnswer({
          choices: [{ index: 0, message: { role: 'assistant', content: JSON.stringify(content) } }],
        }),
      );
    gateway.upstream.answer(
      answering({ document_kind: 'cv', basics: { name: 'Ada Byron' }, work: [], education: [], skills: [] }),
    );
    const cv = await callTool(client, 'parse_cv', { text: CV_TEXT });
    expect(cv).toMatchObject({ isError: false, body: { object: 'parsed_cv', model: 'svc/extract-default' } });
    const file = { name: 'posting.txt', content_base64: new TextEncoder().encode(POSTING_TEXT).toBase64() };
    const posting = await callTool(client, 'parse_jd', { file });
    expect(posting).toMatchObject({ isError: false, body: { object: 'parsed_jd' } });
    const rows = await gateway.calls(id, 2);
    expect(rows.map(({ endpoint }) => endpoint)).toEqual(['parse/cv', 'parse/jd']);
    expect(await gateway.credits.chargesOf(rows[0]?.id)).toHaveLength(1);
    await client.close();
  });
});
