import { isObject, type JsonObject } from '../../../../ports/json-object.ts';
import { MOST_LEVELS } from '../json-depth.ts';
import { givenChatEffort, readsReasoningBack } from '../messages/model-names.ts';
import type { TranslationTarget, Translator } from '../translator.ts';
import { type BodyProblems, createBodyProblems, parseJson, readMember } from './body-reading.ts';
import { createChatMessages, type InputParts } from './chat-messages.ts';
import { createChatTools, createToolNames, readToolChoice } from './chat-tools.ts';
import { createResponseAnswer } from './response-answer.ts';

export interface ResponsesToChatOptions {
  /**
   * Whether the gateway stores responses of such targets. It has then already added the items that a request refers to
   * to its input. A response reports this in `store`.
   */
  readonly storesResponses: boolean;
  /**
   * Whether the target's chat completions have signed thinking in `thinking_blocks`, as those that are translated from
   * Messages do. Omitted: no.
   */
  readonly hasThinking?: boolean;
}

/**
 * Serves OpenAI's Responses API with a target that has chat completions. Members that change the meaning of a request
 * and cannot be expressed there are refused by name. Members that only concern OpenAI's own operation, or repeat a
 * default, are omitted, because clients send them with every request.
 */
export function createResponsesToChat({
  storesResponses,
  hasThinking = false,
}: ResponsesToChatOptions): Translator {
  return {
    translateRequest(bytes, to, stamps) {
      const body = parseJson(new TextDecoder().decode(bytes));
      if (!isObject(body)) {
        return refused(`The body must be a JSON object of at most ${MOST_LEVELS} levels.`, null);
      }
      const problems = createBodyProblems();
      refuseMembers(problems, body);
      const names = createToolNames();
      const tools = createChatTools(problems, names);
      const offered = readMember(problems, body.tools, 'array', 'tools') ?? [];
      tools.add(offered, 'tools');
      const messages = readMessages(problems, body, storesResponses, {
        ...{ names, tools, readsReasoning: readsReasoningBack(to.model), takesThinking: hasThinking },
      });
      const choice = readToolChoice(problems, names, tools, body.tool_choice);
      const chat = {
        model: to.model,
        messages,
        ...readTools(problems, body, tools.list(), choice),
        ...readOptions(problems, body, to, tools.list().length > 0),
        ...readStream(problems, body, to),
        ...readBound(problems, body, to),
      };
      const echo = echoOf(body, offered, storesResponses && body.store !== false);
      if (problems.first !== null) return { outcome: 'refused', ...problems.first };
      const hasSummary = isObject(body.reasoning) && typeof summaryOf(body.reasoning) === 'string';
      return {
        outcome: 'translated',
        body: new TextEncoder().encode(JSON.stringify(chat)),
        answer: createResponseAnswer(
          { echo, names, hasSummary, hasThinking, reasoning: to.reasoning },
          stamps,
        ),
      };
    },
  };
}

function refused(message: string, param: string | null) {
  return { outcome: 'refused' as const, message, param };
}

/** Read below, or omitted without harm: OpenAI's own caching, abuse detection and accounting. */
const KNOWN_MEMBERS: ReadonlySet<string> = new Set([
  ...['model', 'input', 'instructions', 'previous_response_id', 'store', 'metadata', 'include'],
  ...['tools', 'tool_choice', 'parallel_tool_calls', 'max_tool_calls'],
  ...['text', 'reasoning', 'truncation', 'max_output_tokens', 'temperature', 'top_p', 'top_logprobs'],
  ...['stream', 'stream_options', 'user', 'safety_identifier', 'service_tier'],
  ...['prompt_cache_key', 'prompt_cache_retention', 'prompt_cache_options', 'client_metadata', 'image'],
]);

