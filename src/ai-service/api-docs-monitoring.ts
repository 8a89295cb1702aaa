import { z } from 'zod';
import { type DescribedAnswer, type DescribedRoute, errorAnswer } from '../http/openapi.ts';
import { entryQuery } from './monitoring.ts';
import { aiServicesAnswer, logEntries, operationsAnswer, statsAnswer } from './monitoring-answers.ts';
import { operationsQuery } from './monitoring-stats.ts';

const wrongQuery: DescribedAnswer = { status: 400, means: 'The query is wrong.', schema: errorAnswer };
const AT = '2026-11-15T09:00:00.000Z';
const ENTRY = { timestamp: AT, level: 'error', message: 'a request failed', context: { requestId: 'req_1' } };

function monitored(
  path: string,
  summary: string,
  answers: readonly DescribedAnswer[],
  query?: z.ZodObject,
): DescribedRoute {
  const route = { method: 'get', path, summary, needsToken: true, answers } as const;
  return query === undefined ? route : { ...route, query };
}

function ok(schema: z.ZodType, example: unknown): DescribedAnswer {
  return { status: 200, means: 'As it is now.', schema, example };
}

/** A-8 and the metrics. */
export const describedMonitoring: readonly DescribedRoute[] = [
  monitored('/monitoring/stats', 'The process, its pool, the workers and the queues.', [
    ok(statsAnswer, {
      ...{ uptime_seconds: 3_600, cpu_seconds: 12.5 },
      memory: { resident_bytes: 150_000_000, heap_bytes: 60_000_000, external_bytes: 1_000_000 },
      event_loop_delay_ms: { p50: 0.1, p99: 4.2, max: 12 },
      database_pool: { size: 10, busy: 1, waiting: 0 },
      workers: { status: 'healthy', active: 1, idle: 7 },
      queues: [{ name: 'cv', waiting: 3, active: 2, dead: 0, oldest_waiting_seconds: 4 }],
    }),
  ]),
  monitored(
    '/monitoring/operations',
    'AI operations by kind and outcome, with latencies.',
    [
      ok(operationsAnswer, {
        ...{ since: AT, status: 'healthy', totals: { succeeded: 120, failed: 1, refused: 0 } },
        operations: [
          {
            kind: 'parse/cv',
            outcome: 'succeeded',
            count: 120,
            latency_ms: { p50: 800, p95: 2_100, p99: 4_000 },
          },
        ],
      }),
      wrongQuery,
    ],
    operationsQuery,
  ),
  monitored('/monitoring/ai-services', 'External AI services, their breakers, what failed last.', [
    ok(aiServicesAnswer, {
      services: [
        {
          ...{ service: 'api.provider.example', state: 'open', failures_in_a_row: 0 },
          ...{ aliases: ['svc/chat-default'], last_error: { reason: '503', at: AT }, next_try_at: AT },
        },
      ],
    }),
  ]),
  ...(['app-logs', 'errors'] as const).map((name) =>
    monitored(
      `/monitoring/${name}`,
      name === 'errors' ? 'The newest errors.' : 'The log, the newest first.',
      [ok(logEntries, { entries: [ENTRY], next_cursor: null }), wrongQuery],
      entryQuery,
    ),
  ),
  monitored('/metrics', 'For Prometheus.', [
    { status: 200, means: 'Prometheus’ text.', contentType: 'text/plain' },
  ]),
];

const PATH = '/api/v1/background-tasks/match-score-generator';
const state = z.enum(['running', 'stopped', 'processing']);
const statusAnswer = z.strictObject({
  ...{ status: state, uptime_seconds: z.number(), current_batch: z.number(), queue_size: z.number() },
  wish: z.enum(['running', 'stopped']),
});
const processFields = {
  ...{ total_processed: z.int(), total_errors: z.int(), avg_processing_time_ms: z.number() },
  ...{ throughput_per_minute: z.number(), last_processed_at: z.iso.datetime().nullable() },
  ...{ processing_rate: z.number(), error_rate: z.number() },
};
const metricsAnswer = z.strictObject({
  ...processFields,
  queue_depth: z.int(),
  circuit_breaker_state: z.enum(['CLOSED', 'OPEN', 'HALF-OPEN']),
  processes: z.array(z.strictObject({ id: z.string(), status: state, ...processFields })),
});
const STATUS = { status: 'running', uptime_seconds: 60, current_batch: 0, queue_size: 0, wish: 'running' };
const FIGURES = {
  ...{ total_processed: 100, total_errors: 0, avg_processing_time_ms: 2, throughput_per_minute: 50 },
  ...{ last_processed_at: AT, processing_rate: 400, error_rate: 0 },
};

/** */
export const describedGenerator: readonly DescribedRoute[] = [
  monitored(`${PATH}/status`, 'What the match score generator does.', [ok(statusAnswer, STATUS)]),
  ...(['start', 'stop'] as const).map((name): DescribedRoute => {
    const summary = name === 'start' ? 'Starts it.' : 'Stops it after the current batch.';
    const answers = [ok(statusAnswer, STATUS)];
    return { method: 'post', path: `${PATH}/${name}`, summary, needsToken: true, answers };
  }),
  monitored(`${PATH}/metrics`, 'What it has done since the last restart.', [
    ok(metricsAnswer, { ...FIGURES, queue_depth: 0, circuit_breaker_state: 'CLOSED', processes: [] }),
  ]),
];
