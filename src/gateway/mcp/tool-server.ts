import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Scope } from '../../domain/keys/scopes.ts';
import type { Log } from '../../ports/log.ts';
import { refusalEnvelope } from '../refusals.ts';
import type { AskRest, GatewayTool, ToolRun } from './tool.ts';
import { failed, refused } from './tool-result.ts';

/** One HTTP request of somebody who showed a key. */
export interface McpCaller {
  readonly requestId: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly ask: AskRest;
  /** Whether anything can be sent before the result. */
  readonly takesStreams: boolean;
}

/** What stands behind the endpoint. The tests put the fixtures of the official suite in its place. */
export interface ToolServer {
  readonly tools: ReadonlyMap<string, GatewayTool>;
  /** A server for one request, which sees the tools of its key alone. */
  serverFor(caller: McpCaller): Server;
  /** Whether a call of this tool may send something before its result though no progress was asked for. */
  readonly sendsUnasked: boolean;
}

const SERVER = { name: 'turnpike', title: 'Turnpike', version: '1.0.0' };
const OPTIONS = {
  capabilities: { tools: {} },
  instructions:
    'Models, usage, jobs and document parsing of one company. Call list_models for what chat takes as model. Calls of chat, parse_cv and parse_jd are charged to the company.',
  // The list depends on the key, so nobody may keep it for another one; a scope that is lost is gone at once.
  cacheHints: { 'tools/list': { ttlMs: 0, cacheScope: 'private' as const } },
};

/**
 * G-43: the tools by the key's scopes, in one order for all. The protocol's plain server is used, with the schemas as
 * they stand: they are not made and compiled again for each request, and the arguments are judged once, by the route.
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
    const tellProgress =
      token === undefined || !caller.takesStreams
        ? null
        : (progress: number, message: string) =>
            mcpReq.notify({
              method: 'notifications/progress',
              params: { progressToken: token, progress, message },
            });
    try {
      return await tool.run({ arguments: given, ask: caller.ask, signal: mcpReq.signal, tellProgress });
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
