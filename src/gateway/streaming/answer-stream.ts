import type { DrainReason } from '../../domain/limits/abandoned-streams.ts';
import { estimateTokens } from '../../domain/limits/claims.ts';
import { CLIENT_LEFT } from '../../domain/model-calls/paid-call.ts';
import { type BodyRead, STREAM_LIMITS } from '../../ports/model-upstream.ts';
import { brokenStreamEvent, type Refusal } from '../admission/refusals.ts';
import { createAnswerCosts } from '../forwarding/answer-costs.ts';
import { type Answering, failure, idleTimeoutOf, logSilence } from '../forwarding/end-call.ts';
import { refusalInAnswer, silentFor, withoutProviderNames } from '../forwarding/provider-errors.ts';
import { responseRecord } from '../forwarding/record-response.ts';
import type { Usage } from '../json/reported-usage.ts';
import { usageChunkForm } from '../json/usage-chunk.ts';
import { createQuietStream } from './keep-alive.ts';
import { EVENT_STREAM_TYPE, STREAM_HEADERS, writtenEvent } from './server-sent-events.ts';
import { createUsageTap, type UsageTap } from './usage-tap.ts';

/** The reason of a stream that was read on after its client disconnected and is not billed. */
const DRAINED_WITHOUT_USAGE = 'drained-without-usage';

const BROKEN: Refusal = {
  name: 'unavailable',
  message: 'The model ended the response early. What was received is incomplete. Try again.',
};

const IDLE = 'upstream-idle';
/** The result that the breaker counts, by reason. */
const BREAKS: ReadonlyMap<string, 'late' | 'broken-off'> = new Map([
  [IDLE, 'late'],
  ['upstream-broken', 'broken-off'],
  ['upstream-cut-off', 'broken-off'],
]);
const ERROR_EVENT = 'upstream-error-event';

/**
 * Passes a stream on event by event, each as soon as it is complete. The last one, [DONE] or its equivalent, is held until
 * the call is committed. The upstream is read only as fast as the client reads. While it is silent, the client gets a ping every
 * 15 seconds, which is part of nothing that is recorded. How a stream may end:
 *   at the upstream's end       succeeded, or failed and free if no usage was reported (G-30, G-31)
 *   broken by the upstream      failed and free; one event with the error, no [DONE] (G-38)
 *   the client disconnects      succeeded if usage had arrived; otherwise the upstream is aborted and the call is failed
 *                               and free, or the upstream is read on for its usage (domain/limits/abandoned-streams.ts).
 *                               So it is, too, if the usage may be of one of several answers
 */
