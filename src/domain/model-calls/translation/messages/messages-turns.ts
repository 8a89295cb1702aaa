import {
  argumentsAsInput,
  definedMembers,
  isMissing,
  type JsonObject,
  optional,
  readArray,
  readName,
  readObject,
  readString,
  refuse,
  refuseOthers,
  shown,
} from './members.ts';

export interface MessagesTurns {
  readonly system: readonly JsonObject[];
  readonly messages: readonly JsonObject[];
  /** The last turn has tool results, and the turn that called the tools has no signed thinking. */
  readonly isInToolLoop: boolean;
}

interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: JsonObject[];
}

/**
 * Converts the messages of chat completions to the alternating turns of Anthropic's Messages. Consecutive messages of
 * one side become one turn, and tool results are first in the user's turn. Instructions before the first turn become
 * the system prompt; later ones keep their place, marked as such, because it is part of their meaning.
 */
export function messagesTurns(value: unknown): MessagesTurns {
  const system: JsonObject[] = [];
  const turns: Turn[] = [];
  const ids = createToolIds();
  const add = (role: Turn['role'], content: readonly JsonObject[]) => {
    if (content.length === 0) return;
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else turns.push({ role, content: [...content] });
  };
  readArray(value, 'messages').forEach((item, at) => {
    const path = `messages[${at}]`;
    const message = readObject(item, path);
    const { role } = message;
    if (role === 'user') add('user', contentBlocks(message, path, 'any'));
    else if (role === 'tool') add('user', [toolResult(message, path, ids)]);
    else if (role === 'assistant') add('assistant', assistantBlocks(message, path, ids));
    else if (role === 'system' || role === 'developer') {
      const texts = contentBlocks(message, path, 'text');
      if (turns.length === 0) system.push(...texts);
      else add('user', texts.map(markedInstruction));
    } else {
      const roles = "'system', 'developer', 'user', 'assistant' or 'tool'";
      refuse(`${path}.role`, `'${path}.role' must be ${roles} for this model.`);
    }
  });
  if (turns.length === 0) {
    return refuse('messages', "'messages' must have at least one message of a user with content.");
  }
  return { system, messages: turns.map(finished), isInToolLoop: isInToolLoop(turns) };
}

function finished({ role, content }: Turn, at: number, turns: readonly Turn[]): JsonObject {
  if (role === 'user') {
    const results = content.filter(isResult);
    return { role, content: [...results, ...content.filter((block) => !isResult(block))] };
  }
  const last = content.at(-1);
  // Anthropic refuses trailing white space in a text that the model is to continue.
  if (at < turns.length - 1 || last?.type !== 'text') return { role, content };
  return { role, content: [...content.slice(0, -1), { ...last, text: (last.text as string).trimEnd() }] };
}

const isResult = ({ type }: JsonObject) => type === 'tool_result';

function isInToolLoop(turns: readonly Turn[]): boolean {
  const [caller, results] = turns.slice(-2);
  if (!(results ?? caller)?.content.some(isResult)) return false;
  return caller?.content[0]?.type !== 'thinking' && caller?.content[0]?.type !== 'redacted_thinking';
}

function markedInstruction(block: JsonObject): JsonObject {
  return { ...block, text: `<system>\n${block.text as string}\n</system>` };
}

type ToolIds = (id: string) => string;

/** Anthropic allows letters, digits, _ and - in ids of tool calls; other models use other characters as well. */
function createToolIds(): ToolIds {
  const given = new Map<string, string>();
  const taken = new Set<string>();
  return (id) => {
    const known = given.get(id);
    if (known !== undefined) return known;
    const plain = id.replaceAll(/[^A-Za-z0-9_-]/g, '_');
    let free = plain;
    for (let next = 2; taken.has(free); next += 1) free = `${plain}_${next}`;
    given.set(id, free);
    taken.add(free);
    return free;
  };
}

function toolResult(message: JsonObject, path: string, ids: ToolIds): JsonObject {
  const content = isMissing(message.content) ? [] : contentBlocks(message, path, 'any');
  return definedMembers({
    type: 'tool_result',
    tool_use_id: ids(readName(message.tool_call_id, `${path}.tool_call_id`)),
    content: content.length === 0 ? null : content,
  });
}

const ASSISTANT_MEMBERS = new Set([
  ...['role', 'content', 'refusal', 'tool_calls', 'thinking_blocks', 'cache_control', 'name'],
  // Ignored: this reasoning is unsigned, and Anthropic accepts only thinking that it signed; annotations are part of
  // answers only.
  ...['reasoning_content', 'reasoning', 'reasoning_details', 'annotations'],
]);

function assistantBlocks(message: JsonObject, path: string, ids: ToolIds): readonly JsonObject[] {
  refuseOthers(message, path, ASSISTANT_MEMBERS);
  const thinking = optional(message.thinking_blocks, `${path}.thinking_blocks`, readArray) ?? [];
  const refusal = optional(message.refusal, `${path}.refusal`, readString) ?? '';
  const calls = optional(message.tool_calls, `${path}.tool_calls`, readArray) ?? [];
  return [
    ...thinking.map((block, at) => thinkingBlock(block, `${path}.thinking_blocks[${at}]`)),
    ...(isMissing(message.content) ? [] : contentBlocks(message, path, 'text')),
    ...(refusal.trim() === '' ? [] : [{ type: 'text', text: refusal }]),
    ...calls.map((call, at) => toolUse(call, `${path}.tool_calls[${at}]`, ids)),
  ];
}

