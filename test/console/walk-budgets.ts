/** The page of budgets: one of each kind, refused calls, two tabs, and usage by whom. */
import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import type { DemoFile } from '../system/running-system.ts';
import { moveTo, violationsOf } from './page-checks.ts';

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

async function call({ gateway_url, api_key }: DemoFile, user: string): Promise<number> {
  const response = await fetch(`${gateway_url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hi' }], user }),
  });
  await response.text();
  return response.status;
}

async function add(page: Page, scope: string, fill: () => Promise<void>): Promise<void> {
  await button(page, 'Add a budget').click();
  await page.getByRole('dialog').getByLabel('For').selectOption(scope);
  await fill();
  await button(page, 'Save').click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

/** A budget refuses once it is used up; it is edited, raised, and deleted. */
export async function walkBudgets(page: Page, demo: DemoFile): Promise<void> {
  await moveTo(page, '/budgets');
  await page.getByText('No budgets yet').waitFor();
  await add(page, 'END_USER', async () => {
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('textbox', { name: 'End user' }).fill('visitor-7');
    await page.getByRole('spinbutton', { name: 'Credits a month' }).fill('0.000001');
  });
  await add(page, 'COMPANY', async () => {
    await page.getByRole('spinbutton', { name: 'Credits a month' }).fill('1000');
    await page.getByRole('combobox', { name: 'When it is used up' }).selectOption('alert');
  });
  expect(await call(demo, 'visitor-7')).toBe(200);
  expect(await call(demo, 'visitor-7')).toBe(403);
  expect(await call(demo, 'visitor-8')).toBe(200);
  await moveTo(page, '/prices');
  await moveTo(page, '/budgets');
  const row = page.getByRole('row').filter({ hasText: 'the end user visitor-7' });
  await row.getByText('calls are refused').waitFor();
  expect(await row.getByRole('progressbar').getAttribute('class')).toBe('bad');
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    expect(await violationsOf(page)).toEqual([]);
  }
  await button(page, 'Edit the budget of the end user visitor-7').click();
  await page.getByRole('spinbutton', { name: 'Credits a month' }).fill('50');
  await button(page, 'Save').click();
  await row.getByText('Refuses calls').waitFor();
  expect(await call(demo, 'visitor-7')).toBe(200);
  await moveTo(page, '/usage?by=end_user');
  for (const user of ['visitor-7', 'visitor-8'])
    await page.getByText(user, { exact: true }).first().waitFor();
  await page.getByRole('combobox', { name: 'Group by' }).first().selectOption('PROJECT');
  await page.waitForURL(/by=project/);
  await moveTo(page, '/budgets');
  for (const name of ['the company', 'the end user visitor-7']) {
    await page.getByRole('row').filter({ hasText: name }).getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('row').filter({ hasText: name }).waitFor({ state: 'detached' });
  }
}
