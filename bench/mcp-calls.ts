import { join } from 'node:path';
import type { Contestant } from './frame/contestants.ts';
import { cpuMicros } from './frame/process-cpu.ts';

/** One request that is sent over and over. */
export interface McpRequest {
  readonly label: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface LoadBounds {
  readonly connections: number;
  readonly requests: number;
}

const PROGRAM = join(import.meta.dir, 'programs/repeated-request.ts');

const accept = 'application/json, text/event-stream';
const CHAT = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 };

export const restChat = rest('chat over REST', 'POST', '/chat/completions', JSON.stringify(CHAT));
export const restModels = rest('the list of models over REST', 'GET', '/models', '');
export const chat2025 = tool2025('chat', CHAT);
export const chat2026 = tool2026('chat', CHAT);
export const models2025 = tool2025('list_models', {});
export const models2026 = tool2026('list_models', {});

/** So many requests, each of which must succeed. */
export async function load(gateway: Contestant, mcpRequest: McpRequest, bounds: LoadBounds) {
  const { method, body } = mcpRequest;
  const url = gateway.url.replace('/chat/completions', mcpRequest.path);
  const headers = { authorization: `Bearer ${gateway.key}`, ...mcpRequest.headers };
  const words = JSON.stringify({ url, method, headers, body, ...bounds });
  const before = cpuMicros(gateway.pid);
  const child = Bun.spawn([process.execPath, PROGRAM, words], { stdout: 'pipe', stderr: 'inherit' });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`the load of ${mcpRequest.label} failed`);
  const report = JSON.parse(output) as Record<'requests' | 'failed' | 'p50Ms' | 'p99Ms', number>;
  const { requests, failed, p50Ms, p99Ms } = report;
  if (failed > 0 || requests < bounds.requests) {
    throw new Error(
      `${bounds.requests - requests + failed} of ${bounds.requests} failed: ${mcpRequest.label}`,
    );
  }
  return { p50Ms, p99Ms, cpuMicros: (cpuMicros(gateway.pid) - before) / requests };
}

function rest(label: string, method: McpRequest['method'], path: string, body: string): McpRequest {
  return { label, method, path, headers: { 'content-type': 'application/json' }, body };
}

function tool2025(name: string, given: object): McpRequest {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: given },
  });
  const headers = { 'content-type': 'application/json', accept, 'mcp-protocol-version': '2025-11-25' };
  return { label: `${name} as a tool, 2025-11-25`, method: 'POST', path: '/mcp', headers, body };
}

function tool2026(name: string, given: object): McpRequest {
  const version = '2026-07-28';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  };
  const params = { name, arguments: given, _meta };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const protocol = { 'mcp-protocol-version': version, 'mcp-method': 'tools/call', 'mcp-name': name };
  const headers = { 'content-type': 'application/json', accept, ...protocol };
  return { label: `${name} as a tool, ${version}`, method: 'POST', path: '/mcp', headers, body };
}
