import { isObject, type JsonObject } from '../../../../ports/json-object.ts';
import { type BodyProblems, readMember, readNeeded } from './body-reading.ts';
import { BUILT_IN_TOOLS, type BuiltInKind, patchOutput, shellOutput } from './built-in-tools.ts';
import { builtIn, type CalledTool, type ChatTools, type ToolNames } from './chat-tools.ts';
import { thinkingIn } from './signed-thinking.ts';

export interface InputParts {
  readonly problems: BodyProblems;
  readonly names: ToolNames;
  readonly tools: ChatTools;
  /** Whether the model needs its own reasoning back. */
  readonly readsReasoning: boolean;
  /** Whether the target takes `thinking_blocks`, as the translation to Messages does. */
  readonly takesThinking: boolean;
}

/** The instructions and items of a Responses request as messages of a chat. */
interface ChatMessages {
  instruct(text: string): void;
  /** `param` is the path of the list. */
  add(items: readonly unknown[], param: string): void;
  list(): readonly JsonObject[];
}

/** A message, and the results of its tool calls, which must follow it directly. */
interface Entry {
  readonly role: 'system' | 'user' | 'assistant';
  content: string | readonly JsonObject[];
  reasoning: string;
  readonly thinking: JsonObject[];
  readonly calls: JsonObject[];
  readonly results: JsonObject[];
  /** Images and files from tool results. A tool message allows only text, so they follow in a user message. */
  readonly attachments: JsonObject[];
}

/**
 * Items are finer than messages: the text of a turn and each of its tool calls are separate items, results may be
 * anywhere later, and there may be many developer messages. A chat has one message per turn, directly followed by its
 * results, and servers want one system message at the beginning: those that begin the input are joined.
 *
 * Reasoning is added to the turn that follows it: as text for models that read it, as signed thinking for Anthropic's. It
 * cannot be returned to others.
 */
