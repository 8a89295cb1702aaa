import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Clock } from '../../ports/clock.ts';
import { type ChatAnswer, readChatStream } from './chat-stream.ts';
import type { Arguments, GatewayTool, ToolRun } from './tool.ts';
import { failed, refused, resultOf, succeeded } from './tool-result.ts';
import { CHAT } from './tool-schemas.ts';

const ROUTE = { method: 'POST', path: '/chat/completions' } as const;
/** Between two notices: as fast as somebody reads along, and no faster. */
const PROGRESS_EVERY_MS = 100;

/**
 * G-44: a chat call. Where the client asks for progress the answer is streamed from the provider, and what has come
 * is told on the way; else it is one call in one piece. Both are charged as the same call over REST is.
 */
export function createChatTool({ clock }: { readonly clock: Clock }): GatewayTool {
  return {
    definition: {
      name: 'chat',
      title: 'Chat',
      description:
        'Asks a model of this gateway and answers with its text. Charged by the tokens used; give messages or prompt.',
      annotations: {
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: false,
        openWorldHint: true,
      },
      ...CHAT,
    },
    scope: 'inference:chat',
    route: ROUTE,
    async run(run) {
      const read = bodyOf(run.arguments);
      if ('fault' in read) return refused(read.fault, read.param);
      const { body } = read;
      const { tellProgress } = run;
      if (tellProgress === null) return await resultOf(await run.ask({ ...ROUTE, body }, run.signal), shown);
      return await streamed(body, { ...run, tellProgress });
    },
  };

  async function streamed(
    body: Readonly<Record<string, unknown>>,
    { ask, signal, tellProgress }: ToolRun & { tellProgress: NonNullable<ToolRun['tellProgress']> },
  ): Promise<CallToolResult> {
    const asked = { ...body, stream: true, stream_options: { include_usage: true } };
    const response = await ask({ ...ROUTE, body: asked }, signal);
    // A refusal, or a provider that does not stream.
    if (!isStream(response)) return await resultOf(response, shown);
    let characters = 0;
    let waiting = '';
    let toldAtMs = clock.now();
    const tell = async () => {
      if (waiting === '') return;
      const message = waiting;
      waiting = '';
      toldAtMs = clock.now();
      await tellProgress(characters, message);
    };
    const read = await readChatStream(response, signal, async (piece) => {
      characters += piece.length;
      waiting += piece;
      if (characters === piece.length || clock.now() - toldAtMs >= PROGRESS_EVERY_MS) await tell();
    });
    if (read.outcome === 'failed') return failed(read.envelope);
    await tell();
    return resultOfAnswer(read.answer);
  }
}

type ReadBody =
  | { readonly body: Readonly<Record<string, unknown>> }
  | { readonly fault: string; readonly param: string };

/** What prompt is to the chat API is settled here; everything else is for the route to judge. */
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

/** The route's own answer, in the few fields that an agent wants. */
function shown(body: Record<string, unknown>): CallToolResult {
  const { model, choices = [], usage } = body as unknown as Completion;
  const [choice] = choices;
  const text = choice?.message?.content ?? choice?.message?.refusal ?? '';
  return resultOfAnswer({ model, text, finishReason: choice?.finish_reason ?? null, usage });
}

function resultOfAnswer({ model, text, finishReason, usage }: ChatAnswer): CallToolResult {
  const told = usage === undefined || usage === null ? {} : { usage };
  return succeeded({ model, text, finish_reason: finishReason, ...told }, text);
}

function isStream({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('text/event-stream') ?? false;
}
