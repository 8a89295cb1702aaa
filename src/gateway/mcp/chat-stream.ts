import type { ErrorEnvelope } from '../../http/error-envelope.ts';
import { refusalEnvelope } from '../refusals.ts';
import { readSseEventData } from '../sse-event-data.ts';
import { createSseEventCutter, type SseEvent } from '../sse-events.ts';

export interface ChatAnswer {
  readonly model: string;
  readonly text: string;
  readonly finishReason: string | null;
  /** As the provider told it. */
  readonly usage: unknown;
}

export type ReadChat =
  | { readonly outcome: 'answered'; readonly answer: ChatAnswer }
  | { readonly outcome: 'failed'; readonly envelope: ErrorEnvelope };

interface Chunk {
  readonly model?: string;
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly refusal?: string | null };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: unknown;
  readonly error?: ErrorEnvelope['error'];
}

/** The gateway has passed it on already, so no event is larger than this. */
const MOST_EVENT_BYTES = 17 * 1024 * 1024;

/**
 * The gateway's own stream, read to its end, each piece of text told as it comes. It is whole only with [DONE], which
 * waits for the call's commit; a stream that was broken off carries the envelope.
 */
export async function readChatStream(
  response: Response,
  signal: AbortSignal,
  onText: (piece: string) => Promise<void>,
): Promise<ReadChat> {
  const answer = { model: '', text: '', finishReason: null as string | null, usage: null as unknown };
  let failure: ErrorEnvelope | null = null;
  let isDone = false;

  function take(event: SseEvent): boolean {
    const data = readSseEventData(event);
    if (data.kind === 'done') isDone = true;
    if (data.kind === 'data')
      takeChunk(JSON.parse(new TextDecoder().decode(data.bytes.subarray(data.start, data.end))));
    // An event that says so by its name has its data beside it, which the reader above does not hand out.
    if (data.kind === 'error') failure = UNAVAILABLE;
    return true;
  }

  function takeChunk({ model, choices, usage, error }: Chunk): void {
    if (error !== undefined) failure = { error };
    answer.model = model ?? answer.model;
    const [choice] = choices ?? [];
    answer.text += choice?.delta?.content ?? choice?.delta?.refusal ?? '';
    answer.finishReason = choice?.finish_reason ?? answer.finishReason;
    answer.usage = usage ?? answer.usage;
  }

  const cutter = createSseEventCutter({ maxEventBytes: MOST_EVENT_BYTES });
  for await (const bytes of chunksOf(response, signal)) {
    const before = answer.text.length;
    cutter.push(bytes, take);
    if (answer.text.length > before) await onText(answer.text.slice(before));
  }
  if (failure !== null) return { outcome: 'failed', envelope: failure };
  if (!isDone) return { outcome: 'failed', envelope: UNAVAILABLE };
  return { outcome: 'answered', answer };
}

/** Until the end, or until the client has left: then the stream is given up, which aborts the provider. */
async function* chunksOf(response: Response, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  const leave = () => void reader.cancel().catch(() => {});
  signal.addEventListener('abort', leave, { once: true });
  try {
    if (signal.aborted) return;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    signal.removeEventListener('abort', leave);
    leave();
  }
}

const UNAVAILABLE = refusalEnvelope({
  name: 'unavailable',
  message: 'The model broke the answer off. Try again.',
});
