import { describe, expect, test } from 'bun:test';
import { routeNames, routeOf } from './routes.ts';
import { unknownRoute } from './unknown-routes.ts';

describe('G-10 an unknown route', () => {
  test.each([
    ['GET', '/llm/v1/chat/completions', 'Use POST /llm/v1/chat/completions.'],
    ['POST', '/llm/v1/models', 'Use GET /llm/v1/models.'],
    [
      'POST',
      '/v1/chat/completions',
      'Use POST /llm/v1/chat/completions: set the base address of your client',
    ],
    ['POST', '/llm/chat/completions', 'set the base address of your client to end with /llm/v1.'],
    ['POST', '/llm/v1/v1/embeddings', 'Use POST /llm/v1/embeddings: set the base address'],
    ['POST', '/llm/v1/v1/embeddings', 'of your client to end with /llm, because it adds /v1 itself.'],
    [
      'POST',
      '/llm/v1/v1/messages',
      'Use POST /llm/v1/messages: set the base address of your client to end with /llm,',
    ],
    ['POST', '/v1/messages', 'to end with /llm, because it adds /v1 itself.'],
    ['POST', '/messages', 'to end with /llm/v1.'],
    ['POST', '/llm/v1//chat/completions/', 'Use POST /llm/v1/chat/completions'],
    ['POST', '/llm/v1/chat/completion', 'Did you mean POST /llm/v1/chat/completions?'],
    ['GET', '/llm/v1/responses/compact', 'Use POST /llm/v1/responses/compact.'],
    ['POST', '/llm/v1/conversations', 'the Conversations API (/conversations): use previous_response_id.'],
    ['POST', '/llm/v1/responses/resp_1/cancel', 'such as those of background ones (/responses/{id}/cancel).'],
    ['POST', '/llm/v1/chat', 'GET /docs lists the routes.'],
    ['GET', '/llm/v1/models/', 'Use GET /llm/v1/models'],
    ['GET', '/llm/v1/model', 'Did you mean GET /llm/v1/models?'],
    ['POST', '/llm/v1/embedding', 'Did you mean POST /llm/v1/embeddings?'],
    ['POST', '/llm/v1/parse/cvs', 'Did you mean POST /llm/v1/parse/cv?'],
    ['POST', '/llm/v1/images/generations', 'does not support the Images API (/images).'],
    ['GET', '/llm/v1/files/file-1/content', 'does not support the Files API (/files).'],
    ['POST', '/llm/v1/threads/t/runs', 'does not support the Threads API (/threads).'],
    ['POST', '/llm/v1/messages/batches', 'does not support the Message Batches API (/messages/batches).'],
    [
      'GET',
      '/llm/v1/chat/completions/c1',
      'does not support stored chat completions (/chat/completions/{id}).',
    ],
    ['POST', '/api/chat', 'does not support Ollama’s own API (/api).'],
    ['GET', '/wp-login.php', 'GET /docs lists the routes.'],
  ])('%s %s: %s', (method, path, said) => {
    const message = unknownRoute(method, path);
    expect(message).toStartWith(`There is no ${method} ${path} here. `);
    expect(message).toContain(said);
  });

  test('the list of models with a slash at the end is none of one model', () => {
    expect(routeOf('GET', '/llm/v1/models/')).toBeNull();
  });

  test('a long path is cut and not compared', () => {
    const message = unknownRoute('GET', `/llm/v1/${'a'.repeat(100_000)}`);
    expect(message.length).toBeLessThan(200);
  });

  test('every route is known by its name, and none of them is reported as unsupported', () => {
    for (const { method, path } of routeNames()) {
      if (path !== '/mcp') expect(routeOf(method, `/llm/v1${path}`)).not.toBeNull();
      expect(unknownRoute('PATCH', `/llm/v1${path}`)).toContain(`Use ${method} /llm/v1${path}`);
    }
  });
});
