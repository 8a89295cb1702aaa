import type { UpstreamAnswer, UpstreamFailure } from '../../../ports/model-upstream.ts';
import { type Refusal, refusalBody } from './refusal.ts';

export function jsonAnswer(parts: Iterable<string>, signal: AbortSignal): UpstreamAnswer {
  return { status: 200, contentType: 'application/json', body: pulledBody(parts, signal) };
}

/** Server-sent events, one to a part. */
export function eventAnswer(events: Iterable<object>, signal: AbortSignal): UpstreamAnswer {
  return { status: 200, contentType: 'text/event-stream', body: pulledBody(asEvents(events), signal) };
}

export function refusedAnswer(refusal: Refusal, signal: AbortSignal): UpstreamAnswer {
  const body = pulledBody([refusalBody(refusal)], signal);
  return { status: refusal.status, contentType: 'application/json', body };
}

function* asEvents(events: Iterable<object>): Generator<string> {
  for (const event of events) yield `data: ${JSON.stringify(event)}\n\n`;
  yield 'data: [DONE]\n\n';
}

/**
 * A part is made when it is asked for: a client that reads slowly holds up its own answer and no memory. It ends
 * with an error at once where the call is aborted.
 */
function pulledBody(parts: Iterable<string>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const iterator = parts[Symbol.iterator]();
  const toBytes = new TextEncoder();
  let stopListening = () => {};
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const abort = () => controller.error(upstreamFailure('aborted'));
        if (signal.aborted) return abort();
        signal.addEventListener('abort', abort, { once: true });
        stopListening = () => signal.removeEventListener('abort', abort);
      },
      pull(controller) {
        const { done, value } = iterator.next();
        if (done !== true) return controller.enqueue(toBytes.encode(value));
        stopListening();
        controller.close();
      },
      cancel() {
        stopListening();
      },
    },
    { highWaterMark: 0 },
  );
}

export function upstreamFailure(reason: 'aborted' | 'broken', cause?: unknown): UpstreamFailure {
  const message = reason === 'aborted' ? 'the call was aborted' : 'the embedded model failed';
  const error = new Error(message, cause === undefined ? undefined : { cause });
  return Object.assign(error, { name: 'UpstreamFailure' as const, reason });
}
