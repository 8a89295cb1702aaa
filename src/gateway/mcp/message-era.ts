import { isLegacyRequest, PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/server';

export type MessageEra = '2025' | '2026';

/** Revisions from before 2026-07-28, which is the first without a handshake. */
const OLD_REVISION = /^202[45]-\d\d-\d\d$/;

/**
 * In which era a message is to be answered. The library's own judgement checks it against the protocol's schemas, and what
 * answers it does so once more: for what plainly is a tool call of either era a look at its fields says the same.
 * Everything else is left to the library.
 */
export async function eraOf(request: Request, body: unknown): Promise<MessageEra> {
  const plain = plainEraOf(request.headers.get('mcp-protocol-version'), body);
  if (plain !== null) return plain;
  return (await isLegacyRequest(request, body)) ? '2025' : '2026';
}

function plainEraOf(version: string | null, body: unknown): MessageEra | null {
  if (!isRecord(body) || 'result' in body || 'error' in body) return null;
  const { jsonrpc, id, method, params } = body;
  if (jsonrpc !== '2.0' || method !== 'tools/call' || !isRecord(params)) return null;
  if (typeof id !== 'string' && !Number.isSafeInteger(id)) return null;
  if (isRecord(params._meta) && PROTOCOL_VERSION_META_KEY in params._meta) return '2026';
  const isOld = version === null || OLD_REVISION.test(version);
  return isOld && params._meta === undefined ? '2025' : null;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
