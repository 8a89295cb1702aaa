import { readMetrics } from '../domain/matching/generator-metrics.ts';
import { countOutcomes } from '../domain/operations/count-operations.ts';
import { createMetricsRoute } from '../http/metrics-route.ts';
import type { Metric } from '../http/metrics-text.ts';
import { processMetrics } from '../http/process-metrics.ts';
import type { ServiceApp } from '../http/service-app.ts';
import type { MatchGeneratorParts } from './match-generator.ts';
import { HOUR_MS, LOWERCASE, type MonitoringStatsParts } from './monitoring-stats.ts';

export type AiMetricsParts = MonitoringStatsParts &
  MatchGeneratorParts & { readonly internalTokens: readonly string[] };

/** What the AI service tells Prometheus: its process, the queues, the generator and the AI operations of the last hour. */
export function addMetrics(app: ServiceApp, parts: AiMetricsParts): void {
  const collect = async () => await metricsOf(parts);
  const route = createMetricsRoute({ internalTokens: parts.internalTokens, collect });
  app.get('/metrics', (context) => route.fetch(context.req.raw));
}

async function metricsOf(parts: AiMetricsParts): Promise<readonly Metric[]> {
  const { database, breakers, processFigures, queueDepths } = parts;
  const circuitBreakers = breakers.states();
  const own = processMetrics({ figures: processFigures(), pool: database.pool(), circuitBreakers });
  const [queues, generator, operations] = [
    await queueDepths(),
    await generatorOf(parts),
    await countOutcomes(database, new Date(parts.clock.now() - HOUR_MS)),
  ];
  const gauge = (name: string, help: string, samples: Metric['samples']): Metric => {
    return { name, help, type: 'gauge', samples };
  };
  return [
    ...own,
    gauge(
      'turnpike_worker_up',
      'Of each background worker of the process: 1 while it runs, or rests as it was wished; else 0.',
      parts.workers.each().map(({ name: worker, isWell }) => ({ labels: { worker }, value: isWell ? 1 : 0 })),
    ),
    gauge(
      'turnpike_queue_jobs',
      'Jobs of each queue that wait, run or are dead letters.',
      queues.flatMap(({ name: queue, ...counts }) =>
        (['waiting', 'active', 'dead'] as const).map((state) => {
          return { labels: { queue, state }, value: counts[state] };
        }),
      ),
    ),
    gauge(
      'turnpike_queue_oldest_waiting_seconds',
      'How long the job waits that could have been taken longest ago; 0 where none waits.',
      queues.map(({ name, oldestWaitingSeconds }) => {
        return { labels: { queue: name }, value: oldestWaitingSeconds ?? 0 };
      }),
    ),
    gauge(
      'turnpike_ai_operations_last_hour',
      'AI operations that began in the last hour, by kind and outcome, of all processes.',
      operations.map(({ kind, outcome, count }) => {
        return { labels: { kind, outcome: LOWERCASE[outcome] }, value: count };
      }),
    ),
    gauge('turnpike_match_scores', 'Matches computed since the last restart, of all processes.', [
      { labels: { outcome: 'succeeded' }, value: generator.total_processed },
      { labels: { outcome: 'failed' }, value: generator.total_errors },
    ]),
    gauge('turnpike_match_queue_pairs', 'Pairs that wait to be scored.', [{ value: generator.queue_depth }]),
  ];
}

async function generatorOf({ database, clock, generator, modelCalls }: AiMetricsParts) {
  const now = { nowMs: clock.now(), own: generator.own(), breakerState: modelCalls.breakerState() };
  return await readMetrics(database, now);
}
