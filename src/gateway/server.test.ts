import { describe, expect, test } from 'bun:test';
import { createConsoleOrigin, rateLimitHeaders } from './server.ts';

const ask = (method: string, origin: string | null) =>
  new Request('http://gateway.test/llm/v1/chat/completions', {
    method,
    headers: origin === null ? {} : { origin },
  });
const allowed = (response: Response | null) => response?.headers.get('access-control-allow-origin') ?? null;

function resetAfter(resetMs: number): string | undefined {
  const allowance = { limit: 10, remaining: 3, resetMs };
  return rateLimitHeaders({ requests: allowance, tokens: allowance })['x-ratelimit-reset-tokens'];
}

describe('the console’s origin at the gateway', () => {
  const console = createConsoleOrigin('https://console.example');

  test('may call from a browser, and its preflight requests are answered', () => {
    const preflight = console.preflight(ask('OPTIONS', 'https://console.example'));
    expect(preflight?.status).toBe(204);
    expect(allowed(preflight)).toBe('https://console.example');
    expect(preflight?.headers.get('access-control-allow-headers')).toContain('authorization');
    expect(allowed(console.admit(ask('POST', 'https://console.example'), new Response()))).toBe(
      'https://console.example',
    );
  });

  test('G-9 may send the headers of an MCP client and of SDKs, and read the session id and Retry-After', () => {
    const requested = 'X-Api-Key, anthropic-version, x-stainless-lang, openai-beta, cookie, x-evil';
    const preflight = console.preflight(
      new Request('http://gateway.test/llm/v1/messages', {
        method: 'OPTIONS',
        headers: { origin: 'https://console.example', 'access-control-request-headers': requested },
      }),
    );
    const named = preflight?.headers.get('access-control-allow-headers')?.split(', ') ?? [];
    const ofMcp = ['mcp-protocol-version', 'mcp-session-id', 'last-event-id'];
    for (const header of [...ofMcp, 'x-api-key', 'anthropic-version', 'x-stainless-lang', 'openai-beta'])
      expect(named).toContain(header);
    expect(named).not.toContain('cookie');
    expect(named).not.toContain('x-evil');
    const answered = console.admit(ask('POST', 'https://console.example'), new Response());
    const readable = answered.headers.get('access-control-expose-headers')?.split(', ');
    expect(readable).toEqual(expect.arrayContaining(['mcp-session-id', 'retry-after']));
  });

  test('no other origin may, and requests without one are not affected', () => {
    for (const origin of ['https://evil.example', 'null', null]) {
      expect(console.preflight(ask('OPTIONS', origin))).toBeNull();
      expect(allowed(console.admit(ask('POST', origin), new Response()))).toBeNull();
    }
    expect(console.preflight(ask('POST', 'https://console.example'))).toBeNull();
    expect(createConsoleOrigin(undefined).preflight(ask('OPTIONS', 'https://console.example'))).toBeNull();
  });
});

test('G-41 the headers have OpenAI’s names with the limit and the rest', () => {
  const requests = { limit: 600, remaining: 599, resetMs: 60_000 };
  const tokens = { limit: 200_000, remaining: 0, resetMs: 250 };
  expect(rateLimitHeaders({ requests, tokens })).toEqual({
    'x-ratelimit-limit-requests': '600',
    'x-ratelimit-remaining-requests': '599',
    'x-ratelimit-reset-requests': '1m0s',
    'x-ratelimit-limit-tokens': '200000',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '250ms',
  });
});

test('G-41 durations are formatted as OpenAI’s, and never rounded down', () => {
  expect([0, 0.4, 999, 1_000, 12_500, 59_999, 60_000, 61_001].map(resetAfter)).toEqual([
    '0ms',
    '1ms',
    '999ms',
    '1s',
    '12.5s',
    '59.999s',
    '1m0s',
    '1m2s',
  ]);
});
