import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { addMatchGenerator } from '../../src/ai-service/match-generator.ts';
import { type Generator, startGenerator } from '../../src/domain/matching/generator/generator.ts';
import { internalAccess } from '../../src/http/client-identity.ts';
import { createServiceApp } from '../../src/http/service-app.ts';
import { createManualClock, type ManualClock } from '../doubles/manual-clock.ts';
import { until } from '../doubles/until.ts';
import { useMemoryDatabase } from '../setup/use-database.ts';
import { letterVectors, openMatchingWorld, scoresOf } from './matching-world.ts';

const PATH = '/api/v1/background-tasks/match-score-generator';
const TOKEN = 'an-internal-token-of-some-length';
const database = useMemoryDatabase();
let clock: ManualClock;
let generator: Generator;
let world: Awaited<ReturnType<typeof openMatchingWorld>>;
let ask: (method: string, name: string, token?: string) => Promise<{ status: number; body: unknown }>;

beforeEach(async () => {
  clock = createManualClock();
  world = await openMatchingWorld(database, { clock });
  generator = await startGenerator(world.parts);
  const { log } = world.parts;
  const app = createServiceApp({
    clock,
    log,
    secrets: createSystemSecrets(),
    maxBodyBytes: 1_000,
    answerTimeoutMs: null,
  });
  app.use('/api/*', internalAccess([TOKEN]));
  const modelCalls = { ...letterVectors, breakerState: () => 'half-open' as const };
  addMatchGenerator(app, { database, databaseClock: clock, generator, modelCalls });
  ask = async (method, name, token = TOKEN) => {
    const headers = { authorization: `Bearer ${token}` };
    const response = await app.request(`${PATH}/${name}`, { method, headers });
    return { status: response.status, body: await response.json() };
  };
});
afterEach(() => generator.close(1_000));

async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  await until(async () => {
    if (await holds()) return true;
    await clock.advance(100);
    return false;
  });
}

describe('A-9 the generator’s routes', () => {
  test('A-6 are internal', async () => {
    for (const [method, name] of [
      ['GET', 'status'],
      ['POST', 'start'],
      ['POST', 'stop'],
      ['GET', 'metrics'],
    ] as const) {
      expect((await ask(method, name, 'wrong')).status).toBe(401);
    }
  });

  test('A-9 status has the documented fields, and the first start runs', async () => {
    await eventually(() => generator.own().state === 'running');
    const { status, body } = await ask('GET', 'status');
    expect(status).toBe(200);
    expect(body).toEqual({
      status: 'running',
      uptime_seconds: 0,
      current_batch: 0,
      queue_size: 0,
      desired_state: 'running',
    });
  });

  test('A-10 stop and start, each twice', async () => {
    for (const _ of [1, 2]) expect((await ask('POST', 'stop')).status).toBe(200);
    await eventually(() => generator.own().state === 'stopped');
    expect((await ask('GET', 'status')).body).toMatchObject({ status: 'stopped', uptime_seconds: 0 });
    for (const _ of [1, 2]) expect((await ask('POST', 'start')).body).toMatchObject({ status: 'running' });
    await eventually(() => generator.own().state === 'running');
  });

  test('A-11 metrics have the documented fields', async () => {
    await world.addJob();
    await world.addTalent();
    await eventually(async () => (await scoresOf(database, world.companyId)).length === 1);
    await eventually(() => generator.own().counts.totalProcessed === 1);
    const { body } = await ask('GET', 'metrics');
    expect(body).toMatchObject({
      total_processed: 1,
      total_errors: 0,
      avg_processing_time_ms: 0,
      queue_depth: 0,
      throughput_per_minute: 1,
      last_processed_at: expect.stringMatching(/^2030-01-01T.*Z$/),
      processing_rate: 0,
      error_rate: 0,
      circuit_breaker_state: 'HALF-OPEN',
    });
  });
});
