import { describe, expect, spyOn, test } from 'bun:test';
import { databaseFailure } from '../../src/adapters/database/failure.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { gauge, metricsText } from '../../src/http/metrics.ts';
import { useResource } from '../setup/use-resource.ts';
import { openAiService, SERVICE } from './ai-service-under-test.ts';

const service = useResource(() => openAiService());

async function addCalls(endpoint: string, outcome: string, durations: readonly number[], hoursAgo = 0) {
  const { database, companyId, clock } = service;
  const atMs = clock.now() - hoursAgo * 3_600_000;
  for (const durationMs of durations) {
    const hex = atMs.toString(16).padStart(12, '0');
    const id = `${hex.slice(0, 8)}-${hex.slice(8)}${createSystemSecrets().newId().slice(13)}`;
    await database.query(
      `insert into calls (id, company_id, request_id, endpoint, outcome, http_status, streamed, estimated_tokens,
         started_at, duration_ms) values ($1, $2, 'r', $3, $4, 200, false, 0, $5, $6)`,
      [id, companyId, endpoint, outcome, new Date(atMs), durationMs],
    );
  }
}

describe('A-8 monitoring', () => {
  test('A-8 stats report the process, the pool, and the length and age of each queue', async () => {
    const { body } = await service.ask('/monitoring/stats');
    expect(body).toMatchObject({
      uptime_seconds: 5,
      event_loop_delay_ms: { p50: 1, p99: 2, max: 3 },
      memory: { resident_bytes: 100 },
      host: {
        ...{ uptime_seconds: 86_400, cpu: { count: 4, used_share: 0.25 } },
        load_average: { '1m': 0.5, '5m': 0.4, '15m': 0.3 },
        memory: { total_bytes: 8_000, available_bytes: 3_000, limit_bytes: null },
        disk: { total_bytes: 100_000, available_bytes: 60_000 },
      },
      database_pool: { size: 1 },
      queues: [{ name: 'meeting', waiting: 0, active: 0, dead: 0, oldest_waiting_seconds: null }],
    });
    const timestamp = new Date(service.clock.now()).toISOString();
    const event = { event: 'room_created', room: 'stats', timestamp };
    expect((await service.ask('/api/events/room/created', { method: 'POST', body: event })).status).toBe(202);
    const [queue] = (await service.ask('/monitoring/stats')).body.queues;
    expect(queue).toMatchObject({ waiting: 1, oldest_waiting_seconds: expect.any(Number) });
  });

  test('A-8 operations are counted by kind and outcome, with percentiles, in the requested hours', async () => {
    expect((await service.ask('/monitoring/operations')).body).toMatchObject({
      status: 'idle',
      operations: [],
    });
    await addCalls('parse/cv', 'SUCCEEDED', [100, 200, 300], 2);
    await addCalls('chat/completions', 'FAILED', [50]);
    const { body } = await service.ask('/monitoring/operations');
    expect(body).toMatchObject({ status: 'degraded', totals: { succeeded: 0, failed: 1, refused: 0 } });
    const longer = (await service.ask('/monitoring/operations?hours=3')).body;
    expect(longer.operations).toEqual([
      { kind: 'chat/completions', outcome: 'failed', count: 1, latency_ms: { p50: 50, p95: 50, p99: 50 } },
      { kind: 'parse/cv', outcome: 'succeeded', count: 3, latency_ms: { p50: 200, p95: 290, p99: 298 } },
    ]);
    expect((await service.ask('/metrics')).text).toContain(
      'turnpike_ai_operations_last_hour{kind="chat/completions",outcome="failed"} 1\n',
    );
    expect((await service.ask('/monitoring/operations?hours=169')).status).toBe(400);
  });

  test('A-15 ai-services report each breaker, its last error and its next try; metrics report its state', async () => {
    expect((await service.ask('/monitoring/ai-services')).body.services).toEqual([
      {
        ...{ service: SERVICE, state: 'closed', failures_in_a_row: 0, aliases: ['svc/chat-default'] },
        ...{ last_error: null, next_try_at: null, cooling: [] },
      },
    ]);
    for (let failure = 0; failure < 5; failure += 1) {
      const entry = await service.breakers.enter(SERVICE);
      if (entry.outcome === 'enter') entry.report({ failure: '503' });
    }
    await service.clock.advance(1_000);
    const now = service.clock.now();
    const services = async () => (await service.ask('/monitoring/ai-services')).body.services;
    const [breaker] = await services();
    const at = new Date(now - 1_000).toISOString();
    expect(breaker).toMatchObject({ state: 'open', last_error: { reason: '503', at } });
    expect(Date.parse(breaker.next_try_at) - now).toBe(59_000);
    // What failed in another process, which has not opened its breaker for it.
    await service.database.query(
      `insert into log_entries (timestamp, level, message, context)
       values ($1, 'warn', 'a model target failed', '{"targetId":"t1","reason":"late"}')`,
      [new Date(now)],
    );
    expect((await services())[0].last_error.reason).toBe('late');
    const { text } = await service.ask('/metrics');
    expect(text).toContain(`turnpike_circuit_breaker_state{service="${SERVICE}"} 2\n`);
    expect(text).toContain('turnpike_queue_jobs{queue="meeting",state="waiting"} 1\n');
    expect(text).toContain('turnpike_host_memory_bytes{kind="available"} 3000\n');
    expect(text).toContain('# TYPE turnpike_host_cpu_seconds_total counter\n');
    expect(text).toContain('# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 1.5\n');
    expect((await service.ask('/metrics', { token: 'wrong' })).status).toBe(401);
  });

  test('A-8 without the database, stats and ai-services show what the process knows, and the others say why not', async () => {
    const failure = databaseFailure('unavailable', 'no connection');
    const query = spyOn(service.database, 'query').mockRejectedValue(failure);
    try {
      const stats = await service.ask('/monitoring/stats');
      expect(stats).toMatchObject({ status: 200, body: { uptime_seconds: 5, queues: null } });
      const { body } = await service.ask('/monitoring/ai-services');
      expect(body.services).toMatchObject([
        { service: SERVICE, state: 'open', last_error: { reason: '503' } },
      ]);
      const operations = await service.ask('/monitoring/operations');
      expect(operations.status).toBe(503);
      expect(operations.body.error.message).toStartWith('The database is unavailable right now. Try again');
    } finally {
      query.mockRestore();
    }
  });

  test('A-2 readiness is correct while each part fails in turn, and when it works again', async () => {
    const ready = async () => (await service.ask('/health/ready')).body;
    const { status, components } = await ready();
    expect(components).toMatchObject({ cv_worker: 'stopped', workers: { status: 'stopped', active: 0 } });
    expect([status, components.circuit_breakers]).toEqual(['degraded', { [SERVICE]: 'open' }]);
    await service.clock.advance(60_000);
    const entry = await service.breakers.enter(SERVICE);
    if (entry.outcome === 'enter') entry.report('success');

    type State = 'running' | 'failing' | 'stopped';
    const states: Record<string, State> = { cv_worker: 'running', match_score_generator: 'stopped' };
    for (const name of Object.keys(states)) {
      const seen = () => ({ state: states[name] ?? 'stopped', active: 1, idle: 1 });
      service.registry.add(name, { status: seen, mayRest: name === 'match_score_generator' });
    }
    const workers = async () => {
      const { status: whole, components: shown } = await ready();
      const { cv_worker, match_score_generator, workers: summary } = shown;
      const { states: finer } = summary;
      return [
        whole,
        summary.status,
        cv_worker,
        match_score_generator,
        finer.cv_worker,
        finer.match_score_generator,
      ];
    };
    // A pause set by an operator is no fault; being unable to run is one.
    expect(await workers()).toEqual(['healthy', 'healthy', 'healthy', 'stopped', 'processing', 'stopped']);
    states.match_score_generator = 'failing';
    expect(await workers()).toEqual(['degraded', 'degraded', 'healthy', 'degraded', 'processing', 'failing']);
    const { text } = await service.ask('/metrics');
    expect(text).toContain('turnpike_worker_up{worker="cv_worker"} 1\n');
    expect(text).toContain('turnpike_worker_up{worker="match_score_generator"} 0\n');
    states.cv_worker = 'stopped';
    expect(await workers()).toEqual(['degraded', 'degraded', 'stopped', 'degraded', 'stopped', 'failing']);
    Object.assign(states, { cv_worker: 'running', match_score_generator: 'running' });
    expect(await workers()).toEqual(['healthy', 'healthy', 'healthy', 'healthy', 'processing', 'processing']);

    service.state.cache = { status: 'down', latencyMs: 1_000 };
    expect((await service.ask('/health/ready')).status).toBe(200);
    expect((await ready()).status).toBe('degraded');
    service.state.database = { status: 'down', latencyMs: 2_000 };
    expect((await service.ask('/health/ready')).status).toBe(503);
    expect((await service.ask('/health/ready?form=flat')).body).toMatchObject({
      ...{
        status: 'unhealthy',
        components: { database: 'unhealthy', cv_worker: 'degraded', document_worker: 'stopped' },
      },
    });
    expect((await service.ask('/health/live')).status).toBe(200);
    Object.assign(service.state, { database: { status: 'up', latencyMs: 1 } });
    Object.assign(service.state, { cache: { status: 'up', latencyMs: 1 } });
    expect((await ready()).status).toBe('healthy');
  });
});

describe('the text for Prometheus', () => {
  test('A-8 escapes values of labels, and leaves out values that are not numbers', () => {
    const samples = [
      { labels: { name: 'a"b\\c\nd' }, value: 1 },
      { labels: { name: 'none' }, value: Number.NaN },
    ];
    expect(metricsText([{ name: 'x_total', help: 'Help.', type: 'counter', samples }])).toBe(
      '# HELP x_total Help.\n# TYPE x_total counter\nx_total{name="a\\"b\\\\c\\nd"} 1\n',
    );
    expect(metricsText([gauge('y', 'Help.', 'max', [])])).toBe('\n');
  });
});
