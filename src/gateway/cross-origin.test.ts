import { describe, expect, test } from 'bun:test';
import { createCrossOrigin } from './cross-origin.ts';

const ask = (method: string, origin: string | null, more: Record<string, string> = {}) =>
  new Request('http://gateway.test/llm/v1/messages', {
    method,
    headers: { ...more, ...(origin === null ? {} : { origin }) },
  });
const CONSOLE = 'https://console.example';
const APP = 'https://app.example:8443';
const cors = createCrossOrigin([CONSOLE, APP]);
const allowed = (origin: string | null, among = cors) =>
  among.admit(ask('POST', origin), new Response()).headers.get('access-control-allow-origin');

describe('pages of the console and of CORS_ORIGINS', () => {
  test('may call from a browser, and their preflight requests are answered', () => {
    for (const origin of [CONSOLE, APP]) {
      expect(cors.isPreflight(ask('OPTIONS', origin))).toBe(true);
      const preflight = cors.admit(ask('OPTIONS', origin), cors.preflight(ask('OPTIONS', origin)));
      expect(preflight.status).toBe(204);
      expect(preflight.headers.get('access-control-allow-origin')).toBe(origin);
      expect(preflight.headers.get('vary')).toBe('origin');
      expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization');
      expect(allowed(origin)).toBe(origin);
    }
  });

  test('G-9 may send the headers of MCP clients and SDKs, and read the session id, limits and Retry-After', () => {
    const requested = 'X-Api-Key, anthropic-version, x-stainless-lang, openai-beta, cookie, x-evil';
    const preflight = cors.preflight(ask('OPTIONS', APP, { 'access-control-request-headers': requested }));
    const named = preflight.headers.get('access-control-allow-headers')?.split(', ') ?? [];
    const ofMcp = ['mcp-protocol-version', 'mcp-session-id', 'last-event-id'];
    const ofSdks = ['x-api-key', 'api-key', 'anthropic-version', 'x-stainless-lang', 'openai-beta'];
    expect(named).toEqual(expect.arrayContaining([...ofMcp, ...ofSdks]));
    expect(named).not.toContain('cookie');
    expect(named).not.toContain('x-evil');
    const answered = cors.admit(ask('POST', APP), new Response());
    const readable = answered.headers.get('access-control-expose-headers')?.split(', ');
    const told = ['mcp-session-id', 'retry-after', 'x-request-id', 'x-turnpike-tries'];
    expect(readable).toEqual(expect.arrayContaining([...told, 'x-ratelimit-remaining-tokens']));
  });

  test('no other origin may, and requests without one are not affected', () => {
    for (const origin of ['https://evil.example', 'https://app.example', 'null', null]) {
      expect(cors.isPreflight(ask('OPTIONS', origin))).toBe(false);
      expect(allowed(origin)).toBeNull();
    }
    expect(cors.isPreflight(ask('POST', CONSOLE))).toBe(false);
    expect(createCrossOrigin([]).isPreflight(ask('OPTIONS', CONSOLE))).toBe(false);
  });

  test('are all pages with *', () => {
    const all = createCrossOrigin([CONSOLE, '*']);
    expect(allowed('https://any.example', all)).toBe('*');
    expect(allowed(null, all)).toBeNull();
  });
});
