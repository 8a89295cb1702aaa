import { z } from 'zod';
import {
  type Accepted,
  accept,
  refuse,
  refuseShape,
  type Sampling,
  samplingFields,
  samplingOf,
} from './open-call.ts';

export interface ChatRequest extends Sampling {
  readonly messages: readonly ChatMessage[];
  /** Null for as many as the answer has, up to the model's own limit. */
  readonly maxTokens: number | null;
  readonly format: AnswerFormat;
  readonly tools: readonly ChatTool[];
  readonly toolChoice: ToolChoice;
}

export interface ChatMessage {
  readonly role: string;
  /** All parts concatenated; parts that are not text are named, such as `[image]`. */
  readonly text: string;
  readonly name: string | null;
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly toolCallId: string | null;
}

type AnswerFormat =
  | { readonly kind: 'text' }
  | { readonly kind: 'json-object' }
  | { readonly kind: 'json-schema'; readonly schema: unknown };

export interface ChatTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: unknown;
}

type ToolChoice =
  | { readonly kind: 'none' | 'auto' | 'required' }
  | { readonly kind: 'named'; readonly name: string };

const PART_NAMES: Readonly<Record<string, string>> = {
  image_url: '[image]',
  input_audio: '[audio]',
  file: '[file]',
};

const part = z.object({ type: z.string(), text: z.string().nullish(), refusal: z.string().nullish() });

const message = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
  content: z.union([z.string(), z.array(part)]).nullish(),
  name: z.string().nullish(),
  tool_call_id: z.string().nullish(),
  tool_calls: z
    .array(
      z.object({
        id: z.string(),
        function: z.object({ name: z.string(), arguments: z.string() }).nullish(),
      }),
    )
    .nullish(),
});

const schemaFormat = z.object({
  type: z.literal('json_schema'),
  json_schema: z.object({ name: z.string(), schema: z.unknown().optional() }),
});

const chatBody = z.object({
  ...samplingFields,
  messages: z.array(message).min(1),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  response_format: z.union([z.object({ type: z.enum(['text', 'json_object']) }), schemaFormat]).nullish(),
  tools: z
    .array(
      z.object({
        // Tools of other types are hosted by the provider or accept free text: this model only calls functions.
        type: z.string(),
        function: z
          .object({ name: z.string(), description: z.string().nullish(), parameters: z.unknown().optional() })
          .nullish(),
      }),
    )
    .max(1_024)
    .nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.object({ type: z.string(), function: z.object({ name: z.string() }).nullish() }),
    ])
    .nullish(),
});

type ChatBody = z.infer<typeof chatBody>;

export function readChatRequest(body: unknown): Accepted<ChatRequest> {
  const parsed = chatBody.safeParse(body);
  if (!parsed.success) return refuseShape(parsed.error);
  const { data } = parsed;
  const tools = (data.tools ?? []).flatMap(({ function: one }) =>
    one == null ? [] : [{ name: one.name, description: one.description ?? '', parameters: one.parameters }],
  );
  const toolChoice = choiceOf(data.tool_choice, tools);
  if (toolChoice.kind === 'named' && !tools.some(({ name }) => name === toolChoice.name)) {
    return refuse(`Tool choice '${toolChoice.name}' is not among the tools.`, 'tool_choice');
  }
  if (toolChoice.kind === 'required' && tools.length === 0) {
    return refuse("Tool choice 'required' needs at least one function in 'tools'.", 'tool_choice');
  }
  return accept({
    ...samplingOf(data),
    messages: data.messages.map(messageOf),
    maxTokens: data.max_completion_tokens ?? data.max_tokens ?? null,
    format: formatOf(data.response_format),
    tools,
    toolChoice,
  });
}

function messageOf(sent: ChatBody['messages'][number]): ChatMessage {
  const { content } = sent;
  return {
    role: sent.role,
    text: typeof content === 'string' ? content : (content ?? []).map(partText).join('\n'),
    name: sent.name ?? null,
    toolCallId: sent.tool_call_id ?? null,
    toolCalls: (sent.tool_calls ?? []).flatMap(({ id, function: one }) =>
      one == null ? [] : [{ id, ...one }],
    ),
  };
}

function partText(sent: z.infer<typeof part>): string {
  return sent.text ?? sent.refusal ?? PART_NAMES[sent.type] ?? `[${sent.type}]`;
}

function formatOf(sent: ChatBody['response_format']): AnswerFormat {
  if (sent == null || sent.type === 'text') return { kind: 'text' };
  if (sent.type === 'json_schema') return { kind: 'json-schema', schema: sent.json_schema.schema };
  return { kind: 'json-object' };
}

function choiceOf(sent: ChatBody['tool_choice'], tools: readonly ChatTool[]): ToolChoice {
  if (typeof sent === 'string') return { kind: sent };
  if (sent?.function != null) return { kind: 'named', name: sent.function.name };
  return { kind: tools.length === 0 ? 'none' : 'auto' };
}
