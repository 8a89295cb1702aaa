import { isObject } from '../../../../ports/json-object.ts';
import { createShortNames, type ShortNames } from '../short-names.ts';
import type { TranslationTarget, Translator } from '../translator.ts';
import { chatMessages } from './chat-turns.ts';
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
import { answerInMessages } from './messages-answer.ts';
import {
  chatEffort,
  type Effort,
  effortOfBudget,
  hasTopK,
  isOSeries,
  takesChatSampling,
} from './model-names.ts';

/**
 * Serves clients of Anthropic's Messages with a target that has chat completions. docs/messages.md lists what each
 * member of a request becomes; decisions/0043 explains why.
 */
export const messagesToChat: Translator = {
  translateRequest: (bytes, to, stamps) =>
    translateBody(bytes, (request) => {
      const model = readName(request.model, 'model');
      const stopSequences = optional(request.stop_sequences, 'stop_sequences', readStrings) ?? [];
      const thinking = readThinking(request.thinking);
      const names = createShortNames();
      const body = withShortNames(chatBody(request, to, thinking), names);
      const answered = {
        ...{ model, stopSequences, reasoning: to.reasoning },
        ...{ showsThinking: thinking.isShown, toolNameOf: names.nameOf },
      };
      return { body, answer: answerInMessages(answered, stamps) };
    }),
};

/**
 * `cache_control`, `diagnostics` and `service_tier` control how Anthropic serves a call, not its answer: they are
 * omitted. So are `context_management` and `speed` if they have no effect here. A `service_tier` with its own price is
 * refused.
 */
const MEMBERS = new Set([
  ...[
    'model',
    'messages',
    'system',
    'max_tokens',
    'stop_sequences',
    'stream',
    'temperature',
    'top_p',
    'top_k',
  ],
  ...['tools', 'tool_choice', 'metadata', 'thinking', 'output_config', 'output_format'],
  ...['cache_control', 'diagnostics', 'service_tier', 'context_management', 'speed'],
]);

const PLAIN_TIERS = ['auto', 'standard_only'];

function chatBody(request: JsonObject, to: TranslationTarget, thinking: Thinking): JsonObject {
  refuseOthers(request, '', MEMBERS);
  refuseContextEdits(request.context_management);
  if (!isMissing(request.speed) && request.speed !== 'standard') {
    refuse('speed', "'speed' must be 'standard' for this model.");
  }
  // Other tiers are charged at their own price, so they must not be dropped silently.
  if (!isMissing(request.service_tier) && !PLAIN_TIERS.includes(String(request.service_tier))) {
    refuse('service_tier', "'service_tier' must be 'auto' or 'standard_only' for this model.");
  }
  const outputConfig = optional(request.output_config, 'output_config', readObject) ?? {};
  refuseOthers(outputConfig, 'output_config', new Set(['effort', 'format']));
  const tools = readTools(request, to.model);
  const asked = readEffort(outputConfig.effort) ?? thinking.effort;
  const effort = chatEffort(to, asked, tools.tools !== undefined);
  const stream = optional(request.stream, 'stream', readBoolean) === true;
  const stop = optional(request.stop_sequences, 'stop_sequences', readStrings) ?? [];
  return definedMembers({
    model: to.model,
    messages: chatMessages(request.system, request.messages, to.model),
    [to.maxTokensName]: readPositiveInteger(request.max_tokens, 'max_tokens'),
    ...readSampling(request, to, effort),
    stop: stop.length === 0 ? null : stop,
    ...tools,
    response_format: readFormat(outputConfig.format, request.output_format),
    reasoning_effort: effort,
    user: readUser(request.metadata),
    stream: stream ? true : null,
    stream_options: stream && to.hasStreamOptions ? { include_usage: true } : null,
  });
}

/** Members that the target's model refuses are left out: its clients do not know which model answers them. */
function readSampling(
  request: JsonObject,
  to: TranslationTarget,
  effort: ReturnType<typeof chatEffort>,
): JsonObject {
  const temperature = optional(request.temperature, 'temperature', readNumber);
  const topP = optional(request.top_p, 'top_p', readNumber);
  const topK = optional(request.top_k, 'top_k', readPositiveInteger);
  return {
    ...(takesChatSampling(to.model, effort) ? { temperature, top_p: topP } : {}),
    top_k: hasTopK(to) ? topK : null,
  };
}

/** Anthropic allows tool names that are twice as long, and those of MCP servers often are. */
function withShortNames(body: JsonObject, { shortOf }: ShortNames): JsonObject {
  const renamed = (holder: unknown): unknown => {
    if (!isObject(holder) || !isObject(holder.function)) return holder;
    const { name } = holder.function;
    return typeof name === 'string'
      ? { ...holder, function: { ...holder.function, name: shortOf(name) } }
      : holder;
  };
  const { tools, tool_choice: choice, messages } = body;
  return {
    ...body,
    ...(Array.isArray(tools) ? { tools: tools.map(renamed) } : {}),
    ...(isObject(choice) ? { tool_choice: renamed(choice) } : {}),
    messages: (messages as readonly JsonObject[]).map((message) =>
      Array.isArray(message.tool_calls)
        ? { ...message, tool_calls: message.tool_calls.map(renamed) }
        : message,
    ),
  };
}