export function createChatMessages(parts: InputParts): ChatMessages {
  const { problems, names, tools, readsReasoning, takesThinking } = parts;
  const entries: Entry[] = [];
  const callers = new Map<string, Entry>();
  /** Reasoning that belongs to the next item. */
  let thought: string[] = [];
  let thinking: JsonObject[] = [];

  function addEntry(role: Entry['role'], content: Entry['content']): Entry {
    const empty = { reasoning: '', thinking: [], calls: [], results: [], attachments: [] };
    const entry: Entry = { role, content, ...empty };
    entries.push(entry);
    if (role !== 'assistant') {
      thought = [];
      thinking = [];
    }
    return entry;
  }

  function addReasoning(entry: Entry): void {
    entry.reasoning = [...(entry.reasoning === '' ? [] : [entry.reasoning]), ...thought].join('\n\n');
    thought = [];
    entry.thinking.push(...thinking);
    thinking = [];
  }

  function addSystem(text: string): void {
    const first = entries[0];
    if (entries.length === 1 && first?.role === 'system') first.content = `${first.content}\n\n${text}`;
    else addEntry('system', text);
  }

  function addMessage(item: JsonObject, param: string): void {
    const { role } = item;
    if (role === 'user') {
      addEntry('user', readUserContent(problems, item.content, `${param}.content`));
      return;
    }
    const text = readTexts(problems, item.content, `${param}.content`);
    if (role === 'system' || role === 'developer') addSystem(text.join('\n\n'));
    else if (role === 'assistant') addAssistantText(text.join(''));
    else problems.add(`'${param}.role' must be user, assistant, system or developer.`, `${param}.role`);
  }

  function addAssistantText(text: string): void {
    const last = entries.at(-1);
    const isSameTurn = last?.role === 'assistant' && last.calls.length > 0 && last.results.length === 0;
    if (isSameTurn) last.content = `${last.content}${text}`;
    addReasoning(isSameTurn ? last : addEntry('assistant', text));
  }

  function addCall(item: JsonObject, param: string, tool: CalledTool, written: string): void {
    const id = readNeeded(problems, item.call_id ?? item.id, 'string', `${param}.call_id`) ?? '';
    const last = entries.at(-1);
    // Thinking stays between the text before it and the call after it.
    const isApart = thinking.length > 0 && last?.calls.length === 0;
    const isSameTurn = last?.role === 'assistant' && last.results.length === 0 && !isApart;
    const entry = isSameTurn ? last : addEntry('assistant', '');
    addReasoning(entry);
    const name = names.chatNameOf(tool);
    entry.calls.push({
      id,
      type: 'function',
      function: { name, arguments: written === '' ? '{}' : written },
    });
    callers.set(id, entry);
  }

  function addBuiltInCall(kind: BuiltInKind, member: string) {
    return (item: JsonObject, param: string) => {
      const given = BUILT_IN_TOOLS[kind].argumentsOf(item);
      if (given === null) readNeeded(problems, item[member], 'object', `${param}.${member}`);
      addCall(item, param, builtIn(kind), JSON.stringify(given ?? {}));
    };
  }

  function addResult(item: JsonObject, param: string): void {
    const id = readNeeded(problems, item.call_id ?? item.id, 'string', `${param}.call_id`) ?? '';
    const caller = callers.get(id);
    if (caller === undefined) {
      problems.add(`'${param}' is the output of a tool call that is not in the input before it.`, param);
      return;
    }
    const { text, attachments } = readToolOutput(problems, item.output, `${param}.output`);
    caller.results.push({ role: 'tool', tool_call_id: id, content: text });
    if (attachments.length === 0) return;
    caller.attachments.push({ type: 'text', text: `Output of the tool call ${id}:` }, ...attachments);
  }

  /** References that could be resolved have been replaced already. One to reasoning is skipped. */
  function addReference(item: JsonObject, param: string): void {
    const id = readNeeded(problems, item.id, 'string', `${param}.id`);
    if (id?.startsWith('rs_') === true) return;
    problems.add(
      `The item that '${param}' refers to is not stored. Send the item itself, as clients do with 'store': false.`,
      param,
    );
  }

  const readers: Readonly<Record<string, (item: JsonObject, param: string) => void>> = {
    message: addMessage,
    reasoning(item) {
      if (readsReasoning) thought.push(...reasoningIn(item));
      const signed = takesThinking ? thinkingIn(item.encrypted_content) : null;
      if (signed !== null) thinking.push(signed);
    },
    function_call(item, param) {
      const written = readNeeded(problems, item.arguments, 'string', `${param}.arguments`) ?? '';
      addCall(item, param, calledTool(problems, 'function', item, param), written);
    },
    custom_tool_call(item, param) {
      const input = readNeeded(problems, item.input, 'string', `${param}.input`);
      addCall(item, param, calledTool(problems, 'custom', item, param), JSON.stringify({ input }));
    },
    local_shell_call: addBuiltInCall('local_shell', 'action'),
    shell_call: addBuiltInCall('shell', 'action'),
    apply_patch_call: addBuiltInCall('apply_patch', 'operation'),
    tool_search_call: addBuiltInCall('tool_search', 'arguments'),
    function_call_output: addResult,
    custom_tool_call_output: addResult,
    local_shell_call_output: addResult,
    shell_call_output(item, param) {
      addResult({ ...item, output: shellOutput(item.output) ?? item.output }, param);
    },
    apply_patch_call_output(item, param) {
      addResult({ ...item, output: patchOutput(item) }, param);
    },
    tool_search_output(item, param) {
      const output = JSON.stringify(addTools(item, param));
      addResult({ ...item, output }, param);
    },
    additional_tools: addTools,
    item_reference: addReference,
  };

  function addTools(item: JsonObject, param: string): readonly unknown[] {
    const loaded = readNeeded(problems, item.tools, 'array', `${param}.tools`) ?? [];
    tools.add(loaded, `${param}.tools`);
    return loaded;
  }

  function addItem(value: unknown, param: string): void {
    const item = readNeeded(problems, value, 'object', param);
    if (item === null) return;
    const type = item.type ?? (item.role === undefined ? 'item_reference' : 'message');
    const read = typeof type === 'string' && Object.hasOwn(readers, type) ? readers[type] : undefined;
    if (read === undefined) refuseItem(problems, type, param);
    else read(item, param);
  }

  return {
    instruct: addSystem,
    add(items, param) {
      for (const [at, item] of items.entries()) addItem(item, `${param}[${at}]`);
    },
    list: () => entries.flatMap(messagesOf),
  };
}

/** Its text, or else its summary, which is the same in items that we wrote. */
function reasoningIn({ content, summary }: JsonObject): readonly string[] {
  const texts = [content, summary].map((list) =>
    (Array.isArray(list) ? list : []).flatMap((part) =>
      isObject(part) && typeof part.text === 'string' && part.text !== '' ? [part.text] : [],
    ),
  );
  return texts.find((list) => list.length > 0) ?? [];
}

