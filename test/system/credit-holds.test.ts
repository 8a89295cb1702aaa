import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { openPostgres } from '../../src/adapters/database/postgres.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import type { Database } from '../../src/ports/database.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';
import { creditsOf } from '../gateway/credits-under-test.ts';
import { chatAnswer, type ScriptedUpstream, startScriptedUpstream } from '../gateway/scripted-upstream.ts';
import { type FreshDatabase, freshDatabase } from '../services/fresh-database.ts';
import { givenDatabase, givenRedis } from '../services/given.ts';
import { type DemoFile, emptyDataFolder, type RunningProcess, startProcess } from './running-system.ts';

const missing = givenDatabase() === null || givenRedis() === null;
const PROCESSES = 4;
const CALLS = 500;
const AFFORDABLE = 50;

describe.skipIf(missing)('holds of several gateway processes on PostgreSQL and Redis', () => {
  let database: FreshDatabase;
  let data: Awaited<ReturnType<typeof emptyDataFolder>>;
  let upstream: ScriptedUpstream;
  let books: Database;
  const running: RunningProcess[] = [];
  const body = { model: 'svc/chat-default', messages: [], max_tokens: 100 };
  const promptTokens = Math.ceil(JSON.stringify(body).length / 4);
  const estimateMicro = promptTokens + 4 * body.max_tokens;

  beforeAll(async () => {
    [database, data] = await Promise.all([freshDatabase(), emptyDataFolder()]);
    upstream = startScriptedUpstream();
    mkdirSync(data.folder, { recursive: true });
    const models = join(data.folder, 'models.json');
    const targets = [{ base_url: upstream.url, model: 'scripted', api_key: 'sk-x', weight: 1 }];
    writeFileSync(models, JSON.stringify({ aliases: { 'svc/chat-default': { targets } } }));
    const env = {
      DATA_DIR: data.folder,
      DATABASE_URL: database.url,
      REDIS_URL: givenRedis() ?? '',
      MODEL_CONFIG: models,
      IP_REQUESTS_PER_MINUTE: '0',
    };
    for (let n = 0; n < PROCESSES; n += 1) {
      const process = startProcess('gateway.ts', [], env);
      running.push(process);
      await process.line('ready');
    }
    const bounds = { poolSize: 2, maxWaiting: 10, connectTimeoutMs: 5_000, statementTimeoutMs: 20_000 };
    const names = { url: database.url, log: createSilentLog(), applicationName: 'turnpike-test' };
    books = await openPostgres({ ...bounds, ...names });
  });

  afterAll(async () => {
    for (const process of running) process.signal('SIGKILL');
    await Promise.all(running.map((process) => process.exited));
    upstream.close();
    await books?.close();
    await database.drop();
    await data.remove();
  });

  async function chatUrls(): Promise<string[]> {
    const lines = await Promise.all(running.map((process) => process.line('ready')));
    return lines.map((line) => {
      const origin = new URL(/http:\S+?(?=[,\s]|$)/.exec(line)?.[0] ?? '').origin;
      return `${origin}/llm/v1/chat/completions`;
    });
  }

  test('G-29 500 calls at once on a balance worth 50 of their estimates: 50 or 51 pass, overdraft at most one', async () => {
    const demo: DemoFile = JSON.parse(readFileSync(join(data.folder, 'demo.json'), 'utf8'));
    const urls = await chatUrls();
    // No gateway has looked at the account yet, so nobody need be told.
    const sharedState = createInProcessState({ clock: createSystemClock() });
    const secrets = createSystemSecrets();
    const credits = creditsOf({ database: books, sharedState, secrets }, demo.company_id);
    const worth = BigInt(estimateMicro * AFFORDABLE);
    await credits.grant(worth - (await credits.level()).balanceMicro);
    const gate = Promise.withResolvers<void>();
    const usage = { prompt_tokens: promptTokens, completion_tokens: body.max_tokens };
    upstream.answer(async () => {
      await gate.promise;
      return Response.json(chatAnswer({ usage }));
    });
    const headers = { authorization: `Bearer ${demo.api_key}`, 'content-type': 'application/json' };
    const statuses: number[] = [];
    const all = Array.from({ length: CALLS }, async (_, n) => {
      const url = urls[n % PROCESSES] ?? '';
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      await response.text();
      statuses.push(response.status);
    });
    await until(() => statuses.length + upstream.received.length === CALLS);
    const admitted = upstream.received.length;
    gate.resolve();
    await Promise.all(all);
    const left = Number((await credits.level()).balanceMicro);
    console.log(
      `${PROCESSES} processes: ${admitted} of ${CALLS} admitted, balance ${left} of ${worth} left, one estimate is ${estimateMicro}`,
    );
    expect(admitted).toBeGreaterThanOrEqual(AFFORDABLE);
    expect(admitted).toBeLessThanOrEqual(AFFORDABLE + 1);
    expect(left).toBeGreaterThanOrEqual(-estimateMicro);
    expect(statuses.filter((status) => status === 402)).toHaveLength(CALLS - admitted);
    expect(statuses.filter((status) => status === 200)).toHaveLength(admitted);
  });
});
