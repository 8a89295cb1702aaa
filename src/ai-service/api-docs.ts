import { z } from 'zod';
import {
  createDocs,
  type DescribedAnswer,
  type DescribedRoute,
  DOCS_PATHS,
  type DocsFiles,
  errorAnswer,
  openApiDocument,
} from '../http/openapi.ts';
import type { ServiceApp } from '../http/service-app.ts';
import { NAMED_WORKERS, WORKER_STATES } from './health.ts';
import { GENERATOR_PATH, generatorMetrics, generatorStatus } from './match-generator.ts';
import {
  aiServicesAnswer,
  coolingTarget,
  entryQuery,
  logEntries,
  operationsAnswer,
  operationsQuery,
  statsAnswer,
} from './monitoring.ts';
import { eventAnswer, roomEvent, transcriptAnswer, transcriptBody } from './room-events.ts';

const dependency = z.strictObject({ status: z.enum(['healthy', 'unhealthy']), latency_ms: z.number() });
const poolFigures = z.strictObject({ size: z.int(), busy: z.int(), waiting: z.int() });
const workerStatus = z.enum(['healthy', 'degraded', 'stopped']);
const eachWorker = <T extends z.ZodType>(schema: T) =>
  Object.fromEntries(NAMED_WORKERS.map((name) => [name, schema]));
const readiness = z.enum(['healthy', 'degraded', 'unhealthy']);
const waitingForOperator = z.enum(['healthy', 'degraded']);

/** The first documented format, extended by the components of the second. */
const readyAnswer = z
  .strictObject({
    status: readiness,
    components: z.strictObject({
      database: dependency,
      cache: dependency,
      workers: z.strictObject({
        ...{ status: workerStatus, active: z.int(), idle: z.int() },
        states: z.strictObject(eachWorker(z.enum(WORKER_STATES))),
      }),
      circuit_breakers: z.record(z.string(), z.enum(['closed', 'open', 'half-open'])),
      model_targets: z.strictObject({
        status: z.enum(['healthy', 'degraded']),
        cooling: z.int(),
        targets: z.array(coolingTarget).optional(),
      }),
      journal: z.strictObject({ status: waitingForOperator, set_aside: z.int() }).optional(),
      usage: z.strictObject({ status: waitingForOperator, withheld: z.int() }).optional(),
      secrets: z.strictObject({ status: waitingForOperator, unreadable: z.int() }).optional(),
      ...eachWorker(workerStatus),
    }),
  })
  .meta({ title: 'Readiness', description: 'Without `form`: each component with its figures.' });

/** The second documented format. */
const flatReadyAnswer = z
  .strictObject({
    status: readiness,
    components: z.strictObject({ database: z.enum(['healthy', 'unhealthy']), ...eachWorker(workerStatus) }),
  })
  .meta({ title: 'Flat readiness', description: 'With `form=flat`: each component as a status string.' });

const readyAnswers = z.union([readyAnswer, flatReadyAnswer]);

const healthAnswer = z.strictObject({ status: z.literal('healthy') });
const liveAnswer = z.strictObject({ status: z.literal('alive') });
const databaseAnswer = dependency.extend({ pool: poolFigures });
const ALL_HEALTHY = Object.fromEntries(NAMED_WORKERS.map((name) => [name, 'healthy']));
const READY_EXAMPLES = {
  components: {
    status: 'healthy',
    components: {
      database: { status: 'healthy', latency_ms: 1 },
      cache: { status: 'healthy', latency_ms: 1 },
      workers: {
        ...{ status: 'healthy', active: 1, idle: 11 },
        states: {
          ...Object.fromEntries(NAMED_WORKERS.map((name) => [name, 'running'])),
          match_score_generator: 'processing',
        },
      },
      circuit_breakers: { 'service-1': 'closed' },
      model_targets: { status: 'healthy', cooling: 0 },
      journal: { status: 'healthy', set_aside: 0 },
      usage: { status: 'healthy', withheld: 0 },
      secrets: { status: 'healthy', unreadable: 0 },
      ...ALL_HEALTHY,
    },
  },
  flat: { status: 'healthy', components: { database: 'healthy', ...ALL_HEALTHY } },
};

