import type { ChatMessage, ChatRequest } from './chat-request.ts';
import { findValues } from './found-values.ts';
import { answerAsObject, answerBySchema, conversationOf } from './json-answer.ts';
import { beforeStop } from './sampling.ts';
import { schemaValue } from './schema-value.ts';
import type { FittedText, Tokens } from './tokens.ts';
import { pickTool } from './tool-choice.ts';
import { writeAnswer } from './written-answer.ts';

/** What is said: the same for each choice, for there is no chance in it. */
export type ChatReply =
  | { readonly kind: 'words'; readonly content: FittedText; readonly finish: 'stop' | 'length' }
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly arguments: FittedText;
      readonly finish: 'tool_calls' | 'length';
    };

/** The longest answer where the client names no bound; the output limit of OpenAI's smaller models. */
export const LONGEST_ANSWER = 16_384;

export function replyTo(request: ChatRequest, tokens: Tokens): ChatReply {
  const limit = Math.min(request.maxTokens ?? LONGEST_ANSWER, LONGEST_ANSWER);
  const tool = pickTool(request);
  if (tool !== null) {
    const values = schemaValue(tool.parameters ?? {}, findValues(conversationOf(request.messages)));
    const json = JSON.stringify(typeof values === 'object' && values !== null ? values : {});
    const fitted = tokens.fit(json, Math.max(0, limit - tokens.countNow(tool.name)));
    return {
      kind: 'call',
      name: tool.name,
      arguments: fitted,
      finish: fitted.isCut ? 'length' : 'tool_calls',
    };
  }
  const content = tokens.fit(beforeStop(textOf(request), request.stop), limit);
  return { kind: 'words', content, finish: content.isCut ? 'length' : 'stop' };
}

function textOf({ format, messages }: ChatRequest): string {
  if (format.kind === 'json-schema') return answerBySchema(messages, format.schema);
  return format.kind === 'json-object' ? answerAsObject(messages) : writeAnswer(messages);
}

/** A call is charged by its name and its arguments. */
export function replyTokens(reply: ChatReply, tokens: Tokens): number {
  if (reply.kind === 'words') return reply.content.tokenCount;
  return tokens.countNow(reply.name) + reply.arguments.tokenCount;
}

/**
 * OpenAI's rule for chats: 3 tokens around each message besides those of its role and its content, one more and
 * its own for a name, and 3 that begin the answer. Calls that a message holds count as content, by name and
 * arguments. Definitions of tools are no messages and are not counted.
 */
export async function promptTokens(
  messages: readonly ChatMessage[],
  tokens: Tokens,
  signal: AbortSignal,
): Promise<number> {
  let sum = 3;
  for (const { role, text, name, toolCalls } of messages) {
    sum += 3 + tokens.countNow(role) + (await tokens.count(text, signal));
    if (name !== null) sum += 1 + (await tokens.count(name, signal));
    for (const call of toolCalls) sum += await tokens.count(`${call.name}${call.arguments}`, signal);
  }
  return sum;
}
