import { type ExecutionResult, GraphQLError, type GraphQLSchema, parse, type ValidationRule } from 'graphql';
import { createLRUCache, createYoga, type Plugin } from 'graphql-yoga';
import { showableResult } from './mask-errors.ts';
import { QUERY_LIMITS, queryLimitRules } from './query-limits.ts';
import { badInput } from './refusals.ts';
import type { RequestContext } from './request-context.ts';

/** A parsed query is kept by its text, so both are bounded: 500 texts of 20,000 characters are 20 MB at most. */
export const LONGEST_QUERY = 20_000;
const CACHED_QUERIES = 500;

export interface GraphqlServer {
  /** `request` is a GET or POST whose body is whole and in its bounds. */
  answer(request: Request, context: RequestContext): Promise<Response>;
}

export function createGraphqlServer(schema: GraphQLSchema): GraphqlServer {
  const yoga = createYoga<RequestContext>({
    schema,
    graphqlEndpoint: '/graphql',
    // Its page is fetched from the internet, and a page of ours shows nothing of others.
    graphiql: false,
    landingPage: false,
    // The endpoint answers for these itself.
    cors: false,
    multipart: false,
    batching: false,
    logging: false,
    parserAndValidationCache: {
      documentCache: createLRUCache({ max: CACHED_QUERIES }),
      errorCache: createLRUCache({ max: CACHED_QUERIES }),
    },
    // What an error becomes is decided below, where the request is known.
    maskedErrors: { maskError: asGraphqlError },
    plugins: [boundedQueries, shownResults],
  });
  return { answer: async (request, context) => await yoga.fetch(request, context) };
}

/** Over HTTP nobody would look again whether a watcher still has the right to watch. */
const noSubscriptions: ValidationRule = (context) => ({
  OperationDefinition(operation) {
    if (operation.operation !== 'subscription') return;
    const message = 'Subscriptions come over a WebSocket at this address, by graphql-transport-ws.';
    context.reportError(new GraphQLError(message, { nodes: operation }));
  },
});

const boundedQueries: Plugin = {
  onParams({ params }) {
    if (typeof params.query === 'string' && params.query.length > LONGEST_QUERY) {
      throw badInput('query', `it has more than ${LONGEST_QUERY} characters`);
    }
  },
  onParse({ setParseFn }) {
    setParseFn((source, options) => parse(source, { ...options, maxTokens: QUERY_LIMITS.tokens }));
  },
  onValidate({ addValidationRule }) {
    for (const rule of [...queryLimitRules, noSubscriptions]) addValidationRule(rule);
  },
};

const shownResults: Plugin<object, RequestContext> = {
  onExecutionResult({ result, setResult, context }) {
    if (result === undefined || Array.isArray(result)) return;
    if (!(Symbol.asyncIterator in result)) setResult(showableResult(context, result));
    else setResult(eachShown(context, result as AsyncIterable<ExecutionResult>));
  },
};

async function* eachShown(
  context: RequestContext,
  results: AsyncIterable<ExecutionResult>,
): AsyncIterable<ExecutionResult> {
  for await (const result of results) yield showableResult(context, result);
}

/** Keeps what was behind it, which never leaves the process: only `message`, `path` and `extensions` are written. */
function asGraphqlError(error: unknown): GraphQLError {
  if (error instanceof GraphQLError) return error;
  const originalError = error instanceof Error ? error : new Error(String(error));
  return new GraphQLError('Something went wrong on our side.', { originalError });
}
