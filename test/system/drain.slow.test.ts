import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openPglite } from '../../src/adapters/database/pglite/pglite.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';
import { post } from '../gateway/gateway-under-test.ts';
import { chunk, done, openStream, startScriptedUpstream, usageChunk } from '../gateway/scripted-upstream.ts';
import { preparedDataFolder, startSystem } from './running-system.ts';

test('SIGTERM: no new calls, a running stream ends complete and is settled, exit code 0', async () => {
  const { folder, remove } = await preparedDataFolder();
  const upstream = startScriptedUpstream();
  const stream = openStream();
  upstream.answer(() => stream.response);
  const config = join(folder, 'models.json');
  const targets = [{ base_url: upstream.url, model: 'provider-model-x' }];
  writeFileSync(config, JSON.stringify({ aliases: { 'svc/chat-default': { targets } } }));
  const system = await startSystem(folder, { MODEL_CONFIG: config });
  const { gateway_url, api_key } = system.demo();
  const body = { model: 'svc/chat-default', messages: [], stream: true };
  stream.send(chunk('first'));
  const response = await post(`${gateway_url}/chat/completions`, api_key, body);
  const text = response.text();

  system.signal('SIGTERM');
  await until(() => system.output().includes('"stopping"'));
  const late = await post(`${gateway_url}/chat/completions`, api_key, body).then(
    ({ status }) => status,
    () => 'refused',
  );
  expect(late === 'refused' || late === 503).toBe(true);
  stream.send(chunk('second') + usageChunk + done);
  stream.end();
  expect((await text).endsWith(done)).toBe(true);
  expect(await system.exited).toBe(0);

  const options = {
    folder: join(folder, 'database'),
    log: createSilentLog(),
    maxWaiting: 10,
    statementTimeoutMs: 100_000,
  };
  const database = await openPglite(options);
  const calls = await database.query('select outcome, completion_tokens from calls');
  expect(calls).toEqual([{ outcome: 'SUCCEEDED', completion_tokens: 5n }]);
  await database.close();
  upstream.close();
  await remove();
});
