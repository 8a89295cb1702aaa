import { isObject } from '../../../../ports/json-object.ts';
import type { ReasoningCount } from '../../../../ports/model-upstream.ts';
import { type ChatUsage, createStreamedUsage, readChatUsage } from '../chat-usage.ts';
import type { AnswerTranslation, StreamTranslation, TranslationStamps } from '../translator.ts';
import {
  argumentsAsInput,
  encodeJson,
  HELD_BY_BLOCK,
  type JsonObject,
  MOST_HELD,
  parseObject,
  serverSentEvent,
} from './members.ts';

/** The parts of the request, and of its target, that the answer depends on. */
interface MessagesRequest {
  /** The client's name for it. */
  readonly model: string;
  readonly stopSequences: readonly string[];
  readonly showsThinking: boolean;
  /** Returns the client's name of a tool that the target knows by another. */
  readonly toolNameOf: (name: string) => string;
  readonly reasoning: ReasoningCount | undefined;
}

/** Translates an answer of chat completions to Anthropic's Messages. */
export function answerInMessages(
  clientRequest: MessagesRequest,
  stamps: TranslationStamps,
): AnswerTranslation {
  let usage: ChatUsage | null = null;
  return {
    whole(bytes) {
      const answer = parseObject(bytes);
      usage = answer === null ? null : readChatUsage(answer, clientRequest.reasoning);
      return answer === null ? null : wholeMessage(answer, usage, clientRequest, stamps);
    },
    lacksUsage: () => usage === null,
    stream: () => createMessageStream(clientRequest, stamps),
  };
}

function wholeMessage(
  answer: JsonObject,
  usage: ChatUsage | null,
  clientRequest: MessagesRequest,
  stamps: TranslationStamps,
): Uint8Array<ArrayBuffer> | null {
  const choice: unknown = Array.isArray(answer.choices) ? answer.choices[0] : null;
  if (!isObject(choice) || !isObject(choice.message)) return null;
  const { message } = choice;
  const thinking = clientRequest.showsThinking ? reasoningIn(message) : '';
  const calls = toolCallsIn(message);
  const text = `${textIn(message.content)}${stringOf(message.refusal)}`;
  const content = [
    ...(thinking === '' ? [] : [{ type: 'thinking', thinking, signature: '' }]),
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls.map((call) => ({
      ...{ type: 'tool_use', id: call.id || toolId(stamps), name: clientRequest.toolNameOf(call.name) },
      input: argumentsAsInput(call.text),
    })),
  ];
  const ending = endingOf(choice, clientRequest, calls.length > 0, stringOf(message.refusal) !== '');
  const head = messageHead(clientRequest, stamps);
  return encodeJson({ ...head, content, ...ending, usage: usageInMessages(usage) });
}

function messageHead({ model }: MessagesRequest, { newId }: TranslationStamps): JsonObject {
  return { id: `msg_${newId()}`, type: 'message', role: 'assistant', model };
}

interface OpenBlock {
  readonly kind: 'thinking' | 'text' | 'tool';
  /** The target's index of a tool call; -1 for other blocks, and for a call that nothing is added to any more. */
  call: number;
  readonly id: string;
  name: string;
  /** The arguments so far, and text that is waiting to be written. */
  text: string;
  index: number | null;
}

/**
 * Blocks are written one after the other, each closed before the next begins. A tool call is written as it arrives. If
 * the next call begins before the arguments of the first are complete JSON, the two may still alternate, so the next
 * one waits until the end. The stop reason and the usage are written at the end of the stream, because chat completions
 * send usage last.
 */
