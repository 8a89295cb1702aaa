import {
  createSourceEventStream,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
} from 'graphql';
import type { SubscribePayload } from 'graphql-ws';
import type { LogEntry } from '../../ports/log.ts';
import { showableResult } from '../graphql/endpoint.ts';
import { badInput } from '../graphql/errors.ts';
import type { WatchedLog } from '../graphql/operations/logs.ts';
import { checkQuery, parseQuery, QUERY_LIMITS } from '../graphql/query-limits.ts';
import type { RequestContext } from '../graphql/request-context.ts';

type BegunOperation =
  | { readonly outcome: 'begun'; readonly args: ExecutionArgs; readonly watched: WatchedLog }
  | { readonly outcome: 'refused'; readonly errors: readonly GraphQLError[] };

/**
 * Parses a subscription under the limits of a query over HTTP and starts it. Access is checked here, for the context's
 * user at this time.
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
  if (query.length > QUERY_LIMITS.characters) {
    return refused(badInput('query', `it has more than ${QUERY_LIMITS.characters} characters`));
  }
  let document: DocumentNode;
  try {
    document = parseQuery(query);
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    return refused(withCode(error, 'GRAPHQL_PARSE_FAILED'));
  }
  const errors = checkQuery(schema, document);
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

/** The fields that a subscription selects of each line. Subscriptions with the same selection share one. */
interface Selection {
  /** The line in JSON, as the `payload` of a message. */
  textOf(entry: LogEntry): Promise<string> | string;
  /** Called once by each subscription that acquired it. */
  release(): void;
}

interface Selections {
  take(args: ExecutionArgs, query: string): Selection;
}

interface Shared {
  readonly texts: WeakMap<LogEntry, Promise<string> | string>;
  readonly write: (entry: LogEntry) => Promise<string>;
  users: number;
}

/**
 * A line is executed and serialized once for all subscribers with the same selection: at 200 lines a second, a thousand
 * open consoles cost 200 executions a second, not 200,000. A line looks the same for every subscriber; access was
 * checked for each one separately.
 */
export function createSelections(): Selections {
  const shared = new Map<string, Shared>();

  return {
    take(args, query) {
      const key = JSON.stringify([query, args.operationName, args.variableValues]);
      const found = shared.get(key);
      const own = found ?? { texts: new WeakMap(), write: (entry) => textOf(args, entry), users: 0 };
      own.users += 1;
      shared.set(key, own);
      return {
        textOf(entry) {
          const known = own.texts.get(entry);
          if (known !== undefined) return known;
          const writing = own.write(entry).then((text) => {
            own.texts.set(entry, text);
            return text;
          });
          own.texts.set(entry, writing);
          return writing;
        },
        release() {
          own.users -= 1;
          if (own.users === 0) shared.delete(key);
        },
      };
    },
  };
}

async function textOf(args: ExecutionArgs, entry: LogEntry): Promise<string> {
  const result = await execute({ ...args, rootValue: entry });
  return JSON.stringify(showableResult(args.contextValue as RequestContext, result));
}

/** The messages that carry these lines for one subscription. */
export async function messagesOf(
  id: string,
  selection: Selection,
  lines: readonly LogEntry[],
): Promise<string[]> {
  const head = `{"id":${JSON.stringify(id)},"type":"next","payload":`;
  const messages: string[] = [];
  for (const line of lines) {
    const text = selection.textOf(line);
    messages.push(`${head}${typeof text === 'string' ? text : await text}}`);
  }
  return messages;
}
