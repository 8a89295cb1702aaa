import { z } from 'zod';
import { type DescribedAnswer, type DescribedRoute, errorAnswer, openApiDocument } from '../http/openapi.ts';
import { REFUSALS, type RefusalName } from './admission/refusals.ts';
import { BASE_PATH, MCP_PATH } from './admission/routes.ts';

const ALIAS = 'svc/chat-default';
const usage = z.looseObject({ prompt_tokens: z.int(), total_tokens: z.int() });
const list = z.looseObject({ object: z.literal('list'), data: z.array(z.looseObject({})) });
const model = z.looseObject({
  ...{ id: z.string(), object: z.literal('model'), created: z.int(), owned_by: z.string() },
  ...{
    kind: z.enum(['chat', 'extract', 'embed']),
    context_length: z.int(),
    max_output_tokens: z.int().nullable(),
  },
  pricing: z
    .looseObject({ unit: z.string(), prompt: z.number(), cached: z.number(), completion: z.number() })
    .nullable(),
  hosted_tools: z.array(z.looseObject({ name: z.string(), credits_per_use: z.number() })).optional(),
});
const completion = z.looseObject({
  ...{ id: z.string(), object: z.string(), model: z.string(), choices: z.array(z.looseObject({})) },
  usage: usage.optional(),
});
const parsed = z.looseObject({
  ...{ object: z.enum(['parsed_cv', 'parsed_jd']), model: z.string(), engine: z.enum(['model', 'embedded']) },
  document: z.looseObject({ kind: z.string() }),
});

/** The members that the gateway reads; all others are passed on to the provider. */
const chatBody = z.looseObject({
  model: z.string(),
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
  stream: z.boolean().optional(),
});
const responsesBody = z.looseObject({
  model: z.string(),
  input: z.unknown(),
  stream: z.boolean().optional(),
  max_output_tokens: z.int().optional(),
});
const messagesBody = z.looseObject({
  model: z.string(),
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
  max_tokens: z.int(),
  stream: z.boolean().optional(),
});
const countBody = messagesBody.omit({ max_tokens: true, stream: true });
const response = z.looseObject({ id: z.string(), object: z.literal('response'), model: z.string() });
const message = z.looseObject({ id: z.string(), type: z.literal('message'), model: z.string() });
/** Anthropic's, on all routes of Messages. */
const messagesErrorAnswer = z.looseObject({
  type: z.literal('error'),
  error: z.looseObject({ type: z.string(), message: z.string(), code: z.string().nullable() }),
  request_id: z.string(),
});
const textBody = z.looseObject({ model: z.string(), prompt: z.unknown() });
const embeddingsBody = z.looseObject({ model: z.string(), input: z.unknown() });
const parseBody = z.looseObject({ text: z.string().optional(), model: z.string().optional() });

const callPage = z.looseObject({
  ...{ object: z.literal('list'), has_more: z.boolean(), next_cursor: z.string().nullable() },
  data: z.array(
    z.looseObject({
      ...{ id: z.string(), request_id: z.string(), created_at: z.iso.datetime(), endpoint: z.string() },
      ...{ model: z.string().nullable(), status: z.int(), code: z.string().nullable(), stream: z.boolean() },
      ...{ prompt_tokens: z.int().nullable(), cached_tokens: z.int().nullable() },
      ...{ completion_tokens: z.int().nullable(), credits: z.number(), first_token_ms: z.int().nullable() },
      ...{ duration_ms: z.int(), user: z.string().nullable(), tags: z.array(z.string()) },
    }),
  ),
});
const callQuery = z.object({
  ...{ from: z.string().optional(), to: z.string().optional(), model: z.string().optional() },
  ...{ status: z.int().optional(), code: z.string().optional(), user: z.string().optional() },
  ...{ tag: z.string().optional(), request_id: z.string().optional(), limit: z.int().optional() },
  ...{ after: z.string().optional(), format: z.enum(['json', 'csv', 'jsonl']).optional() },
});

/** A JSON-RPC 2.0 message; the protocol defines its content. */
const rpcBody = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int()]).optional(),
  method: z.string(),
  params: z.looseObject({}).optional(),
});
const rpcAnswer = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int()]).nullable(),
  result: z.looseObject({}).optional(),
  error: z.looseObject({ code: z.int(), message: z.string() }).optional(),
});

