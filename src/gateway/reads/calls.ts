import {
  bodyOfLines,
  CALL_FORMAT_TYPES,
  type CallFormat,
  exportCallLines,
  shownCall,
} from '../../domain/calls/log/call-lines.ts';
import { type CallLogFilter, listCalls } from '../../domain/calls/log/call-log.ts';
import { readCallParameters } from '../../domain/calls/log/call-parameters.ts';
import type { ApiKey } from '../../domain/keys/api-key.ts';
import type { Statements } from '../../ports/database.ts';
import { refusalResponse } from '../admission/refusals.ts';
import { refusedRead } from './usage.ts';

/** The calls of the calling key, newest first: a page as JSON, or all of them as a streamed file. */
export async function answerCalls(
  database: Statements,
  key: Pick<ApiKey, 'id' | 'companyId'>,
  search: URLSearchParams,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const read = readCallParameters(search);
  if (read.outcome === 'invalid') {
    const { param, message } = read;
    return refusalResponse({ name: 'invalidRequest', message, param }, headers);
  }
  const { format, limit, after, filter: requested } = read.parameters;
  // The key is set last: no parameter can select another one.
  const filter: CallLogFilter = { ...requested, keyId: key.id, companyId: key.companyId };
  if (format !== 'json') {
    const lines = exportCallLines(database, {
      ...{ filter, format, limit, after, ofKey: false, ofOperator: false },
    });
    const file = { 'content-type': CALL_FORMAT_TYPES[format], 'content-disposition': disposition(format) };
    return new Response(bodyOfLines(lines), { headers: { ...headers, ...file, ...NOT_STORED } });
  }
  try {
    const page = await listCalls(database, filter, { limit: limit ?? USUAL_CALLS, after });
    const body = {
      object: 'list',
      data: page.calls.map(shownCall),
      has_more: page.next !== null,
      next_cursor: page.next,
      ...(page.searchedUntil === null ? {} : { searched_until: page.searchedUntil.toISOString() }),
    };
    return Response.json(body, { headers: { ...headers, ...NOT_STORED } });
  } catch (error) {
    const refused = refusedRead(error, 'Calls cannot be read right now. Retry with backoff.');
    if (refused.outcome !== 'refused') throw error;
    return refusalResponse(refused.refusal, headers);
  }
}

const NOT_STORED = { 'cache-control': 'no-store' } as const;
const USUAL_CALLS = 20;

function disposition(format: CallFormat): string {
  return `attachment; filename="calls.${format}"`;
}