/** */
const describedHealth: readonly DescribedRoute[] = [
  {
    ...{ method: 'get', path: '/health', summary: 'The service answers.', needsToken: false },
    answers: [{ status: 200, means: 'It does.', schema: healthAnswer, example: { status: 'healthy' } }],
  },
  {
    ...{ method: 'get', path: '/health/live', summary: 'The process runs.', needsToken: false },
    answers: [{ status: 200, means: 'It does.', schema: liveAnswer, example: { status: 'alive' } }],
  },
  {
    ...{ method: 'get', path: '/health/database', summary: 'The database and its pool.', needsToken: false },
    answers: [
      {
        ...{ status: 200, means: 'It answers.', schema: databaseAnswer },
        example: { status: 'healthy', latency_ms: 1, pool: { size: 10, busy: 1, waiting: 0 } },
      },
      { status: 503, means: 'It does not.', schema: databaseAnswer },
    ],
  },
  {
    ...{ method: 'get', path: '/health/ready', summary: 'Each component separately.', needsToken: false },
    query: z.strictObject({ form: z.enum(['flat']).optional() }),
    answers: [
      {
        ...{ status: 200, means: 'It is ready, possibly degraded.', schema: readyAnswers },
        examples: READY_EXAMPLES,
      },
      { status: 503, means: 'The database is unavailable.', schema: readyAnswers },
    ],
  },
];

