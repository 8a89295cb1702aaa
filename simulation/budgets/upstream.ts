import type { ModelUpstream, UpstreamAnswer } from '../../src/ports/model-upstream.ts';

export interface Tokens {
  readonly prompt: number;
  readonly completion: number;
}

/** How the provider ends a call: with this usage, without any, or with an error. */
export type CallEnd = Tokens | 'no-usage' | 'error';

/** A provider that answers when the simulation says so. */
export interface HeldUpstream extends ModelUpstream {
  /** Resolves when the call has reached the provider: it was admitted. */
  arrived(number: number): Promise<'arrived'>;
  end(number: number, how: CallEnd): void;
}

/** Bodies have the number of their call in their message, `call 7`. Those that are cached are answered at once. */
export function createHeldUpstream(cachedTokens: (variant: number) => Tokens): HeldUpstream {
  const calls = new Map<
    number,
    { arrived: PromiseWithResolvers<'arrived'>; ended: PromiseWithResolvers<CallEnd> }
  >();
  const callOf = (number: number) => {
    const known = calls.get(number) ?? { arrived: Promise.withResolvers(), ended: Promise.withResolvers() };
    calls.set(number, known);
    return known;
  };
  return {
    async send(_target, { body, signal }) {
      const text = new TextDecoder().decode(body);
      const [, kind, number] = /"content":"(call|cached) (\d+)/.exec(text) ?? [];
      const isStream = text.includes('"stream":true');
      if (kind === 'cached') return answerOf(cachedTokens(Number(number)), isStream);
      const call = callOf(Number(number));
      call.arrived.resolve('arrived');
      const left = new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () => reject(failure('aborted'))),
      );
      left.catch(() => {});
      return answerOf(await Promise.race([call.ended.promise, left]), isStream);
    },
    arrived: (number) => callOf(number).arrived.promise,
    end: (number, how) => callOf(number).ended.resolve(how),
  };
}

function answerOf(end: CallEnd, isStream: boolean): UpstreamAnswer {
  if (end === 'error')
    return whole(500, 'application/json', JSON.stringify({ error: { message: 'not now' } }));
  const usage =
    end === 'no-usage'
      ? undefined
      : {
          prompt_tokens: end.prompt,
          completion_tokens: end.completion,
          total_tokens: end.prompt + end.completion,
        };
  if (!isStream) {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }];
    const answer = { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'x', choices, usage };
    return whole(200, 'application/json', JSON.stringify(answer));
  }
  const event = (fields: object) =>
    `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'x', ...fields })}\n\n`;
  const word = event({ choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }] });
  const last = usage === undefined ? '' : event({ choices: [], usage });
  return whole(200, 'text/event-stream', `${word}${last}data: [DONE]\n\n`);
}

function whole(status: number, contentType: string, text: string): UpstreamAnswer {
  let bytes: Uint8Array<ArrayBuffer> | null = new TextEncoder().encode(text);
  return {
    status,
    contentType,
    body: {
      read() {
        const next = bytes;
        bytes = null;
        return next;
      },
      cancel() {},
    },
  };
}

function failure(reason: 'aborted') {
  return Object.assign(new Error(`the provider: ${reason}`), { name: 'UpstreamFailure' as const, reason });
}
