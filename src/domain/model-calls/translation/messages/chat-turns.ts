import {
  definedMembers,
  inputAsArguments,
  isMissing,
  type JsonObject,
  optional,
  readArray,
  readBoolean,
  readName,
  readObject,
  readString,
  refuse,
  shown,
} from './members.ts';
import { readsReasoningBack } from './model-names.ts';

/**
 * Converts the system prompt and the turns of a Messages request to messages of chat completions. If there are only
 * text blocks they are joined into one string: every compatible server accepts that, but not every one accepts parts.
 */
export function chatMessages(system: unknown, value: unknown, model: string): JsonObject[] {
  const turns = turnsOf(value);
  // System messages before the first turn are part of the prompt.
  const first = turns[0]?.role === 'system' ? turns[0].blocks : [];
  const prompt = [...(isMissing(system) ? [] : blocksOf(system, 'system')), ...first];
  const messages = turns.slice(first.length === 0 ? 0 : 1).flatMap((turn) => {
    return turn.role === 'assistant' ? assistantMessages(turn, model) : userMessages(turn);
  });
  if (messages.length > 0) return [...systemMessages(prompt), ...messages];
  return refuse('messages', "'messages' must have at least one message with content.");
}

interface Block {
  readonly type: string;
  readonly block: JsonObject;
  readonly path: string;
}

interface Turn {
  readonly role: 'user' | 'assistant' | 'system';
  readonly blocks: Block[];
}

/**
 * In Messages, consecutive messages of one role are one turn. Instructions in the middle of a conversation, which
 * Claude Code sends, become marked text in the user's turn: the templates of many open models refuse a system message
 * there.
 */
function turnsOf(value: unknown): readonly Turn[] {
  const turns: Turn[] = [];
  readArray(value, 'messages').forEach((item, at) => {
    const path = `messages[${at}]`;
    const message = readObject(item, path);
    const { role } = message;
    if (role !== 'user' && role !== 'assistant' && role !== 'system') {
      refuse(`${path}.role`, `'${path}.role' must be 'user', 'assistant' or 'system'.`);
    }
    const blocks = blocksOf(message.content, `${path}.content`);
    const isLater = role === 'system' && turns.some((turn) => turn.role !== 'system');
    const side = isLater ? 'user' : role;
    const added = isLater ? blocks.flatMap(markedInstruction) : blocks;
    const last = turns.at(-1);
    if (last?.role === side) last.blocks.push(...added);
    else turns.push({ role: side, blocks: [...added] });
  });
  return turns;
}

function markedInstruction(block: Block): Block[] {
  const text = textIn(partsOf(block, 'text'));
  return text === '' ? [] : [{ ...block, block: { type: 'text', text: `<system>\n${text}\n</system>` } }];
}

function blocksOf(content: unknown, path: string): readonly Block[] {
  if (typeof content === 'string') return [{ type: 'text', block: { type: 'text', text: content }, path }];
  return readArray(content, path).map((item, at) => {
    const place = `${path}[${at}]`;
    const block = readObject(item, place);
    return { type: readString(block.type, `${place}.type`), block, path: place };
  });
}

function systemMessages(blocks: readonly Block[]): JsonObject[] {
  const content = joined(blocks.flatMap((block) => partsOf(block, 'text')));
  return content === null ? [] : [{ role: 'system', content }];
}

/** Tool results are first: they must follow the calls. Their content other than text follows in the user's message. */
function userMessages({ blocks }: Turn): JsonObject[] {
  const results = blocks.filter(({ type }) => type === 'tool_result').map(toolResult);
  const rest = blocks.filter(({ type }) => type !== 'tool_result').flatMap((block) => partsOf(block, 'any'));
  const content = joined([...results.flatMap(({ attachments }) => attachments), ...rest]);
  return [
    ...results.map(({ message }) => message),
    ...(content === null ? [] : [{ role: 'user', content } satisfies JsonObject]),
  ];
}

interface ToolResult {
  readonly message: JsonObject;
  readonly attachments: readonly JsonObject[];
}

function toolResult({ block, path }: Block): ToolResult {
  const id = readName(block.tool_use_id, `${path}.tool_use_id`);
  const isError = optional(block.is_error, `${path}.is_error`, readBoolean) === true;
  const blocks = isMissing(block.content) ? [] : blocksOf(block.content, `${path}.content`);
  const parts = blocks.flatMap((part) => partsOf(part, 'any'));
  const text = textIn(parts.filter(isText));
  const others = parts.filter((part) => !isText(part));
  const content = others.length > 0 && text === '' ? 'The result follows in the next message.' : text;
  return {
    message: { role: 'tool', tool_call_id: id, content: isError ? asError(content) : content },
    attachments:
      others.length === 0 ? [] : [{ type: 'text', text: `From the result of tool call ${id}:` }, ...others],
  };
}

/** Chat completions have no mark for a failed tool. */
function asError(text: string): string {
  return /^\W*error/i.test(text) ? text : `Error: ${text}`;
}

