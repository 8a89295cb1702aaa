import { z } from 'zod';
import type { Alias } from '../models/aliases.ts';
import { type AskModelParts, failureIn } from './ask-model.ts';
import type { CallKind, ModelRequest } from './try-target.ts';
import { tryTargets } from './try-targets.ts';

export type EmbeddedTexts =
  | {
      readonly outcome: 'embedded';
      /** In the order of the texts. */
      readonly vectors: readonly (readonly number[])[];
      /** The provider's model name, or the version of the embedded model: vectors of different models cannot be compared. */
      readonly model: string;
      readonly promptTokens: number;
      readonly targetId: string;
    }
  | { readonly outcome: 'failed'; readonly reason: string; readonly targetId: string | null };

interface EmbedBounds {
  /** `embedded` allows only the embedded models, for a company that cannot pay. */
  readonly uses: 'all' | 'embedded';
  readonly signal: AbortSignal;
}

const MOST_ANSWER_BYTES = 16 * 1024 * 1024;
const LONGEST_MODEL = 300;
const MOST_DIMENSIONS = 4_096;
const BYTES_OF_NUMBER = 4;

const wholeNumber = z.int().nonnegative().nullish();

/** A proxy may ask for `base64` by itself, as OpenAI's Python client does: little-endian numbers of 32 bits. */
const packedVector = z
  .base64()
  .transform((text) => Buffer.from(text, 'base64'))
  .refine(({ length }) => length % BYTES_OF_NUMBER === 0 && length <= MOST_DIMENSIONS * BYTES_OF_NUMBER)
  .transform((bytes) =>
    Array.from({ length: bytes.length / BYTES_OF_NUMBER }, (_, at) =>
      bytes.readFloatLE(at * BYTES_OF_NUMBER),
    ),
  )
  .refine((vector) => vector.every(Number.isFinite));

/** Gemini omits an index of 0 and all usage, Voyage and Jina the count of the prompt beside the same total. */
const answerSchema = z.object({
  data: z
    .array(
      z.object({ index: wholeNumber, embedding: z.array(z.number()).max(MOST_DIMENSIONS).or(packedVector) }),
    )
    .max(1_000),
  usage: z.object({ prompt_tokens: wholeNumber, total_tokens: wholeNumber }).nullish(),
  system_fingerprint: z.string().nullish(),
});

/**
 * Returns the vectors of texts. Targets are tried in the order in which they are listed, not by weight: vectors of
 * different models cannot be compared, so the same target should answer each time.
 */
export async function embedTexts(
  parts: AskModelParts,
  alias: Alias,
  texts: readonly string[],
  { uses, signal }: EmbedBounds,
): Promise<EmbeddedTexts> {
  const kind: CallKind<ModelRequest, Vectors> = {
    order: 'as-listed',
    uses,
    bodyFor(_request, { model }) {
      // Voyage refuses `encoding_format: "float"`, which is what every provider answers with if it is left out.
      return new TextEncoder().encode(JSON.stringify({ model, input: texts }));
    },
    whole: {
      maxBytes: MOST_ANSWER_BYTES,
      timeoutMs: parts.answerTimeoutMs,
      // The embedded models have no time-out of their own.
      timedFrom: 'send',
      parse: (text) => vectorsIn(text, texts.length),
    },
  };
  const tried = await tryTargets(parts, kind, { alias, endpoint: 'embeddings' }, signal);
  if (tried.outcome !== 'answered') return { outcome: 'failed', ...failureIn(tried) };
  const { answer, target } = tried;
  const { vectors, promptTokens, fingerprint } = answer;
  // The embedded model has the alias as its name, and a new release may have another model. A provider's fingerprint
  // changes with its servers, while its vectors stay comparable under the model's name.
  const model = target.baseUrl === null && fingerprint !== null ? fingerprint : target.model;
  return {
    ...{ outcome: 'embedded', vectors, promptTokens },
    ...{ model: model.slice(0, LONGEST_MODEL), targetId: target.id },
  };
}

/** The `model` that `embedTexts` returns if the alias's first target answers, which is tried first. */
export function embedModelOf(alias: Alias | null, embeddedEncoder: string): string | null {
  const [target] = alias?.targets ?? [];
  if (target === undefined) return null;
  return (target.baseUrl === null ? embeddedEncoder : target.model).slice(0, LONGEST_MODEL);
}

interface Vectors {
  readonly vectors: readonly (readonly number[])[];
  readonly promptTokens: number;
  readonly fingerprint: string | null;
}

function vectorsIn(text: string, count: number): Vectors | null {
  const read = answerSchema.safeParse(JSON.parse(text));
  if (!read.success || read.data.data.length !== count) return null;
  const { data, usage, system_fingerprint: fingerprint } = read.data;
  const placed = data.map(({ index, embedding }, at) => ({ index: index ?? at, embedding }));
  const inOrder = placed.toSorted((one, other) => one.index - other.index);
  return {
    vectors: inOrder.map(({ embedding }) => embedding),
    promptTokens: usage?.prompt_tokens ?? usage?.total_tokens ?? 0,
    fingerprint: fingerprint ?? null,
  };
}
