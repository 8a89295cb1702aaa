import { isObject } from '../../../../ports/json-object.ts';
import { estimateUsage } from '../../../limits/claims.ts';
import type { TranslationStamps, TranslationTarget, Translator } from '../translator.ts';
import { encodeJson, type JsonObject, parseObject } from './members.ts';
import { messagesToChat } from './messages-to-chat.ts';

type CountedTokens =
  | { readonly outcome: 'counted'; readonly body: Uint8Array<ArrayBuffer> }
  | { readonly outcome: 'refused'; readonly message: string; readonly param: string | null };

/** Anthropic's approximate maximum for an image. */
const TOKENS_OF_IMAGE = 1_600;
/** For each started piece of a PDF: a page has about 50 KB in base64, and about as many tokens as two images. */
const TOKENS_OF_PAGE = 3_000;
const PAGE_CHARACTERS = 50_000;

/**
 * `count_tokens` for a target that cannot count: the estimate that the gateway uses to limit tokens per minute, applied
 * to what the target would receive, with images and files counted by piece instead of by bytes. Not a measurement:
 * docs/messages.md describes how far it may be off.
 */
export function estimateInputTokens(bytes: Uint8Array, to: TranslationTarget): CountedTokens {
  const request = parseObject(bytes);
  const body = request === null ? bytes : encodeJson({ ...request, max_tokens: 1 });
  return counted(messagesToChat, body, to, {});
}

/** The same for `responses/input_tokens`. Only counting has a `personality`, which the target does not receive. */
export function estimateResponseTokens(
  toChat: Translator,
  bytes: Uint8Array,
  to: TranslationTarget,
): CountedTokens {
  const request = parseObject(bytes);
  const body = request === null ? bytes : encodeJson({ ...request, personality: null });
  return counted(toChat, body, to, { object: 'response.input_tokens' });
}

function counted(
  toChat: Translator,
  body: Uint8Array,
  to: TranslationTarget,
  answer: { readonly object?: string },
): CountedTokens {
  const translated = toChat.translateRequest(body, to, NO_STAMPS);
  if (translated.outcome === 'refused') return translated;
  const { messages, tools, response_format } = parseObject(translated.body) as JsonObject;
  let tokensOfPieces = 0;
  const text = JSON.stringify({ messages, tools, response_format }, (_name, value: unknown) => {
    const tokens = tokensOfPiece(value);
    tokensOfPieces += tokens ?? 0;
    return tokens === null ? value : undefined;
  });
  const { promptTokens } = estimateUsage(new TextEncoder().encode(text).length, 0, 1);
  return { outcome: 'counted', body: encodeJson({ ...answer, input_tokens: promptTokens + tokensOfPieces }) };
}

/** Unused: nothing is answered. */
const NO_STAMPS: TranslationStamps = { newId: () => '', nowSeconds: 0 };

/** Null if it is neither an image nor a file. */
function tokensOfPiece(part: unknown): number | null {
  if (!isObject(part)) return null;
  if (part.type === 'image_url' && isObject(part.image_url)) return TOKENS_OF_IMAGE;
  if (part.type !== 'file' || !isObject(part.file)) return null;
  return Math.ceil(String(part.file.file_data).length / PAGE_CHARACTERS) * TOKENS_OF_PAGE;
}