export function answerStream(answering: Answering): Response {
  const { parts, call, context, target, answer, end, firstByteMs, upstreamAbort } = answering;
  const { wire } = call.route;
  const costs = createAnswerCosts(call);
  const tap = createUsageTap({ ...tapOptions(answering), costs });
  const gathering = call.claim === null ? null : parts.idempotency.gather(call.claim);
  const copy = parts.answerRecorder?.gather(call, EVENT_STREAM_TYPE) ?? undefined;
  const idleMs = idleTimeoutOf(answering);
  const quiet = createQuietStream(wire);
  let isDone = false;
  /** By the clock's uptime, once the stream is read on after [DONE]. */
  let graceEndMs: number | null = null;
  let isEnding = false;
  let hasPassed = false;
  let pending: BodyRead | Promise<BodyRead> | undefined;
  let leaving: Promise<void> | null = null;
  /** The last event of a stream that was read on after its client disconnected. */
  let drained: Uint8Array | null = null;

  /** Null until usage is reported. Zeros that only complete the client's wire format do not count. */
  function usage() {
    return answer.body.lacksUsage?.() === true ? null : tap.usage();
  }

  function ending(withoutUsage: string, tokens = usage()) {
    const isPaid = tokens !== null;
    if (!isPaid) parts.unpaidEndings.note(call.key.id);
    return {
      outcome: isPaid ? ('SUCCEEDED' as const) : ('FAILED' as const),
      reason: isPaid ? null : withoutUsage,
      httpStatus: answer.status,
      targetId: target.id,
      tokens,
      firstByteMs,
      ...(isPaid ? {} : { estimatedTokens: lost() }),
      ...costs?.ending(context.served?.by ?? call.alias, isPaid),
      ...(gathering === null ? {} : { answer: { contentType: EVENT_STREAM_TYPE, bytes: gathering.bytes() } }),
      copy,
    };
  }

  /** The record of the response to continue, from its last event if that arrived. */
  function made(last: Uint8Array | null, isCharged: boolean) {
    return { response: responseRecord(answering, { id: tap.responseId(), last, isCharged }) };
  }

  function brokenEvent(refusal: Refusal): Uint8Array {
    return writtenEvent(brokenStreamEvent(refusal, { wire, requestId: context.requestId }, tap.events()));
  }

  /** The estimated tokens of a call that is not charged: its prompt and the text written so far (G-31). */
  function lost(): number {
    return estimateTokens(call.bytes.length + tap.contentBytes(), 0, 1);
  }

  function store(bytes: Uint8Array | null): void {
    if (bytes === null) return;
    gathering?.push(bytes);
    copy?.push(bytes);
  }

  function pass(controller: ReadableStreamDefaultController, bytes: Uint8Array): void {
    store(bytes);
    hasPassed = true;
    quiet.quietSeconds = 0;
    controller.enqueue(bytes);
  }

  function abortUpstream(): void {
    upstreamAbort.abort();
    answer.body.cancel();
  }

  /** Several signals can report that the client disconnected; only the first takes effect, and none after the end. */
  function leave(): Promise<void> {
    parts.keepAlive.remove(quiet);
    if (!isEnding) leaving ??= leaveOnce();
    return leaving ?? Promise.resolve();
  }

  async function leaveOnce(): Promise<void> {
    const tokens = usageSoFar(usage(), tap, isDone);
    const isPaid = tokens !== null;
    const isFinal = isPaid && tap.isOfAll();
    // If it cannot be counted, the call is free, as documented.
    const fate = isFinal ? 'free' : await parts.abandoned.left(call.key).catch(() => 'free' as const);
    if (fate === 'free') {
      abortUpstream();
      await end({ ...ending(CLIENT_LEFT, tokens), ...made(null, isPaid) });
      return;
    }
    const drain = drainUpstream(fate);
    parts.abandoned.track(drain, abortUpstream);
    await drain;
  }

  /** Meanwhile the call keeps its hold and its slot in flight. */
  async function drainUpstream(reason: DrainReason): Promise<void> {
    const read = await readToEnd(parts.clock.now() + parts.abandoned.drainMs);
    abortUpstream();
    const tokens = usageSoFar(usage(), tap, isDone || read === 'whole');
    const isBilled = read !== 'broken' && tokens !== null;
    const free = failure(DRAINED_WITHOUT_USAGE, answer.status, target.id, firstByteMs);
    const ended = isBilled
      ? { ...ending(CLIENT_LEFT, tokens), reason }
      : { ...free, estimatedTokens: lost(), copy };
    await end({ ...ended, ...made(drained, isBilled) });
    await parts.abandoned.drained(call.key, isBilled).catch(() => {});
  }

  /** Usage reported before the deadline counts. */
  async function readToEnd(deadlineMs: number): Promise<'whole' | 'part' | 'broken'> {
    // The chunk of a read that was pending when the client disconnected is part of the stream.
    let next = await (pending === undefined ? nextUntil(deadlineMs) : pendingUntil(pending, deadlineMs));
    for (; next !== null && typeof next !== 'string'; next = await nextUntil(deadlineMs)) {
      const passed = tap.push(next);
      isDone = passed.done;
      store(passed.bytes);
      if (passed.broken !== null) return 'broken';
    }
    // Unless it is this process that stops reading.
    if (next === 'broken' && !isDone && !upstreamAbort.aborted) return 'broken';
    const { bytes, doneBytes, broken } = tap.end();
    store(bytes);
    store(doneBytes);
    drained = doneBytes;
    if (broken !== null && broken !== 'cut-off') return 'broken';
    return next === null ? 'whole' : 'part';
  }

  function nextUntil(deadlineMs: number): BodyRead | Promise<BodyRead> {
    const leftMs = deadlineMs - parts.clock.now();
    return leftMs <= 0 ? 'idle' : readNext(leftMs);
  }

  /** That read was begun for a client, so it would wait for as long as an upstream may be idle. */
  function pendingUntil(read: BodyRead | Promise<BodyRead>, deadlineMs: number): Promise<BodyRead> {
    const late = Promise.withResolvers<BodyRead>();
    const timer = parts.clock.after(deadlineMs - parts.clock.now(), () => late.resolve('idle'));
    return Promise.race([read, late.promise]).finally(() => timer.cancel());
  }

  /** What follows [DONE] is read for one grace period in all: pings do not extend it. */
  function readNext(mostMs: number): BodyRead | Promise<BodyRead> {
    if (!isDone) return answer.body.read(Math.min(mostMs, idleMs));
    const nowMs = parts.clock.uptimeMs();
    graceEndMs ??= nowMs + STREAM_LIMITS.doneGraceMs;
    return graceEndMs <= nowMs ? 'idle' : answer.body.read(Math.min(mostMs, graceEndMs - nowMs));
  }

  /**
   * The breaker counts a stream that broke before anything was passed on. Later the client may be the cause: an upstream that
   * a slow reader holds back gives up. An error status that the upstream reports, such as an overload, always counts.
   */
  async function breakOff(controller: ReadableStreamDefaultController, reason: string): Promise<void> {
    isEnding = true;
    parts.keepAlive.remove(quiet);
    const { refusal, result } = breakOf(reason);
    if (result !== null && (!hasPassed || typeof result === 'number')) answering.noteBroken?.(result);
    abortUpstream();
    const broken = failure(reason, answer.status, target.id, firstByteMs);
    await end({ ...broken, estimatedTokens: lost(), copy, ...made(null, false) });
    controller.enqueue(brokenEvent(refusal));
    controller.close();
  }

  /** The error for the client and the result for the breaker. */
  function breakOf(reason: string) {
    if (reason === IDLE) {
      logSilence(answering);
      return { refusal: silentFor(idleMs), result: BREAKS.get(reason) ?? null };
    }
    if (reason !== ERROR_EVENT) return { refusal: BROKEN, result: BREAKS.get(reason) ?? null };
    return refusalInAnswer(call.alias, target, tap.errorText(), BROKEN);
  }

  /** The upstream sent [DONE] and then kept the connection open, or dropped it: the answer is complete anyway. */
  async function finishWithoutUpstream(controller: ReadableStreamDefaultController): Promise<void> {
    abortUpstream();
    await finish(controller);
  }

  async function finish(controller: ReadableStreamDefaultController): Promise<void> {
    isEnding = true;
    parts.keepAlive.remove(quiet);
    const { bytes, doneBytes, broken } = tap.end();
    if (bytes !== null) pass(controller, bytes);
    if (broken !== null) return await breakOff(controller, `upstream-${broken}`);
    // It is part of the answer that is stored with the commit.
    store(doneBytes);
    // Lets the runtime send the bytes so far, which it would otherwise hold back until after the commit.
    await parts.clock.turn();
    const ended = { ...ending('no-usage'), isWhole: true };
    const isWritten = await end({ ...ended, ...made(doneBytes, usage() !== null) });
    if (!isWritten) controller.enqueue(brokenEvent({ name: 'unavailable' }));
    else if (doneBytes !== null) controller.enqueue(doneBytes);
    controller.close();
  }

  context.clientSignal.addEventListener('abort', () => void leave(), { once: true });
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // The runtime pulls once the client has read everything so far.
        context.connection?.mayBeSilent();
        try {
          await passOn(controller);
        } catch (error) {
          upstreamAbort.abort();
          parts.keepAlive.remove(quiet);
          await end(failure('internal', answer.status, target.id, firstByteMs));
          throw error;
        } finally {
          context.connection?.mustBeRead();
        }
      },
      cancel: () => void leave(),
    },
    { highWaterMark: 0 },
  );

  /** Reads until something can be passed on. */
  async function passOn(controller: ReadableStreamDefaultController): Promise<void> {
    for (;;) {
      pending = readNext(Number.POSITIVE_INFINITY);
      quiet.waiting = isDone ? null : controller;
      const next = pending instanceof Promise ? await pending : pending;
      quiet.waiting = null;
      if (leaving !== null || context.clientSignal.aborted) return await leave();
      pending = undefined;
      if (next === null) return await finish(controller);
      if (typeof next === 'string') {
        return isDone
          ? await finishWithoutUpstream(controller)
          : await breakOff(controller, `upstream-${next}`);
      }
      const passed = tap.push(next);
      isDone = passed.done;
      if (passed.bytes !== null) pass(controller, passed.bytes);
      if (passed.broken !== null) return await breakOff(controller, `upstream-${passed.broken}`);
      if (passed.bytes !== null) return;
    }
  }

  parts.keepAlive.add(quiet);
  return new Response(body, { status: answer.status, headers: { ...context.headers, ...STREAM_HEADERS } });
}

function tapOptions({ parts, call, target, hidesCosts, reasoning }: Answering) {
  const { wire } = call.route;
  return {
    ...{ wire, alias: call.alias.alias, maxEventBytes: STREAM_LIMITS.maxEventBytes, hidesCosts, reasoning },
    hasSeveral: call.fields.choices > 1 || call.fields.prompts > 1,
    withoutNames: (text: string) => withoutProviderNames(text, target, call.alias.alias),
    ...(wire === 'completions' ? { usageChunk: usageChunkForm(parts.streamUsageChunk, call) } : {}),
    ...(wire === 'messages' ? { inputEstimate: estimateTokens(call.bytes.length, 0, 1) } : {}),
  };
}

/**
 * The usage of a stream that may not have ended. Zero tokens are not the count of an answer of which some text has arrived:
 * some providers report zeros in every chunk.
 */
function usageSoFar(tokens: Usage | null, tap: UsageTap, hasEnded: boolean): Usage | null {
  if (tokens === null || tokens.completionTokens > 0 || hasEnded) return tokens;
  return tap.contentBytes() === 0 ? tokens : null;
}