const TOOL_MEMBERS = new Set([
  ...['type', 'name', 'description', 'input_schema'],
  // Caching, loading and streaming of a definition, hints for its use, and a guarantee that each provider gives for
  // different schemas: a target that has the plain definition can do without them.
  ...[
    'cache_control',
    'defer_loading',
    'eager_input_streaming',
    'input_examples',
    'strict',
    'allowed_callers',
  ],
]);

function readTools(request: JsonObject, model: string): JsonObject {
  const tools = (optional(request.tools, 'tools', readArray) ?? []).map((tool, at) =>
    readTool(tool, `tools[${at}]`),
  );
  const choice = optional(request.tool_choice, 'tool_choice', readObject);
  if (choice === null) return tools.length === 0 ? {} : { tools };
  const isSingle = optional(
    choice.disable_parallel_tool_use,
    'tool_choice.disable_parallel_tool_use',
    readBoolean,
  );
  refuseOthers(choice, 'tool_choice', new Set(['type', 'name', 'disable_parallel_tool_use']));
  const chosen = readChoice(choice);
  // The target rejects a choice without tools. These two need none.
  if (tools.length === 0) {
    if (chosen === 'auto' || chosen === 'none') return {};
    return refuse('tool_choice', "'tool_choice' names tools, but 'tools' is empty.");
  }
  const isBound = isSingle === true && !isOSeries(model);
  return { tools, tool_choice: chosen, ...(isBound ? { parallel_tool_calls: false } : {}) };
}

function readTool(value: unknown, path: string): JsonObject {
  const tool = readObject(value, path);
  const type = optional(tool.type, `${path}.type`, readString) ?? 'custom';
  if (type !== 'custom') {
    const hint = 'Send tools with a name, a description and an input_schema.';
    return refuse(
      `${path}.type`,
      `The tool '${shown(type)}' is Anthropic's, and this model does not have it. ${hint}`,
    );
  }
  refuseOthers(tool, path, TOOL_MEMBERS);
  return {
    type: 'function',
    function: definedMembers({
      name: readName(tool.name, `${path}.name`),
      description: optional(tool.description, `${path}.description`, readString),
      parameters: readObject(tool.input_schema, `${path}.input_schema`),
    }),
  };
}

function readChoice(choice: JsonObject): unknown {
  switch (choice.type) {
    case 'auto':
    case 'none':
      return choice.type;
    case 'any':
      return 'required';
    case 'tool':
      return { type: 'function', function: { name: readName(choice.name, 'tool_choice.name') } };
    default:
      return refuse('tool_choice.type', "'tool_choice.type' must be 'auto', 'any', 'tool' or 'none'.");
  }
}

interface Thinking {
  readonly effort: Effort | null;
  /** Whether the client expects to see the model's thinking. */
  readonly isShown: boolean;
}

function readThinking(value: unknown): Thinking {
  const thinking = optional(value, 'thinking', readObject);
  if (thinking === null) return { effort: null, isShown: false };
  refuseOthers(thinking, 'thinking', new Set(['type', 'budget_tokens', 'display']));
  const isShown = thinking.display !== 'omitted';
  switch (thinking.type) {
    case 'disabled':
      return { effort: null, isShown: false };
    case 'adaptive':
    case 'between_tools':
      return { effort: null, isShown };
    case 'enabled': {
      const budget = readPositiveInteger(thinking.budget_tokens, 'thinking.budget_tokens');
      return { effort: effortOfBudget(budget), isShown };
    }
    default:
      return refuse('thinking.type', "'thinking.type' must be 'enabled', 'adaptive' or 'disabled'.");
  }
}

const EFFORTS: Readonly<Record<string, Effort>> = {
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
  max: 'high',
};

function readEffort(value: unknown): Effort | null {
  const effort = optional(value, 'output_config.effort', readString);
  if (effort === null) return null;
  if (Object.hasOwn(EFFORTS, effort)) return EFFORTS[effort] as Effort;
  const known = Object.keys(EFFORTS).join(', ');
  return refuse('output_config.effort', `'output_config.effort' must be one of ${known}.`);
}

/** `output_format` is its name from the beta. */
function readFormat(current: unknown, beta: unknown): JsonObject | null {
  const path = isMissing(current) ? 'output_format' : 'output_config.format';
  const format = optional(current ?? beta, path, readObject);
  if (format === null) return null;
  if (format.type !== 'json_schema') return refuse(`${path}.type`, `'${path}.type' must be 'json_schema'.`);
  const schema = readObject(format.schema, `${path}.schema`);
  return { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } };
}

/** OpenAI's limit for `user`. Claude Code sends a longer one, made of device and session. */
const LONGEST_USER = 64;

function readUser(value: unknown): string | null {
  const metadata = optional(value, 'metadata', readObject);
  const user = metadata === null ? null : optional(metadata.user_id, 'metadata.user_id', readString);
  return user === null || user === '' || user.length > LONGEST_USER ? null : user;
}

/** Edits that clear old content only save tokens, so the conversation is sent whole. Others would change the answer. */
function refuseContextEdits(value: unknown): void {
  const management = optional(value, 'context_management', readObject);
  if (management === null) return;
  refuseOthers(management, 'context_management', new Set(['edits']));
  const edits = optional(management.edits, 'context_management.edits', readArray) ?? [];
  edits.forEach((edit, at) => {
    const path = `context_management.edits[${at}]`;
    const type = readString(readObject(edit, path).type, `${path}.type`);
    if (!type.startsWith('clear_')) {
      refuse(
        `${path}.type`,
        `The edit '${shown(type)}' is Anthropic's, and this model does not have it. Remove it.`,
      );
    }
  });
}
