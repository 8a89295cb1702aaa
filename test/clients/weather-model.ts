import type { Received } from '../gateway/scripted-upstream.ts';
import { streamOf } from '../gateway/scripted-upstream.ts';

/**
 * A provider that speaks all three wires as the official ones do, whole and streamed: it calls the tool `weather` for Oslo
 * where there is one and it has no result yet, and otherwise says what the result was.
 */
export function answerWeather({ path, body }: Received): Response {
  const request = JSON.parse(new TextDecoder().decode(body)) as Body;
  const isCalling = (request.tools ?? []).length > 0 && !JSON.stringify(request).includes(RESULT);
  const wire = WIRES.find(({ ending }) => path.endsWith(ending));
  if (wire === undefined) return new Response(null, { status: 404 });
  if (request.stream !== true) return Response.json(wire.whole(isCalling));
  return streamOf(
    ...wire.events(isCalling).map(eventText),
    ...(wire.ending === CHAT ? ['data: [DONE]\n\n'] : []),
  );
}

interface Body {
  readonly stream?: boolean;
  readonly tools?: readonly unknown[];
}

type Json = Record<string, unknown>;

export const RESULT = 'sunny, 21 degrees';
export const SAID = 'It is sunny in Oslo.';
export const THOUGHT = 'They want the weather.';
const ARGUMENTS = '{"city":"Oslo"}';
const CHAT = '/chat/completions';

function eventText(event: Json): string {
  const name = typeof event.type === 'string' ? `event: ${event.type}\n` : '';
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

const chatUsage = {
  ...{ prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 },
  prompt_tokens_details: { cached_tokens: 8 },
};
const chatFrame = { id: 'chatcmpl-1', created: 1, model: 'provider-model-x' };
const chatCall = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: ARGUMENTS } };

function chatWhole(isCalling: boolean): Json {
  const called = { role: 'assistant', content: null, tool_calls: [chatCall] };
  const message = isCalling ? called : { role: 'assistant', content: SAID, reasoning_content: THOUGHT };
  const choice = { index: 0, message, finish_reason: isCalling ? 'tool_calls' : 'stop' };
  return { ...chatFrame, object: 'chat.completion', choices: [choice], usage: chatUsage };
}

function chatEvents(isCalling: boolean): Json[] {
  const chunk = (delta: Json, finish_reason: string | null = null) => ({
    ...{ ...chatFrame, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] },
  });
  const call = (made: Json) => chunk({ tool_calls: [{ index: 0, ...made }] });
  const calls = [
    call({ ...chatCall, function: { name: 'weather', arguments: '' } }),
    call({ function: { arguments: ARGUMENTS.slice(0, 6) } }),
    call({ function: { arguments: ARGUMENTS.slice(6) } }),
  ];
  const texts = [
    chunk({ reasoning_content: THOUGHT }),
    chunk({ content: SAID.slice(0, 5) }),
    chunk({ content: SAID.slice(5) }),
  ];
  return [
    chunk({ role: 'assistant', content: '' }),
    ...(isCalling ? calls : texts),
    chunk({}, isCalling ? 'tool_calls' : 'stop'),
    { ...chatFrame, object: 'chat.completion.chunk', choices: [], usage: chatUsage },
  ];
}

const messageUsage = {
  ...{ input_tokens: 10, cache_creation_input_tokens: 2, cache_read_input_tokens: 8, output_tokens: 5 },
};
const messageFrame = { id: 'msg_1', type: 'message', role: 'assistant', model: 'provider-model-x' };
const toolUse = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Oslo' } };

function messageWhole(isCalling: boolean): Json {
  const said = [
    { type: 'thinking', thinking: THOUGHT, signature: 'sig' },
    { type: 'text', text: SAID },
  ];
  const ending = {
    stop_reason: isCalling ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: messageUsage,
  };
  return { ...messageFrame, content: isCalling ? [toolUse] : said, ...ending };
}

