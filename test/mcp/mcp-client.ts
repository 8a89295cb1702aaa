import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** How a client opens: by the handshake of 2025, or at once in the revision of 2026. */
export type Era = '2025' | '2026';
export const ERAS: readonly Era[] = ['2025', '2026'];

interface Envelope {
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
}

/** The official client on a real socket. */
export async function openClient(url: string, rawKey: string, era: Era) {
  const options = era === '2026' ? { versionNegotiation: { mode: 'auto' as const } } : {};
  const client = new Client({ name: 'test', version: '1' }, options);
  const requestInit = { headers: { authorization: `Bearer ${rawKey}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  return client;
}

type OpenedClient = Awaited<ReturnType<typeof openClient>>;

/** One tool call, as much of its result as tests look at. */
export async function callTool(
  client: OpenedClient,
  name: string,
  given: Record<string, unknown> = {},
  options: NonNullable<Parameters<OpenedClient['callTool']>[1]> = {},
) {
  const result = await client.callTool({ name, arguments: given }, options);
  const [first] = result.content as { readonly type: string; readonly text?: string }[];
  return {
    isError: result.isError === true,
    text: first?.text ?? '',
    body: (result.structuredContent ?? {}) as Record<string, unknown> & { readonly error?: Envelope },
  };
}