const EVERY_ROUTE: readonly RefusalName[] = [
  'scopeDenied',
  'addressLimited',
  'rateLimited',
  'unavailable',
  'invalidRequest',
];
const CALLS: readonly RefusalName[] = [
  ...EVERY_ROUTE,
  'modelNotAllowed',
  'companySuspended',
  'planLimitExceeded',
  'keySpendingLimit',
  'insufficientCredits',
  'creditsHeld',
  'tooLarge',
  'tooSlow',
];
const MODEL_CALLS = ['idempotencyConflict', 'providerRateLimited'] as const;

/** One entry per status. Refusals that share a status are distinguished by the envelope's `code`. */
function refused(names: readonly RefusalName[], schema: z.ZodType = errorAnswer): readonly DescribedAnswer[] {
  const statuses = [...new Set(names.map((name) => REFUSALS[name].status))];
  return statuses.map((status) => {
    const rows = names.map((name) => REFUSALS[name]).filter((row) => row.status === status);
    const named = rows.map(({ code, message }) => (code === null ? message : `${code}: ${message}`));
    return {
      status,
      means: rows.length === 1 ? (rows[0]?.message ?? '') : named.join(' '),
      schema,
    };
  });
}

function call(
  path: string,
  summary: string,
  schema: z.ZodType,
  example: unknown,
  answer: DescribedAnswer,
): DescribedRoute {
  const isMessages = path.startsWith('/messages');
  const names = [...CALLS, ...(path.startsWith('/parse') ? [] : MODEL_CALLS)];
  const answers = isMessages
    ? [
        answer,
        ...refused(
          names.filter((name) => name !== HIDDEN),
          messagesErrorAnswer,
        ),
        HIDDEN_MODEL,
      ]
    : [answer, ...refused(names)];
  return {
    method: 'post',
    path: `${BASE_PATH}${path}`,
    summary,
    needsToken: true,
    body: { schema, example },
    answers,
  };
}

const HIDDEN = 'modelNotAllowed';
/** G-27: on `/messages` another status than the table's. */
const HIDDEN_MODEL: DescribedAnswer = {
  status: 404,
  means: `${REFUSALS[HIDDEN].code}: ${REFUSALS[HIDDEN].message}`,
  schema: messagesErrorAnswer,
};

function read(path: string, summary: string, answer: DescribedAnswer): DescribedRoute {
  const answers = [answer, ...refused(EVERY_ROUTE)];
  return { method: 'get', path: `${BASE_PATH}${path}`, summary, needsToken: true, answers };
}

function stored(method: 'get' | 'delete', path: string, summary: string, schema: z.ZodType): DescribedRoute {
  const answers = [ok(schema), ...refused([...EVERY_ROUTE, 'modelNotAllowed', 'notFound'])];
  return { method, path: `${BASE_PATH}${path}`, summary, needsToken: true, answers };
}

function ok(schema: z.ZodType, example?: unknown): DescribedAnswer {
  return { status: 200, means: 'The answer.', schema, ...(example === undefined ? {} : { example }) };
}

const COMPLETION = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', model: ALIAS },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
};

const MCP: DescribedRoute = {
  ...{ method: 'post', path: MCP_PATH, needsToken: true },
  summary:
    'The same as tools of the Model Context Protocol, over Streamable HTTP: the answer, or where the client takes ' +
    'them server-sent events that end with it. No session is kept.',
  body: { schema: rpcBody, example: { jsonrpc: '2.0', id: 1, method: 'tools/list' } },
  answers: [
    ok(rpcAnswer, { jsonrpc: '2.0', id: 1, result: { tools: [{ name: 'list_models' }] } }),
    {
      status: 202,
      means: 'The notification was accepted. Notifications have no response.',
      contentType: 'text/plain',
    },
    { status: 405, means: 'A method other than POST.', schema: errorAnswer },
    ...refused([...EVERY_ROUTE, 'tooLarge', 'tooSlow']),
  ],
};

