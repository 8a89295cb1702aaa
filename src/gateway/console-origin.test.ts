import { describe, expect, test } from 'bun:test';
import { createConsoleOrigin } from './console-origin.ts';

const ask = (method: string, origin: string | null) =>
  new Request('http://gateway.test/llm/v1/chat/completions', {
    method,
    headers: origin === null ? {} : { origin },
  });
const allowed = (response: Response | null) => response?.headers.get('access-control-allow-origin') ?? null;

describe('the console’s origin at the gateway', () => {
  const console = createConsoleOrigin('https://console.example');

  test('may call from a browser, and is told so before the call', () => {
    const preflight = console.preflight(ask('OPTIONS', 'https://console.example'));
    expect(preflight?.status).toBe(204);
    expect(allowed(preflight)).toBe('https://console.example');
    expect(preflight?.headers.get('access-control-allow-headers')).toContain('authorization');
    expect(allowed(console.admit(ask('POST', 'https://console.example'), new Response()))).toBe(
      'https://console.example',
    );
  });

  test('no other may, and who has none is left as they were', () => {
    for (const origin of ['https://evil.example', 'null', null]) {
      expect(console.preflight(ask('OPTIONS', origin))).toBeNull();
      expect(allowed(console.admit(ask('POST', origin), new Response()))).toBeNull();
    }
    expect(console.preflight(ask('POST', 'https://console.example'))).toBeNull();
    expect(createConsoleOrigin(undefined).preflight(ask('OPTIONS', 'https://console.example'))).toBeNull();
  });
});
