import { z } from 'zod';

/** What the monitoring routes answer with: the documents are made from these, and the answers are typed by them. */
const count = z.int().nonnegative();
const delay = z.number().nonnegative();

export const statsAnswer = z.strictObject({
  uptime_seconds: count,
  cpu_seconds: z.number().nonnegative(),
  memory: z.strictObject({ resident_bytes: count, heap_bytes: count, external_bytes: count }),
  event_loop_delay_ms: z.strictObject({ p50: delay, p99: delay, max: delay }),
  database_pool: z.strictObject({ size: count, busy: count, waiting: count }),
  workers: z.strictObject({
    status: z.enum(['healthy', 'degraded', 'unhealthy']),
    active: count,
    idle: count,
  }),
  queues: z.array(
    z.strictObject({
      name: z.string(),
      waiting: count,
      active: count,
      dead: count,
      oldest_waiting_seconds: count.nullable(),
    }),
  ),
});

export const operationsAnswer = z.strictObject({
  since: z.iso.datetime(),
  status: z.enum(['healthy', 'degraded', 'idle']),
  totals: z.strictObject({ succeeded: count, failed: count, refused: count }),
  operations: z.array(
    z.strictObject({
      kind: z.string(),
      outcome: z.enum(['succeeded', 'failed', 'refused']),
      count,
      latency_ms: z.strictObject({ p50: delay, p95: delay, p99: delay }),
    }),
  ),
});

export const aiServicesAnswer = z.strictObject({
  services: z.array(
    z.strictObject({
      service: z.string(),
      state: z.enum(['closed', 'open', 'half-open']),
      failures_in_a_row: count,
      aliases: z.array(z.string()),
      last_error: z.strictObject({ reason: z.string(), at: z.iso.datetime() }).nullable(),
      next_try_at: z.iso.datetime().nullable(),
    }),
  ),
});

export const logEntries = z.strictObject({
  entries: z.array(
    z.strictObject({
      timestamp: z.iso.datetime(),
      level: z.enum(['debug', 'info', 'warn', 'error']),
      message: z.string(),
      context: z.record(z.string(), z.unknown()),
    }),
  ),
  next_cursor: z.string().nullable(),
});
