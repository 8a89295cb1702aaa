import type { CallToolResult, McpServer, Server } from '@modelcontextprotocol/server';
import { z } from 'zod';

type Transport = Parameters<Server['connect']>[0];
type Incoming = NonNullable<Transport['onmessage']>;
type Question = Parameters<Transport['send']>[0];

/**
 * A server of 2025 asks the client on the stream of the call, and the answer comes by a request of its own, which meets
 * another server. The stack carries both; the caller has to say where its answers go. These fixtures keep that in
 * memory: they live in one process. The gateway's own tools never ask.
 */
const waiting = new Map<unknown, Incoming>();

export function joinAnswers(server: Server): void {
  const connect = server.connect.bind(server);
  server.connect = async (transport) => {
    await connect(transport);
    const take = transport.onmessage;
    if (take === undefined) return;
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if (isQuestion(message)) waiting.set(message.id, take);
      return send(message, options);
    };
    transport.onmessage = (message, extra) => {
      const asked = isAnswer(message) ? waiting.get(message.id) : undefined;
      if (asked !== undefined && isAnswer(message)) waiting.delete(message.id);
      (asked ?? take)(message, extra);
    };
  };
}

function isQuestion(message: Question): message is Question & { readonly id: unknown } {
  return 'method' in message && 'id' in message;
}

function isAnswer(message: object): message is { readonly id: unknown } {
  return ('result' in message || 'error' in message) && 'id' in message;
}

const said = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });
const choices = (...words: readonly string[]) =>
  words.map((word, at) => ({ const: `value${at + 1}`, title: word }));
const options = ['option1', 'option2', 'option3'];

/** What is asked for, by the name of the tool that asks. */
const FORMS: Readonly<Record<string, Record<string, object>>> = {
  test_elicitation: {
    username: { type: 'string', description: 'Your name' },
    email: { type: 'string', description: 'Your address' },
  },
  test_elicitation_sep1034_defaults: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
  test_elicitation_sep1330_enums: {
    untitledSingle: { type: 'string', enum: options },
    titledSingle: { type: 'string', oneOf: choices('First Option', 'Second Option', 'Third Option') },
    legacyEnum: {
      type: 'string',
      enum: ['opt1', 'opt2', 'opt3'],
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
    titledMulti: {
      type: 'array',
      items: { anyOf: choices('First Choice', 'Second Choice', 'Third Choice') },
    },
  },
};

/** Tools that ask a client of 2025 in the middle of a call. */
export function addSuiteQuestions(server: McpServer): void {
  const prompted = { description: 'Asks the client’s model', inputSchema: z.object({ prompt: z.string() }) };
  server.registerTool('test_sampling', prompted, async ({ prompt }, { mcpReq }) => {
    const messages = [{ role: 'user', content: { type: 'text', text: prompt } }];
    const params = { messages, maxTokens: 100 };
    const answer = await mcpReq.send({ method: 'sampling/createMessage', params });
    return said(`LLM response: ${JSON.stringify(answer.content)}`);
  });
  for (const [name, properties] of Object.entries(FORMS)) {
    const inputSchema = z.object({ message: z.string().default('Please answer') });
    server.registerTool(name, { description: name, inputSchema }, async ({ message }, { mcpReq }) => {
      const requestedSchema = { type: 'object', properties, required: [] };
      const params = { message, requestedSchema };
      const { action, content } = await mcpReq.send({ method: 'elicitation/create', params });
      return said(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`);
    });
  }
}
