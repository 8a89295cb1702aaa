import { type CallToolResult, fromJsonSchema, type McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

/** A picture of one pixel and a sound of one sample: the suite looks at their kinds. */
export const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';
const SOUND = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==';
const NOTHING = z.object({});

const said = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });
const picture = { type: 'image' as const, data: PICTURE, mimeType: 'image/png' };
const part = (uri: string, text: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType: 'text/plain', text },
});

const PLAIN: Readonly<Record<string, CallToolResult>> = {
  test_simple_text: said('This is a simple text response for testing.'),
  test_image_content: { content: [picture] },
  test_audio_content: { content: [{ type: 'audio', data: SOUND, mimeType: 'audio/wav' }] },
  test_embedded_resource: { content: [part('test://embedded-resource', 'Embedded.')] },
  test_multiple_content_types: {
    content: [{ type: 'text', text: 'Several.' }, picture, part('test://mixed-content-resource', '{}')],
  },
  test_streaming_elicitation: said('Nothing but a result.'),
};

/** A schema with what is new in its draft, which must reach the client as it is. */
const DRAFT_2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
  allOf: [{ anyOf: [{ required: ['name'] }, { required: ['address'] }] }],
  if: { required: ['address'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema, which is never awaited.
  then: { properties: { name: { minLength: 1 } } },
  else: { properties: { name: { minLength: 0 } } },
  additionalProperties: false,
};

/** The tools that the suite calls by these names, besides those that ask the client for something. */
export function addSuiteTools(server: McpServer): void {
  for (const [name, result] of Object.entries(PLAIN)) {
    server.registerTool(name, { description: name, inputSchema: NOTHING }, async () => result);
  }
  const drafted = {
    description: 'Has a schema of the newest draft',
    inputSchema: fromJsonSchema(DRAFT_2020),
  };
  server.registerTool('json_schema_2020_12_tool', drafted, async () => said('Taken.'));
  server.registerTool('test_error_handling', { description: 'Fails', inputSchema: NOTHING }, async () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  server.registerTool(
    'test_tool_with_progress',
    { description: 'Tells progress', inputSchema: NOTHING },
    async (_, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      if (progressToken === undefined) return said('no progress token');
      for (const progress of [0, 50, 100]) {
        const params = { progressToken, progress, total: 100 };
        await mcpReq.notify({ method: 'notifications/progress', params });
      }
      return said(String(progressToken));
    },
  );
  server.registerTool(
    'test_tool_with_logging',
    { description: 'Tells what it does', inputSchema: NOTHING },
    async (_, { mcpReq }) => {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });
      }
      return said('Logged.');
    },
  );
  server.registerTool(
    'test_logging_tool',
    { description: 'Logs where it may', inputSchema: NOTHING },
    async (_, { mcpReq }) => {
      await mcpReq.log('info', 'only where a level was set');
      return said('Logged.');
    },
  );
}

/** What the suite reads: two fixed pieces, one for each id, and one that can be watched. */
export function addSuiteHandlers({ server }: McpServer): void {
  server.setRequestHandler('completion/complete', async () => ({
    completion: { values: [], total: 0, hasMore: false },
  }));
  server.setRequestHandler('logging/setLevel', async () => ({}));
  server.setRequestHandler('resources/subscribe', async () => ({}));
  server.setRequestHandler('resources/unsubscribe', async () => ({}));
}
