import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { until } from '../doubles/until.ts';
import type { DemoFile } from '../system/running-system.ts';
import { moveTo, settled } from './page-checks.ts';

const REQUEST_ID = 'req_of_the_walk';

/** A key that stores prompts, a call with it; then the call is found, sent again and erased. */
export async function walkPayloads(page: Page, demo: DemoFile): Promise<void> {
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  await moveTo(page, '/keys');
  await button('Create a key').click();
  await page.getByLabel('Name').fill('storing');
  await page.getByLabel('Store prompts and answers of its calls').check();
  await button('Create').click();
  const key = await page.getByTestId('raw-key').innerText();
  await button('I have stored it').click();
  const row = page.getByRole('row').filter({ hasText: 'storing' });
  await row.getByText('prompts and answers are stored').waitFor();

  const messages = [{ role: 'user', content: 'Greet ada@mail.example' }];
  const answer = await fetch(`${demo.gateway_url}/chat/completions`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-request-id': REQUEST_ID },
    },
    body: JSON.stringify({ model: 'svc/chat-default', messages, max_tokens: 20, stream: true }),
  });
  expect(answer.status).toBe(200);
  await answer.text();

  await row.getByText('prompts and answers are stored').click();
  await page.getByLabel('Store for (days)').fill('14');
  await page.getByLabel(/Also redact/).fill('Falcon*');
  await button('Save').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('What was stored more than 14 days ago is erased.').waitFor();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  // It is written behind the call.
  await until(async () => {
    await moveTo(page, '/payloads');
    await moveTo(page, `/calls/${REQUEST_ID}/payload`);
    await settled(page);
    return (await page.getByText('Greet [redacted email]').count()) > 0;
  });
  await page.getByText('Your view is in the audit log.').waitFor();
  await page.getByRole('link', { name: 'Open in the playground' }).click();
  await page.getByText('Parts of it were redacted.').waitFor();
  const body = page.getByLabel('Body');
  const written = await body.inputValue();
  await body.fill('{ "model": ');
  await button('Send').click();
  await page.getByText('Body: It is not JSON.').waitFor();
  expect(await body.getAttribute('aria-invalid')).toBe('true');
  await body.fill(written);
  await button('Send').click();
  await page.getByTestId('answer').getByText('chat.completion').waitFor();

  await moveTo(page, `/calls/${REQUEST_ID}/payload`);
  await button('Erase').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Erase' }).click();
  await page.getByLabel('Request id').fill(REQUEST_ID);
  await button('Show').click();
  await page.getByText('Nothing is stored for this request').waitFor();
  await moveTo(page, '/payloads');
  await page.getByLabel('End user').fill('visitor-99');
  const erasures: string[] = [];
  page.on('request', (one) => {
    if (one.postData()?.includes('erasePayloads') === true) erasures.push(one.url());
  });
  await page.keyboard.press('Enter');
  await dialog.getByText('This cannot be undone.').waitFor();
  // Enter that is held down for too long.
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  expect(erasures).toEqual([]);
  await button('Erase all of this user').click();
  await dialog.getByRole('button', { name: 'Erase all of this user' }).click();
  await page.getByText('0 stored calls were erased.').waitFor();
}