function createMessageStream(clientRequest: MessagesRequest, stamps: TranslationStamps): StreamTranslation {
  const blocks: OpenBlock[] = [];
  let hasStarted = false;
  let open: OpenBlock | null = null;
  let written = 0;
  let finish: JsonObject | null = null;
  let hasRefused = false;
  const counted = createStreamedUsage(clientRequest.reasoning);
  let held = 0;
  let isDone = false;

  function event(name: string | null, data: string): string | 'failed' {
    if (name === 'error') return 'failed';
    if (data.startsWith('[DONE]')) {
      isDone = true;
      return '';
    }
    const chunk = parseObject(data);
    if (chunk === null || chunk.error) return 'failed';
    const hasUsage = counted.note(chunk);
    // Some servers omit the choices from the chunk with usage.
    if (!Array.isArray(chunk.choices) && !hasUsage) return 'failed';
    const start = startEvents();
    const choice: unknown = Array.isArray(chunk.choices) ? chunk.choices[0] : null;
    if (!isObject(choice)) return start;
    const delta = isObject(choice.delta) ? deltaEvents(choice.delta) : '';
    if (held > MOST_HELD) return 'failed';
    if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') finish = choice;
    return start + delta;
  }

  function startEvents(): string {
    if (hasStarted) return '';
    hasStarted = true;
    const ending = { stop_reason: null, stop_sequence: null, usage: usageInMessages(null) };
    const message = { ...messageHead(clientRequest, stamps), content: [], ...ending };
    return serverSentEvent('message_start', { type: 'message_start', message });
  }

  function deltaEvents(delta: JsonObject): string {
    const refusal = stringOf(delta.refusal);
    if (refusal !== '') hasRefused = true;
    return [
      clientRequest.showsThinking ? addText('thinking', reasoningIn(delta)) : '',
      addText('text', textIn(delta.content)),
      addText('text', refusal),
      ...toolCallsIn(delta).map(addToCall),
    ].join('');
  }

  function addText(kind: 'thinking' | 'text', text: string): string {
    if (text === '') return '';
    const last = blocks.at(-1);
    return last?.kind === kind ? extend(last, text) : begin({ kind, call: -1, id: '', name: '' }, text);
  }

  function addToCall(piece: ToolCall): string {
    const known = blocks.find((block) => block.kind === 'tool' && block.call === piece.index);
    // A server that gives every call the index 0 distinguishes them by their ids.
    const isOther = known !== undefined && piece.id !== '' && known.id !== piece.id && piece.name !== '';
    if (known !== undefined && !isOther) {
      known.name ||= piece.name;
      return extend(known, piece.text);
    }
    if (known !== undefined) known.call = -1;
    const { index: call, name } = piece;
    return begin({ kind: 'tool', call, id: piece.id || toolId(stamps), name }, piece.text);
  }

  function begin(parts: Pick<OpenBlock, 'kind' | 'call' | 'id' | 'name'>, text: string): string {
    const block: OpenBlock = { ...parts, text: '', index: null };
    const opening = canOpen(block) ? closeOpen() + start(block) : '';
    blocks.push(block);
    held += HELD_BY_BLOCK;
    return opening + extend(block, text);
  }

  function canOpen({ kind, name }: OpenBlock): boolean {
    if (kind === 'tool' && name === '') return false;
    if (blocks.some(({ index }) => index === null)) return false;
    return open === null || open.kind !== 'tool' || parseObject(open.text) !== null;
  }

  function extend(block: OpenBlock, text: string): string {
    const isWritten = block === open;
    if (block.kind === 'tool' || !isWritten) {
      block.text += text;
      held += text.length;
    }
    return isWritten && text !== '' ? deltaOf(block, text) : '';
  }

  function start(block: OpenBlock): string {
    block.index = written;
    written += 1;
    open = block;
    const content = {
      thinking: { type: 'thinking', thinking: '', signature: '' },
      text: { type: 'text', text: '' },
      tool: { type: 'tool_use', id: block.id, name: clientRequest.toolNameOf(block.name), input: {} },
    }[block.kind];
    const data = { type: 'content_block_start', index: block.index, content_block: content };
    return serverSentEvent('content_block_start', data);
  }

  function closeOpen(): string {
    if (open === null) return '';
    const { index } = open;
    open = null;
    return serverSentEvent('content_block_stop', { type: 'content_block_stop', index });
  }

  function waitingEvents(): string {
    const waiting = blocks.filter(({ index }) => index === null);
    return waiting
      .map((block) => start(block) + (block.text === '' ? '' : deltaOf(block, block.text)) + closeOpen())
      .join('');
  }

  function end(): string | 'cut-off' {
    // Some servers end with [DONE] and without a finish reason.
    if (!hasStarted || (finish === null && !isDone)) return 'cut-off';
    const hasCalls = blocks.some(({ kind }) => kind === 'tool');
    const delta = endingOf(finish ?? {}, clientRequest, hasCalls, hasRefused);
    const last = { type: 'message_delta', delta, usage: usageInMessages(counted.usage()) };
    return [
      closeOpen(),
      waitingEvents(),
      serverSentEvent('message_delta', last),
      serverSentEvent('message_stop', { type: 'message_stop' }),
    ].join('');
  }

  return { event, isDone: () => isDone, end, lacksUsage: () => counted.usage() === null };
}