const wrongQuery: DescribedAnswer = { status: 400, means: 'Invalid query parameters.', schema: errorAnswer };
const AT = '2026-11-15T09:00:00.000Z';
const LOG_ENTRY = {
  timestamp: AT,
  level: 'error',
  message: 'a request failed',
  context: { requestId: 'req_1' },
};

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
const describedMonitoring: readonly DescribedRoute[] = [
  monitored('/monitoring/stats', 'The process and its host, the pool, the workers and the queues.', [
    ok(statsAnswer, {
      ...{ uptime_seconds: 3_600, cpu_seconds: 12.5 },
      memory: { resident_bytes: 150_000_000, heap_bytes: 60_000_000, external_bytes: 1_000_000 },
      event_loop_delay_ms: { p50: 0.1, p99: 4.2, max: 12 },
      host: {
        ...{ uptime_seconds: 864_000, cpu: { count: 4, used_share: 0.31 } },
        load_average: { '1m': 1.2, '5m': 0.9, '15m': 0.7 },
        memory: { total_bytes: 8_000_000_000, available_bytes: 3_000_000_000, limit_bytes: null },
        disk: { total_bytes: 100_000_000_000, available_bytes: 60_000_000_000 },
      },
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
  monitored('/monitoring/ai-services', 'External AI services, their circuit breakers and recent failures.', [
    ok(aiServicesAnswer, {
      services: [
        {
          ...{ service: 'api.provider.example', state: 'open', failures_in_a_row: 0 },
          ...{ aliases: ['svc/chat-default'], last_error: { reason: '503', at: AT }, next_try_at: AT },
          cooling: [],
        },
      ],
    }),
  ]),
  ...(['app-logs', 'errors'] as const).map((name) =>
    monitored(
      `/monitoring/${name}`,
      name === 'errors' ? 'The newest errors.' : 'The log, newest first.',
      [ok(logEntries, { entries: [LOG_ENTRY], next_cursor: null }), wrongQuery],
      entryQuery,
    ),
  ),
  monitored('/metrics', 'For Prometheus.', [
    { status: 200, means: 'Prometheus’ text.', contentType: 'text/plain' },
  ]),
];

const GENERATOR_STATUS = {
  status: 'running',
  uptime_seconds: 60,
  current_batch: 0,
  queue_size: 0,
  desired_state: 'running',
};
const GENERATOR_FIGURES = {
  ...{ total_processed: 100, total_errors: 0, avg_processing_time_ms: 2, throughput_per_minute: 50 },
  ...{ last_processed_at: AT, processing_rate: 400, error_rate: 0 },
};

/** */
const describedGenerator: readonly DescribedRoute[] = [
  monitored(`${GENERATOR_PATH}/status`, 'What the match score generator does.', [
    ok(generatorStatus, GENERATOR_STATUS),
  ]),
  ...(['start', 'stop'] as const).map((name): DescribedRoute => {
    const summary = name === 'start' ? 'Starts it.' : 'Stops it after the current batch.';
    const answers = [ok(generatorStatus, GENERATOR_STATUS)];
    return { method: 'post', path: `${GENERATOR_PATH}/${name}`, summary, needsToken: true, answers };
  }),
  monitored(`${GENERATOR_PATH}/metrics`, 'Its activity since the last restart.', [
    ok(generatorMetrics, {
      ...GENERATOR_FIGURES,
      queue_depth: 0,
      circuit_breaker_state: 'CLOSED',
      processes: [],
    }),
  ]),
];

const MEETING = '019a6f0e-0000-7000-8000-000000000001';
const PLAIN = { room: 'interview-42', timestamp: '2026-11-15T09:00:00Z' };
const SERVER = {
  room_name: 'interview-42',
  room_jid: 'interview-42@conference.meet.example',
  is_breakout: false,
};
const NOT_ARRIVED = 'The request body was incomplete or did not arrive in time. Send it again.';
const SECONDS = 1_794_733_200;
const WHO = { name: 'Ada', email: 'ada@acme.example', id: 'u1', occupant_jid: 'ada@meet.example/1' };

const events: readonly DescribedRoute[] = [
  describedEvent('/api/events/room/created', 'A room was made.', { event: 'room_created', ...PLAIN }),
  describedEvent('/api/events/room/destroyed', 'A room is gone.', { event: 'room_destroyed', ...PLAIN }),
  describedEvent('/api/events/occupant/joined', 'A participant joined.', {
    ...{ event_name: 'muc-occupant-joined', ...SERVER },
    occupant: { ...WHO, joined_at: SECONDS },
  }),
  describedEvent('/api/events/occupant/left', 'A participant left.', {
    ...{ event_name: 'muc-occupant-left', ...SERVER },
    occupant: { ...WHO, joined_at: SECONDS, left_at: SECONDS + 600 },
  }),
  {
    method: 'post',
    path: '/api/meetings/{id}/transcript',
    summary: 'The transcript of a meeting. Its summary is part of the insight.',
    needsToken: true,
    body: { schema: transcriptBody, example: { text: 'Ada: I will send the exercise by Friday.' } },
    answers: [
      { status: 202, means: 'Taken.', schema: transcriptAnswer, example: { meeting_id: MEETING } },
      { status: 400, means: 'Invalid JSON, or an unexpected shape.', schema: errorAnswer },
      { status: 404, means: 'There is no such meeting.', schema: errorAnswer },
      { status: 409, means: 'Its room belongs to no company.', schema: errorAnswer },
      { status: 413, means: 'The body is too large.', schema: errorAnswer },
      { status: 422, means: 'The text is empty.', schema: errorAnswer },
      { status: 503, means: NOT_ARRIVED, schema: errorAnswer },
    ],
  },
];

function describedEvent(path: string, summary: string, example: unknown): DescribedRoute {
  const answer = { meeting_id: MEETING, repeated: false, flags: [] };
  return {
    method: 'post',
    path,
    summary: `${summary} The documented object, or what Jitsi's event_sync sends.`,
    needsToken: true,
    body: { schema: roomEvent, example },
    answers: [
      { status: 202, means: 'Recorded. The work is queued.', schema: eventAnswer, example: answer },
      { status: 400, means: 'Invalid JSON, or an unexpected shape.', schema: errorAnswer },
      { status: 413, means: 'The body is larger than 1 MiB.', schema: errorAnswer },
      { status: 422, means: 'An event of another route.', schema: errorAnswer },
      { status: 429, means: 'Too many rooms belong to no company.', schema: errorAnswer },
      { status: 503, means: NOT_ARRIVED, schema: errorAnswer },
    ],
  };
}

/** every route of the service except the documentation itself. */
export const AI_SERVICE_ROUTES: readonly DescribedRoute[] = [
  ...describedHealth,
  ...events,
  ...describedMonitoring,
  ...describedGenerator,
];

export function aiServiceDocument(): Record<string, unknown> {
  return openApiDocument({
    title: 'Turnpike AI service',
    description: 'Background work, meeting rooms, health and monitoring.',
    token: 'The internal token: the INTERNAL_TOKEN setting, or internal_token in demo.json.',
    routes: AI_SERVICE_ROUTES,
  });
}

export function addApiDocs(app: ServiceApp, files: DocsFiles): void {
  const docs = createDocs({ title: 'Turnpike AI service', document: aiServiceDocument(), files });
  for (const path of DOCS_PATHS) app.get(path, (context) => docs(path) ?? context.notFound());
}
