import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { EndSignal, ModelEndpoint, ModelUpstream, UpstreamAnswer } from '../../ports/model-upstream.ts';
import type { TextVectors } from '../../ports/networks/text-vectors.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { answerChat } from './embedded/chat.ts';
import { answerCompletion } from './embedded/completions.ts';
import { answerEmbeddings } from './embedded/embeddings.ts';
import { type OpenCall, type Refusal, refusedAnswer, upstreamFailure } from './embedded/open-call.ts';
import { loadTokens, type Tokens } from './embedded/tokens.ts';

export interface EmbeddedUpstream extends ModelUpstream {
  /** Ends the thread of the embedding model. Calls that wait for it get a 503. */
  close(): Promise<void>;
}

interface EmbeddedOptions {
  readonly clock: Clock;
  readonly secrets?: Pick<Secrets, 'newId'>;
  readonly log: Log;
  /** Closed with the models. */
  readonly encoder: TextVectors;
}

const NO_JSON: Refusal = { status: 400, message: 'The body is not valid JSON.', param: null };
const NO_ENDPOINT: Refusal = {
  status: 404,
  message: 'The embedded models answer chat completions, completions and embeddings.',
  param: null,
};

/**
 * Models that need no network, key or download, so that a fresh installation works: real embeddings, and for chat a small
 * program that says what it is. They use OpenAI's wire format like any other upstream.
 */
export function createEmbeddedUpstream({ clock, secrets, log, encoder }: EmbeddedOptions): EmbeddedUpstream {
  const answers: Partial<Record<ModelEndpoint, (call: OpenCall) => Promise<UpstreamAnswer>>> = {
    'chat/completions': answerChat,
    completions: answerCompletion,
    embeddings: (call) => answerEmbeddings(call, encoder),
  };
  const newId = () => (secrets?.newId() ?? crypto.randomUUID()).replaceAll('-', '');
  let loading: Promise<Tokens> | null = null;

  return {
    async send({ model }, { endpoint, body: sent, signal: ending }) {
      const signal = abortSignalOf(ending);
      if (signal.aborted) throw upstreamFailure('aborted');
      const answer = answers[endpoint];
      if (answer === undefined) return refusedAnswer(NO_ENDPOINT, signal);
      const body = parseJson(sent);
      if (body === undefined) return refusedAnswer(NO_JSON, signal);
      try {
        loading ??= loadTokens();
        const tokens = await loading;
        signal.throwIfAborted();
        const created = Math.floor(clock.now() / 1_000);
        return await answer({ model, body, tokens, signal, created, newId });
      } catch (error) {
        if (signal.aborted) throw upstreamFailure('aborted');
        log.error('an embedded model failed', { endpoint, error });
        throw upstreamFailure('broken', error);
      }
    },
    close: () => encoder.close(),
  };
}

/** Counting tokens and the model's thread take the runtime's own. */
function abortSignalOf(ending: EndSignal): AbortSignal {
  if (ending instanceof AbortSignal) return ending;
  const controller = new AbortController();
  if (ending.aborted) controller.abort();
  ending.addEventListener('abort', () => controller.abort());
  return controller.signal;
}

/** Undefined is no value of JSON. */
function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined;
  }
}
