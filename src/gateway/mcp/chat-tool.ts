import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ErrorEnvelope } from '../../http/error-envelope.ts';
import { readJson } from '../../http/read-json.ts';
import type { Clock } from '../../ports/clock.ts';
import { refusalEnvelope } from '../admission/refusals.ts';
import { createSseEventCutter, readSseEventData, type SseEvent } from '../streaming/server-sent-events.ts';
import { CHAT } from './tool-schemas.ts';
import {
  type Arguments,
  failed,
  type GatewayTool,
  refused,
  resultOf,
  succeeded,
  type ToolRun,
} from './tool-server.ts';

const CHAT_ROUTE = { method: 'POST', path: '/chat/completions' } as const;
/** The interval of progress notifications: fast enough for a human reader. */
const PROGRESS_EVERY_MS = 100;

/** The gateway has already limited the events, so none is larger than this. */
const MOST_EVENT_BYTES = 17 * 1024 * 1024;

const UNAVAILABLE = refusalEnvelope({
  name: 'unavailable',
  message: 'The model ended the response early. Try again.',
});

/**
 * G-44: a chat call. If the client requests progress, the answer is streamed from the provider and received text is reported
 * as progress; otherwise it is one call without a stream. Both are charged like the same call over REST.
 */
export function createChatTool({ clock }: { readonly clock: Clock }): GatewayTool {
  return {
    definition: {
      name: 'chat',
      title: 'Chat',
      description:
        'Sends messages or a prompt to a model of this gateway and returns its text. Charged by tokens used.',
      annotations: {
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: false,
        openWorldHint: true,
      },
      ...CHAT,
    },
    scope: 'inference:chat',
    route: CHAT_ROUTE,
    async run(run) {
      const read = bodyOf(run.arguments);
      if ('fault' in read) return refused(read.fault, read.param);
      const { body } = read;
      const { reportProgress } = run;
      if (reportProgress === null)
        return await resultOf(await run.ask({ ...CHAT_ROUTE, body }, run.signal), shownCompletion);
      return await streamed(body, { ...run, reportProgress });
    },
  };

  async function streamed(
    body: Readonly<Record<string, unknown>>,
    { ask, signal, reportProgress }: ToolRun & { reportProgress: NonNullable<ToolRun['reportProgress']> },
  ): Promise<CallToolResult> {
    const request = { ...body, stream: true, stream_options: { include_usage: true } };
    const response = await ask({ ...CHAT_ROUTE, body: request }, signal);
    // A refusal, or a provider that does not stream.
    if (!isStream(response)) return await resultOf(response, shownCompletion);
    let characters = 0;
    let waiting = '';
    let reportedAtMs = clock.now();
    const tell = async () => {
      if (waiting === '') return;
      const message = waiting;
      waiting = '';
      reportedAtMs = clock.now();
      await reportProgress(characters, message);
    };
    const read = await readChatStream(response, signal, async (piece) => {
      characters += piece.length;
      waiting += piece;
      if (characters === piece.length || clock.now() - reportedAtMs >= PROGRESS_EVERY_MS) await tell();
    });
    if (read.outcome === 'failed') return failed(read.envelope);
    await tell();
    return resultOfAnswer(read.answer);
  }
}

type ReadBody =
  | { readonly body: Readonly<Record<string, unknown>> }
  | { readonly fault: string; readonly param: string };

/** Converts `prompt` into a message. The route validates everything else. */
function bodyOf({ prompt, ...given }: Arguments): ReadBody {
  if (prompt === undefined || prompt === null) {
    if (Array.isArray(given.messages) && given.messages.length > 0) return { body: given };
    return { fault: 'Give messages, a list of at least one, or prompt.', param: 'messages' };
  }
  if (given.messages !== undefined) return { fault: 'Give messages or prompt, not both.', param: 'prompt' };
  if (typeof prompt !== 'string' || prompt === '') {
    return { fault: 'prompt must be a text.', param: 'prompt' };
  }
  return { body: { ...given, messages: [{ role: 'user', content: prompt }] } };
}

interface Completion {
  readonly model: string;
  readonly choices?: readonly {
    readonly message?: { readonly content?: string | null; readonly refusal?: string | null };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: unknown;
}

/** Reduces the route's answer to the fields that an agent needs. */
function shownCompletion(body: Record<string, unknown>): CallToolResult {
  const { model, choices = [], usage } = body as unknown as Completion;
  const [choice] = choices;
  const text = choice?.message?.content ?? choice?.message?.refusal ?? '';
  return resultOfAnswer({ model, text, finishReason: choice?.finish_reason ?? null, usage });
}

function resultOfAnswer({ model, text, finishReason, usage }: ChatAnswer): CallToolResult {
  const reported = usage === undefined || usage === null ? {} : { usage };
  return succeeded({ model, text, finish_reason: finishReason, ...reported }, text);
}

function isStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') ?? false;
}

interface ChatAnswer {
  readonly model: string;
  readonly text: string;
  readonly finishReason: string | null;
  /** As reported by the provider. */
  readonly usage: unknown;
}

type ReadChat =
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

/**
 * Reads the gateway's own stream to its end and reports each piece of text as it arrives. It is complete only with [DONE],
 * which is sent after the call is committed; a stream that was broken off contains the envelope.
 */
async function readChatStream(
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
    if (data.kind === 'data') {
      const json = readJson(data.bytes.subarray(data.start, data.end));
      if (json.outcome === 'read') takeChunk(json.value as Chunk);
      else failure = UNAVAILABLE;
    }
    // `readSseEventData` does not return the data of an event that is named error.
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

/** Reads to the end, or until the client disconnects: the stream is then cancelled, which aborts the provider. */
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