function assistantMessages({ blocks }: Turn, model: string): JsonObject[] {
  const texts: string[] = [];
  const thoughts: string[] = [];
  const calls: JsonObject[] = [];
  let before = '';
  for (const { type, block, path } of blocks) {
    if (type === 'text') {
      const text = readString(block.text, `${path}.text`);
      // Adjacent text blocks are parts of one text; after another block a new paragraph begins.
      texts.push(texts.length > 0 && before !== 'text' ? `\n\n${text}` : text);
    } else if (type === 'tool_use') calls.push(toolCall(block, path));
    else if (type === 'thinking') thoughts.push(readString(block.thinking, `${path}.thinking`));
    // Only Anthropic can read it.
    else if (type !== 'redacted_thinking') refuseBlock(type, path);
    before = type;
  }
  const content = texts.join('');
  if (content === '' && calls.length === 0) return [];
  const reasoning = readsReasoningBack(model) ? thoughts.join('\n\n') : '';
  return [
    {
      role: 'assistant',
      content: content === '' ? null : content,
      ...definedMembers({ reasoning_content: reasoning === '' ? null : reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  ];
}

function toolCall(block: JsonObject, path: string): JsonObject {
  const input = readObject(block.input, `${path}.input`);
  const name = readName(block.name, `${path}.name`);
  return {
    id: readName(block.id, `${path}.id`),
    type: 'function',
    function: { name, arguments: inputAsArguments(input) },
  };
}

type Allowed = 'any' | 'text';

function joined(parts: readonly JsonObject[]): unknown {
  const filled = parts.filter((part) => !isText(part) || part.text !== '');
  if (filled.length === 0) return null;
  return filled.every(isText) ? textIn(filled) : filled;
}

const isText = (part: JsonObject) => part.type === 'text';

function textIn(parts: readonly JsonObject[]): string {
  return parts
    .map(({ text }) => text as string)
    .filter((text) => text !== '')
    .join('\n\n');
}

function partsOf({ type, block, path }: Block, allowed: Allowed): JsonObject[] {
  if (type === 'text') return [textPart(readString(block.text, `${path}.text`))];
  if (allowed === 'text') return refuse(`${path}.type`, `'${path}' must be a block of text.`);
  switch (type) {
    case 'image':
      return [imagePart(readObject(block.source, `${path}.source`), `${path}.source`)];
    case 'document':
      return documentParts(block, path);
    case 'search_result':
      return searchResult(block, path);
    default:
      return refuseBlock(type, path);
  }
}

function textPart(text: string): JsonObject {
  return { type: 'text', text };
}

function imagePart(source: JsonObject, path: string): JsonObject {
  const url =
    source.type === 'url' ? readName(source.url, `${path}.url`) : base64Url(source, path, 'an image');
  return { type: 'image_url', image_url: { url } };
}

function base64Url(source: JsonObject, path: string, what: string): string {
  if (source.type !== 'base64') {
    return refuse(`${path}.type`, `This model takes ${what} as 'base64', not as '${shown(source.type)}'.`);
  }
  const mediaType = readName(source.media_type, `${path}.media_type`);
  return `data:${mediaType};base64,${readName(source.data, `${path}.data`)}`;
}

function documentParts(block: JsonObject, path: string): JsonObject[] {
  refuseCitations(block.citations, path);
  const title = optional(block.title, `${path}.title`, readString) ?? '';
  const context = textPart(optional(block.context, `${path}.context`, readString) ?? '');
  const source = readObject(block.source, `${path}.source`);
  if (source.type === 'text') {
    return [textPart(title), context, textPart(readString(source.data, `${path}.source.data`))];
  }
  if (source.type === 'content') {
    const blocks = blocksOf(source.content, `${path}.source.content`);
    return [textPart(title), context, ...blocks.flatMap((part) => partsOf(part, 'any'))];
  }
  const fileData = base64Url(source, `${path}.source`, 'a document');
  return [
    context,
    { type: 'file', file: { filename: title === '' ? 'document.pdf' : title, file_data: fileData } },
  ];
}

function searchResult(block: JsonObject, path: string): JsonObject[] {
  refuseCitations(block.citations, path);
  const title = readString(block.title, `${path}.title`);
  const source = readString(block.source, `${path}.source`);
  const texts = blocksOf(block.content, `${path}.content`).flatMap((part) => partsOf(part, 'text'));
  return [textPart(`${title}\n${source}`), ...texts];
}

function refuseCitations(value: unknown, path: string): void {
  const citations = optional(value, `${path}.citations`, readObject);
  if (citations?.enabled !== true) return;
  refuse(`${path}.citations`, 'This model cannot cite its sources. Send the document without citations.');
}

function refuseBlock(type: string, path: string): never {
  return refuse(`${path}.type`, `A block of type '${shown(type)}' cannot be sent to this model. Remove it.`);
}