function messagesOf(entry: Entry): readonly JsonObject[] {
  const { role, content, reasoning, thinking, calls, results, attachments } = entry;
  const turn = calls.length === 0 ? { role, content } : { role, content: content === '' ? null : content };
  const message = {
    ...turn,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(thinking.length === 0 ? {} : { thinking_blocks: thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return [message, ...results, ...(attachments.length === 0 ? [] : [{ role: 'user', content: attachments }])];
}

function calledTool(
  problems: BodyProblems,
  kind: CalledTool['kind'],
  item: JsonObject,
  param: string,
): CalledTool {
  const name = readNeeded(problems, item.name, 'string', `${param}.name`) ?? '';
  return { kind, name, namespace: readMember(problems, item.namespace, 'string', `${param}.namespace`) };
}

/** Reads system, developer and assistant messages, which contain only text. */
function readTexts(problems: BodyProblems, content: unknown, param: string): readonly string[] {
  if (typeof content === 'string') return [content];
  const list = readNeeded(problems, content, 'array', param) ?? [];
  return list.map((part, at) => {
    const path = `${param}[${at}]`;
    const { type, text, refusal } = isObject(part) ? part : ({} as JsonObject);
    if (type === 'input_text' || type === 'output_text') {
      return readNeeded(problems, text, 'string', `${path}.text`) ?? '';
    }
    if (type === 'refusal') return readNeeded(problems, refusal, 'string', `${path}.refusal`) ?? '';
    refusePart(problems, type, path, 'a message of this role');
    return '';
  });
}

function readUserContent(problems: BodyProblems, content: unknown, param: string): Entry['content'] {
  if (typeof content === 'string') return content;
  const parts = readParts(problems, content, param);
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' ? String(only.text) : parts;
}

interface ToolOutput {
  readonly text: string;
  readonly attachments: readonly JsonObject[];
}

const OUTPUT_FOLLOWS = 'The content of this output follows in the next message of the user.';

function readToolOutput(problems: BodyProblems, output: unknown, param: string): ToolOutput {
  if (typeof output === 'string') return { text: output, attachments: [] };
  const parts = readParts(problems, output, param);
  const attachments = parts.filter(({ type }) => type !== 'text');
  const texts = parts.flatMap(({ type, text }) => (type === 'text' ? [String(text)] : []));
  if (attachments.length > 0) texts.push(OUTPUT_FOLLOWS);
  return { text: texts.join('\n'), attachments };
}

function readParts(problems: BodyProblems, content: unknown, param: string): readonly JsonObject[] {
  const list = readNeeded(problems, content, 'array', param) ?? [];
  const parts = list.map((part, at) => readPart(problems, part, `${param}[${at}]`));
  return parts.filter((part) => part !== null);
}

/** Null if the part has a problem. */
function readPart(problems: BodyProblems, part: unknown, param: string): JsonObject | null {
  const found = isObject(part) ? part : ({} as JsonObject);
  switch (found.type) {
    case 'input_text':
    case 'output_text': {
      const text = readNeeded(problems, found.text, 'string', `${param}.text`);
      return text === null ? null : { type: 'text', text };
    }
    case 'input_image':
      return readImage(problems, found, param);
    case 'input_file':
      return readFile(problems, found, param);
    case 'input_audio': {
      const audio = readNeeded(problems, found.input_audio, 'object', `${param}.input_audio`);
      return audio === null ? null : { type: 'input_audio', input_audio: audio };
    }
    default:
      refusePart(problems, found.type, param, 'the input');
      return null;
  }
}

function readImage(problems: BodyProblems, image: JsonObject, param: string): JsonObject | null {
  if (typeof image.file_id === 'string') return refuseFileId(problems, `${param}.file_id`);
  const url = readNeeded(problems, image.image_url, 'string', `${param}.image_url`);
  const detail = readMember(problems, image.detail, 'string', `${param}.detail`);
  if (url === null) return null;
  // Chat completions do not have 'original', the highest detail that a model can see.
  const known = detail === 'original' ? 'high' : detail;
  return { type: 'image_url', image_url: { url, ...(known === null ? {} : { detail: known }) } };
}

function readFile(problems: BodyProblems, file: JsonObject, param: string): JsonObject | null {
  if (typeof file.file_id === 'string') return refuseFileId(problems, `${param}.file_id`);
  if (typeof file.file_url === 'string') {
    problems.add(
      `This model is served over chat completions, which do not take files by their address. Send the content in '${param}.file_data'.`,
      `${param}.file_url`,
    );
    return null;
  }
  const data = readNeeded(problems, file.file_data, 'string', `${param}.file_data`);
  const filename = readMember(problems, file.filename, 'string', `${param}.filename`);
  if (data === null) return null;
  return { type: 'file', file: { ...(filename === null ? {} : { filename }), file_data: data } };
}

function refuseFileId(problems: BodyProblems, param: string): null {
  problems.add(
    'This model is served over chat completions, where uploaded files are not available. Send the content itself.',
    param,
  );
  return null;
}

function refusePart(problems: BodyProblems, type: unknown, param: string, where: string): void {
  const what = typeof type === 'string' ? `content of type '${type.slice(0, 60)}'` : 'content without a type';
  problems.add(
    `This model is served over chat completions, which do not have ${what} in ${where}.`,
    `${param}.type`,
  );
}

function refuseItem(problems: BodyProblems, type: unknown, param: string): void {
  const what = typeof type === 'string' ? `items of type '${type.slice(0, 60)}'` : 'an item without a type';
  problems.add(
    `This model is served over chat completions, which do not have ${what}. Leave the item out.`,
    `${param}.type`,
  );
}
