import { isObject } from '../../../../ports/json-object.ts';
import { reportedTokens } from '../../reported-counts.ts';
import { type ChatUsage, usageInChat } from '../chat-usage.ts';
import type { AnswerTranslation, StreamTranslation, TranslationStamps } from '../translator.ts';
import {
  definedMembers,
  encodeJson,
  HELD_BY_BLOCK,
  inputAsArguments,
  type JsonObject,
  MOST_HELD,
  parseObject,
  serverSentEvent,
} from './members.ts';

/**
 * Translates an answer of Anthropic's Messages to chat completions. `model` is the client's name for it. The input of a call
 * of `jsonTool` is the content; other text beside it, which is not JSON, is left out.
 */
export function answerInChat(
  model: string,
  stamps: TranslationStamps,
  jsonTool: string | null,
): AnswerTranslation {
  return {
    whole: (bytes) => wholeCompletion(bytes, model, stamps, jsonTool),
    stream: () => createChunkStream(model, stamps, jsonTool),
  };
}

function wholeCompletion(
  bytes: Uint8Array,
  model: string,
  stamps: TranslationStamps,
  jsonTool: string | null,
): Uint8Array<ArrayBuffer> | null {
  const answer = parseObject(bytes);
  if (answer === null || answer.type !== 'message' || !Array.isArray(answer.content)) return null;
  const blocks = answer.content.filter(isObject);
  const json = blocks.find((block) => isJsonAnswer(block, jsonTool));
  const text = json === undefined ? joined(blocks, 'text', 'text') : JSON.stringify(json.input ?? {});
  const thinking = joined(blocks, 'thinking', 'thinking');
  const calls = blocks
    .filter((block) => block.type === 'tool_use' && !isJsonAnswer(block, jsonTool))
    .map(toolCall);
  const signed = blocks.flatMap((block) => signedThinking(block));
  const message = {
    role: 'assistant',
    content: text === '' ? null : text,
    refusal: null,
    ...definedMembers({ reasoning_content: thinking === '' ? null : thinking }),
    ...(signed.length === 0 ? {} : { thinking_blocks: signed }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const finish = finishReason(answer.stop_reason, json !== undefined && calls.length === 0);
  const choice = { index: 0, message, logprobs: null, finish_reason: finish };
  return encodeJson({
    ...head(model, stamps, 'chat.completion'),
    choices: [choice],
    ...definedMembers({ usage: usageOf(countsIn(answer.usage, NO_COUNTS)) }),
  });
}

function head(model: string, { newId, nowSeconds }: TranslationStamps, object: string): JsonObject {
  return { id: `chatcmpl-${newId()}`, object, created: nowSeconds, model };
}

function isJsonAnswer({ type, name }: JsonObject, jsonTool: string | null): boolean {
  return jsonTool !== null && type === 'tool_use' && name === jsonTool;
}

function joined(blocks: readonly JsonObject[], type: string, member: string): string {
  return blocks.map((block) => (block.type === type ? stringOf(block[member]) : '')).join('');
}

const stringOf = (value: unknown) => (typeof value === 'string' ? value : '');

function toolCall({ id, name, input }: JsonObject): JsonObject {
  const made = { name: stringOf(name), arguments: inputAsArguments(isObject(input) ? input : {}) };
  return { id: stringOf(id), type: 'function', function: made };
}

/** Thinking as a client returns it (`thinking_blocks`): with the signature, without which it is refused. */
function signedThinking({ type, thinking, signature, data }: JsonObject): JsonObject[] {
  if (type === 'redacted_thinking') return [{ type, data: stringOf(data) }];
  if (type !== 'thinking' || stringOf(signature) === '') return [];
  return [{ type, thinking: stringOf(thinking), signature }];
}

/**
 * Each event is written as it arrives. A chunk with usage follows `message_stop`, and `[DONE]` the end of the stream.
 * Types of blocks that the request could not have caused, and unknown events, are skipped, as Anthropic asks of
 * clients.
 */
function createChunkStream(
  model: string,
  stamps: TranslationStamps,
  jsonTool: string | null,
): StreamTranslation {
  const frame = head(model, stamps, 'chat.completion.chunk');
  const blocks = new Map<unknown, StreamedBlock>();
  let calls = 0;
  let counts: Counts = NO_COUNTS;
  let hasFinished = false;
  let isComplete = false;
  let held = 0;
  let hasJson = false;
  /** Text that is only the answer if no JSON comes. */
  let beside = '';

  const chunk = (delta: JsonObject, finish: string | null = null) =>
    serverSentEvent(null, {
      ...frame,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    });
  const callChunk = (piece: JsonObject) => chunk({ tool_calls: [piece] });

  function event(name: string | null, data: string): string | 'failed' {
    const read = parseObject(data);
    if (read === null || name === 'error') return 'failed';
    switch (read.type) {
      case 'error':
        return 'failed';
      case 'message_start':
        return messageStart(read.message);
      case 'content_block_start':
        return blockStart(read);
      case 'content_block_delta':
        return held > MOST_HELD ? 'failed' : blockDelta(blocks.get(read.index), read.delta);
      case 'content_block_stop':
        return blockStop(read.index);
      case 'message_delta':
        return messageDelta(read);
      case 'message_stop':
        return messageStop();
      default:
        return typeof read.type === 'string' ? '' : 'failed';
    }
  }

  function messageStart(message: unknown): string | 'failed' {
    if (!isObject(message)) return 'failed';
    counts = countsIn(message.usage, counts);
    return chunk({ role: 'assistant', content: '' });
  }

  function blockStart({ index, content_block: start }: JsonObject): string | 'failed' {
    if (!isObject(start)) return 'failed';
    const block: StreamedBlock = { start, call: NO_CALL, text: stringOf(start.thinking), signature: '' };
    blocks.set(index, block);
    held += HELD_BY_BLOCK + block.text.length;
    if (held > MOST_HELD) return 'failed';
    if (start.type === 'text') return contentChunk(stringOf(start.text));
    if (start.type === 'thinking') return textChunk('reasoning_content', block.text);
    if (start.type !== 'tool_use') return '';
    if (isJsonAnswer(start, jsonTool)) {
      // Clients parse the content, so that there is one at most.
      block.call = hasJson ? SECOND_JSON : JSON_ANSWER;
      hasJson = true;
      return '';
    }
    block.call = calls;
    calls += 1;
    const made = { name: stringOf(start.name), arguments: '' };
    return callChunk({ index: block.call, id: stringOf(start.id), type: 'function', function: made });
  }

  function contentChunk(text: string): string {
    if (jsonTool === null) return textChunk('content', text);
    beside += text;
    held += text.length;
    return '';
  }

  function textChunk(member: string, text: string): string {
    return text === '' ? '' : chunk({ [member]: text });
  }

  function blockDelta(block: StreamedBlock | undefined, delta: unknown): string | 'failed' {
    if (block === undefined || !isObject(delta)) return 'failed';
    switch (delta.type) {
      case 'text_delta':
        return contentChunk(stringOf(delta.text));
      case 'thinking_delta':
        block.text += stringOf(delta.thinking);
        held += stringOf(delta.thinking).length;
        return textChunk('reasoning_content', stringOf(delta.thinking));
      case 'signature_delta':
        block.signature += stringOf(delta.signature);
        held += stringOf(delta.signature).length;
        return '';
      case 'input_json_delta':
        return block.call === NO_CALL ? '' : argumentsChunk(block, stringOf(delta.partial_json));
      default:
        return '';
    }
  }

  function argumentsChunk(block: StreamedBlock, text: string): string {
    block.text ||= text;
    if (block.call === SECOND_JSON) return '';
    if (block.call === JSON_ANSWER) return textChunk('content', text);
    return text === '' ? '' : callChunk({ index: block.call, function: { arguments: text } });
  }

  function blockStop(index: unknown): string | 'failed' {
    const block = blocks.get(index);
    if (block === undefined) return 'failed';
    blocks.delete(index);
    held -= HELD_BY_BLOCK + (block.call === NO_CALL ? block.text.length + block.signature.length : 0);
    // A call without arguments has no delta, but clients parse what they have collected: its input is sent here.
    if (block.call !== NO_CALL && block.text === '') {
      const { input } = block.start;
      return argumentsChunk(block, inputAsArguments(isObject(input) ? input : {}));
    }
    const { text: thinking, signature } = block;
    const signed = signedThinking({ ...block.start, thinking, signature });
    return signed.length === 0 ? '' : chunk({ thinking_blocks: signed });
  }

  function messageDelta({ delta, usage }: JsonObject): string {
    counts = countsIn(usage, counts);
    if (!isObject(delta) || typeof delta.stop_reason !== 'string' || hasFinished) return '';
    hasFinished = true;
    const text = hasJson ? '' : textChunk('content', beside);
    return text + chunk({}, finishReason(delta.stop_reason, hasJson && calls === 0));
  }

  function messageStop(): string {
    isComplete = true;
    const usage = usageOf(counts);
    return usage === null ? '' : serverSentEvent(null, { ...frame, choices: [], usage });
  }

  return {
    event,
    isDone: () => isComplete,
    end: () => (isComplete && hasFinished ? 'data: [DONE]\n\n' : 'cut-off'),
  };
}

/** What a block is instead of a tool call of the client. */
const NO_CALL = -1;
const JSON_ANSWER = -2;
const SECOND_JSON = -3;

interface StreamedBlock {
  readonly start: JsonObject;
  /** Its index among the tool calls; below 0 if it is none of the client's. */
  call: number;
  /** The thinking so far, or the first piece of the arguments. */
  text: string;
  signature: string;
}

const FINISH_REASONS: Readonly<Record<string, string>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};

function finishReason(stopReason: unknown, isJsonOnly: boolean): string {
  if (isJsonOnly && stopReason === 'tool_use') return 'stop';
  return FINISH_REASONS[stringOf(stopReason)] ?? 'stop';
}

/** The counts reported so far: a stream reports input at its start and output at its end, or all at the end. */
interface Counts {
  readonly input: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  readonly hourWrite: number | null;
  readonly output: number | null;
  readonly thinking: number | null;
}

const NO_COUNTS: Counts = {
  ...{ input: null, cacheRead: null, cacheWrite: null, hourWrite: null },
  ...{ output: null, thinking: null },
};

function countsIn(usage: unknown, before: Counts): Counts {
  if (!isObject(usage)) return before;
  const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {};
  const lifetimes = isObject(usage.cache_creation) ? usage.cache_creation : {};
  return {
    input: reportedTokens(usage.input_tokens) ?? before.input,
    cacheRead: reportedTokens(usage.cache_read_input_tokens) ?? before.cacheRead,
    cacheWrite: reportedTokens(usage.cache_creation_input_tokens) ?? before.cacheWrite,
    hourWrite: reportedTokens(lifetimes.ephemeral_1h_input_tokens) ?? before.hourWrite,
    output: reportedTokens(usage.output_tokens) ?? before.output,
    thinking: reportedTokens(details.thinking_tokens) ?? before.thinking,
  };
}

/** Null if neither input nor output was reported: usage is not invented. */
function usageOf({ input, cacheRead, cacheWrite, hourWrite, output, thinking }: Counts): JsonObject | null {
  if (input === null && output === null) return null;
  const cached = cacheRead ?? 0;
  const written = cacheWrite ?? 0;
  const usage: ChatUsage = {
    prompt: (input ?? 0) + cached + written,
    cached,
    cacheWrite: written,
    hourWrite: hourWrite === null || written === 0 ? null : Math.min(hourWrite, written),
    completion: output ?? 0,
    reasoning: thinking,
  };
  return usageInChat(usage);
}
