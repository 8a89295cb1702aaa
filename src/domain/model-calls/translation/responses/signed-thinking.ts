import { isObject, type JsonObject } from '../../../../ports/json-object.ts';
import { parseJson } from './body-reading.ts';

/**
 * The `encrypted_content` of a reasoning item: a block of thinking as Anthropic signed it, in base64 behind a prefix. The
 * text is in it too, because Anthropic verifies the whole block, and clients leave the summary out or shorten it.
 */
const PREFIX = 'tpk1_';
/** More than any model thinks; a longer one is not read. */
const MOST_CHARACTERS = 4 * 1024 * 1024;

/** Null if it is not signed. */
export function encryptedContent(block: unknown): string | null {
  const signed = signedBlock(block);
  return signed === null ? null : PREFIX + Buffer.from(JSON.stringify(signed)).toString('base64url');
}

/** Null if it is damaged, or of another provider: who changes the model in a session expects it to go on. */
export function thinkingIn(content: unknown): JsonObject | null {
  if (typeof content !== 'string' || !content.startsWith(PREFIX)) return null;
  if (content.length > MOST_CHARACTERS) return null;
  return signedBlock(parseJson(Buffer.from(content.slice(PREFIX.length), 'base64url').toString('utf8')));
}

/** The block's own members, and no others. */
function signedBlock(block: unknown): JsonObject | null {
  if (!isObject(block)) return null;
  const { type, thinking, signature, data } = block;
  if (type === 'redacted_thinking') return isFilled(data) ? { type, data } : null;
  if (type !== 'thinking' || typeof thinking !== 'string') return null;
  return isFilled(signature) ? { type, thinking, signature } : null;
}

function isFilled(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}
