import { createResponsesToChat } from './responses/responses-to-chat.ts';
import type { TranslationPair } from './translating-upstream.ts';

/** In the order of preference: where a target speaks several of them, the first. */
export const TRANSLATION_PAIRS: readonly TranslationPair[] = [
  { from: 'responses', to: 'chat/completions', translator: createResponsesToChat() },
];
