import { describe, expect, test } from 'bun:test';
import { Hono } from 'hono';
import { addHealth, createWorkerRegistry } from '../../src/ai-service/health.ts';
import type { CoolingTarget } from '../../src/domain/models/model-directory.ts';
import type { ServiceVariables } from '../../src/http/service-app.ts';

describe('readiness', () => {
  test('A-15 shows the targets that cool down: their number without a token, and their names with it', async () => {
    const app = new Hono<ServiceVariables>();
    const up = { status: 'up', latencyMs: 1 } as const;
    const workers = createWorkerRegistry();
    workers.add('cv_worker', { status: () => ({ state: 'running', active: 0, idle: 1 }) });
    const target = { id: 't', baseUrl: 'https://p.example/v1', model: 'm-1', apiKey: 'sk-1', weight: 1 };
    const cooling: CoolingTarget[] = [];
    addHealth(app, {
      dependencies: async () => ({ database: up, cache: up }),
      pool: () => ({ size: 1, busy: 0, waiting: 0 }),
      workers,
      circuitBreakers: () => ({ 'p.example': 'closed', match_score_generator: 'closed' }),
      coolingTargets: () => cooling,
      internalTokens: ['inside'],
    });
    const shown = async (token: string) => {
      const response = await app.request('/health/ready', { headers: { authorization: `Bearer ${token}` } });
      const { status, components } = (await response.json()) as {
        status: string;
        components: { model_targets: object; circuit_breakers: object };
      };
      return { code: response.status, status, ...components };
    };
    expect(await shown('')).toMatchObject({
      status: 'healthy',
      model_targets: { status: 'healthy', cooling: 0 },
    });
    cooling.push({ alias: 'svc/chat-default', target, reason: '429', untilMs: Date.UTC(2026, 0, 1) });
    const open = await shown('');
    expect(open).toMatchObject({
      ...{ code: 200, status: 'degraded' },
      circuit_breakers: { 'service-1': 'closed', match_score_generator: 'closed' },
    });
    expect(open.model_targets).toEqual({ status: 'degraded', cooling: 1 });
    const until = '2026-01-01T00:00:00.000Z';
    const one = { alias: 'svc/chat-default', service: 'p.example', model: 'm-1', status: 429, until };
    expect((await shown('inside')).model_targets).toEqual({ status: 'degraded', cooling: 1, targets: [one] });
  });
});
