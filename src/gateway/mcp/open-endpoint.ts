import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { createBrowserGuard } from './browser-guard.ts';
import { type Arrived, createMcpEndpoint, type McpEndpointParts } from './endpoint.ts';
import { createGatewayTools } from './gateway-tools.ts';
import { createLocalRunningCalls, type RunningCalls } from './running-calls.ts';
import { createServeMessage } from './serve-message.ts';
import { createToolServer, type ToolServer } from './tool-server.ts';

/** What may be chosen; left out, a gateway that stands alone. */
export interface McpChoices {
  readonly checksHost?: boolean;
  readonly running?: RunningCalls;
  readonly toolServer?: ToolServer;
}

export interface OpenMcpParts extends Omit<McpEndpointParts, 'guard' | 'tools' | 'serve'> {
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly consoleOrigin: string | undefined;
  readonly mcp: McpChoices | undefined;
}

/** The endpoint with all that stands behind it. */
export function openMcpEndpoint(parts: OpenMcpParts): (arrived: Arrived) => Promise<Response> {
  const { clock, secrets, log, consoleOrigin, mcp = {} } = parts;
  const { checksHost = false, running = createLocalRunningCalls() } = mcp;
  const toolServer = mcp.toolServer ?? createToolServer({ tools: createGatewayTools({ clock }), log });
  return createMcpEndpoint({
    ...parts,
    guard: createBrowserGuard({ consoleOrigin, checksHost }),
    tools: toolServer.tools,
    serve: createServeMessage({ toolServer, running, secrets, clock, log }),
  });
}
