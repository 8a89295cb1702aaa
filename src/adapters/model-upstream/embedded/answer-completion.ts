import type { UpstreamAnswer } from '../../../ports/model-upstream.ts';
import { eventAnswer, jsonAnswer, refusedAnswer } from './answer-body.ts';
import { LONGEST_ANSWER } from './chat-reply.ts';
import { type CompletionRequest, readCompletionRequest } from './completion-request.ts';
import { completionChunks, completionParts, type WrittenCompletion } from './completion-wire.ts';
import type { OpenCall } from './open-call.ts';
import { type Accepted, accept, refuse } from './refusal.ts';
import { beforeStop } from './sampling.ts';
import { writeAnswer } from './written-answer.ts';

export async function answerCompletion(call: OpenCall): Promise<UpstreamAnswer> {
  const { model, signal, created, newId } = call;
  const read = readCompletionRequest(call.body);
  if (read.outcome === 'refused') return refusedAnswer(read.refusal, signal);
  const { request } = read;
  const written = await write(request, call);
  if (written.outcome === 'refused') return refusedAnswer(written.refusal, signal);
  const { choices, promptTokens, completionTokens } = written.request;
  const envelope = { id: `cmpl-${newId()}`, created, model, promptTokens, completionTokens };
  if (request.isStream)
    return eventAnswer(completionChunks(choices, envelope, request.includesUsage), signal);
  return jsonAnswer(completionParts(choices, envelope), signal);
}

interface Written {
  /** All choices of the first prompt, then of the second, as OpenAI counts them. */
  readonly choices: readonly WrittenCompletion[];
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** A prompt is answered as a user's message would be. */
async function write(request: CompletionRequest, { tokens, signal }: OpenCall): Promise<Accepted<Written>> {
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