/** Every route of the gateway's table, its tools, and its health. */
export const GATEWAY_ROUTES: readonly DescribedRoute[] = [
  call(
    '/chat/completions',
    'Creates a chat completion. With stream: true, the response is server-sent events that end with [DONE].',
    chatBody,
    { model: ALIAS, messages: [{ role: 'user', content: 'Hello' }] },
    ok(completion, COMPLETION),
  ),
  call(
    '/completions',
    'Creates a completion of a text.',
    textBody,
    { model: ALIAS, prompt: 'Hello' },
    ok(completion),
  ),
  call(
    '/embeddings',
    'Vectors of texts.',
    embeddingsBody,
    { model: 'svc/embed-default', input: 'Hello' },
    ok(list),
  ),
  call(
    '/responses',
    'The Responses API. With stream: true, server-sent events that end with response.completed or its like.',
    responsesBody,
    { model: ALIAS, input: 'Hello' },
    ok(response),
  ),
  call(
    '/responses/input_tokens',
    'Counts the tokens of a response’s input; free of charge.',
    responsesBody,
    { model: ALIAS, input: 'Hello' },
    ok(z.looseObject({ object: z.literal('response.input_tokens'), input_tokens: z.int() }), {
      object: 'response.input_tokens',
      input_tokens: 9,
    }),
  ),
  call(
    '/responses/compact',
    'Compacts a conversation into items for the next input. Only of models whose provider has the Responses API of OpenAI.',
    responsesBody,
    { model: ALIAS, input: 'Hello' },
    ok(z.looseObject({ id: z.string(), object: z.literal('response.compaction') })),
  ),
  stored('get', '/responses/{response}', 'A stored response of the company.', response),
  stored('get', '/responses/{response}/input_items', 'The input of a stored response, in pages.', list),
  stored(
    'delete',
    '/responses/{response}',
    'Deletes a stored response, at its provider too.',
    z.looseObject({ id: z.string(), deleted: z.literal(true) }),
  ),
  call(
    '/messages',
    'The Messages API of Anthropic; the key may be in x-api-key. With stream: true, events that end with message_stop.',
    messagesBody,
    { model: ALIAS, max_tokens: 1_000, messages: [{ role: 'user', content: 'Hello' }] },
    ok(message),
  ),
  call(
    '/messages/count_tokens',
    'Counts the tokens of a message; free of charge.',
    countBody,
    { model: ALIAS, messages: [{ role: 'user', content: 'Hello' }] },
    ok(z.looseObject({ input_tokens: z.int() }), { input_tokens: 9 }),
  ),
  call('/parse/cv', 'Reads a CV.', parseBody, { text: 'Ada Byron, engineer' }, ok(parsed)),
  call('/parse/jd', 'Reads a job posting.', parseBody, { text: 'We look for an engineer' }, ok(parsed)),
  read(
    '/models',
    'The models that the key may call; in the shape of Anthropic’s API with the header anthropic-version.',
    ok(z.looseObject({ object: z.literal('list'), data: z.array(model) })),
  ),
  read('/models/{model}', 'One of them.', ok(model)),
  read('/usage', 'The company’s usage.', ok(z.looseObject({}))),
  {
    ...read('/usage/calls', 'The calls of the key, newest first.', ok(callPage)),
    query: callQuery,
  },
  read('/jobs', 'The company’s active jobs.', ok(z.looseObject({ data: z.array(z.looseObject({})) }))),
  MCP,
  {
    ...{ method: 'get', path: '/health', summary: 'The state of the dependencies.', needsToken: false },
    answers: [ok(z.looseObject({ status: z.enum(['ok', 'degraded']) }), { status: 'ok' })],
  },
  {
    ...{ method: 'get', path: '/healthz', summary: 'The process runs.', needsToken: false },
    answers: [{ status: 200, means: 'It does.', contentType: 'text/plain' }],
  },
];

export function gatewayDocument(): Record<string, unknown> {
  return openApiDocument({
    title: 'Turnpike gateway',
    description: 'Models by alias in the format of the OpenAI API, and parsing of CVs and job postings.',
    token: 'An API key of the company.',
    routes: GATEWAY_ROUTES,
  });
}