function deltaOf({ kind, index }: OpenBlock, text: string): string {
  const delta = {
    thinking: { type: 'thinking_delta', thinking: text },
    text: { type: 'text_delta', text },
    tool: { type: 'input_json_delta', partial_json: text },
  }[kind];
  return serverSentEvent('content_block_delta', { type: 'content_block_delta', index, delta });
}

const toolId = ({ newId }: TranslationStamps) => `toolu_${newId()}`;

const stringOf = (value: unknown) => (typeof value === 'string' ? value : '');

/** A string, or parts as some servers send them. Mistral's parts include thinking, which is skipped here. */
function textIn(content: unknown): string {
  if (!Array.isArray(content)) return stringOf(content);
  return content.map((part) => (isObject(part) && part.type === 'text' ? stringOf(part.text) : '')).join('');
}

/** Servers have two names for it, and Mistral has it in the content. */
function reasoningIn(message: JsonObject): string {
  return stringOf(message.reasoning_content) || stringOf(message.reasoning) || thoughtsIn(message.content);
}

function thoughtsIn(content: unknown): string {
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (isObject(part) && part.type === 'thinking' ? textIn(part.thinking) : ''))
    .join('');
}

interface ToolCall {
  readonly index: number;
  readonly id: string;
  readonly name: string;
  readonly text: string;
}

function toolCallsIn({ tool_calls: calls }: JsonObject): readonly ToolCall[] {
  if (!Array.isArray(calls)) return [];
  return calls.filter(isObject).map((call, at) => {
    const made = isObject(call.function) ? call.function : {};
    // Some servers send the arguments as an object.
    const text = isObject(made.arguments) ? JSON.stringify(made.arguments) : stringOf(made.arguments);
    const index = typeof call.index === 'number' ? call.index : at;
    return { index, id: stringOf(call.id), name: stringOf(made.name), text };
  });
}

const STOP_REASONS: Readonly<Record<string, string>> = {
  length: 'max_tokens',
  tool_calls: 'tool_use',
  function_call: 'tool_use',
  content_filter: 'refusal',
};

/** Some servers report which stop sequence was hit. Without that, a stop sequence is reported as the end of the turn. */
function endingOf(
  choice: JsonObject,
  { stopSequences }: MessagesRequest,
  hasCalls: boolean,
  hasRefused: boolean,
): JsonObject {
  const named = choice.stop_reason;
  const sequence = typeof named === 'string' && stopSequences.includes(named) ? named : null;
  const reason =
    STOP_REASONS[stringOf(choice.finish_reason)] ?? (sequence === null ? 'end_turn' : 'stop_sequence');
  return { stop_reason: finalReason(reason, hasCalls, hasRefused), stop_sequence: sequence };
}

/** Some servers end tool calls with `stop`. `tool_calls` without a call is reported as the end of the turn. */
function finalReason(reason: string, hasCalls: boolean, hasRefused: boolean): string {
  if (reason === 'end_turn' && hasRefused) return 'refusal';
  if (reason === 'end_turn' && hasCalls) return 'tool_use';
  return reason === 'tool_use' && !hasCalls ? 'end_turn' : reason;
}

/**
 * Anthropic counts the three types of input separately; in chat completions the prompt is their sum. Clients need the
 * counts: if the target reports none they are 0, and `lacksUsage` returns true.
 */
function usageInMessages(usage: ChatUsage | null): JsonObject {
  const {
    prompt = 0,
    cached = 0,
    cacheWrite = 0,
    hourWrite = null,
    completion = 0,
    reasoning = null,
  } = usage ?? {};
  const lifetimes = {
    ephemeral_5m_input_tokens: cacheWrite - (hourWrite ?? 0),
    ephemeral_1h_input_tokens: hourWrite,
  };
  return {
    input_tokens: prompt - cached - cacheWrite,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cached,
    ...(hourWrite === null ? {} : { cache_creation: lifetimes }),
    output_tokens: completion,
    ...(reasoning === null ? {} : { output_tokens_details: { thinking_tokens: reasoning } }),
  };
}