function messageEvents(isCalling: boolean): Json[] {
  const opened = (index: number, content_block: Json) => ({
    type: 'content_block_start',
    index,
    content_block,
  });
  const delta = (index: number, type: string, member: Json) => ({
    ...{ type: 'content_block_delta', index, delta: { type, ...member } },
  });
  const closed = (index: number) => ({ type: 'content_block_stop', index });
  const calls = [
    opened(0, { ...toolUse, input: {} }),
    delta(0, 'input_json_delta', { partial_json: ARGUMENTS.slice(0, 6) }),
    delta(0, 'input_json_delta', { partial_json: ARGUMENTS.slice(6) }),
    closed(0),
  ];
  const texts = [
    opened(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, 'thinking_delta', { thinking: THOUGHT }),
    delta(0, 'signature_delta', { signature: 'sig' }),
    closed(0),
    opened(1, { type: 'text', text: '' }),
    delta(1, 'text_delta', { text: SAID.slice(0, 5) }),
    delta(1, 'text_delta', { text: SAID.slice(5) }),
    closed(1),
  ];
  const started = { ...messageUsage, output_tokens: 1 };
  const message = { ...messageFrame, content: [], stop_reason: null, stop_sequence: null, usage: started };
  const stop_reason = isCalling ? 'tool_use' : 'end_turn';
  return [
    { type: 'message_start', message },
    { type: 'ping' },
    ...(isCalling ? calls : texts),
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: 'message_stop' },
  ];
}

const responseUsage = {
  ...{ input_tokens: 20, input_tokens_details: { cached_tokens: 8 }, output_tokens: 5, total_tokens: 25 },
  output_tokens_details: { reasoning_tokens: 0 },
};
const functionCall = {
  ...{ type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'weather', arguments: ARGUMENTS },
  status: 'completed',
};
const outputText = { type: 'output_text', text: SAID, annotations: [], logprobs: [] };
const outputMessage = {
  ...{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [outputText] },
};

/** A provider never gives an id twice. */
let responses = 0;

function responseWhole(isCalling: boolean): Json {
  responses += 1;
  return {
    ...{
      id: `resp_${responses}`,
      object: 'response',
      created_at: 1,
      status: 'completed',
      model: 'provider-model-x',
    },
    output: [isCalling ? functionCall : outputMessage],
    ...{ error: null, incomplete_details: null, instructions: null, metadata: {}, parallel_tool_calls: true },
    ...{ temperature: 1, top_p: 1, tool_choice: 'auto', tools: [], usage: responseUsage },
  };
}

function responseEvents(isCalling: boolean): Json[] {
  const whole = responseWhole(isCalling);
  const begun = { ...whole, status: 'in_progress', output: [], usage: null };
  const item = { output_index: 0, item_id: isCalling ? 'fc_1' : 'msg_1' };
  const part = { ...item, content_index: 0 };
  const calls = [
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...functionCall, arguments: '', status: 'in_progress' },
    },
    { type: 'response.function_call_arguments.delta', ...item, delta: ARGUMENTS },
    { type: 'response.function_call_arguments.done', ...item, name: 'weather', arguments: ARGUMENTS },
    { type: 'response.output_item.done', output_index: 0, item: functionCall },
  ];
  const texts = [
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...outputMessage, content: [], status: 'in_progress' },
    },
    { type: 'response.content_part.added', ...part, part: { ...outputText, text: '' } },
    { type: 'response.output_text.delta', ...part, delta: SAID.slice(0, 5), logprobs: [] },
    { type: 'response.output_text.delta', ...part, delta: SAID.slice(5), logprobs: [] },
    { type: 'response.output_text.done', ...part, text: SAID, logprobs: [] },
    { type: 'response.content_part.done', ...part, part: outputText },
    { type: 'response.output_item.done', output_index: 0, item: outputMessage },
  ];
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...(isCalling ? calls : texts),
    { type: 'response.completed', response: whole },
  ].map((event, sequence_number) => ({ ...event, sequence_number }));
}

const WIRES = [
  { ending: CHAT, whole: chatWhole, events: chatEvents },
  { ending: '/messages', whole: messageWhole, events: messageEvents },
  { ending: '/responses', whole: responseWhole, events: responseEvents },
] as const;
