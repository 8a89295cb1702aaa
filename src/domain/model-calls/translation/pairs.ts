import { composedTranslator } from './composed-translator.ts';
import { chatToMessages } from './messages/chat-to-messages.ts';
import { messagesToChat } from './messages/messages-to-chat.ts';
import { createResponsesToChat, type ResponsesToChatOptions } from './responses/responses-to-chat.ts';
import type { TranslationPair } from './translating-upstream.ts';

/** In order of preference: if a target has several of these endpoints, the first is used. */
export function translationPairs(
  options: Pick<ResponsesToChatOptions, 'storesResponses'>,
): readonly TranslationPair[] {
  const responsesToChat = createResponsesToChat(options);
  const withThinking = createResponsesToChat({ ...options, hasThinking: true });
  return [
    { from: 'responses', to: 'chat/completions', translator: responsesToChat },
    { from: 'responses', to: 'messages', translator: composedTranslator(withThinking, chatToMessages) },
    { from: 'messages', to: 'chat/completions', translator: messagesToChat },
    { from: 'chat/completions', to: 'messages', translator: chatToMessages },
  ];
}
