import { expect, test } from 'bun:test';
import { until } from '../doubles/until.ts';
import { keepRecent, noted, noteLine, noteProcess, takeRecent } from './recent.ts';

test('requests with their answers, log lines and the output of processes are said once', async () => {
  keepRecent();
  takeRecent();
  const send = noted(async () => Response.json({ error: 'no credits' }, { status: 402 }));
  const request = new Request('http://127.0.0.1/llm/v1/models?limit=1', { method: 'POST', body: '{"a":1}' });
  expect(await (await send(request)).json()).toEqual({ error: 'no credits' });
  noteLine(() => 'warn the balance is used up');
  noteProcess('gateway.ts (7)', () => 'ready\nstopped\n', Promise.resolve());
  expect(takeRecent().split('\n')).toEqual([
    'request: POST /llm/v1/models?limit=1 {"a":1}',
    'answer: 402 {"error":"no credits"}',
    'last log lines:',
    'warn the balance is used up',
    'last lines of gateway.ts (7):',
    'ready',
    'stopped',
  ]);
  // A process is said for as long as it runs.
  await until(() => takeRecent() === '');
});

test('a request that is not answered says so', async () => {
  keepRecent();
  takeRecent();
  const answer = Promise.withResolvers<Response>();
  const sending = noted(() => answer.promise)(new Request('http://127.0.0.1/x'));
  await until(() => takeRecent() === 'request: GET /x \nanswer: no answer yet');
  answer.resolve(new Response());
  await sending;
});
