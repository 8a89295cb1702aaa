import { z } from 'zod';
import { findEntries, MAX_ENTRIES } from '../domain/logs/find-entries.ts';
import { envelopeResponse, errorEnvelope } from '../http/error-envelope.ts';
import type { ServiceApp } from '../http/service-app.ts';
import type { Database } from '../ports/database.ts';

const time = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

/** The log viewer's query. Names it does not know are refused: a misspelt filter would show too much. */
export const entryQuery = z.strictObject({
  level: z.enum(['debug', 'info', 'warn', 'error']).optional(),
  contains: z.string().max(200).optional(),
  request_id: z.string().max(200).optional(),
  from: time.optional(),
  to: time.optional(),
  limit: z.coerce.number().int().min(1).max(MAX_ENTRIES).optional(),
  after: z.string().max(200).optional(),
});

/** What operators look at. All of it is internal: the caller has put the guard in front. */
export function addMonitoring(app: ServiceApp, database: Database): void {
  app.get('/monitoring/app-logs', (context) => showEntries(database, context.req.query()));
  app.get('/monitoring/errors', (context) =>
    showEntries(database, { ...context.req.query(), level: 'error' }),
  );
}

async function showEntries(database: Database, query: Record<string, string>): Promise<Response> {
  const read = entryQuery.safeParse(query);
  if (!read.success) {
    const [issue] = read.error.issues;
    return refuse(issue?.path.join('.') || null, issue?.message ?? 'it cannot be read');
  }
  const { request_id: requestId, ...filter } = read.data;
  const found = await findEntries(database, { ...filter, requestId });
  if (found.outcome === 'invalid-cursor') return refuse('after', 'it is not a cursor of ours');
  return Response.json({ entries: found.entries, next_cursor: found.nextCursor });
}

function refuse(param: string | null, reason: string): Response {
  const message = `The query is wrong${param === null ? '' : ` at ${param}`}: ${reason}.`;
  return envelopeResponse(400, errorEnvelope('invalid_request_error', message, null, param));
}
