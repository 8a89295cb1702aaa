import {
  acceptedContent,
  inputRequired,
  McpServer,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { ToolServer } from '../../src/gateway/mcp/tool-server.ts';
import { addSuiteQuestions, joinAnswers } from './suite-questions.ts';
import { addSuiteRounds, askFor, suiteState } from './suite-rounds.ts';
import { addSuiteHandlers, addSuiteTools, PICTURE } from './suite-tools.ts';

/** As in the gateway, no list changes while a client listens: by default the library would announce otherwise. */
const FIXED = { listChanged: false };
const OPTIONS = {
  capabilities: {
    tools: FIXED,
    resources: { subscribe: true, ...FIXED },
    prompts: FIXED,
    logging: {},
    completions: {},
  },
  requestState: { verify: suiteState.verify },
};

/** The fixtures that the official suite wants to find, in the place of the gateway's tools. */
export const suiteServer: ToolServer = {
  tools: new Map(),
  sendsUnasked: true,
  serverFor() {
    const server = new McpServer({ name: 'suite', version: '1.0.0' }, OPTIONS);
    addSuiteTools(server);
    addSuiteRounds(server);
    addResources(server);
    addPrompts(server);
    addSuiteHandlers(server);
    addSuiteQuestions(server);
    joinAnswers(server.server);
    return server.server;
  },
};

function addResources(server: McpServer): void {
  const fixed = {
    'static-text': 'This is the content of the static text resource.',
    'watched-resource': 'Watched.',
  };
  for (const [name, text] of Object.entries(fixed)) {
    const uri = `test://${name}`;
    const about = { description: name, mimeType: 'text/plain' };
    server.registerResource(name, uri, about, async () => ({
      contents: [{ uri, mimeType: 'text/plain', text }],
    }));
  }
  const about = { description: 'A picture', mimeType: 'image/png' };
  server.registerResource('static-binary', 'test://static-binary', about, async () => ({
    contents: [{ uri: 'test://static-binary', mimeType: 'image/png', blob: PICTURE }],
  }));
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  const ofId = { description: 'One for each id', mimeType: 'application/json' };
  server.registerResource('template', template, ofId, async (uri, { id }) => ({
    contents: [
      {
        uri: uri.toString(),
        mimeType: 'application/json',
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
      },
    ],
  }));
}

const user = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } });

function addPrompts(server: McpServer): void {
  server.registerPrompt('test_simple_prompt', { description: 'Simple' }, async () => ({
    messages: [user('This is a simple prompt for testing.')],
  }));
  const argsSchema = z.object({ arg1: z.string(), arg2: z.string() });
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'Two', argsSchema },
    async ({ arg1, arg2 }) => ({
      messages: [user(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    }),
  );
  const uriSchema = z.object({ resourceUri: z.string() });
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'With a resource', argsSchema: uriSchema },
    async ({ resourceUri: uri }) => {
      const resource = { uri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' };
      return { messages: [{ role: 'user', content: { type: 'resource', resource } }, user('Look at it.')] };
    },
  );
  server.registerPrompt('test_prompt_with_image', { description: 'With a picture' }, async () => ({
    messages: [
      { role: 'user', content: { type: 'image', data: PICTURE, mimeType: 'image/png' } },
      user('Look at it.'),
    ],
  }));
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'Asks first' },
    async (context) => {
      // Without arguments the context comes first, which the library's types do not say.
      const { inputResponses } = (context as unknown as ServerContext).mcpReq;
      const answer = acceptedContent<{ context: string }>(inputResponses, 'user_context');
      if (answer === undefined) return inputRequired({ inputRequests: { user_context: askFor('context') } });
      return { messages: [user(`Use this: ${answer.context}`)] };
    },
  );
}
