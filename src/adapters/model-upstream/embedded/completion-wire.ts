import type { FittedText } from './tokens.ts';

/** The legacy shape. */
export interface CompletionEnvelope {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export interface WrittenCompletion {
  readonly index: number;
  /** The prompt, where it is to be echoed; else empty. */
  readonly echo: string;
  readonly text: FittedText;
}

export function completionUsage({ promptTokens, completionTokens }: CompletionEnvelope) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

/** In parts, one to a choice: 2,048 choices are never in memory as one text. */
export function* completionParts(
  written: Iterable<WrittenCompletion>,
  envelope: CompletionEnvelope,
): Generator<string> {
  const { id, created, model } = envelope;
  const head = JSON.stringify({ id, object: 'text_completion', created, model });
  yield `${head.slice(0, -1)},"choices":[`;
  let separator = '';
  for (const one of written) {
    yield separator + JSON.stringify(choiceOf(one, one.echo + one.text.text, finishOf(one)));
    separator = ',';
  }
  yield `],"usage":${JSON.stringify(completionUsage(envelope))}}`;
}

/** The legacy chunks have the shape of the whole answer: the finish comes in a last one without text. */
export function* completionChunks(
  written: Iterable<WrittenCompletion>,
  envelope: CompletionEnvelope,
  includesUsage: boolean,
) {
  const { id, created, model } = envelope;
  const object = 'text_completion' as const;
  const chunk = (choice: ReturnType<typeof choiceOf>) => ({
    id,
    object,
    created,
    model,
    choices: [choice],
    ...(includesUsage ? { usage: null } : {}),
  });
  for (const one of written) {
    if (one.echo !== '') yield chunk(choiceOf(one, one.echo, null));
    for (const piece of one.text.pieces) yield chunk(choiceOf(one, piece, null));
    yield chunk(choiceOf(one, '', finishOf(one)));
  }
  if (includesUsage) yield { id, object, created, model, choices: [], usage: completionUsage(envelope) };
}

function finishOf({ text }: WrittenCompletion): 'stop' | 'length' {
  return text.isCut ? 'length' : 'stop';
}

function choiceOf({ index }: WrittenCompletion, text: string, finish_reason: 'stop' | 'length' | null) {
  return { text, index, logprobs: null, finish_reason };
}
