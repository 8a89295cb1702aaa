import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { verifyDeployment } from '../../src/command-line/verify-deployment.ts';
import { type Forwarder, startForwarder, through } from '../doubles/forwarder.ts';
import { until } from '../doubles/until.ts';
import { describeServers } from '../setup/use-redis.ts';
import { useProcesses } from '../setup/use-system.ts';
import type { RunningSystem } from './running-system.ts';

describeServers('when a dependency is away', () => {
  const processes = useProcesses();
  let toDatabase: Forwarder;
  let toRedis: Forwarder;
  let system: RunningSystem;

  beforeAll(async () => {
    const { DATABASE_URL = '', REDIS_URL = '' } = processes.environment;
    toDatabase = startForwarder(Number(new URL(DATABASE_URL).port || 5432));
    toRedis = startForwarder(Number(new URL(REDIS_URL).port || 6379));
    system = await processes.startSystem({
      DATABASE_URL: through(DATABASE_URL, toDatabase),
      REDIS_URL: through(REDIS_URL, toRedis),
      DATABASE_STATEMENT_TIMEOUT_MS: '1000',
      DATABASE_CONNECT_TIMEOUT_MS: '1000',
    });
  });
  afterAll(() => {
    toDatabase?.close();
    toRedis?.close();
  });

  async function backend() {
    const response = await fetch(`${system.demo().backend_url}/health`);
    return { status: response.status, body: await response.json() };
  }
  async function readiness() {
    const response = await fetch(`${system.demo().ai_url}/health/ready`);
    return { status: response.status, body: await response.json() };
  }
  const isWell = async () => {
    const { body } = await backend();
    return body.status === 'ok' && (await readiness()).status === 200;
  };

  /** P-6, without its pauses: the exit code, and what is wrong. */
  async function verified() {
    const { backend_url: backend, gateway_url: gateway, ai_url: ai } = system.demo();
    const complained: string[] = [];
    const terminal = { print: () => {}, complain: (line: string) => void complained.push(line) };
    const clock = { ...createSystemClock(), sleep: async () => {} };
    const deployments = () => [{ backend, gateway, ai }];
    const command = verifyDeployment();
    if (command.works !== 'alone') throw new Error('it needs no database');
    const context = { terminal, clock, secrets: createSystemSecrets(), deployments };
    return { exitCode: await command.run(context, [backend]), wrong: complained.join('\n') };
  }

  /** By both services: each looks for itself, a moment apart. */
  const isSeenToBeDown = async () =>
    (await backend()).body.database.status === 'down' && (await readiness()).status === 503;

  test('P-1 without the cache the backend is degraded and still 200; A-2 the AI service stays ready', async () => {
    toRedis.cut();
    await until(async () => (await backend()).body.cache.status === 'down');
    expect(await backend()).toMatchObject({
      status: 200,
      body: { status: 'degraded', database: { status: 'up' }, cache: { status: 'down' } },
    });
    expect(await readiness()).toMatchObject({ status: 200, body: { status: 'degraded' } });
    expect(await verified()).toMatchObject({ exitCode: 1, wrong: expect.stringContaining('Down: cache.') });
    toRedis.restore();
    await until(isWell);
  });

  test('P-1 A-2 A-3 A-4 without the database: degraded, 503 for readiness, and still alive', async () => {
    toDatabase.cut();
    await until(isSeenToBeDown);
    expect(await backend()).toMatchObject({ status: 200, body: { status: 'degraded' } });
    const flat = await fetch(`${system.demo().ai_url}/health/ready?form=flat`);
    expect(flat.status).toBe(503);
    expect(await flat.json()).toMatchObject({ status: 'unhealthy', components: { database: 'unhealthy' } });
    expect((await fetch(`${system.demo().ai_url}/health/database`)).status).toBe(503);
    expect((await fetch(`${system.demo().ai_url}/health/live`)).status).toBe(200);
    expect((await fetch(`${system.demo().ai_url}/health`)).status).toBe(200);
    expect((await fetch(`${system.demo().backend_url}/healthz`)).status).toBe(200);
    const { exitCode, wrong } = await verified();
    expect([exitCode, wrong]).toEqual([1, expect.stringMatching(/^backend, health: Down: database/)]);
    expect(wrong).toContain('AI service, readiness: Not well: database unavailable');
    toDatabase.restore();
    await until(isWell);
  });

  test('a database that does not respond is down within its own time-out, and recovers', async () => {
    toDatabase.hold();
    await until(isSeenToBeDown);
    toDatabase.release();
    await until(isWell);
  });
});
