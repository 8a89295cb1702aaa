import { isObject, type JsonObject } from '../../../../ports/json-object.ts';
import type { ReasoningCount } from '../../../../ports/model-upstream.ts';
import { type ChatUsage, cacheDetails, createStreamedUsage } from '../chat-usage.ts';
import type { AnswerTranslation, StreamTranslation, TranslationStamps } from '../translator.ts';
import { parseJson } from './body-reading.ts';
import type { ToolNames } from './chat-tools.ts';
import { type CallPiece, createOutputBuilder, type OutputBuilder } from './response-output.ts';
import { encryptedContent } from './signed-thinking.ts';

/** The parts of a request, and of its target, that its answer needs. */
interface AnsweredRequest {
  /** Members of the request that every response repeats. */
  readonly echo: JsonObject;
  readonly names: ToolNames;
  /** Whether the client wants reasoning as a summary. */
  readonly hasSummary: boolean;
  /** Whether its chat completions have signed thinking. */
  readonly hasThinking: boolean;
  readonly reasoning: ReasoningCount | undefined;
}

/** The most text that is collected for one answer; an endless answer is cut off there. */
const MOST_CHARACTERS = 32 * 1024 * 1024;
/** What an item or a piece of a call counts in addition to its text, so that empty ones are limited too. */
const PIECE_CHARACTERS = 64;

/** Translates a chat's answer to a response: whole, or as a stream of events. */
export function createResponseAnswer(request: AnsweredRequest, stamps: TranslationStamps): AnswerTranslation {
  return {
    whole(bytes) {
      const chat = parseJson(new TextDecoder().decode(bytes));
      const choice = isObject(chat) && Array.isArray(chat.choices) ? chat.choices[0] : undefined;
      if (!isObject(chat) || !isObject(choice) || !isObject(choice.message)) return null;
      const draft = createDraft(request, stamps, () => {});
      const message = { ...choice.message, tool_calls: withIndexes(choice.message.tool_calls) };
      if (draft.take({ ...chat, choices: [{ ...choice, delta: message }] }) === 'failed') return null;
      return new TextEncoder().encode(JSON.stringify(draft.finish()));
    },
    stream: () => createResponseStream(request, stamps),
  };
}

function createResponseStream(request: AnsweredRequest, stamps: TranslationStamps): StreamTranslation {
  let written = '';
  let count = 0;
  let isDone = false;
  function emit(type: string, fields: JsonObject): void {
    written += `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: count, ...fields })}\n\n`;
    count += 1;
  }
  function take(): string {
    const events = written;
    written = '';
    return events;
  }
  const draft = createDraft(request, stamps, emit);
  return {
    event(name, data) {
      if (data.trim() === '[DONE]') {
        isDone = true;
        return '';
      }
      const chunk = parseJson(data);
      if (name === 'error' || !isObject(chunk) || chunk.error) return 'failed';
      if (count === 0) {
        emit('response.created', { response: draft.response() });
        emit('response.in_progress', { response: draft.response() });
      }
      return draft.take(chunk) === 'failed' ? 'failed' : take();
    },
    isDone: () => isDone,
    end() {
      if (count === 0 || !(isDone || draft.isFinished())) return 'cut-off';
      const response = draft.finish();
      emit(response.status === 'incomplete' ? 'response.incomplete' : 'response.completed', { response });
      return take();
    },
  };
}

interface Draft {
  take(chunk: JsonObject): 'taken' | 'failed';
  /** Whether the model has reported why it ended. */
  isFinished(): boolean;
  /** The response while it is in progress. */
  response(): JsonObject;
  finish(): JsonObject;
}

function createDraft(
  { echo, names, hasSummary, hasThinking, reasoning }: AnsweredRequest,
  { newId, nowSeconds }: TranslationStamps,
  emit: (type: string, fields: JsonObject) => void,
): Draft {
  const random = newId();
  const output = createOutputBuilder({ names, random, newId, hasSummary, emit });
  let finishReason: string | null = null;
  const counted = createStreamedUsage(reasoning);
  let serviceTier: string | null = null;
  let characters = 0;

  const response = (status: string, items: readonly JsonObject[], incomplete: JsonObject | null) => ({
    id: `resp_${random}`,
    object: 'response',
    created_at: nowSeconds,
    status,
    background: false,
    error: null,
    incomplete_details: incomplete,
    output: items,
    usage: usageInResponse(counted.usage()),
    ...echo,
    ...(serviceTier === null ? {} : { service_tier: serviceTier }),
  });

  function takeChoice(choice: JsonObject): 'taken' | 'failed' {
    const given = isObject(choice.delta) ? choice.delta : {};
    const delta = hasThinking ? withoutSigned(given) : given;
    if (hasThinking) characters += takeThinking(output, given);
    characters += takeTexts(output, delta, choice.logprobs);
    for (const call of Array.isArray(delta.tool_calls) ? delta.tool_calls : []) {
      const piece = pieceOf(call);
      if (piece === null || !output.call(piece)) return 'failed';
      characters += PIECE_CHARACTERS + (piece.written?.length ?? 0);
    }
    if (characters > MOST_CHARACTERS) return 'failed';
    if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') {
      finishReason ??= choice.finish_reason;
      output.close(incompleteDetails(finishReason) !== null);
    }
    return 'taken';
  }

  return {
    take(chunk) {
      counted.note(chunk);
      if (typeof chunk.service_tier === 'string') serviceTier = chunk.service_tier;
      for (const choice of Array.isArray(chunk.choices) ? chunk.choices : []) {
        const isFirst = isObject(choice) && (choice.index ?? 0) === 0;
        if (isFirst && takeChoice(choice) === 'failed') return 'failed';
      }
      return 'taken';
    },
    isFinished: () => finishReason !== null,
    response: () => response('in_progress', [], null),
    finish() {
      const incomplete = incompleteDetails(finishReason);
      output.close(incomplete !== null);
      return response(incomplete === null ? 'completed' : 'incomplete', output.items(), incomplete);
    },
  };
}