/** As in our answers, including the signature. */
function thinkingBlock(value: unknown, path: string): JsonObject {
  const block = readObject(value, path);
  if (block.type === 'redacted_thinking') {
    return { type: block.type, data: readString(block.data, `${path}.data`) };
  }
  if (block.type !== 'thinking') return refuse(`${path}.type`, `'${path}.type' must be 'thinking'.`);
  const thinking = readString(block.thinking, `${path}.thinking`);
  return { type: 'thinking', thinking, signature: readString(block.signature, `${path}.signature`) };
}

function toolUse(value: unknown, path: string, ids: ToolIds): JsonObject {
  const call = readObject(value, path);
  if (!isMissing(call.type) && call.type !== 'function') {
    return refuse(`${path}.type`, `'${path}.type' must be 'function' for this model.`);
  }
  const made = readObject(call.function, `${path}.function`);
  return {
    type: 'tool_use',
    id: ids(readName(call.id, `${path}.id`)),
    name: readName(made.name, `${path}.function.name`),
    input: argumentsAsInput(readString(made.arguments, `${path}.function.arguments`)),
  };
}

/** Anthropic refuses empty texts, so they are not sent. A cache mark on the message is moved to its last block. */
function contentBlocks(message: JsonObject, path: string, allowed: 'any' | 'text'): readonly JsonObject[] {
  const { content, cache_control: cacheControl } = message;
  const blocks =
    typeof content === 'string'
      ? [{ type: 'text', text: content }]
      : readArray(content, `${path}.content`).map((part, at) =>
          contentBlock(readObject(part, `${path}.content[${at}]`), `${path}.content[${at}]`, allowed),
        );
  const filled = blocks.filter((block) => block.type !== 'text' || (block.text as string).trim() !== '');
  const last = filled.at(-1);
  if (isMissing(cacheControl) || last === undefined) return filled;
  return [...filled.slice(0, -1), { ...last, cache_control: cacheControl }];
}

function contentBlock(part: JsonObject, path: string, allowed: 'any' | 'text'): JsonObject {
  const cacheControl = definedMembers({ cache_control: part.cache_control });
  if (part.type === 'text') {
    return { type: 'text', text: readString(part.text, `${path}.text`), ...cacheControl };
  }
  if (part.type === 'refusal' && allowed === 'text') {
    return { type: 'text', text: readString(part.refusal, `${path}.refusal`), ...cacheControl };
  }
  if (allowed === 'any' && part.type === 'image_url') {
    const image = readObject(part.image_url, `${path}.image_url`);
    return { type: 'image', source: imageSource(image.url, `${path}.image_url.url`), ...cacheControl };
  }
  if (allowed === 'any' && part.type === 'file') {
    return { ...fileBlock(readObject(part.file, `${path}.file`), `${path}.file`), ...cacheControl };
  }
  return refuse(
    `${path}.type`,
    `A part of type '${shown(part.type)}' cannot be sent to this model here. Remove it.`,
  );
}

function imageSource(value: unknown, path: string): JsonObject {
  const url = readString(value, path);
  if (/^https?:\/\//i.test(url)) return { type: 'url', url };
  const data = dataUrl(url);
  if (data !== null && /^image\/(jpeg|png|gif|webp)$/.test(data.media_type))
    return { type: 'base64', ...data };
  return refuse(
    path,
    `'${path}' must be an https address or a data URL of a JPEG, PNG, GIF or WebP image in base64.`,
  );
}

function fileBlock(file: JsonObject, path: string): JsonObject {
  if (!isMissing(file.file_id)) {
    return refuse(
      `${path}.file_id`,
      `This model cannot read stored files. Send '${path}.file_data' instead.`,
    );
  }
  const title = definedMembers({ title: optional(file.filename, `${path}.filename`, readString) });
  const data = dataUrl(readString(file.file_data, `${path}.file_data`));
  if (data?.media_type !== 'application/pdf') {
    return refuse(
      `${path}.file_data`,
      `'${path}.file_data' must be a data URL of a PDF in base64 for this model.`,
    );
  }
  return { type: 'document', source: { type: 'base64', ...data }, ...title };
}

function dataUrl(url: string): { readonly media_type: string; readonly data: string } | null {
  // Avoids a regular expression over the data, which may be megabytes long.
  const comma = url.indexOf(',');
  const head = /^data:([a-z]+\/[a-z0-9.+-]+);base64$/i.exec(url.slice(0, Math.max(comma, 0)));
  const [, mediaType] = head ?? [];
  if (mediaType === undefined || comma === url.length - 1) return null;
  return { media_type: mediaType.toLowerCase(), data: url.slice(comma + 1) };
}
