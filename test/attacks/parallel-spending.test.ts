import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
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
import { describeServers } from '../setup/use-redis.ts';
import { type StartedProcess, useProcesses } from '../setup/use-system.ts';

const PROCESSES = 4;
const CALLS = 500;
const AFFORDABLE = 50;

describeServers('holds of several gateway processes on PostgreSQL and Redis', () => {
  const processes = useProcesses();
  let upstream: ScriptedUpstream;
  let books: Database;
  let running: readonly StartedProcess[] = [];
  const body = { model: 'svc/chat-default', messages: [], max_tokens: 100 };
  const promptTokens = Math.ceil(JSON.stringify(body).length / 4);
  const estimateMicro = promptTokens + 4 * body.max_tokens;

  beforeAll(async () => {
    upstream = startScriptedUpstream();
    const { DATA_DIR = '', DATABASE_URL = '' } = processes.environment;
    mkdirSync(DATA_DIR, { recursive: true });
    const models = join(DATA_DIR, 'models.json');
    const targets = [{ base_url: upstream.url, model: 'scripted', api_key: 'sk-x', weight: 1 }];
    writeFileSync(models, JSON.stringify({ aliases: { 'svc/chat-default': { targets } } }));
    const env = { MODEL_CONFIG: models, IP_REQUESTS_PER_MINUTE: '0' };
    running = await Promise.all(Array.from({ length: PROCESSES }, () => processes.start('gateway.ts', env)));
    const bounds = { poolSize: 2, maxWaiting: 10, connectTimeoutMs: 60_000, statementTimeoutMs: 100_000 };
    const names = { url: DATABASE_URL, log: createSilentLog(), applicationName: 'turnpike-test' };
    books = await openPostgres({ ...bounds, ...names });
  });
  afterAll(async () => {
    upstream?.close();
    await books?.close();
  });

  test('G-29, billing bug 15: 500 calls at once on a balance worth 50 of their estimates: 50 or 51 pass, overdraft at most one', async () => {
    const { demo } = processes;
    const urls = running.map(({ origin }) => `${origin}/llm/v1/chat/completions`);
    // No gateway has read the account yet, so nothing has to be published.
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
    expect(admitted).toBeGreaterThanOrEqual(AFFORDABLE);
    expect(admitted).toBeLessThanOrEqual(AFFORDABLE + 1);
    expect(left).toBeGreaterThanOrEqual(-estimateMicro);
    expect(statuses.filter((status) => status === 429)).toHaveLength(CALLS - admitted);
    expect(statuses.filter((status) => status === 200)).toHaveLength(admitted);
  });
});
