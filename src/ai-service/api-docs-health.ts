import { z } from 'zod';
import type { DescribedRoute } from '../http/openapi.ts';

const state = z.strictObject({ status: z.enum(['healthy', 'unhealthy']), latency_ms: z.number() });
const pool = z.strictObject({ size: z.int(), busy: z.int(), waiting: z.int() });
const worker = z.enum(['running', 'failing', 'stopped']);
const named = {
  match_score_generator: worker,
  email_worker: worker,
  cv_worker: worker,
  document_worker: worker,
};
const status = z.enum(['healthy', 'degraded', 'unhealthy']);

const ready = z.union([
  z.strictObject({
    status,
    components: z.strictObject({
      database: state,
      cache: state,
      workers: z.strictObject({
        status: z.enum(['healthy', 'degraded', 'unhealthy']),
        active: z.int(),
        idle: z.int(),
      }),
      circuit_breakers: z.record(z.string(), z.enum(['closed', 'open', 'half-open'])),
      ...named,
    }),
  }),
  z.strictObject({ status, components: z.strictObject({ database: z.string(), ...named }) }),
]);

const health = z.strictObject({ status: z.literal('healthy') });
const live = z.strictObject({ status: z.literal('alive') });
const database = state.extend({ pool });
const RUNNING = {
  match_score_generator: 'running',
  email_worker: 'running',
  cv_worker: 'running',
  document_worker: 'running',
};

/** */
export const describedHealth: readonly DescribedRoute[] = [
  {
    ...{ method: 'get', path: '/health', summary: 'The service answers.', needsToken: false },
    answers: [{ status: 200, means: 'It does.', schema: health, example: { status: 'healthy' } }],
  },
  {
    ...{ method: 'get', path: '/health/live', summary: 'The process runs.', needsToken: false },
    answers: [{ status: 200, means: 'It does.', schema: live, example: { status: 'alive' } }],
  },
  {
    ...{ method: 'get', path: '/health/database', summary: 'The database and its pool.', needsToken: false },
    answers: [
      {
        ...{ status: 200, means: 'It answers.', schema: database },
        example: { status: 'healthy', latency_ms: 1, pool: { size: 10, busy: 1, waiting: 0 } },
      },
      { status: 503, means: 'It does not.', schema: database },
    ],
  },
  {
    ...{ method: 'get', path: '/health/ready', summary: 'Every component by itself.', needsToken: false },
    query: z.strictObject({ form: z.enum(['flat']).optional() }),
    answers: [
      {
        ...{ status: 200, means: 'It can work, degraded perhaps.', schema: ready },
        example: { status: 'healthy', components: { database: 'healthy', ...RUNNING } },
      },
      { status: 503, means: 'There is no database.', schema: ready },
    ],
  },
];
