/** What the endpoint looks at in a message before the protocol's own server judges it; whatever is amiss is left to that. */
export interface PeekedMessage {
  readonly method: string | null;
  readonly id: string | number | null;
  /** Of a tools/call. */
  readonly toolName: string | null;
  /** Of notifications/cancelled: the request that is meant. */
  readonly cancelledId: string | number | null;
  readonly hasProgressToken: boolean;
}

/** One message, or those of a batch, which clients of 2025-03-26 may send. */
export function peekMessages(body: unknown): readonly PeekedMessage[] {
  return (Array.isArray(body) ? body : [body]).map(peek);
}

function peek(message: unknown): PeekedMessage {
  const { method, id, params } = recordOf(message);
  const { name, requestId, _meta } = recordOf(params);
  const isCall = method === 'tools/call';
  return {
    method: typeof method === 'string' ? method : null,
    id: idOf(id),
    toolName: isCall && typeof name === 'string' ? name : null,
    cancelledId: method === 'notifications/cancelled' ? idOf(requestId) : null,
    hasProgressToken: isCall && idOf(recordOf(_meta).progressToken) !== null,
  };
}

function idOf(value: unknown): string | number | null {
  return typeof value === 'string' || typeof value === 'number' ? value : null;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
