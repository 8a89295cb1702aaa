import { isObject } from '../../../../ports/json-object.ts';
import type { TranslationTarget, Translator } from '../translator.ts';
import { addBreakpoints } from './cache-breakpoints.ts';
import { answerInChat } from './chat-answer.ts';
import {
  definedMembers,
  isMissing,
  type JsonObject,
  optional,
  readArray,
  readBoolean,
  readName,
  readNumber,
  readObject,
  readPositiveInteger,
  readString,
  readStrings,
  refuse,
  refuseOthers,
  shown,
  translateBody,
} from './members.ts';
import { type MessagesTurns, messagesTurns } from './messages-turns.ts';
import { EFFORT_BUDGETS, type Effort, takesSampling, thinkingStyle } from './model-names.ts';
import { schemaForMessages } from './output-schema.ts';

/**
 * Serves clients of chat completions with a target that has Anthropic's Messages. docs/messages.md lists what each
 * member of a request becomes; decisions/0043 explains why.
 */
export const chatToMessages: Translator = {
  translateRequest: (bytes, to, stamps) =>
    translateBody(bytes, (request) => {
      const model = readName(request.model, 'model');
      const { body, jsonTool } = messagesBody(request, to);
      return { body, answer: answerInChat(model, stamps, jsonTool) };
    }),
};

interface OnlyDefault {
  readonly name: string;
  readonly isDefault: (value: unknown) => boolean;
  readonly written: string;
}

/** Members whose default has no effect, and whose other values Messages cannot express. */
const ONLY_DEFAULTS: readonly OnlyDefault[] = [
  { name: 'n', isDefault: (value) => value === 1, written: '1' },
  { name: 'store', isDefault: (value) => value === false, written: 'false' },
  { name: 'logprobs', isDefault: (value) => value === false, written: 'false' },
  { name: 'top_logprobs', isDefault: (value) => value === 0, written: '0' },
  { name: 'frequency_penalty', isDefault: (value) => value === 0, written: '0' },
  { name: 'presence_penalty', isDefault: (value) => value === 0, written: '0' },
  { name: 'logit_bias', isDefault: (value) => isObject(value) && !Object.keys(value).length, written: '{}' },
  { name: 'modalities', isDefault: (value) => JSON.stringify(value) === '["text"]', written: '["text"]' },
  { name: 'service_tier', isDefault: (value) => value === 'auto' || value === 'default', written: "'auto'" },
];

/**
 * Omitted: `metadata` and the two prompt cache members, which control how OpenAI files and serves a call, and `verbosity`,
 * a hint that changes nothing else.
 */
const MEMBERS = new Set([
  ...[
    'model',
    'messages',
    'max_tokens',
    'max_completion_tokens',
    'temperature',
    'top_p',
    'top_k',
    'stop',
    'stream',
  ],
  ...[
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'response_format',
    'reasoning_effort',
    'thinking',
    'user',
  ],
  ...[
    'metadata',
    'prompt_cache_key',
    'prompt_cache_retention',
    'safety_identifier',
    'stream_options',
    'verbosity',
  ],
  ...ONLY_DEFAULTS.map(({ name }) => name),
]);

function refuseOtherThanDefaults(request: JsonObject): void {
  for (const { name, isDefault, written } of ONLY_DEFAULTS) {
    if (isMissing(request[name]) || isDefault(request[name])) continue;
    refuse(name, `'${name}' must be ${written} or left out for this model: its provider has no such member.`);
  }
}