/**
 * Signed thinking: in a stream a block follows its own text, and ends the item; in a whole answer the blocks are beside
 * their joined text, and each is an item. Returns the number of characters.
 */
function takeThinking(output: OutputBuilder, delta: JsonObject): number {
  let characters = 0;
  for (const block of Array.isArray(delta.thinking_blocks) ? delta.thinking_blocks : []) {
    const encrypted = encryptedContent(block);
    if (encrypted === null) continue;
    const { thinking } = block as JsonObject;
    if (isBesideText(delta) && typeof thinking === 'string' && thinking !== '') output.reasoning(thinking);
    output.endReasoning(encrypted);
    characters += PIECE_CHARACTERS + encrypted.length;
  }
  return characters;
}

function isBesideText({ reasoning_content: text }: JsonObject): boolean {
  return typeof text === 'string' && text !== '';
}

/** The text of the blocks has been taken with them. */
function withoutSigned(delta: JsonObject): JsonObject {
  const isTaken = Array.isArray(delta.thinking_blocks) && delta.thinking_blocks.length > 0;
  return isTaken ? { ...delta, reasoning_content: null } : delta;
}

/** Returns the number of characters, including the extra ones for each piece. */
function takeTexts(output: OutputBuilder, delta: JsonObject, logprobs: unknown): number {
  let characters = 0;
  const write = (text: unknown, to: (text: string) => void) => {
    if (typeof text !== 'string' || text === '') return;
    characters += PIECE_CHARACTERS + text.length;
    to(text);
  };
  const content = isObject(logprobs) && Array.isArray(logprobs.content) ? logprobs.content : [];
  const ofText = content.filter(isObject);
  write(delta.reasoning_content ?? delta.reasoning, output.reasoning);
  if (Array.isArray(delta.content)) {
    for (const part of delta.content.filter(isObject)) {
      // Mistral's reasoning models write their thinking into the content.
      if (part.type === 'thinking') for (const text of textsIn(part.thinking)) write(text, output.reasoning);
      else if (part.type === 'text') write(part.text, (text) => output.text(text, []));
    }
  } else {
    write(delta.content, (text) => output.text(text, ofText));
  }
  write(delta.refusal, output.refusal);
  for (const annotation of Array.isArray(delta.annotations) ? delta.annotations : []) {
    const cited = isObject(annotation) ? annotation.url_citation : undefined;
    if (!isObject(cited)) continue;
    characters += PIECE_CHARACTERS;
    output.annotation({ ...cited, type: 'url_citation' });
  }
  return characters;
}

function textsIn(parts: unknown): readonly unknown[] {
  if (!Array.isArray(parts)) return [parts];
  return parts.map((part) => (isObject(part) ? part.text : part));
}

/** Null if it is not an object. */
function pieceOf(call: unknown): CallPiece | null {
  if (!isObject(call)) return null;
  const { name, arguments: written } = isObject(call.function) ? call.function : ({} as JsonObject);
  return {
    index: typeof call.index === 'number' ? call.index : null,
    id: typeof call.id === 'string' ? call.id : null,
    name: typeof name === 'string' ? name : null,
    // Ollama's own format has an object instead of the text of chat completions.
    written: isObject(written) ? JSON.stringify(written) : typeof written === 'string' ? written : null,
  };
}

function withIndexes(calls: unknown): unknown {
  if (!Array.isArray(calls)) return undefined;
  return calls.map((call, index) => (isObject(call) ? { ...call, index } : call));
}

function incompleteDetails(finishReason: string | null): JsonObject | null {
  if (finishReason === 'length') return { reason: 'max_output_tokens' };
  if (finishReason === 'content_filter') return { reason: 'content_filter' };
  return null;
}

function usageInResponse(usage: ChatUsage | null): JsonObject | null {
  if (usage === null) return null;
  const { prompt, completion, reasoning } = usage;
  return {
    input_tokens: prompt,
    input_tokens_details: cacheDetails(usage),
    output_tokens: completion,
    output_tokens_details: { reasoning_tokens: reasoning ?? 0 },
    total_tokens: prompt + completion,
  };
}
