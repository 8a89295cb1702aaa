import type { PayloadContent } from '../domain/call-payloads/call-payloads.ts';
import { isObject, type JsonObject } from '../ports/json-object.ts';
import type { SpanAttributes } from '../ports/tracer.ts';

/**
 * What was said in a call, under the names that Langfuse, Phoenix (OpenInference) and OpenTelemetry's conventions have for it.
 * The conventions define a form for messages, which a text that was cut cannot have: then they are left out.
 */
export function contentAttributes(content: PayloadContent): SpanAttributes {
  const { endpoint, request, response, isRequestCut, isResponseCut } = content;
  const hasMessages = endpoint !== 'embeddings';
  const input = hasMessages && !isRequestCut ? inputMessages(parsed(request)) : [];
  const output = hasMessages && !isResponseCut ? outputMessages(parsed(response ?? '')) : [];
  return {
    'langfuse.observation.input': request,
    'input.value': request,
    'input.mime_type': mimeType(isRequestCut),
    ...(input.length === 0 ? {} : { 'gen_ai.input.messages': JSON.stringify(input) }),
    ...(response === null
      ? {}
      : {
          'langfuse.observation.output': response,
          'output.value': response,
          'output.mime_type': mimeType(isResponseCut),
        }),
    ...(output.length === 0 ? {} : { 'gen_ai.output.messages': JSON.stringify(output) }),
  };
}

interface Message {
  readonly role: string;
  readonly parts: readonly JsonObject[];
  readonly finish_reason?: string;
}

function mimeType(isCut: boolean): string {
  return isCut ? 'text/plain' : 'application/json';
}

function parsed(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Of chat, messages, responses and completions, which name them differently. */
function inputMessages({ system, instructions, messages, input, prompt }: JsonObject): readonly Message[] {
  const given = [...partsOf(system), ...partsOf(instructions)];
  const first = given.length === 0 ? [] : [{ role: 'system', parts: given }];
  return [...first, ...[messages, input, prompt].flatMap(listOf).map((one) => messageOf(one, 'user'))];
}

function outputMessages({ choices, output, content, stop_reason: reason }: JsonObject): readonly Message[] {
  const ofChoices = listOf(choices)
    .filter(isObject)
    .map(({ message, text, finish_reason: finish }) => ({
      ...messageOf(message ?? text, 'assistant'),
      ...finishOf(finish),
    }));
  const ofItems = listOf(output).map((one) => messageOf(one, 'assistant'));
  const ofContent =
    content === undefined ? [] : [{ ...messageOf({ content }, 'assistant'), ...finishOf(reason) }];
  return [...ofChoices, ...ofItems, ...ofContent];
}

function finishOf(reason: unknown): Pick<Message, 'finish_reason'> {
  return typeof reason === 'string' ? { finish_reason: reason } : {};
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

function messageOf(given: unknown, usualRole: string): Message {
  if (!isObject(given)) return { role: usualRole, parts: partsOf(given) };
  const { role, content, tool_calls: calls, tool_call_id: callId } = given;
  // An item of a response that is no message, such as a call of a function.
  if (role === undefined && content === undefined) {
    return { role: ITEM_ROLES[String(given.type)] ?? usualRole, parts: [partOf(given)] };
  }
  const parts =
    callId === undefined ? partsOf(content) : [{ type: 'tool_call_response', id: callId, response: content }];
  const toolCalls = listOf(calls).filter(isObject).map(toolCallOf);
  return { role: typeof role === 'string' ? role : usualRole, parts: [...parts, ...toolCalls] };
}

const ITEM_ROLES: Readonly<Record<string, string>> = {
  function_call: 'assistant',
  function_call_output: 'tool',
  reasoning: 'assistant',
};

function toolCallOf({ id, function: called }: JsonObject): JsonObject {
  const { name, arguments: given } = isObject(called) ? called : {};
  return { type: 'tool_call', id, name, arguments: given };
}

function partsOf(content: unknown): readonly JsonObject[] {
  return listOf(content).map(partOf);
}

/** What the conventions have no name for stays as it is, which they permit. */
function partOf(given: unknown): JsonObject {
  if (!isObject(given)) return { type: 'text', content: String(given) };
  switch (given.type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { type: 'text', content: given.text };
    case 'thinking':
      return { type: 'reasoning', content: given.thinking };
    case 'tool_use':
      return { type: 'tool_call', id: given.id, name: given.name, arguments: given.input };
    case 'function_call':
      return { type: 'tool_call', id: given.call_id, name: given.name, arguments: given.arguments };
    case 'tool_result':
      return { type: 'tool_call_response', id: given.tool_use_id, response: given.content };
    case 'function_call_output':
      return { type: 'tool_call_response', id: given.call_id, response: given.output };
    default:
      return given;
  }
}