function messagesBody(request: JsonObject, to: TranslationTarget) {
  refuseOthers(request, '', MEMBERS);
  refuseOtherThanDefaults(request);
  const maxTokens =
    optional(request.max_completion_tokens, 'max_completion_tokens', readPositiveInteger) ??
    optional(request.max_tokens, 'max_tokens', readPositiveInteger) ??
    to.defaultMaxTokens;
  const turns = messagesTurns(request.messages);
  const stop =
    typeof request.stop === 'string' ? [request.stop] : optional(request.stop, 'stop', readStrings);
  const user = readUser(request);
  const format = readFormat(request.response_format);
  const { tools, jsonTool } = withJsonTool(readTools(request), format === 'json');
  if (jsonTool !== null && !isMissing(request.thinking)) refuse('thinking', NO_THINKING);
  const thinking = readThinking(request, to.model, maxTokens, turns, tools);
  const body = definedMembers({
    model: to.model,
    system: turns.system.length === 0 ? null : turns.system,
    messages: turns.messages,
    max_tokens: maxTokens,
    ...sampling(request, to.model, thinking.thinking),
    stop_sequences: stop === null || stop.length === 0 ? null : stop,
    ...tools,
    ...thinking,
    output_config: outputConfig(format, thinking.output_config),
    metadata: user === null ? null : { user_id: user },
    stream: optional(request.stream, 'stream', readBoolean) === true ? true : null,
  });
  if (to.cacheBreakpoints === true) addBreakpoints(body);
  return { body, jsonTool };
}

/** Anthropic's limit for `user_id`. */
const LONGEST_USER = 256;

function readUser(request: JsonObject): string | null {
  const user =
    optional(request.user, 'user', readString) ??
    optional(request.safety_identifier, 'safety_identifier', readString) ??
    '';
  return user === '' || user.length > LONGEST_USER ? null : user;
}

/**
 * With thinking, Anthropic accepts only its own defaults, so the values are dropped, as OpenAI's reasoning models do. Since
 * 4.1 its models refuse a temperature together with `top_p`, and many clients send both: those that are 1 have no effect.
 */
function sampling(request: JsonObject, model: string, thinking: unknown): JsonObject {
  const temperature = optional(request.temperature, 'temperature', readNumber);
  if (temperature !== null && (temperature < 0 || temperature > 1)) {
    refuse('temperature', "'temperature' must be from 0 to 1 for this model.");
  }
  const topP = optional(request.top_p, 'top_p', readNumber);
  const topK = optional(request.top_k, 'top_k', readPositiveInteger);
  if ((isObject(thinking) && thinking.type !== 'disabled') || !takesSampling(model)) return {};
  if (topP === null || topP === 1) return { temperature, top_k: topK };
  return { temperature: temperature === 1 ? null : temperature, top_p: topP, top_k: topK };
}

const EFFORTS: Readonly<Record<string, Effort | null>> = {
  none: null,
  minimal: null,
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
};

/** `thinking` is Anthropic's own member: a client that sets it means Messages, so it is passed on unchanged. */
function readThinking(
  request: JsonObject,
  model: string,
  maxTokens: number,
  { isInToolLoop }: MessagesTurns,
  tools: JsonObject,
): JsonObject {
  const given = optional(request.thinking, 'thinking', readObject);
  if (given !== null) return { thinking: given };
  const named = optional(request.reasoning_effort, 'reasoning_effort', readString);
  if (named === null) return {};
  if (!Object.hasOwn(EFFORTS, named)) {
    const known = Object.keys(EFFORTS).join(', ');
    return refuse('reasoning_effort', `'reasoning_effort' must be one of ${known}.`);
  }
  const effort = EFFORTS[named] as Effort | null;
  const style = thinkingStyle(model);
  if (effort === null || style === 'none' || isForced(tools)) return {};
  if (style === 'adaptive') return { thinking: { type: 'adaptive' }, output_config: { effort } };
  // With a budget, the turns of a tool loop must begin with signed thinking, and the minimum is 1,024 tokens.
  const budget = Math.min(EFFORT_BUDGETS[effort], maxTokens - 1);
  if (isInToolLoop || budget < 1_024) return {};
  return { thinking: { type: 'enabled', budget_tokens: budget } };
}

/** Anthropic refuses thinking if a tool call is forced. */
function isForced({ tool_choice: choice }: JsonObject): boolean {
  return isObject(choice) && (choice.type === 'any' || choice.type === 'tool');
}

interface AskedTools {
  /** The members of the body. */
  readonly tools: JsonObject;
  /** The name of the tool whose input is the answer; null without one. */
  readonly jsonTool: string | null;
}

const NO_THINKING =
  "'thinking' cannot be combined with 'response_format' of the type 'json_object' for this model. Send a schema as 'json_schema', or no thinking.";

const JSON_TOOL = {
  description:
    'Gives the answer to the user. Its input is the answer itself: one JSON object with the members that the conversation asks for, not wrapped in another one.',
  input_schema: { type: 'object', additionalProperties: true },
};

