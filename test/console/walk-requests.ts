import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { until } from '../doubles/until.ts';
import type { DemoFile } from '../system/running-system.ts';
import { askAs } from './browser-system.ts';
import { moveTo, settled, violationsOf, widthOf } from './page-checks.ts';

type Ask = Awaited<ReturnType<typeof askAs>>;

/** What a company finds of its calls: live, by filters that the address has, in detail, and as a file. */
export async function walkRequests(page: Page, demo: DemoFile): Promise<void> {
  const row = (text: string) => page.getByRole('row').filter({ hasText: text });
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  await moveTo(page, '/requests');
  await settled(page);
  await button('Live').click();
  const requestId = await callFor(demo, 'svc/chat-default');
  await row('customer-42').first().waitFor();
  await button('Live').click();

  await page.getByLabel('End user').fill('customer-42');
  await page.getByLabel('Tag').fill('env:browser');
  await button('Apply').click();
  await page.waitForURL(/user=customer-42/);
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
  await page.reload();
  await settled(page);
  expect(await page.getByLabel('End user').inputValue()).toBe('customer-42');
  await row('customer-42')
    .getByRole('button', { name: `Details of ${requestId}` })
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(requestId).waitFor();
  await dialog.getByText('env:browser').waitFor();
  expect(await dialog.getByText('Target').count()).toBe(0);
  await dialog.getByRole('button', { name: 'Close' }).click();

  const saved = page.waitForEvent('download');
  await button('Export CSV').click();
  const lines = (await Bun.file((await (await saved).path()) ?? '').text()).split('\r\n');
  expect(lines[0]).toStartWith('id,request_id,created_at,');
  expect(lines.slice(1, 3)).toEqual([expect.stringContaining(requestId), '']);

  // What was closed is not opened again.
  await page.goBack();
  await page.getByRole('row').filter({ hasText: 'customer-42' }).waitFor();
  expect(await dialog.count()).toBe(0);
  await page.goBack();
  await page.waitForFunction(() => !location.search.includes('user='));
  expect(await page.getByLabel('End user').inputValue()).toBe('');
  const ask = await askAs(demo, demo.company_admin);
  await callFor(demo, 'svc/no-such-model');
  await untilLogged(ask, 'LLM_MODEL_NOT_ALLOWED');
  await page.getByLabel('Code').fill('LLM_MODEL_NOT_ALLOWED');
  await button('Apply').click();
  await page.waitForFunction(() =>
    [...document.querySelectorAll('tbody tr')].every((shown) => shown.textContent?.includes('NOT_ALLOWED')),
  );
  await page
    .getByRole('button', { name: /^Details of / })
    .first()
    .click();
  await dialog.getByText('The key may not call this model').waitFor();
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    expect(await widthOf(page)).toBe(width);
    expect(await violationsOf(page)).toEqual([]);
  }
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.setViewportSize({ width: 1280, height: 900 });
  await walkCharged(page, ask, requestId);
  await walkSpentKey(page, demo, ask);
}

/** From a transaction to the request that it was charged for; the link of one that is not stored says so. */
async function walkCharged(page: Page, ask: Ask, requestId: string): Promise<void> {
  const { calls } = await ask<{ calls: { nodes: { id: string }[] } }>(
    'query($requestId: String!) { calls(filter: { requestId: $requestId }) { nodes { id } } }',
    { requestId },
  );
  await moveTo(page, '/billing?type=USAGE');
  await page.getByRole('link', { name: `Usage: request ${calls.nodes[0]?.id}` }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(requestId).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await moveTo(page, `/requests?open=${crypto.randomUUID()}`);
  await page.getByText('The request of this link is no longer stored.').waitFor();
}

/** A key over its own limit is not a company without credits: the page says which it was, and where the limit is. */
async function walkSpentKey(page: Page, demo: DemoFile, ask: Ask): Promise<void> {
  const { createApiKey } = await ask<{ createApiKey: { rawKey: string } }>(
    'mutation { createApiKey(input: { name: "spent", monthlySpendingLimit: 0.000001 }) { rawKey } }',
  );
  await until(async () => (await sentFor(demo, 'svc/chat-default', createApiKey.rawKey)).status === 403);
  await untilLogged(ask, 'KEY_SPENDING_LIMIT');
  await whileHeldBack(page, 'KEY_SPENDING_LIMIT', async (repeat) => {
    await moveTo(page, '/requests?code=KEY_SPENDING_LIMIT');
    // Those of the filter before are still shown; a click on one of them would open what the new list does not have.
    const table = page.locator('section[aria-label="Table: Requests"][aria-busy="true"]');
    await table.waitFor();
    expect(await table.evaluate((one) => one.matches('[inert]'))).toBe(true);
    expect(await table.innerText()).toContain('LLM_MODEL_NOT_ALLOWED');
    await repeat();
  });
  await page
    .getByRole('button', { name: /^Details of / })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('The key had reached its monthly spending limit').waitFor();
  expect(await dialog.getByText('credits left').count()).toBe(0);
  await dialog.getByRole('link', { name: 'Raise its limit' }).click();
  await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
}

/** A call is in the log within two seconds of its end; a page that is opened before looks again after ten. */
async function untilLogged(ask: Ask, code: string): Promise<void> {
  await until(async () => {
    const { calls } = await ask<{ calls: { nodes: object[] } }>(
      'query($code: String!) { calls(filter: { code: $code }) { nodes { id } } }',
      { code },
    );
    return calls.nodes.length > 0;
  });
}

/**
 * The answer to the request with that text in it comes after `work`. Repeats that come due meanwhile, as `repeat` makes
 * them, send no second one: it would discard the answer to the first, and with slow answers the list would never change.
 */
async function whileHeldBack(
  page: Page,
  text: string,
  work: (repeat: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const held = Promise.withResolvers<void>();
  let requests = 0;
  await page.evaluate(() => {
    const started: (() => void)[] = [];
    const { setInterval } = window;
    const intercepted = (handler: () => void, everyMs: number) => {
      started.push(handler);
      return setInterval(handler, everyMs);
    };
    Object.assign(window, { setInterval: intercepted, tick: () => started.map((handler) => handler()) });
    addEventListener('held-back-over', () => Object.assign(window, { setInterval }), { once: true });
  });
  await page.route('**/graphql', async (route) => {
    if (route.request().postData()?.includes(text)) {
      requests += 1;
      await held.promise;
    }
    await route.continue();
  });
  await work(async () => {
    const ticks = await page.evaluate(() => (window as unknown as { tick(): unknown[] }).tick().length);
    expect(ticks).toBeGreaterThan(0);
  });
  // One more request, answered, so that one of the list would have been counted before.
  await page.evaluate(() => {
    const headers = { 'content-type': 'application/json' };
    return fetch('/graphql', { method: 'POST', headers, body: '{"query":"{ __typename }"}' });
  });
  expect(requests).toBe(1);
  held.resolve();
  await page.unrouteAll({ behavior: 'wait' });
  await page.evaluate(() => dispatchEvent(new Event('held-back-over')));
}

async function callFor(demo: DemoFile, model: string): Promise<string> {
  return (await sentFor(demo, model, demo.api_key)).headers.get('x-request-id') ?? '';
}

async function sentFor(demo: DemoFile, model: string, key: string): Promise<Response> {
  const response = await fetch(`${demo.gateway_url}/chat/completions`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      'x-turnpike-tags': 'env:browser',
    },
    body: JSON.stringify({ model, user: 'customer-42', messages: [{ role: 'user', content: 'hello' }] }),
  });
  await response.text();
  return response;
}
