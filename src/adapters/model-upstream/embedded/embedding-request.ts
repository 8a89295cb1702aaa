import { z } from 'zod';
import { VECTOR_LENGTH } from './embedding-messages.ts';
import { type Accepted, accept, refuse, refuseShape } from './refusal.ts';
import { readTextInputs } from './text-inputs.ts';
import type { Tokens } from './tokens.ts';

export interface EmbeddingRequest {
  readonly texts: readonly string[];
  readonly tokenCount: number;
  readonly encoding: 'float' | 'base64';
  readonly dimensions: number;
}

/** OpenAI's bounds, of each input and of all of them together. */
const MAX_TOKENS = 8_192;
const MAX_TOKENS_OF_ALL = 300_000;

const embeddingBody = z.object({
  input: z.unknown().optional(),
  encoding_format: z.enum(['float', 'base64']).nullish(),
  dimensions: z.int().min(1).max(VECTOR_LENGTH).nullish(),
});

export async function readEmbeddingRequest(
  body: unknown,
  tokens: Tokens,
  signal: AbortSignal,
): Promise<Accepted<EmbeddingRequest>> {
  const parsed = embeddingBody.safeParse(body);
  if (!parsed.success) return refuseShape(parsed.error);
  const inputs = readTextInputs(parsed.data.input, 'input');
  if (inputs.outcome === 'refused') return inputs;

  const texts: string[] = [];
  let tokenCount = 0;
  for (const input of inputs.request) {
    const text = input.kind === 'text' ? input.text : tokens.decode(input.tokens);
    if (text === null) return refuse("'input' has a number that is no token of o200k_base.", 'input');
    if (text === '') return refuse("'input' cannot be an empty string.", 'input');
    const count = input.kind === 'text' ? await tokens.count(text, signal) : input.tokens.length;
    tokenCount += count;
    if (count > MAX_TOKENS || tokenCount > MAX_TOKENS_OF_ALL) return tooLong(count, tokenCount);
    texts.push(text);
  }
  return accept({
    texts,
    tokenCount,
    encoding: parsed.data.encoding_format ?? 'float',
    dimensions: parsed.data.dimensions ?? VECTOR_LENGTH,
  });
}

function tooLong(count: number, tokenCount: number) {
  const message =
    count > MAX_TOKENS
      ? `This model's maximum context length is ${MAX_TOKENS} tokens, however an input has ${count} tokens.`
      : `All inputs together may have ${MAX_TOKENS_OF_ALL} tokens; these have at least ${tokenCount}.`;
  return refuse(message, 'input');
}
