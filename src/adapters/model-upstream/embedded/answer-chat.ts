import type { UpstreamAnswer } from '../../../ports/model-upstream.ts';
import { eventAnswer, jsonAnswer, refusedAnswer } from './answer-body.ts';
import { promptTokens, replyTo, replyTokens } from './chat-reply.ts';
import { readChatRequest } from './chat-request.ts';
import { type ChatEnvelope, chatChunks, chatCompletion } from './chat-wire.ts';
import type { OpenCall } from './open-call.ts';

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