/** Features that OpenAI runs or stores for its own clients. */
const REFUSED_MEMBERS: Readonly<Record<string, string>> = {
  background: 'Responses in the background are not available. Send the request without it, and use stream.',
  conversation: 'Conversations are not available. Send the earlier items in input.',
  prompt: 'Prompts that are stored at the provider are not available. Send their text in instructions.',
  context_management: 'The context is not compacted. Send fewer items in input.',
  multi_agent:
    'This model is served over chat completions, which have no agents. Send the request without it.',
  access_programs:
    'This model is served over chat completions, which have no access programs. Send the request without it.',
  moderation:
    'This model is served over chat completions, which have no moderation. Send the request without.',
};

function refuseMembers(problems: BodyProblems, body: JsonObject): void {
  for (const [name, value] of Object.entries(body)) {
    if (KNOWN_MEMBERS.has(name) || value === null || value === false) continue;
    const message = Object.hasOwn(REFUSED_MEMBERS, name) ? REFUSED_MEMBERS[name] : undefined;
    const shown = name.slice(0, 60);
    problems.add(
      message ?? `Unknown parameter '${shown}': the Responses API does not have it.`,
      message === undefined ? shown : name,
    );
  }
}

function readMessages(
  problems: BodyProblems,
  body: JsonObject,
  storesResponses: boolean,
  parts: Omit<InputParts, 'problems'>,
): readonly JsonObject[] {
  const messages = createChatMessages({ ...parts, problems });
  const instructions = readMember(problems, body.instructions, 'string', 'instructions');
  if (instructions !== null && instructions !== '') messages.instruct(instructions);
  const previous = readMember(problems, body.previous_response_id, 'string', 'previous_response_id');
  if (previous !== null && !storesResponses) {
    problems.add(
      "Responses of this model are not stored, so 'previous_response_id' cannot be continued. Send the earlier items in 'input'.",
      'previous_response_id',
    );
  }
  messages.add(inputItems(problems, body.input), 'input');
  const list = messages.list();
  if (list.length === 0) problems.add("'input' must have a message.", 'input');
  return list;
}

/** A string is a user message. */
function inputItems(problems: BodyProblems, input: unknown): readonly unknown[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  if (input === undefined || input === null) return [];
  if (Array.isArray(input)) return input;
  problems.add("'input' must be a string or an array.", 'input');
  return [];
}

function readTools(
  problems: BodyProblems,
  body: JsonObject,
  tools: readonly JsonObject[],
  choice: unknown,
): JsonObject {
  const parallel = readMember(problems, body.parallel_tool_calls, 'boolean', 'parallel_tool_calls');
  if (tools.length === 0) return {};
  return {
    tools,
    ...(choice === undefined ? {} : { tool_choice: choice }),
    // True is the default, and servers that do not know the member reject it.
    ...(parallel === false ? { parallel_tool_calls: false } : {}),
  };
}

function readOptions(
  problems: BodyProblems,
  body: JsonObject,
  to: TranslationTarget,
  hasTools: boolean,
): JsonObject {
  const text = readMember(problems, body.text, 'object', 'text') ?? {};
  const reasoning = readMember(problems, body.reasoning, 'object', 'reasoning') ?? {};
  const verbosity = readMember(problems, text.verbosity, 'string', 'text.verbosity');
  const named = readMember(problems, reasoning.effort, 'string', 'reasoning.effort');
  const effort = givenChatEffort(to, named, hasTools);
  const temperature = readMember(problems, body.temperature, 'number', 'temperature');
  const topP = readMember(problems, body.top_p, 'number', 'top_p');
  const user = readMember(problems, body.user, 'string', 'user');
  const safety = readMember(problems, body.safety_identifier, 'string', 'safety_identifier');
  const tier = readMember(problems, body.service_tier, 'string', 'service_tier');
  const format = readFormat(problems, text.format);
  const endUser = user ?? safety;
  readMember(problems, body.metadata, 'object', 'metadata');
  readMember(problems, body.store, 'boolean', 'store');
  return {
    ...(format === null ? {} : { response_format: format }),
    ...(verbosity === null || verbosity === 'medium' ? {} : { verbosity }),
    ...(effort === null ? {} : { reasoning_effort: effort }),
    ...(temperature === null ? {} : { temperature }),
    ...(topP === null ? {} : { top_p: topP }),
    ...(endUser === null ? {} : { user: endUser }),
    ...(tier === null || tier === 'auto' || tier === 'default' ? {} : { service_tier: tier }),
    ...readLogprobs(problems, body),
  };
}

