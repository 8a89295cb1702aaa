import type { ModelUpstream, UpstreamFailure } from '../../src/ports/model-upstream.ts';
import { NEVER, type Owner, type Scheduler } from './scheduler.ts';

/** What the provider of models does with one call. */
export interface UpstreamScript {
  readonly firstByteMs: number;
  readonly status: number;
  /** Of a stream; each comes after this time. */
  readonly chunks: number;
  readonly chunkMs: number;
  /** Breaks off after so many chunks; null reaches its end. */
  readonly breaksAfter: number | null;
  /** What it reports at the end; null reports nothing. */
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number } | null;
}

export interface RunningUpstream {
  readonly owner: Owner;
  readonly callNumber: number;
}

interface UpstreamParts {
  readonly scheduler: Scheduler;
  scriptOf(callNumber: number): UpstreamScript;
  begun(running: RunningUpstream): void;
  /** The last byte was read, or the reader has stopped. */
  ended(running: RunningUpstream, isWhole: boolean): void;
}

const encoder = new TextEncoder();

/** Answers calls as their scripts say, in simulated time. The number of the call is in its body. */
export function createSimulatedUpstream(parts: UpstreamParts): (owner: Owner) => ModelUpstream {
  const { scheduler } = parts;
  return (owner) => ({
    async send(_target, { body, signal }) {
      if (!owner.isAlive) return await NEVER;
      const text = new TextDecoder().decode(body);
      const callNumber = Number(/"user":"call-(\d+)"/.exec(text)?.[1]);
      const script = parts.scriptOf(callNumber);
      const running = { owner, callNumber };
      parts.begun(running);
      let isOver = false;
      const over = (isWhole = false) => {
        if (!isOver) parts.ended(running, isWhole);
        isOver = true;
      };
      signal.addEventListener('abort', () => over());
      if ((await untilAborted(scheduler, owner, script.firstByteMs, signal)) === 'aborted') throw aborted();
      if (script.status === 0) {
        over();
        throw failure('connect');
      }
      const pieces = piecesOf(script, /"stream":true/.test(text));
      return {
        status: script.status,
        contentType:
          /"stream":true/.test(text) && script.status === 200 ? 'text/event-stream' : 'application/json',
        body: {
          async read() {
            if (isOver) return 'broken';
            const piece = pieces.shift();
            const ended = await untilAborted(scheduler, owner, script.chunkMs, signal);
            if (ended === 'aborted' || piece === 'break') {
              over();
              return 'broken';
            }
            if (piece !== undefined) return encoder.encode(piece);
            over(script.status === 200);
            return null;
          },
          cancel: () => over(),
        },
      };
    },
  });
}

async function untilAborted(
  scheduler: Scheduler,
  owner: Owner,
  delayMs: number,
  signal: { readonly aborted: boolean; addEventListener(type: 'abort', listener: () => void): void },
): Promise<'there' | 'aborted'> {
  if (signal.aborted) return 'aborted';
  const left = new Promise<'aborted'>((resolve) =>
    signal.addEventListener('abort', () => resolve('aborted')),
  );
  return await Promise.race([scheduler.wait(owner, delayMs).then(() => 'there' as const), left]);
}

function piecesOf(script: UpstreamScript, isStream: boolean): (string | 'break')[] {
  const { status, usage, chunks, breaksAfter } = script;
  if (status !== 200)
    return [JSON.stringify({ error: { message: 'not now', type: 'server_error', code: null } })];
  const reported = usage && {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
  };
  if (!isStream) {
    if (breaksAfter !== null) return ['{"id":"chatcmpl-1","object":"chat.com', 'break'];
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }];
    return [
      JSON.stringify({
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1,
        model: 'x',
        choices,
        ...(reported && { usage: reported }),
      }),
    ];
  }
  const event = (fields: object) =>
    `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'x', ...fields })}\n\n`;
  const words = Array.from({ length: chunks }, () =>
    event({ choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }] }),
  );
  if (breaksAfter !== null) return [...words.slice(0, breaksAfter), 'break'];
  return [...words, ...(reported ? [event({ choices: [], usage: reported })] : []), 'data: [DONE]\n\n'];
}

function failure(reason: UpstreamFailure['reason']): UpstreamFailure {
  return Object.assign(new Error(`the provider: ${reason}`), { name: 'UpstreamFailure' as const, reason });
}
const aborted = () => failure('aborted');