/**
 * JSON without a schema: Anthropic's models must call a tool that takes any object, or one of the client's, and its input
 * is the answer. If the client wants a call of its own tools in any case, there is no answer to write.
 */
function withJsonTool(asked: JsonObject, isJson: boolean): AskedTools {
  const choice = isObject(asked.tool_choice) ? asked.tool_choice : {};
  if (!isJson || isForced(asked)) return { tools: asked, jsonTool: null };
  const own = Array.isArray(asked.tools) ? asked.tools.filter(isObject) : [];
  let name = 'json_answer';
  while (own.some((tool) => tool.name === name)) name += '_';
  const isOnly = own.length === 0 || choice.type === 'none';
  return {
    jsonTool: name,
    tools: {
      tools: [...own, { name, ...JSON_TOOL }],
      tool_choice: isOnly ? { type: 'tool', name } : { ...choice, type: 'any' },
    },
  };
}

function outputConfig(schema: JsonObject | 'json' | null, effort: unknown): JsonObject | null {
  const config = {
    ...(isObject(effort) ? effort : {}),
    ...(schema === null || schema === 'json'
      ? {}
      : { format: { type: 'json_schema', schema: schemaForMessages(schema) } }),
  };
  return Object.keys(config).length === 0 ? null : config;
}

/** The schema of the answer; `json` for any object. */
function readFormat(value: unknown): JsonObject | 'json' | null {
  const format = optional(value, 'response_format', readObject);
  if (format === null || format.type === 'text') return null;
  if (format.type === 'json_object') return 'json';
  if (format.type === 'json_schema') {
    const described = readObject(format.json_schema, 'response_format.json_schema');
    return readObject(described.schema, 'response_format.json_schema.schema');
  }
  const message =
    "'response_format' must be of the type 'json_schema', 'json_object' or 'text' for this model.";
  return refuse('response_format.type', message);
}

function readTools(request: JsonObject): JsonObject {
  const tools = (optional(request.tools, 'tools', readArray) ?? []).map((tool, at) =>
    readTool(tool, `tools[${at}]`),
  );
  const isParallel = optional(request.parallel_tool_calls, 'parallel_tool_calls', readBoolean);
  const choice = readChoice(request.tool_choice);
  if (tools.length === 0) {
    if (choice === null || choice.type === 'auto' || choice.type === 'none') return {};
    return refuse('tool_choice', "'tool_choice' names tools, but 'tools' is empty.");
  }
  const isSingle = isParallel === false && choice?.type !== 'none';
  if (choice === null && !isSingle) return { tools };
  const single = isSingle ? { disable_parallel_tool_use: true } : {};
  return { tools, tool_choice: { ...(choice ?? { type: 'auto' }), ...single } };
}

function readTool(value: unknown, path: string): JsonObject {
  const tool = readObject(value, path);
  if (tool.type !== 'function') {
    return refuse(
      `${path}.type`,
      `This model has no tool of type '${shown(tool.type)}'. Send tools of type 'function'.`,
    );
  }
  const made = readObject(tool.function, `${path}.function`);
  const parameters = optional(made.parameters, `${path}.function.parameters`, readObject);
  return definedMembers({
    name: readName(made.name, `${path}.function.name`),
    description: optional(made.description, `${path}.function.description`, readString),
    input_schema: { type: 'object', ...(parameters ?? { properties: {} }) },
    cache_control: tool.cache_control ?? made.cache_control,
  });
}

const CHOICES: Readonly<Record<string, JsonObject>> = {
  auto: { type: 'auto' },
  none: { type: 'none' },
  required: { type: 'any' },
};

function readChoice(value: unknown): JsonObject | null {
  if (isMissing(value)) return null;
  if (typeof value === 'string' && Object.hasOwn(CHOICES, value)) return CHOICES[value] as JsonObject;
  if (!isObject(value) || value.type !== 'function') {
    return refuse(
      'tool_choice',
      "'tool_choice' must be 'auto', 'none', 'required' or one function for this model.",
    );
  }
  const chosen = readObject(value.function, 'tool_choice.function');
  return { type: 'tool', name: readName(chosen.name, 'tool_choice.function.name') };
}
