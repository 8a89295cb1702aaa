import { AnswerError } from '../session/answer-error.ts';

export interface StreamedUsage {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

/** Credits for a million tokens. */
export interface ModelPrice {
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number };
  } | null;
  readonly error?: { readonly message: string };
}

export interface ChatWish {
  readonly gatewayUrl: string;
  readonly key: string;
  readonly body: object;
  readonly signal: AbortSignal;
  told(part: string): void;
}

export function priceOf(usage: StreamedUsage, price: ModelPrice): number {
  const fresh = usage.promptTokens - usage.cachedTokens;
  const perMillion =
    fresh * price.prompt + usage.cachedTokens * price.cached + usage.completionTokens * price.completion;
  return perMillion / 1_000_000;
}

/** A streamed call of the gateway from a browser; a stop by the person is an ending, not an error. */
export async function streamChat(
  wish: ChatWish,
): Promise<{ usage: StreamedUsage | null; isStopped: boolean }> {
  let usage: StreamedUsage | null = null;
  try {
    const response = await fetch(`${wish.gatewayUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${wish.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...wish.body, stream_options: { include_usage: true } }),
      signal: wish.signal,
    });
    const requestId = response.headers.get('x-request-id');
    if (!response.ok || response.body === null) {
      const refusal = (await response.json().catch(() => ({}))) as Chunk;
      const message = refusal.error?.message ?? `The gateway answered ${response.status}.`;
      throw new AnswerError(message, String(response.status), requestId);
    }
    for await (const data of eventsOf(response.body)) {
      if (data === '[DONE]') break;
      const chunk = JSON.parse(data) as Chunk;
      if (chunk.error !== undefined) throw new AnswerError(chunk.error.message, 'STREAM', requestId);
      const part = chunk.choices?.[0]?.delta?.content;
      if (part) wish.told(part);
      if (chunk.usage) usage = usageOf(chunk.usage);
    }
    return { usage, isStopped: false };
  } catch (error) {
    if (wish.signal.aborted) return { usage, isStopped: true };
    throw error instanceof TypeError
      ? new AnswerError('The gateway cannot be reached from this page.', 'OFFLINE', null)
      : error;
  }
}

function usageOf(usage: NonNullable<Chunk['usage']>): StreamedUsage {
  return {
    promptTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    completionTokens: usage.completion_tokens,
  };
}

async function* eventsOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data:')) yield line.slice(5).trim();
  }
}
