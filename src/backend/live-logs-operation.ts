import {
  createSourceEventStream,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  parse,
  specifiedRules,
  validate,
} from 'graphql';
import type { SubscribePayload } from 'graphql-ws';
import { LONGEST_QUERY } from './graphql/graphql-server.ts';
import { showableResult } from './graphql/mask-errors.ts';
import type { WatchedLog } from './graphql/operations/log-stream.ts';
import { QUERY_LIMITS, queryLimitRules } from './graphql/query-limits.ts';
import { badInput } from './graphql/refusals.ts';
import type { RequestContext } from './graphql/request-context.ts';

export type BegunOperation =
  | { readonly outcome: 'begun'; readonly args: ExecutionArgs; readonly watched: WatchedLog }
  | { readonly outcome: 'refused'; readonly errors: readonly GraphQLError[] };

const RULES = [...specifiedRules, ...queryLimitRules];

/**
 * Reads what a client subscribes to, under the same limits as a query over HTTP, and begins it: access is checked here,
 * by who stands behind the context at this moment.
 */
export async function beginOperation(
  schema: GraphQLSchema,
  payload: SubscribePayload,
  context: RequestContext,
): Promise<BegunOperation> {
  const read = readOperation(schema, payload);
  if (read.outcome === 'refused') return read;
  const args = { ...read.args, contextValue: context };
  const source: AsyncIterable<unknown> | ExecutionResult = await createSourceEventStream(args);
  if (!(Symbol.asyncIterator in source)) {
    return { outcome: 'refused', errors: showableResult(context, source).errors ?? [] };
  }
  return { outcome: 'begun', args, watched: source as WatchedLog };
}

type ReadOperation =
  | { readonly outcome: 'read'; readonly args: ExecutionArgs }
  | { readonly outcome: 'refused'; readonly errors: readonly GraphQLError[] };

function readOperation(schema: GraphQLSchema, payload: SubscribePayload): ReadOperation {
  const { query, variables, operationName } = payload;
  if (query.length > LONGEST_QUERY) {
    return refused(badInput('query', `it has more than ${LONGEST_QUERY} characters`));
  }
  let document: ReturnType<typeof parse>;
  try {
    document = parse(query, { maxTokens: QUERY_LIMITS.tokens });
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    return refused(withCode(error, 'GRAPHQL_PARSE_FAILED'));
  }
  const errors = validate(schema, document, RULES);
  if (errors.length > 0)
    return refused(...errors.map((error) => withCode(error, 'GRAPHQL_VALIDATION_FAILED')));
  const operation = getOperationAST(document, operationName);
  if (operation == null) return refused(badInput('operationName', 'the query has no such operation'));
  if (operation.operation !== 'subscription') {
    return refused(badInput('query', 'only subscriptions come over a WebSocket: send this one by POST'));
  }
  return {
    outcome: 'read',
    args: { schema, document, variableValues: variables ?? null, operationName: operationName ?? null },
  };
}

function withCode(error: GraphQLError, code: string): GraphQLError {
  const { nodes = null, source = null, positions = null, extensions } = error;
  return new GraphQLError(error.message, { nodes, source, positions, extensions: { code, ...extensions } });
}

function refused(...errors: GraphQLError[]): ReadOperation {
  return { outcome: 'refused', errors };
}
