import { type ExecutionResult, GraphQLError } from 'graphql';
import type { RequestContext } from './request-context.ts';

const LONGEST_MESSAGE = 500;

/**
 * What becomes of an error on its way out. A foreseen one has a code and passes. One of the request itself (a
 * variable of the wrong type) has no path and gets BAD_USER_INPUT. All others are faults of ours: the log is told
 * everything, the client the request id. Fails closed: what is not surely meant for the client is not shown.
 */
export function showableError(context: RequestContext, error: GraphQLError): GraphQLError {
  const isForeseen = typeof error.extensions.code === 'string' && !isFault(error);
  if (isForeseen && error.message.length <= LONGEST_MESSAGE) return error;
  const place = {
    nodes: error.nodes ?? null,
    source: error.source ?? null,
    positions: error.positions ?? null,
    path: error.path ?? null,
  };
  if (isForeseen || (error.path === undefined && !isFault(error))) {
    const message = error.message.slice(0, LONGEST_MESSAGE);
    return new GraphQLError(message, {
      ...place,
      extensions: { code: 'BAD_USER_INPUT', ...error.extensions },
    });
  }
  const { requestId } = context;
  context.log.error('an operation failed', { path: error.path?.join('.'), error: rootOf(error) });
  const message = `Something went wrong on our side. Quote the request id ${requestId} when you report it.`;
  return new GraphQLError(message, { ...place, extensions: { code: 'INTERNAL_SERVER_ERROR', requestId } });
}

export function showableResult(context: RequestContext, result: ExecutionResult): ExecutionResult {
  if (result.errors === undefined) return result;
  return { ...result, errors: result.errors.map((error) => showableError(context, error)) };
}

/** Whether something else than a GraphQLError stands behind it. */
function isFault(error: GraphQLError): boolean {
  return !(rootOf(error) instanceof GraphQLError);
}

function rootOf(error: GraphQLError): Error {
  let root: Error = error;
  while (root instanceof GraphQLError && root.originalError instanceof Error) root = root.originalError;
  return root;
}
