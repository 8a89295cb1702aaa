import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { metricsText } from '../../src/http/metrics-text.ts';
import { type AiServiceUnderTest, openAiService, SERVICE } from './ai-service-under-test.ts';

let service: AiServiceUnderTest;
beforeAll(async () => {
  service = await openAiService();
}, 60_000);
afterAll(() => service.close());

async function addCalls(endpoint: string, outcome: string, durations: readonly number[]) {
  const { database, companyId, clock } = service;
  for (const durationMs of durations) {
    const hex = clock.now().toString(16).padStart(12, '0');
    const id = `${hex.slice(0, 8)}-${hex.slice(8)}${createSystemSecrets().newId().slice(13)}`;
    await database.query(
      `insert into calls (id, company_id, request_id, endpoint, outcome, http_status, streamed, estimated_tokens,
         started_at, duration_ms) values ($1, $2, 'r', $3, $4, 200, false, 0, $5, $6)`,
      [id, companyId, endpoint, outcome, new Date(clock.now()), durationMs],
    );
  }
}

describe('A-8 monitoring', () => {
  test('A-8 stats tell the process, the pool, and how much waits in each queue and how long', async () => {
    const { body } = await service.ask('/monitoring/stats');
    expect(body).toMatchObject({
      uptime_seconds: 5,
      event_loop_delay_ms: { p50: 1, p99: 2, max: 3 },
      memory: { resident_bytes: 100 },
      database_pool: { size: 1 },
      queues: [{ name: 'meeting', waiting: 0, active: 0, dead: 0, oldest_waiting_seconds: null }],
    });
    const timestamp = new Date(service.clock.now()).toISOString();
    const event = { event: 'room_created', room: 'stats', timestamp };
    expect((await service.ask('/api/events/room/created', { method: 'POST', body: event })).status).toBe(202);
    const [queue] = (await service.ask('/monitoring/stats')).body.queues;
    expect(queue).toMatchObject({ waiting: 1, oldest_waiting_seconds: expect.any(Number) });
  });

  test('A-8 operations are counted by kind and outcome, with percentiles, in the hours that were asked for', async () => {
    expect((await service.ask('/monitoring/operations')).body).toMatchObject({
      status: 'idle',
      operations: [],
    });
    await addCalls('parse/cv', 'SUCCEEDED', [100, 200, 300]);
    await service.clock.advance(2 * 3_600_000);
    await addCalls('chat/completions', 'FAILED', [50]);
    const { body } = await service.ask('/monitoring/operations');
    expect(body).toMatchObject({ status: 'degraded', totals: { succeeded: 0, failed: 1, refused: 0 } });
    const longer = (await service.ask('/monitoring/operations?hours=3')).body;
    expect(longer.operations).toEqual([
      { kind: 'chat/completions', outcome: 'failed', count: 1, latency_ms: { p50: 50, p95: 50, p99: 50 } },
      { kind: 'parse/cv', outcome: 'succeeded', count: 3, latency_ms: { p50: 200, p95: 290, p99: 298 } },
    ]);
    for (const query of ['hours=0', 'hours=x', 'hours=169', 'days=1']) {
      expect((await service.ask(`/monitoring/operations?${query}`)).status).toBe(400);
    }
  });

  test('A-15 ai-services tell each breaker, its last error and its next try; metrics tell its state', async () => {
    expect((await service.ask('/monitoring/ai-services')).body.services).toEqual([
      {
        ...{ service: SERVICE, state: 'closed', failures_in_a_row: 0, aliases: ['svc/chat-default'] },
        ...{ last_error: null, next_try_at: null },
      },
    ]);
    for (let failure = 0; failure < 5; failure += 1) {
      const entry = await service.breakers.enter(SERVICE);
      if (entry.outcome === 'enter') entry.report('failure');
    }
    await service.database.query(
      `insert into log_entries (timestamp, level, message, context)
       values ($1, 'warn', 'a model target failed', '{"targetId":"t1","reason":"503"}')`,
      [new Date(service.clock.now())],
    );
    await service.clock.advance(1_000);
    const now = service.clock.now();
    const [told] = (await service.ask('/monitoring/ai-services')).body.services;
    expect(told).toMatchObject({ state: 'open', last_error: { reason: '503' } });
    expect(Date.parse(told.next_try_at) - now).toBe(59_000);
    const { text } = await service.ask('/metrics');
    expect(text).toContain(`turnpike_circuit_breaker_state{service="${SERVICE}"} 2\n`);
    expect(text).toContain('turnpike_queue_jobs{queue="meeting",state="waiting"} 1\n');
    expect(text).toContain('# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 1.5\n');
    expect((await service.ask('/metrics', { token: 'wrong' })).status).toBe(401);
  });

  test('A-2 readiness tells the truth of each part by itself', async () => {
    const before = (await service.ask('/health/ready')).body.components;
    expect(before).toMatchObject({ cv_worker: 'stopped', document_worker: 'stopped' });
    expect(before.circuit_breakers).toEqual({ [SERVICE]: 'open' });
    service.board.add('cv_worker', { status: () => ({ active: 1, idle: 1 }), stop: async () => {} });
    const after = (await service.ask('/health/ready')).body.components;
    expect(after).toMatchObject({ cv_worker: 'running', workers: { active: 1, idle: 1 } });
    service.state.database = { status: 'down', latencyMs: 2_000 };
    expect((await service.ask('/health/ready')).status).toBe(503);
    expect((await service.ask('/health/live')).status).toBe(200);
  });
});

describe('the text for Prometheus', () => {
  test('A-8 escapes what labels may hold, and leaves out what is no number', () => {
    const samples = [
      { labels: { name: 'a"b\\c\nd' }, value: 1 },
      { labels: { name: 'none' }, value: Number.NaN },
    ];
    expect(metricsText([{ name: 'x_total', help: 'Help.', type: 'counter', samples }])).toBe(
      '# HELP x_total Help.\n# TYPE x_total counter\nx_total{name="a\\"b\\\\c\\nd"} 1\n',
    );
    expect(metricsText([{ name: 'y', help: 'Help.', type: 'gauge', samples: [] }])).toBe('\n');
  });
});
