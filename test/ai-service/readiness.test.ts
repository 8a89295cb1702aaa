import { describe, expect, test } from 'bun:test';
import { Hono } from 'hono';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { addHealth, createWorkerRegistry } from '../../src/ai-service/health.ts';
import { createBreakers } from '../../src/domain/breakers/breakers.ts';
import type { CoolingTarget } from '../../src/domain/models/model-directory.ts';
import type { ServiceVariables } from '../../src/http/service-app.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createSilentLog } from '../doubles/silent-log.ts';

describe('readiness', () => {
  test('A-15 shows the current state of the breaker of each AI service', async () => {
    const clock = createManualClock();
    const log = createSilentLog();
    const breakers = await createBreakers({ clock, log, sharedState: createInProcessState({ clock, log }) });
    const app = new Hono<ServiceVariables>();
    addHealth(app, {
      dependencies: async () => ({
        database: { status: 'up', latencyMs: 1 },
        cache: { status: 'up', latencyMs: 1 },
      }),
      pool: () => ({ size: 1, busy: 0, waiting: 0 }),
      workers: createWorkerRegistry(),
      circuitBreakers: breakers.states,
      internalTokens: ['inside'],
    });
    const shown = async () => {
      const headers = { authorization: 'Bearer inside' };
      const response = await app.request('/health/ready', { headers });
      const { components } = (await response.json()) as { components: { circuit_breakers: object } };
      return [response.status, components.circuit_breakers];
    };
    breakers.known('good.example');
    for (const _ of [1, 2, 3, 4, 5]) {
      const entry = await breakers.enter('bad.example');
      if (entry.outcome === 'enter') entry.report('failure');
    }
    expect(await shown()).toEqual([200, { 'good.example': 'closed', 'bad.example': 'open' }]);
    await clock.advance(60_000);
    expect(await shown()).toEqual([200, { 'good.example': 'closed', 'bad.example': 'half-open' }]);
    await breakers.close();
  });

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

  test('A-2 calls that were set aside degrade it, and are counted', async () => {
    const app = new Hono<ServiceVariables>();
    const up = { status: 'up', latencyMs: 1 } as const;
    const workers = createWorkerRegistry();
    workers.add('cv_worker', { status: () => ({ state: 'running', active: 0, idle: 1 }) });
    let setAside = 0;
    addHealth(app, {
      dependencies: async () => ({
        database: up,
        cache: up,
        journal: { ...up, status: setAside === 0 ? 'up' : 'degraded', figures: { set_aside: setAside } },
      }),
      pool: () => ({ size: 1, busy: 0, waiting: 0 }),
      workers,
      circuitBreakers: () => ({}),
      internalTokens: [],
    });
    const shown = async () => {
      const response = await app.request('/health/ready');
      const { status, components } = (await response.json()) as { status: string; components: object };
      return [response.status, status, (components as { journal?: object }).journal];
    };
    expect(await shown()).toEqual([200, 'healthy', { status: 'healthy', set_aside: 0 }]);
    setAside = 3;
    expect(await shown()).toEqual([200, 'degraded', { status: 'degraded', set_aside: 3 }]);
  });
});
