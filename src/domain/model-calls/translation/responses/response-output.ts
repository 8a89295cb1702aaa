import { isObject, type JsonObject } from '../../../../ports/json-object.ts';
import { parseJson } from './body-reading.ts';
import { BUILT_IN_TOOLS } from './built-in-tools.ts';
import type { CalledTool, ToolNames } from './chat-tools.ts';

/** Sends one event of the stream; the receiver adds its sequence number. */
type Emit = (type: string, fields: JsonObject) => void;

/** A piece of a tool call, from a chunk or a whole message. */
export interface CallPiece {
  readonly index: number | null;
  readonly id: string | null;
  readonly name: string | null;
  readonly written: string | null;
}

/**
 * Builds the output items of a response from the deltas of a chat and emits their events: the beginning, the deltas and
 * the end of each item. Text and reasoning are one item until the other type or a tool call begins. Tool calls stay
 * open until the end, because chunks of parallel calls may alternate.
 */
export interface OutputBuilder {
  text(delta: string, logprobs: readonly JsonObject[]): void;
  refusal(delta: string): void;
  reasoning(delta: string): void;
  /** Closes the reasoning with its `encrypted_content`. Without text it is an item of its own. */
  endReasoning(encrypted: string): void;
  annotation(annotation: JsonObject): void;
  /** False if the piece adds to a closed call, or identifies no call. */
  call(piece: CallPiece): boolean;
  /** Closes all open items. With `isCutShort` the last item is incomplete. More may follow, as new items. */
  close(isCutShort: boolean): void;
  /** All closed items, each as it was when it was closed. */
  items(): readonly JsonObject[];
}

interface OutputParts {
  readonly names: ToolNames;
  /** Random, one per response; the ids of its items contain it. */
  readonly random: string;
  readonly newId: () => string;
  /** Whether the client gets reasoning as a summary instead of as text. */
  readonly hasSummary: boolean;
  readonly emit: Emit;
}

type Status = 'completed' | 'incomplete';

/** An item that is not closed yet. */
interface OpenItem {
  readonly index: number;
  close(status: Status): JsonObject;
}

interface OpenMessage extends OpenItem {
  readonly kind: 'message';
  write(type: 'output_text' | 'refusal', delta: string, logprobs: readonly JsonObject[]): void;
  annotate(annotation: JsonObject): void;
}

interface OpenReasoning extends OpenItem {
  readonly kind: 'reasoning';
  write(delta: string): void;
  encrypt(content: string): void;
}

interface Call {
  id: string;
  name: string;
  written: string;
  /** How much of `written` has been sent to the client. */
  emitted: number;
  /** Null until its name is known to be complete, which is when the first argument arrives. */
  item: OpenCall | null;
  isClosed: boolean;
}

