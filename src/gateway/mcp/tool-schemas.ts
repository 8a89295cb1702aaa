import type { Tool } from '@modelcontextprotocol/server';

/**
 * The input and output of each tool as JSON Schema, written once instead of generated for each request. No output field is
 * required and each output has `error` among its properties: a tool that fails returns a result with the envelope in it
 * (G-45). Clients that validate results against the schema accept both.
 */

type Schema = Readonly<Record<string, unknown>>;

const text = (description: string): Schema => ({ type: 'string', description });
const count = (description: string): Schema => ({ type: 'integer', minimum: 0, description });
const listOf = (items: Schema, description: string): Schema => ({ type: 'array', items, description });
/** Two branches with one type each: clients that convert schemas for their model may not support a list of types. */
const textOrNull = (description: string): Schema => ({
  anyOf: [{ type: 'string' }, { type: 'null' }],
  description,
});
const anyObject = (description: string): Schema => ({ type: 'object', description });

const ERROR: Schema = {
  type: 'object',
  description: 'Only where the call failed.',
  properties: {
    message: text('What went wrong and what to do.'),
    type: text('The kind of failure.'),
    code: textOrNull('A machine-readable reason. Null if the kind is sufficient.'),
    param: textOrNull('The invalid argument.'),
  },
};

const USAGE: Schema = {
  type: 'object',
  description: 'The tokens that were charged.',
  properties: {
    prompt_tokens: count('Tokens read.'),
    completion_tokens: count('Tokens written.'),
    total_tokens: count('Both together.'),
  },
};

function input(properties: Schema, required: readonly string[] = []): Tool['inputSchema'] {
  const needed = required.length === 0 ? {} : { required: [...required] };
  return { type: 'object', properties, ...needed, additionalProperties: false } as Tool['inputSchema'];
}

function output(properties: Schema): Tool['outputSchema'] {
  return { type: 'object', properties: { ...properties, error: ERROR } } as Tool['outputSchema'];
}

const MESSAGE: Schema = {
  type: 'object',
  properties: {
    role: { type: 'string', enum: ['system', 'developer', 'user', 'assistant'] },
    content: {
      anyOf: [{ type: 'string' }, { type: 'array', items: anyObject('A part.') }],
      description: 'A text, or a list of parts as in the chat API.',
    },
  },
  required: ['role', 'content'],
};

export const CHAT = {
  inputSchema: input(
    {
      model: text('The alias of a model; list_models lists those that may be called.'),
      messages: { ...listOf(MESSAGE, 'The conversation so far. Give this or prompt.'), minItems: 1 },
      prompt: text('A single user message, instead of messages.'),
      temperature: { type: 'number', minimum: 0, maximum: 2, description: 'Lower is steadier.' },
      max_tokens: { type: 'integer', minimum: 1, description: 'Maximum tokens to generate.' },
    },
    ['model'],
  ),
  outputSchema: output({
    model: text('The alias that answered.'),
    text: text('The answer.'),
    finish_reason: textOrNull('stop, length, …'),
    usage: USAGE,
  }),
};

export const LIST_MODELS = {
  inputSchema: input({}),
  outputSchema: output({
    object: text('list'),
    data: listOf(
      { type: 'object', properties: { id: text('The alias, as `model` of a call.') } },
      'The models that this key may call.',
    ),
  }),
};

export const GET_USAGE = {
  inputSchema: input({
    from: text('The first day, such as 2026-01-31, or a time with a time zone. Default: 30 days ago.'),
    to: text('The last day, inclusive, or a time with a time zone, exclusive. Default: today.'),
    group_by: {
      ...listOf(
        { type: 'string', enum: ['model', 'day', 'key', 'project', 'user', 'tag'] },
        'A breakdown by these together.',
      ),
      minItems: 1,
    },
  }),
  outputSchema: output({
    object: text('usage'),
    from: text('The first day of the period, or its start time.'),
    to: text('The last day of the period, or the time at which it ends.'),
    totals: anyObject('Calls, failures, tokens and credits of this key.'),
    by_model: listOf(anyObject('The same for one model.'), 'By model.'),
    by_day: listOf(anyObject('The same for one day.'), 'By day, in UTC.'),
    groups: listOf(anyObject('The same for one group.'), 'Where group_by was given.'),
    balance: anyObject('The credits that the company has, and how many running calls hold.'),
    limits: anyObject('The current state of this key’s limits.'),
  }),
};

export const LIST_JOBS = {
  inputSchema: input({
    limit: { type: 'integer', minimum: 1, maximum: 100, description: 'Jobs a page; 20 by default.' },
    after: text('next_cursor of the page before.'),
    updated_since: text('Only those changed since this day or time.'),
    q: text('Words that occur in the title or description.'),
  }),
  outputSchema: output({
    object: text('list'),
    data: listOf(anyObject('One job: title, description, requirements, place, dates.'), 'The newest first.'),
    has_more: { type: 'boolean', description: 'Whether there are more pages.' },
    next_cursor: textOrNull('Pass it as after.'),
  }),
};

const PARSE_INPUT = input({
  text: text('The document as text. Give this or file.'),
  file: {
    type: 'object',
    description: 'The document as a file: PDF, DOCX, ODT, RTF, HTML or plain text.',
    properties: {
      name: text('Its name.'),
      content_base64: text('Its bytes, in base64.'),
    },
    required: ['content_base64'],
    additionalProperties: false,
  },
  model: text('The alias of an extraction model. Omitted: the default one.'),
});

function parseOutput(name: string, description: string): Tool['outputSchema'] {
  return output({
    object: text('What was parsed.'),
    model: text('The alias that was used.'),
    engine: text('What read the document: a model, or the embedded engine.'),
    document: anyObject('Language, kind and warnings.'),
    // Null for a document of another type, such as a bill.
    [name]: { anyOf: [{ type: 'object' }, { type: 'null' }], description },
    evidence: listOf(anyObject('A field and where it is in the text.'), 'Where each value was found.'),
    usage: USAGE,
  });
}

export const PARSE_CV = {
  inputSchema: PARSE_INPUT,
  outputSchema: parseOutput('profile', 'The person, in the fields of JSON Resume.'),
};

export const PARSE_JD = {
  inputSchema: PARSE_INPUT,
  outputSchema: parseOutput('posting', 'The job, in the fields of schema.org JobPosting.'),
};
