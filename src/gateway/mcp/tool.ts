import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import type { Scope } from '../../domain/keys/scopes.ts';

export type Arguments = Readonly<Record<string, unknown>>;

/** The same call over REST: what answers it is what answers the route, from admission to the charge. */
export interface RestCall {
  readonly method: 'GET' | 'POST';
  /** Below the base, with its query. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

export type AskRest = (call: RestCall, signal: AbortSignal) => Promise<Response>;

export interface ToolRun {
  readonly arguments: Arguments;
  readonly ask: AskRest;
  /** Aborts when the client cancels or leaves. */
  readonly signal: AbortSignal;
  /** Null where the client did not ask for it. */
  readonly tellProgress: ((progress: number, message: string) => Promise<void>) | null;
}

/** One tool: how it is shown, whom it is for, and the route that it stands for. */
export interface GatewayTool {
  readonly definition: Tool;
  readonly scope: Scope;
  readonly route: Pick<RestCall, 'method' | 'path'>;
  run(run: ToolRun): Promise<CallToolResult>;
}
