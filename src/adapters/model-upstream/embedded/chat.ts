import type { UpstreamAnswer } from '../../../ports/model-upstream.ts';
import { type ChatReply, promptTokens, replyTo, replyTokens } from './chat-reply.ts';
import { readChatRequest } from './chat-request.ts';
import { eventAnswer, jsonAnswer, type OpenCall, refusedAnswer } from './open-call.ts';

export async function answerChat(call: OpenCall): Promise<UpstreamAnswer> {
  const { model, tokens, signal, created, newId } = call;
  const read = readChatRequest(call.body);
  if (read.outcome === 'refused') return refusedAnswer(read.refusal, signal);
  const { request } = read;
  const counted = await promptTokens(request.messages, tokens, signal);
  const reply = replyTo(request, tokens);
  const envelope: ChatEnvelope = {
    id: `chatcmpl-${newId()}`,
    created,
    model,
    choices: request.choices,
    promptTokens: counted,
    completionTokens: request.choices * replyTokens(reply, tokens),
    newCallId: () => `call_${newId()}`,
  };
  if (request.isStream) return eventAnswer(chatChunks(reply, envelope, request.includesUsage), signal);
  return jsonAnswer([JSON.stringify(chatCompletion(reply, envelope))], signal);
}

/** The fields of an answer besides the reply itself. */
interface ChatEnvelope {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly model: string;
  readonly choices: number;
  readonly promptTokens: number;
  /** The total of all choices. */
  readonly completionTokens: number;
  /** Called once per tool call. */
  readonly newCallId: () => string;
}

function usageOf({ promptTokens, completionTokens }: ChatEnvelope) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
}

export function chatCompletion(reply: ChatReply, envelope: ChatEnvelope) {
  const { id, created, model } = envelope;
  const choices = Array.from({ length: envelope.choices }, (_, index) => ({
    index,
    message: messageOf(reply, envelope.newCallId),
    logprobs: null,
    finish_reason: reply.finish,
  }));
  return { id, object: 'chat.completion' as const, created, model, choices, usage: usageOf(envelope) };
}

function messageOf(reply: ChatReply, newCallId: () => string) {
  if (reply.kind === 'words') {
    return { role: 'assistant' as const, content: reply.content.text, refusal: null };
  }
  const call = { name: reply.name, arguments: reply.arguments.text };
  return {
    role: 'assistant' as const,
    content: null,
    refusal: null,
    tool_calls: [{ id: newCallId(), type: 'function' as const, function: call }],
  };
}

/**
 * The chunks in OpenAI's order: the role, the reply in pieces, the finish reason and, if requested, a last chunk
 * without choices that has the usage. The choices alternate, as if they were generated in parallel.
 */
export function* chatChunks(reply: ChatReply, envelope: ChatEnvelope, includesUsage: boolean) {
  const indexes = Array.from({ length: envelope.choices }, (_, index) => index);
  const chunk = (index: number, delta: ChatDelta, finish_reason: ChatReply['finish'] | null = null) => ({
    id: envelope.id,
    object: 'chat.completion.chunk' as const,
    created: envelope.created,
    model: envelope.model,
    choices: [{ index, delta, logprobs: null, finish_reason }],
    // Null in all chunks but the last, and only present if usage was requested.
    ...(includesUsage ? { usage: null } : {}),
  });

  for (const index of indexes) yield chunk(index, firstDelta(reply, envelope.newCallId));
  const pieces = reply.kind === 'words' ? reply.content.pieces : reply.arguments.pieces;
  for (const piece of pieces) for (const index of indexes) yield chunk(index, pieceDelta(reply, piece));
  for (const index of indexes) yield chunk(index, {}, reply.finish);
  if (!includesUsage) return;
  const { id, object, created, model } = chunk(0, {});
  yield { id, object, created, model, choices: [], usage: usageOf(envelope) };
}

interface ChatDelta {
  readonly role?: 'assistant';
  readonly content?: string | null;
  readonly refusal?: null;
  readonly tool_calls?: {
    readonly index: number;
    readonly id?: string;
    readonly type?: 'function';
    readonly function: { readonly name?: string; readonly arguments: string };
  }[];
}

function firstDelta(reply: ChatReply, newCallId: () => string): ChatDelta {
  if (reply.kind === 'words') return { role: 'assistant', content: '', refusal: null };
  const call = { name: reply.name, arguments: '' };
  const tool_calls = [{ index: 0, id: newCallId(), type: 'function' as const, function: call }];
  return { role: 'assistant', content: null, tool_calls };
}

function pieceDelta(reply: ChatReply, piece: string): ChatDelta {
  if (reply.kind === 'words') return { content: piece };
  return { tool_calls: [{ index: 0, function: { arguments: piece } }] };
}
