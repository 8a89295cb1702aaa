import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { until } from '../doubles/until.ts';
import type { DemoFile } from '../system/running-system.ts';
import { askAs } from './browser-system.ts';
import { moveTo, settled } from './page-checks.ts';

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
  await dialog.getByRole('button', { name: 'Close' }).click();

  const saved = page.waitForEvent('download');
  await button('Export CSV').click();
  const lines = (await Bun.file((await (await saved).path()) ?? '').text()).split('\r\n');
  expect(lines[0]).toStartWith('id,request_id,created_at,');
  expect(lines.slice(1, 3)).toEqual([expect.stringContaining(requestId), '']);

  await page.goBack();
  await page.goBack();
  await page.waitForFunction(() => !location.search.includes('user='));
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
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await walkSpentKey(page, demo, ask);
}

/** A key over its own limit is not a company without credits: the page says which it was, and where the limit is. */
async function walkSpentKey(page: Page, demo: DemoFile, ask: Ask): Promise<void> {
  const { createApiKey } = await ask<{ createApiKey: { rawKey: string } }>(
    'mutation { createApiKey(input: { name: "spent", monthlySpendingLimit: 0.000001 }) { rawKey } }',
  );
  await until(async () => (await sentFor(demo, 'svc/chat-default', createApiKey.rawKey)).status === 403);
  await untilLogged(ask, 'KEY_SPENDING_LIMIT');
  const held = Promise.withResolvers<void>();
  await page.route('**/graphql', async (route) => {
    if (route.request().postData()?.includes('KEY_SPENDING_LIMIT')) await held.promise;
    await route.continue();
  });
  await moveTo(page, '/requests?code=KEY_SPENDING_LIMIT');
  // Those of the filter before are still shown; a click on one of them would open what the new list does not have.
  const table = page.locator('section[aria-label="Table: Requests"][aria-busy="true"]');
  await table.waitFor();
  expect(await table.evaluate((one) => one.matches('[inert]'))).toBe(true);
  held.resolve();
  await table.waitFor({ state: 'detached' });
  await page.unrouteAll({ behavior: 'wait' });
  await page
    .getByRole('button', { name: /^Details of / })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('The key had reached its monthly spending limit').waitFor();
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
