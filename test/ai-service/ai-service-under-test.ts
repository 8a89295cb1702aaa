import { readQueueDepths } from '../../src/adapters/job-queue/boss-tables.ts';
import { openJobQueue } from '../../src/adapters/job-queue/pg-boss.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { createWorkerRegistry } from '../../src/ai-service/health.ts';
import { aiServiceMetrics } from '../../src/ai-service/monitoring.ts';
import { createAiService } from '../../src/ai-service/server.ts';
import { createBreakers } from '../../src/domain/breakers/breakers.ts';
import { startGenerator } from '../../src/domain/matching/generator/generator.ts';
import type { PlatformModelCalls } from '../../src/domain/matching/generator/model-calls.ts';
import { MEETING_QUEUE } from '../../src/domain/meetings/meeting.ts';
import { DEFAULT_BOUNDS } from '../../src/domain/models/aliases.ts';
import type { DependencyState } from '../../src/http/health.ts';
import {
  databaseMetric,
  type MetricsAccess,
  processMetrics,
  providerMetrics,
} from '../../src/http/metrics.ts';
import type { HostFigures, ProcessFigures } from '../../src/ports/process-figures.ts';
import { createHostMetrics } from '../../src/start/processes/host-metrics.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { openMemoryDatabase } from '../doubles/memory-database.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { letterVectors, openMatchingWorld } from '../matching/matching-world.ts';
import { noteExchange } from '../setup/recent.ts';

export const TOKEN = 'an-internal-token-of-some-length';
export const SERVICE = 'provider.example';
const HOST: HostFigures = {
  ...{ uptimeSeconds: 86_400, loadAverage: [0.5, 0.4, 0.3] },
  cpu: { count: 4, busySeconds: 100, idleSeconds: 300, usedShare: 0.25 },
  memory: { totalBytes: 8_000, availableBytes: 3_000, limitBytes: null },
  disk: { totalBytes: 100_000, availableBytes: 60_000 },
};
export const FIGURES: ProcessFigures = {
  ...{ startedAtMs: 1_000, uptimeSeconds: 5, cpuSeconds: 1.5 },
  memory: { residentBytes: 100, heapBytes: 50, externalBytes: 10 },
  eventLoopDelayMs: { p50: 1, p99: 2, max: 3 },
  databaseStepBacks: 0,
};

const ALIAS = {
  alias: 'svc/chat-default',
  kind: 'chat',
  targets: [{ id: 't1', baseUrl: `https://${SERVICE}/v1`, model: 'm', apiKey: null, weight: 1 }],
  prices: [],
  ...DEFAULT_BOUNDS.chat,
} as const;

/** The AI service with a real queue, breakers and a generator, on a database in memory, without a socket. */
export async function openAiService({
  metricsAccess,
  ...changes
}: {
  modelCalls?: PlatformModelCalls;
  metricsAccess?: MetricsAccess;
} = {}) {
  const clock = createManualClock();
  const log = createSilentLog();
  const secrets = createSystemSecrets();
  const database = await openMemoryDatabase();
  const sharedState = createInProcessState({ clock, log });
  const world = await openMatchingWorld(database, { clock, ...changes });
  const generator = await startGenerator(world.parts);
  const breakers = await createBreakers({ sharedState, clock, log });
  const jobQueue = await openJobQueue({ database, log });
  await jobQueue.define(MEETING_QUEUE);
  breakers.known(SERVICE);
  const up = { status: 'up', latencyMs: 1 } as const;
  const registry = createWorkerRegistry();
  const state: Record<'database' | 'cache', DependencyState> & { journal?: DependencyState } = {
    database: up,
    cache: up,
  };
  const metrics = createHostMetrics({ clock, parent: null });
  const parts = {
    ...{ clock, log, secrets, metrics, database, sharedState, generator, breakers, jobQueue },
    databaseClock: clock,
    modelCalls: { ...letterVectors, breakerState: () => 'closed' },
    models: { all: () => [ALIAS], cooling: () => [] },
    coolingTargets: () => [],
    workers: registry,
    maxBodyBytes: 4_000_000,
    answerTimeoutMs: null,
    dependencies: async () => ({ ...state }),
    pool: () => database.pool(),
    circuitBreakers: breakers.states,
    processFigures: () => FIGURES,
    hostFigures: () => HOST,
    queueDepths: () => readQueueDepths(database),
    internalTokens: [TOKEN],
    metricsAccess: metricsAccess ?? { tokens: [TOKEN], setting: 'INTERNAL_TOKEN' },
    docsFiles: { style: new Blob(['body {}']), script: new Blob(['function SwaggerUIBundle() {}']) },
  } satisfies Parameters<typeof createAiService>[0];
  metrics.add(processMetrics({ figures: parts.processFigures, pool: parts.pool }));
  metrics.add(providerMetrics(parts));
  for (const source of aiServiceMetrics(parts)) metrics.add(source);
  metrics.add(databaseMetric(parts.dependencies));
  const app = createAiService(parts);
  return {
    ...{
      app,
      clock,
      database,
      metrics,
      breakers,
      registry,
      state,
      jobQueue,
      world,
      companyId: world.companyId,
    },
    async ask(path: string, { method = 'GET', body, token = TOKEN }: RequestOptions = {}) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const init = body === undefined ? {} : { body: JSON.stringify(body) };
      const asked = `${method} ${path} ${init.body ?? ''}`;
      const response = await noteExchange(asked, app.request(path, { method, headers, ...init }));
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
      return { status: response.status, text, body: isJson ? JSON.parse(text) : null, response };
    },
    async close() {
      await jobQueue.stop(1_000);
      await generator.close(1_000);
      await breakers.close();
      await database.close();
    },
  };
}

interface RequestOptions {
  readonly method?: string;
  readonly body?: unknown;
  readonly token?: string;
}

export type AiServiceUnderTest = Awaited<ReturnType<typeof openAiService>>;