function readFormat(problems: BodyProblems, value: unknown): JsonObject | null {
  const format = readMember(problems, value, 'object', 'text.format');
  switch (format?.type) {
    case undefined:
    case 'text':
      return null;
    case 'json_object':
      return { type: 'json_object' };
    case 'json_schema': {
      const schema = readMember(problems, format.schema, 'object', 'text.format.schema');
      if (schema === null) problems.add("'text.format.schema' is missing.", 'text.format.schema');
      const { name = 'response', description, strict } = format;
      return {
        type: 'json_schema',
        json_schema: {
          name,
          schema,
          ...(typeof description === 'string' ? { description } : {}),
          ...(typeof strict === 'boolean' ? { strict } : {}),
        },
      };
    }
    default:
      problems.add("'text.format.type' must be text, json_object or json_schema.", 'text.format.type');
      return null;
  }
}

function readLogprobs(problems: BodyProblems, body: JsonObject): JsonObject {
  const include = readMember(problems, body.include, 'array', 'include') ?? [];
  const top = readMember(problems, body.top_logprobs, 'number', 'top_logprobs') ?? 0;
  const isIncluded = include.includes('message.output_text.logprobs');
  if (!isIncluded && top === 0) return {};
  return { logprobs: true, ...(top === 0 ? {} : { top_logprobs: top }) };
}

function readStream(problems: BodyProblems, body: JsonObject, to: TranslationTarget): JsonObject {
  readMember(problems, body.stream_options, 'object', 'stream_options');
  if (readMember(problems, body.stream, 'boolean', 'stream') !== true) return {};
  return { stream: true, ...(to.hasStreamOptions ? { stream_options: { include_usage: true } } : {}) };
}

function readBound(problems: BodyProblems, body: JsonObject, to: TranslationTarget): JsonObject {
  const most = readMember(problems, body.max_output_tokens, 'number', 'max_output_tokens');
  if (most === null) return {};
  if (!Number.isSafeInteger(most) || most < 1) {
    problems.add("'max_output_tokens' must be a whole number above 0.", 'max_output_tokens');
  }
  return { [to.maxTokensName]: most };
}

function summaryOf(reasoning: JsonObject): unknown {
  return reasoning.summary ?? reasoning.generate_summary ?? null;
}

/** The members of the request that a response repeats, with their effective values. */
function echoOf(body: JsonObject, tools: readonly unknown[], isStored: boolean): JsonObject {
  const reasoning = isObject(body.reasoning) ? body.reasoning : {};
  const text = isObject(body.text) ? body.text : {};
  const orNull = (name: string) => body[name] ?? null;
  return {
    instructions: orNull('instructions'),
    max_output_tokens: orNull('max_output_tokens'),
    max_tool_calls: orNull('max_tool_calls'),
    metadata: body.metadata ?? {},
    model: body.model,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: orNull('previous_response_id'),
    prompt_cache_key: orNull('prompt_cache_key'),
    reasoning: { effort: reasoning.effort ?? null, summary: summaryOf(reasoning) },
    safety_identifier: orNull('safety_identifier'),
    service_tier: body.service_tier ?? 'auto',
    store: isStored,
    temperature: orNull('temperature'),
    text: { ...text, format: text.format ?? { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    // Without the one that `createChatTools` skips.
    tools: tools.filter((tool) => !isObject(tool) || tool.type !== 'web_search'),
    top_logprobs: body.top_logprobs ?? 0,
    top_p: orNull('top_p'),
    // A context that is too long is not truncated: the target reports it.
    truncation: 'disabled',
    user: orNull('user'),
  };
}
