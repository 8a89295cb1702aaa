import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import type { Scope } from '../../domain/keys/api-key.ts';
import type { ErrorEnvelope } from '../../http/error-envelope.ts';
import { readJson } from '../../http/read-json.ts';
import type { Log } from '../../ports/log.ts';
import { type Refusal, refusalEnvelope } from '../admission/refusals.ts';

/** One HTTP request with a verified key. */
export interface McpCaller {
  readonly requestId: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly ask: AskRest;
  /** Whether anything can be sent before the result. */
  readonly takesStreams: boolean;
}

export type Arguments = Readonly<Record<string, unknown>>;

/** The same call over REST: the route's own code answers it, from admission to the charge. */
interface RestCall {
  readonly method: 'GET' | 'POST';
  /** Relative to the base path, with its query. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

export type AskRest = (call: RestCall, signal: AbortSignal) => Promise<Response>;

export interface ToolRun {
  readonly arguments: Arguments;
  readonly ask: AskRest;
  /** Aborts when the client cancels or disconnects. */
  readonly signal: AbortSignal;
  /** Null if the client did not request progress or does not accept streams. */
  readonly reportProgress: ((progress: number, message: string) => Promise<void>) | null;
}

/** A tool: its definition, the scope that it requires, and the route that it calls. */
export interface GatewayTool {
  readonly definition: Tool;
  readonly scope: Scope;
  readonly route: Pick<RestCall, 'method' | 'path'>;
  run(run: ToolRun): Promise<CallToolResult>;
}

/** The tools behind the endpoint. Tests replace them with the fixtures of the official suite. */
export interface ToolServer {
  readonly tools: ReadonlyMap<string, GatewayTool>;
  /** A server for one request, limited to the tools of its key. */
  serverFor(caller: McpCaller): Server;
  /** Whether a tool call may send something before its result although no progress was requested. */
  readonly sendsUnasked: boolean;
}

const SERVER = { name: 'turnpike', title: 'Turnpike', version: '1.0.0' };
const OPTIONS = {
  capabilities: { tools: {} },
  instructions:
    'Models, usage, jobs and document parsing of one company. Call list_models for the values of model in chat. chat, parse_cv and parse_jd are charged to the company.',
  // The list depends on the key, so it must not be cached for another key. A removed scope takes effect at once.
  cacheHints: { 'tools/list': { ttlMs: 0, cacheScope: 'private' as const } },
};

/**
 * G-43: the tools that the key's scopes allow, always in the same order. Uses the protocol's plain server with static
 * schemas: they are not built and compiled for each request, and the arguments are validated once, by the route.
 */
export function createToolServer({
  tools,
  log,
}: {
  readonly tools: readonly GatewayTool[];
  readonly log: Log;
}): ToolServer {
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]));

  async function call(
    caller: McpCaller,
    name: string,
    given: ToolRun['arguments'],
    { mcpReq }: ServerContext,
  ): Promise<CallToolResult> {
    const tool = byName.get(name);
    if (tool === undefined || !caller.scopes.has(tool.scope)) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Tool ${name.slice(0, 100)} not found`);
    }
    const { properties = {} } = tool.definition.inputSchema;
    const unknown = Object.keys(given).find((argument) => !Object.hasOwn(properties, argument));
    if (unknown !== undefined)
      return refused(`${name} takes no ${unknown.slice(0, 100)}.`, unknown.slice(0, 100));
    const token = mcpReq._meta?.progressToken;
    const reportProgress =
      token === undefined || !caller.takesStreams
        ? null
        : (progress: number, message: string) =>
            mcpReq.notify({
              method: 'notifications/progress',
              params: { progressToken: token, progress, message },
            });
    try {
      return await tool.run({ arguments: given, ask: caller.ask, signal: mcpReq.signal, reportProgress });
    } catch (error) {
      if (!mcpReq.signal.aborted) {
        log.error('a tool failed', { requestId: caller.requestId, tool: name, error });
      }
      return failed(refusalEnvelope({ name: 'unavailable' }));
    }
  }

  return {
    tools: byName,
    sendsUnasked: false,
    serverFor(caller) {
      const server = new Server(SERVER, OPTIONS);
      server.setRequestHandler('tools/list', () => ({
        tools: tools.filter(({ scope }) => caller.scopes.has(scope)).map(({ definition }) => definition),
      }));
      server.setRequestHandler('tools/call', ({ params }, context) =>
        call(caller, params.name, params.arguments ?? {}, context),
      );
      return server;
    },
  };
}

type Body = Record<string, unknown>;

/** Many clients pass only the text to their model, so it must contain everything that the model needs. */
export function succeeded(body: Body, text: string): CallToolResult {
  return { content: [{ type: 'text', text }], structuredContent: body };
}

/** G-45: the envelope as structured content, its message as text. */
export function failed(envelope: ErrorEnvelope, retryAfterMs: number | null = null): CallToolResult {
  const { message, type, code } = envelope.error;
  const wait = retryAfterMs === null ? '' : ` Retry after ${Math.ceil(retryAfterMs / 1000)} s.`;
  const text = `${message}${wait} (${code ?? type})`;
  return { content: [{ type: 'text', text }], structuredContent: { error: envelope.error }, isError: true };
}

export function refused(message: string, param: string | null): CallToolResult {
  const refusal: Refusal = { name: 'invalidRequest', message, param };
  return failed(refusalEnvelope(refusal));
}

/** Converts the answer of the route into a result. */
export async function resultOf(
  response: Response,
  show: (body: Body) => CallToolResult = (body) => succeeded(body, JSON.stringify(body)),
): Promise<CallToolResult> {
  const json = readJson(await response.bytes());
  if (json.outcome !== 'read') return failed(refusalEnvelope({ name: 'unavailable' }));
  const body = json.value as Body;
  if (response.ok) return show(body);
  return failed(body as unknown as ErrorEnvelope, retryAfterMsOf(response));
}

function retryAfterMsOf({ headers }: Response): number | null {
  const value = headers.get('retry-after-ms');
  return value === null ? null : Number(value);
}
