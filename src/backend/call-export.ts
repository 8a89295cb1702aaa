import { GraphQLError } from 'graphql';
import { bodyOfLines, CALL_FORMAT_TYPES, exportCallLines } from '../domain/calls/log/call-lines.ts';
import { readCallParameters } from '../domain/calls/log/call-parameters.ts';
import type { ServiceApp } from '../http/service-app.ts';
import { companyOfCalls, isOperator } from './graphql/billing/calls.ts';
import { contextOf, type EndpointParts, refusedByLimit } from './graphql/endpoint.ts';

export const CALL_EXPORT_PATH = '/calls/export';
/** Each export reads a thousand rows at a time. More exports at once would slow down the console. */
const MOST_EXPORTS = 4;
/** Per company: a client that reads slowly occupies its place for as long. */
const MOST_OF_COMPANY = 2;

/**
 * Streams calls as a file: those of the signed-in admin's company or, for super admins, of any. The query string takes
 * the filters of GraphQL's `calls`. Rows are read a thousand at a time, as fast as the client takes them.
 */
export function addCallExport(app: ServiceApp, parts: EndpointParts): void {
  /** The company of each running export; null for an operator without a company. */
  const running: (string | null)[] = [];
  /** Counts an export as running until it is complete, cancelled by the client, or failed. */
  async function* counted(company: string | null, lines: AsyncGenerator<string, void, undefined>) {
    running.push(company);
    try {
      yield* lines;
    } finally {
      running.splice(running.indexOf(company), 1);
    }
  }
  app.get(CALL_EXPORT_PATH, async (context) => {
    const own = contextOf(context, parts);
    const limited = await refusedByLimit(own);
    if (limited !== null) return limited;
    const read = readCallParameters(new URL(context.req.url).searchParams);
    if (read.outcome === 'invalid') return refused(400, 'BAD_USER_INPUT', read.message);
    const { filter, format, limit, after } = read.parameters;
    if (format === 'json') return refused(400, 'BAD_USER_INPUT', 'format is csv or jsonl.');
    const viewer = await own.viewer();
    if (viewer === null) return refused(401, 'UNAUTHENTICATED', 'Sign in, then export again.');
    if ((await own.serviceToken()) !== null) {
      return refused(403, 'FORBIDDEN', 'Service tokens read calls with the GraphQL query calls.');
    }
    let companyId: string | null;
    try {
      companyId = await companyOfCalls(own, filter.companyId ?? null);
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      const code = String(error.extensions.code);
      return refused(code === 'NOT_FOUND' ? 404 : 403, code, error.message);
    }
    const ofOperator = await isOperator(own);
    const ofCompany = running.filter((company) => company === viewer.companyId).length;
    if (ofCompany >= MOST_OF_COMPANY) {
      const message = `${MOST_OF_COMPANY} exports of your company are running. Retry when one has ended.`;
      return refused(429, 'RATE_LIMITED', message, { 'retry-after': '60' });
    }
    if (running.length >= MOST_EXPORTS) {
      return refused(503, 'UNAVAILABLE', 'Too many exports are running. Retry in a minute.', {
        'retry-after': '60',
      });
    }
    const lines = exportCallLines(parts.database, {
      ...{ filter: { ...filter, companyId }, format, limit, after, ofKey: true, ofOperator },
    });
    return new Response(bodyOfLines(counted(viewer.companyId, lines)), {
      headers: {
        'content-type': CALL_FORMAT_TYPES[format],
        'content-disposition': `attachment; filename="calls.${format}"`,
        'cache-control': 'no-store',
      },
    });
  });
}

function refused(
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const errors = [{ message, extensions: { code } }];
  return Response.json({ errors }, { status, headers: { ...headers, 'cache-control': 'no-store' } });
}
