/** From a new company to its first call, and what the playground and the dialogs must not do. */
import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { until } from '../doubles/until.ts';
import { type BrowserSystem, mailedLink } from './browser-system.ts';
import { appears, moveTo, violationsOf } from './page-checks.ts';

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const card = (page: Page, name: string) => page.getByRole('region', { name, exact: true }).first();

/** Signs up, verifies, gets the trial credits, pastes the line, and sees every step tick itself. */
export async function walkFirstCall(world: BrowserSystem): Promise<void> {
  const { page, complaints, close } = await world.visit();
  const email = 'first@people.example';
  await page.goto('/sign-up');
  await page.getByLabel('Company').fill('First Steps Ltd');
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill('a long enough secret 7');
  await button(page, 'Sign up').click();
  const list = card(page, 'Your first call');
  const steps = list.getByRole('listitem');
  await steps.nth(3).waitFor();
  await list.getByText('gets 25.00 credits to try').waitFor();
  await refusedInPlayground(page);

  await moveTo(page, '/');
  await button(page, 'Send the mail again').click();
  await page.getByText('Another e-mail was sent').waitFor();
  await page.goto(await mailedLink(world.demo, email, 'verify-email'));
  await button(page, 'Verify the address').click();
  await page.getByRole('link', { name: 'Continue to the console' }).click();
  await steps.nth(0).getByText('Done').waitFor();
  await steps.nth(1).getByText('Done').waitFor();
  await button(page, 'Create a key').click();
  const line = await page.getByRole('dialog').locator('pre').nth(1).innerText();
  // Shown once: neither one nor two presses of Escape close it.
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await button(page, 'I have stored it').click();
  const pasted = Bun.spawn(['bash', '-c', line], { stdout: 'pipe', stderr: 'ignore' });
  expect(await new Response(pasted.stdout).text()).toContain('"choices"');
  await appears(page, list.getByText('All done:'));
  await button(page, 'Close the checklist').click();
  await list.waitFor({ state: 'detached' });
  await page.reload();
  await page.getByText('First Steps Ltd, the last 30 days.').waitFor();
  expect(await list.count()).toBe(0);
  expect(complaints.filter((one) => !one.includes('402'))).toEqual([]);
  await close();
}

/** Without credits the playground leads to where they are bought. */
async function refusedInPlayground(page: Page): Promise<void> {
  await moveTo(page, '/playground');
  await button(page, 'Send').click();
  await page.getByRole('alert').getByRole('link', { name: 'Buy credits' }).click();
  await page.getByRole('heading', { name: 'Credits', level: 1 }).waitFor();
}

/** Leaving the page ends the call, and coming back uses the same key. */
export async function walkPlaygroundLeft(world: BrowserSystem, page: Page): Promise<void> {
  await moveTo(page, '/playground');
  const keys: string[] = [];
  const failed: string[] = [];
  const answers = `${world.demo.gateway_url}/chat/completions`;
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url() === answers)
      keys.push(request.headers().authorization ?? '');
  });
  page.on('requestfailed', (request) => failed.push(request.url()));
  // Held back, as a model that thinks for long.
  await page.route(answers, () => undefined);
  await button(page, 'Send').click();
  await until(() => keys.length === 1);
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await until(() => failed.includes(answers));
  await page.unroute(answers);
  await page.getByRole('link', { name: 'Playground', exact: true }).click();
  await button(page, 'Send').click();
  await page.getByText(/completion tokens/).waitFor();
  expect(keys[1]).toBe(keys[0] as string);
  await chargeOfTheGateway(page);
}

/** The price list in the browser does not know tiers, tools and cached answers: the charge is that of the record. */
async function chargeOfTheGateway(page: Page): Promise<void> {
  const charged = { promptTokens: 7, completionTokens: null, credits: 1.5 };
  await page.route('**/graphql', async (route) => {
    const isMeant = route.request().postData()?.includes('completionTokens credits') === true;
    if (isMeant) await route.fulfill({ json: { data: { calls: { nodes: [charged] } } } });
    else await route.continue();
  });
  await button(page, 'Send').click();
  await page.getByText('7 prompt tokens, 0 completion tokens, 1.50 credits').waitFor();
  await page.unroute('**/graphql');
}

/** Focus returns to what opened a dialog; a refused field is marked. */
export async function walkDialogs(page: Page): Promise<void> {
  await moveTo(page, '/keys');
  const row = page.getByRole('row').filter({ hasText: 'Live' }).first();
  await row.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('dialog').waitFor();
  await button(page, 'Cancel').click();
  expect(await page.evaluate(() => document.activeElement?.textContent)).toStartWith('Edit');
  await row.getByRole('button', { name: 'Revoke' }).click();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(await page.evaluate(() => document.activeElement?.textContent)).toStartWith('Revoke');
  await row.getByRole('button', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Expires').fill('2020-01-01T10:00');
  // The browser closes it on the second press, whatever the answer to the question is.
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await dialog.getByLabel('Expires').waitFor();
  await button(page, 'Save').click();
  await dialog
    .getByRole('alert')
    .getByText(/^Expires: /)
    .waitFor();
  const field = dialog.getByLabel('Expires');
  expect(await field.getAttribute('aria-invalid')).toBe('true');
  expect(await field.evaluate((one) => one === document.activeElement)).toBe(true);
  expect(await violationsOf(page)).toEqual([]);
  await button(page, 'Cancel').click();
  // The row goes with what is revoked; the focus is then on the page, not lost.
  await row.getByRole('button', { name: 'Revoke' }).click();
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await page.evaluate(() => document.activeElement !== document.body)).toBe(true);
}