export function createOutputBuilder(parts: OutputParts): OutputBuilder {
  const { emit } = parts;
  const items: (JsonObject | null)[] = [];
  const calls: Call[] = [];
  const callsByIndex = new Map<number, Call>();
  let current: OpenMessage | OpenReasoning | null = null;

  /** Reserves the item's place in the output. */
  function begin(prefix: string): { readonly index: number; readonly id: string } {
    const index = items.length;
    items.push(null);
    return { index, id: `${prefix}_${parts.random}_${index}` };
  }

  function closeItem(item: OpenItem, status: Status): void {
    items[item.index] = item.close(status);
  }

  function closeCurrent(status: Status = 'completed'): void {
    if (current !== null) closeItem(current, status);
    current = null;
  }

  function message(): OpenMessage {
    if (current?.kind === 'message') return current;
    closeCurrent();
    const opened = openMessage(emit, begin('msg'));
    current = opened;
    return opened;
  }

  function reasoning(): OpenReasoning {
    if (current?.kind === 'reasoning') return current;
    closeCurrent();
    const opened = parts.hasSummary
      ? openReasoning(emit, begin('rs'), SUMMARY)
      : openReasoning(emit, begin('rs'), REASONING_TEXT);
    current = opened;
    return opened;
  }

  function beginCall(call: Call): OpenCall {
    if (call.item !== null) return call.item;
    closeCurrent();
    if (call.id === '') call.id = `call_${parts.newId()}`;
    const tool = parts.names.toolOf(call.name);
    call.item = openCall(emit, begin(idPrefix(tool.kind)), tool, call);
    return call.item;
  }

  /** Emits the part of the arguments that has not been emitted yet. */
  function writeCall(call: Call): void {
    const item = beginCall(call);
    if (call.emitted === call.written.length) return;
    item.write(call.written.slice(call.emitted));
    call.emitted = call.written.length;
  }

  function callOf({ index, id, name }: CallPiece): Call | undefined {
    const known = index === null ? calls.at(-1) : callsByIndex.get(index);
    // Gemini gives all calls of an answer the same index, but separate ids.
    const isOther =
      known !== undefined && id !== null && id !== '' && known.id !== '' && id !== known.id && name !== null;
    if (known !== undefined && !isOther) return known;
    if (index === null && id === null && name === null) return undefined;
    const call: Call = { id: id ?? '', name: '', written: '', emitted: 0, item: null, isClosed: false };
    calls.push(call);
    if (index !== null) callsByIndex.set(index, call);
    return call;
  }

  return {
    text: (delta, logprobs) => message().write('output_text', delta, logprobs),
    refusal: (delta) => message().write('refusal', delta, []),
    reasoning: (delta) => reasoning().write(delta),
    endReasoning(encrypted) {
      reasoning().encrypt(encrypted);
      closeCurrent();
    },
    annotation: (annotation) => message().annotate(annotation),
    call(piece) {
      const call = callOf(piece);
      if (call === undefined) return false;
      const { id, name, written } = piece;
      if (call.isClosed) return (written ?? '') === '';
      if (call.id === '' && id !== null) call.id = id;
      // Some servers repeat the whole name in every chunk.
      if (name !== null && call.item === null && call.name !== name) call.name += name;
      if (written === null || written === '') return true;
      call.written += written;
      if (call.name !== '') writeCall(call);
      return true;
    },
    close(isCutShort) {
      const open = calls.filter(({ isClosed }) => !isClosed);
      for (const call of open) writeCall(call);
      if (items.length === 0) message().write('output_text', '', []);
      const last = items.length - 1;
      const statusOf = ({ index }: OpenItem): Status =>
        isCutShort && index === last ? 'incomplete' : 'completed';
      for (const call of open) {
        call.isClosed = true;
        if (call.item !== null) closeItem(call.item, statusOf(call.item));
      }
      if (current !== null) closeCurrent(statusOf(current));
    },
    items: () => items.filter((item) => item !== null),
  };
}

interface Place {
  readonly index: number;
  readonly id: string;
}

function openMessage(emit: Emit, { index, id }: Place): OpenMessage {
  const content: JsonObject[] = [];
  let part: { type: 'output_text' | 'refusal'; text: string; logprobs: JsonObject[] } | null = null;
  let annotations: JsonObject[] = [];
  const where = () => ({ item_id: id, output_index: index, content_index: content.length });
  const itemOf = (status: string) => ({
    id,
    type: 'message',
    status,
    role: 'assistant',
    content: [...content],
  });

  function partOf(): JsonObject {
    const { type, text, logprobs } = part ?? { type: 'output_text', text: '', logprobs: [] };
    return type === 'refusal' ? { type, refusal: text } : { type, text, annotations, logprobs };
  }

  function closePart(): void {
    if (part === null) return;
    const { type, text, logprobs } = part;
    if (type === 'refusal') emit('response.refusal.done', { ...where(), refusal: text });
    else emit('response.output_text.done', { ...where(), text, logprobs });
    const closed = partOf();
    emit('response.content_part.done', { ...where(), part: closed });
    content.push(closed);
    part = null;
    annotations = [];
  }

  function openPart(type: 'output_text' | 'refusal') {
    if (part?.type === type) return part;
    closePart();
    const opened = { type, text: '', logprobs: [] as JsonObject[] };
    part = opened;
    emit('response.content_part.added', { ...where(), part: partOf() });
    return opened;
  }

  emit('response.output_item.added', { output_index: index, item: itemOf('in_progress') });
  return {
    kind: 'message',
    index,
    write(type, delta, logprobs) {
      const opened = openPart(type);
      if (delta === '' && logprobs.length === 0) return;
      opened.text += delta;
      opened.logprobs.push(...logprobs);
      if (type === 'refusal') emit('response.refusal.delta', { ...where(), delta });
      else emit('response.output_text.delta', { ...where(), delta, logprobs });
    },
    annotate(annotation) {
      openPart('output_text');
      const annotation_index = annotations.length;
      annotations = [...annotations, annotation];
      emit('response.output_text.annotation.added', { ...where(), annotation_index, annotation });
    },
    close(status) {
      closePart();
      const item = itemOf(status);
      emit('response.output_item.done', { output_index: index, item });
      return item;
    },
  };
}

/** How the reasoning of a model is sent to the client. */
interface ReasoningWire {
  readonly list: 'summary' | 'content';
  readonly indexName: 'summary_index' | 'content_index';
  readonly partType: 'summary_text' | 'reasoning_text';
  readonly added: string;
  readonly delta: string;
  readonly done: string;
  readonly partDone: string;
}

