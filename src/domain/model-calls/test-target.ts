import type { Clock } from '../../ports/clock.ts';
import type {
  ModelEndpoint,
  ModelUpstream,
  UpstreamBody,
  UpstreamFailure,
  UpstreamTarget,
} from '../../ports/model-upstream.ts';
import type { AliasKind } from '../models/aliases.ts';
import { createCallAbort } from './call-abort.ts';
import { withoutKey } from './provider-error.ts';
import { maxTokensNameOf } from './translation/messages/model-names.ts';

/** The result of one small call to a target. */
export interface TargetTest {
  readonly ok: boolean;
  /** The provider's HTTP status; null if there was none. */
  readonly status: number | null;
  readonly latencyMs: number;
  /** What happened and, if it failed, what to do. Without the key. */
  readonly message: string;
}

interface TestParts {
  readonly upstream: ModelUpstream;
  readonly clock: Clock;
}

const TEST_TIMEOUT_MS = 30_000;
const MOST_ANSWER_BYTES = 1024 * 1024;
const LONGEST_MESSAGE = 500;

/** Makes one small call, as the gateway would. No company is charged; the provider bills a few tokens. */
export async function testTarget(
  { upstream, clock }: TestParts,
  target: UpstreamTarget,
  kind: AliasKind,
): Promise<TargetTest> {
  const abort = createCallAbort();
  const timer = clock.after(TEST_TIMEOUT_MS, () => abort.abort());
  const begunMs = clock.now();
  const ended = (ok: boolean, status: number | null, message: string): TargetTest => {
    return { ok, status, latencyMs: Math.max(0, clock.now() - begunMs), message };
  };
  try {
    const call = { ...smallCall(target, kind), headers: {}, signal: abort };
    const answer = await upstream.send(target, call);
    const text = await textOf(answer.body);
    if (answer.status < 200 || answer.status > 299) {
      return ended(false, answer.status, refusalMessage(answer.status, text, target));
    }
    if (text === null || !isAnswer(text, kind)) {
      return ended(false, answer.status, NO_ANSWER);
    }
    return ended(true, answer.status, `${target.model} answered.`);
  } catch (error) {
    return ended(false, null, failureMessage(error as Partial<UpstreamFailure>));
  } finally {
    timer.cancel();
    abort.abort();
  }
}

const NO_ANSWER = 'The response is not that of a model API. Check the base address and the provider.';

function smallCall(
  target: UpstreamTarget,
  kind: AliasKind,
): { endpoint: ModelEndpoint; body: Uint8Array<ArrayBuffer> } {
  const { model } = target;
  if (kind === 'embed') return { endpoint: 'embeddings', body: encoded({ model, input: 'test' }) };
  const messages = [{ role: 'user', content: 'Answer with OK.' }];
  const body = { model, messages, [maxTokensNameOf(target)]: 16 };
  return { endpoint: 'chat/completions', body: encoded(body) };
}

function encoded(body: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(body));
}

async function textOf(body: UpstreamBody): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const read = await body.read(TEST_TIMEOUT_MS);
    if (read === null) return text;
    if (typeof read === 'string') return null;
    text += decoder.decode(read, { stream: true });
    if (text.length <= MOST_ANSWER_BYTES) continue;
    body.cancel();
    return null;
  }
}

function isAnswer(text: string, kind: AliasKind): boolean {
  const member = kind === 'embed' ? 'data' : 'choices';
  try {
    return Array.isArray((JSON.parse(text) as Readonly<Record<string, unknown>> | null)?.[member]);
  } catch {
    return false;
  }
}

const ADVICE: Readonly<Record<number, string>> = {
  401: 'Check the key.',
  403: 'Check the key and its permissions.',
  404: 'Check the base address and the name of the model.',
  429: 'The provider limits this key: check its quota.',
};

function refusalMessage(status: number, text: string | null, target: UpstreamTarget): string {
  const message = text === null ? null : messageIn(text);
  const shown = message === null ? null : withoutKey(message, target);
  const advice = ADVICE[status] ?? (status >= 500 ? 'The provider failed: try again later.' : '');
  return [`The provider answered with status ${status}.`, shown ?? '', advice].filter(Boolean).join(' ');
}

function messageIn(text: string): string | null {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } | string };
    const message = typeof error === 'string' ? error : error?.message;
    return typeof message === 'string' ? message.slice(0, LONGEST_MESSAGE) : null;
  } catch {
    return null;
  }
}

function failureMessage({ name, reason, cause }: Partial<UpstreamFailure>): string {
  const why = cause instanceof Error ? ` (${cause.message.slice(0, LONGEST_MESSAGE)})` : '';
  if (name !== 'UpstreamFailure') return 'The call could not be made.';
  switch (reason) {
    case 'aborted':
    case 'first-byte-time-out':
      return `The provider did not answer within ${TEST_TIMEOUT_MS / 1_000} seconds.`;
    case 'broken':
      return `The provider broke off before it answered${why}.`;
    case 'local':
      return `The provider was not called, because this machine cannot open a connection right now${why}. The log of this process says what to raise.`;
    default:
      return `The provider cannot be reached${why}. Check the base address.`;
  }
}
