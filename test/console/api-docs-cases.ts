/** The pages of API documentation in a browser, and the metrics of the running services. */
import { expect, test } from 'bun:test';
import { lintMetrics } from '../doubles/metrics-lint.ts';
import { post } from '../gateway/gateway-under-test.ts';
import type { BrowserSystem } from './browser-system.ts';

/** On a system whose models have not been called yet. */
export function apiDocsCases(opened: BrowserSystem): void {
  const places = () => {
    const { gateway_url, backend_url, ai_url } = opened.demo;
    return { gateway: new URL(gateway_url).origin, backend: backend_url, ai: ai_url };
  };

  const CASES = [
    { name: 'gateway', heading: 'Turnpike gateway', route: '/llm/v1/mcp' },
    { name: 'ai', heading: 'Turnpike AI service', route: '/monitoring/stats' },
    { name: 'backend', heading: 'Turnpike backend', route: '/operations' },
  ] as const;
  for (const { name, heading, route } of CASES) {
    test(`A-5 the ${name}’s /docs works in a browser, loads nothing from other hosts, and logs no error`, async () => {
      const page = await opened.browser.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('request', (request) => {
        const { origin, protocol } = new URL(request.url());
        if (protocol.startsWith('http') && origin !== places()[name]) complaints.push(`outside: ${origin}`);
      });
      await page.goto(`${places()[name]}/docs`);
      await page.getByRole('heading', { name: heading }).waitFor();
      const operation = page.locator('.opblock', { hasText: route }).first();
      await operation.locator('.opblock-summary-control').click();
      await operation.getByRole('button', { name: 'Try it out' }).waitFor();
      expect(complaints).toEqual([]);
      await page.close();
    });
  }

  test('A-8 /metrics of all three services: with the internal token alone, each of both processes', async () => {
    const headers = { authorization: `Bearer ${opened.demo.internal_token}` };
    await post(`${places().gateway}/llm/v1/chat/completions`, opened.demo.api_key, {
      ...{ model: 'svc/chat-default', messages: [{ role: 'user', content: 'hello' }] },
    });
    for (const place of Object.values(places())) {
      expect((await fetch(`${place}/metrics`)).status).toBe(401);
      const response = await fetch(`${place}/metrics`, { headers });
      expect(response.status).toBe(200);
      const text = await response.text();
      expect(text).toMatch(/^turnpike_processes 2$/m);
      expect(text).toMatch(/^turnpike_call_duration_seconds_count\{.+\} 1$/m);
      expect(await lintMetrics(text)).toEqual([]);
    }
  });
}