const SUMMARY: ReasoningWire = {
  list: 'summary',
  indexName: 'summary_index',
  partType: 'summary_text',
  added: 'response.reasoning_summary_part.added',
  delta: 'response.reasoning_summary_text.delta',
  done: 'response.reasoning_summary_text.done',
  partDone: 'response.reasoning_summary_part.done',
};

const REASONING_TEXT: ReasoningWire = {
  list: 'content',
  indexName: 'content_index',
  partType: 'reasoning_text',
  added: 'response.content_part.added',
  delta: 'response.reasoning_text.delta',
  done: 'response.reasoning_text.done',
  partDone: 'response.content_part.done',
};

function openReasoning(emit: Emit, { index, id }: Place, wire: ReasoningWire): OpenReasoning {
  /** Null until there is some: thinking that the provider keeps to itself has no part. */
  let text: string | null = null;
  let encrypted: string | null = null;
  const where = { item_id: id, output_index: index, [wire.indexName]: 0 };
  const part = () => ({ type: wire.partType, text: text ?? '' });
  const itemOf = (parts: readonly JsonObject[], status: string) => {
    const sealed = encrypted === null ? {} : { encrypted_content: encrypted };
    return { id, type: 'reasoning', status, summary: [], [wire.list]: parts, ...sealed };
  };
  emit('response.output_item.added', { output_index: index, item: itemOf([], 'in_progress') });
  return {
    kind: 'reasoning',
    index,
    write(delta) {
      if (text === null) emit(wire.added, { ...where, part: part() });
      text = (text ?? '') + delta;
      emit(wire.delta, { ...where, delta });
    },
    encrypt(content) {
      encrypted = content;
    },
    close(status) {
      if (text !== null) {
        emit(wire.done, { ...where, text });
        emit(wire.partDone, { ...where, part: part() });
      }
      const item = itemOf(text === null ? [] : [part()], status);
      emit('response.output_item.done', { output_index: index, item });
      return item;
    },
  };
}

/** A tool call that is not closed yet. */
interface OpenCall extends OpenItem {
  write(delta: string): void;
}

function idPrefix(kind: CalledTool['kind']): string {
  if (kind === 'function') return 'fc';
  return kind === 'custom' ? 'ctc' : BUILT_IN_TOOLS[kind].idPrefix;
}

/** `call` keeps collecting its arguments. */
function openCall(
  emit: Emit,
  { index, id }: Place,
  tool: CalledTool,
  call: { readonly id: string; readonly written: string },
): OpenCall {
  const where = { item_id: id, output_index: index };
  const base = { id, call_id: call.id };
  const named =
    tool.namespace === null ? { name: tool.name } : { name: tool.name, namespace: tool.namespace };
  const added = (item: JsonObject) => emit('response.output_item.added', { output_index: index, item });
  const done = (item: JsonObject) => {
    emit('response.output_item.done', { output_index: index, item });
    return item;
  };
  const asFunction = (written: string, status: string) => {
    return { ...base, ...named, type: 'function_call', status, arguments: written };
  };
  const asCustom = (input: string, status: string) => {
    return { ...base, ...named, type: 'custom_tool_call', status, input };
  };

  if (tool.kind === 'function') {
    added(asFunction('', 'in_progress'));
    return {
      index,
      write: (delta) => emit('response.function_call_arguments.delta', { ...where, delta }),
      close(status) {
        emit('response.function_call_arguments.done', { ...where, arguments: call.written });
        return done(asFunction(call.written, status));
      },
    };
  }
  if (tool.kind === 'custom') {
    added(asCustom('', 'in_progress'));
    return {
      index,
      // The input is inside the JSON of the arguments, which can be parsed only once it is complete.
      write: () => {},
      close(status) {
        const input = customInput(call.written);
        if (input !== '') emit('response.custom_tool_call_input.delta', { ...where, delta: input });
        emit('response.custom_tool_call_input.done', { ...where, input });
        return done(asCustom(input, status));
      },
    };
  }
  const { callOf } = BUILT_IN_TOOLS[tool.kind];
  return {
    index,
    write: () => {},
    close(status) {
      const read = parseJson(call.written);
      const members = isObject(read) ? callOf(read) : null;
      // If the arguments do not match the tool, the client gets what the model wrote.
      const item = members === null ? asFunction(call.written, status) : { ...base, status, ...members };
      added({ ...item, status: 'in_progress' });
      return done(item);
    },
  };
}

function customInput(written: string): string {
  const read = parseJson(written);
  return isObject(read) && typeof read.input === 'string' ? read.input : written;
}
