import { z } from 'zod';
import type { UpstreamAnswer } from '../../../ports/model-upstream.ts';
import { LONGEST_ANSWER } from './chat-reply.ts';
import {
  type Accepted,
  accept,
  beforeStop,
  eventAnswer,
  jsonAnswer,
  MAX_INPUTS,
  type OpenCall,
  readTextInputs,
  refuse,
  refusedAnswer,
  refuseShape,
  type Sampling,
  samplingFields,
  samplingOf,
  type TextInput,
} from './open-call.ts';
import type { FittedText } from './tokens.ts';
import { writeAnswer } from './written-answer.ts';

export async function answerCompletion(call: OpenCall): Promise<UpstreamAnswer> {
  const { model, signal, created, newId } = call;
  const read = readCompletionRequest(call.body);
  if (read.outcome === 'refused') return refusedAnswer(read.refusal, signal);
  const { request } = read;
  const written = await writeChoices(request, call);
  if (written.outcome === 'refused') return refusedAnswer(written.refusal, signal);
  const { choices, promptTokens, completionTokens } = written.request;
  const envelope = { id: `cmpl-${newId()}`, created, model, promptTokens, completionTokens };
  if (request.isStream)
    return eventAnswer(completionChunks(choices, envelope, request.includesUsage), signal);
  return jsonAnswer(completionParts(choices, envelope), signal);
}

interface WrittenChoices {
  /** All choices of the first prompt, then those of the second, in OpenAI's order. */
  readonly choices: readonly WrittenCompletion[];
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** A prompt is answered like a user's message. */
async function writeChoices(
  request: CompletionRequest,
  { tokens, signal }: OpenCall,
): Promise<Accepted<WrittenChoices>> {
  const choices: WrittenCompletion[] = [];
  let promptTokens = 0;
  let completionTokens = 0;
  for (const input of request.prompts) {
    const prompt = input.kind === 'text' ? input.text : tokens.decode(input.tokens);
    if (prompt === null) return refuse("'prompt' has a number that is no token of o200k_base.", 'prompt');
    promptTokens += input.kind === 'text' ? await tokens.count(prompt, signal) : input.tokens.length;
    const message = { role: 'user', text: prompt, name: null, toolCalls: [], toolCallId: null };
    const answer = beforeStop(writeAnswer([message]), request.stop);
    const text = tokens.fit(answer, Math.min(request.maxTokens, LONGEST_ANSWER));
    const echo = request.echoes ? prompt.toWellFormed() : '';
    for (let choice = 0; choice < request.choices; choice += 1) {
      choices.push({ index: choices.length, echo, text });
      completionTokens += text.tokenCount;
    }
  }
  return accept({ choices, promptTokens, completionTokens });
}

interface CompletionRequest extends Sampling {
  readonly prompts: readonly TextInput[];
  readonly maxTokens: number;
  /** Whether the answer starts with the prompt. */
  readonly echoes: boolean;
}

/** OpenAI's default for this endpoint. */
const DEFAULT_MAX_TOKENS = 16;
/** Without a prompt, OpenAI's model starts from nothing; this one starts from an empty prompt. */
const NO_PROMPT: TextInput = { kind: 'text', text: '' };
/** The limit for prompts times choices, because each is a separate answer in memory. */
const MAX_CHOICES = MAX_INPUTS;

const completionBody = z.object({
  ...samplingFields,
  prompt: z.unknown().optional(),
  echo: z.boolean().nullish(),
});

function readCompletionRequest(body: unknown): Accepted<CompletionRequest> {
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

/** The fields of the legacy completions format. */
interface CompletionEnvelope {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

interface WrittenCompletion {
  readonly index: number;
  /** The prompt if it is to be echoed, otherwise empty. */
  readonly echo: string;
  readonly text: FittedText;
}

function completionUsage({ promptTokens, completionTokens }: CompletionEnvelope) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
  };
}

/** In parts, one per choice, so that 2,048 choices are never in memory as one text. */
function* completionParts(
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

/** The legacy chunks have the shape of the whole answer. The finish reason is in a last chunk without text. */
function* completionChunks(
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
