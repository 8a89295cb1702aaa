import type { ChatMessage } from './chat-request.ts';
import { type Conversation, type FoundValues, findValues } from './found-values.ts';
import { schemaValue } from './schema-value.ts';
import { itemsOf } from './text-parts.ts';
import { writeAnswer } from './written-answer.ts';

const MAX_KEYS = 50;
/** Where keys are looked for: what asks for them is at the beginning or the end of a message. */
const LOOKED_AT = 20_000;
const QUOTED_KEY = /["'`]([\p{L}_][\p{L}\p{N}_-]{0,40})["'`]\s*:/gu;
const NAMED_KEYS =
  /\b(?:keys?|fields?|properties|attributes)\b(?: (?:named|called|are|for))?[\s:]*([^\n:{]{1,300})/iu;

/** What the conversation holds that values can be taken from; the system's own words are instructions. */
export function conversationOf(messages: readonly ChatMessage[]): Conversation {
  const said = messages.filter(({ role }) => role === 'user' || role === 'tool' || role === 'function');
  return {
    text: said.map(({ text }) => text).join('\n'),
    lastMessage: said.findLast(({ role }) => role === 'user')?.text.trim() ?? '',
  };
}

/** The schema's own value where it describes none but an object: OpenAI's schemas always do. */
export function answerBySchema(messages: readonly ChatMessage[], schema: unknown): string {
  return JSON.stringify(schemaValue(schema, findValues(conversationOf(messages))) ?? {});
}

/**
 * An object with the keys that the messages show (`{"name": …}`) or name ("with the keys name and age"), and
 * what the text says of them; null where it says nothing. Without keys, the answer in prose under `answer`.
 */
export function answerAsObject(messages: readonly ChatMessage[]): string {
  const found = findValues(conversationOf(messages));
  const keys = keysIn(
    messages
      .map(({ text }) => text.slice(0, LOOKED_AT))
      .join('\n')
      .slice(-2 * LOOKED_AT),
  );
  if (keys.length === 0) return JSON.stringify({ answer: writeAnswer(messages) });
  return JSON.stringify(Object.fromEntries(keys.map((key) => [key, valueUnder(key, found)])));
}

function keysIn(text: string): string[] {
  const shown = [...text.matchAll(QUOTED_KEY)].map(([, key]) => key ?? '');
  const named = shown.length > 0 ? [] : itemsOf(NAMED_KEYS.exec(text)?.[1]?.split(/[.!?](?:\s|$)/u)[0] ?? '');
  const keys = [...shown, ...named].map((key) =>
    key.replace(/ (?:for|from|of|in|about)\b.*$/u, '').replace(/^["'`]+|["'`]+$/gu, ''),
  );
  return [...new Set(keys)].filter((key) => /^[\p{L}_][\p{L}\p{N}_-]{0,40}$/u.test(key)).slice(0, MAX_KEYS);
}

/** Numbers and yes or no as what they are: `42` is not `"42"`. */
function valueUnder(key: string, found: FoundValues): unknown {
  const text = found.text(key);
  if (text === null) return found.list(key) ?? found.number(key);
  if (/^-?\d{1,15}(?:\.\d{1,10})?$/u.test(text)) return Number(text);
  return /^(?:true|false)$/u.test(text) ? text === 'true' : text;
}
