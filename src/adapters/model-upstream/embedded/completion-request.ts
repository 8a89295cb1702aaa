import { z } from 'zod';
import { type Accepted, accept, refuse, refuseShape } from './refusal.ts';
import { type Sampling, samplingFields, samplingOf } from './sampling.ts';
import { MAX_INPUTS, readTextInputs, type TextInput } from './text-inputs.ts';

export interface CompletionRequest extends Sampling {
  readonly prompts: readonly TextInput[];
  readonly maxTokens: number;
  /** Whether the answer begins with the prompt. */
  readonly echoes: boolean;
}

/** OpenAI's own, of this endpoint. */
const DEFAULT_MAX_TOKENS = 16;
/** OpenAI's model starts from nothing where there is no prompt; ours from an empty one. */
const NO_PROMPT: TextInput = { kind: 'text', text: '' };
/** Prompts times choices: each is an answer of its own in memory. */
const MAX_CHOICES = MAX_INPUTS;

const completionBody = z.object({
  ...samplingFields,
  prompt: z.unknown().optional(),
  echo: z.boolean().nullish(),
});

export function readCompletionRequest(body: unknown): Accepted<CompletionRequest> {
  const parsed = completionBody.safeParse(body);
  if (!parsed.success) return refuseShape(parsed.error);
  const { data } = parsed;
  const prompts = data.prompt == null ? accept([NO_PROMPT]) : readTextInputs(data.prompt, 'prompt');
  if (prompts.outcome === 'refused') return prompts;
  const sampling = samplingOf(data);
  if (prompts.request.length * sampling.choices > MAX_CHOICES) {
    return refuse(`Prompts times 'n' must not be more than ${MAX_CHOICES}.`, 'n');
  }
  return accept({
    ...sampling,
    prompts: prompts.request,
    maxTokens: data.max_tokens ?? DEFAULT_MAX_TOKENS,
    echoes: data.echo === true,
  });
}
