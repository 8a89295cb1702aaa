import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ErrorEnvelope } from '../../http/error-envelope.ts';
import { type Refusal, refusalEnvelope } from '../refusals.ts';

type Body = Record<string, unknown>;

/** What a client hands on to its model: many hand on the text alone, so nothing is in the structure that is not in it. */
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

/** What the route answered, as a result. */
export async function resultOf(
  response: Response,
  show: (body: Body) => CallToolResult = (body) => succeeded(body, JSON.stringify(body)),
): Promise<CallToolResult> {
  const body = (await response.json()) as Body;
  if (response.ok) return show(body);
  return failed(body as unknown as ErrorEnvelope, retryAfterMsOf(response));
}

function retryAfterMsOf({ headers }: Response): number | null {
  const told = headers.get('retry-after-ms');
  return told === null ? null : Number(told);
}
