/** What the console must survive: files that do not load, sessions that end, names that are too long. */
import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { type BrowserSystem, logIn, type Visitor } from './browser-system.ts';
import { violationsOf } from './page-checks.ts';

const SCRIPTS = '**/assets/*.js';

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 });

async function visitAsAdmin(world: BrowserSystem): Promise<Visitor> {
  const visitor = await world.visit();
  await logIn(visitor.page, world.demo.company_admin);
  return visitor;
}

/** The script of one page, then the one that everything begins with: neither leaves a white screen. */
export async function walkMissingScripts(world: BrowserSystem): Promise<void> {
  const { page, close } = await visitAsAdmin(world);
  await page.route(SCRIPTS, (route) => route.abort());
  await page.getByRole('link', { name: 'Usage', exact: true }).click();
  await heading(page, 'This page could not be loaded').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  // Pages that are loaded already still open.
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await heading(page, 'Overview').waitFor();
  await page.getByRole('link', { name: 'Usage', exact: true }).click();
  await page.unroute(SCRIPTS);
  await button(page, 'Reload').click();
  await heading(page, 'Usage').waitFor();
  await page.route(SCRIPTS, (route) => route.abort());
  await page.reload();
  await button(page, 'Reload the page').waitFor();
  await page.unroute(SCRIPTS);
  await button(page, 'Reload the page').click();
  await heading(page, 'Usage').waitFor();
  await close();
}

/** Ended elsewhere, so that this tab is not notified. */
async function endSession(page: Page): Promise<void> {
  const origin = new URL(page.url()).origin;
  const headers = { origin, 'content-type': 'application/json' };
  const ended = await page.context().request.post('/session/logout', { headers, data: {} });
  expect(ended.status()).toBe(200);
}

/** The form that was being filled in is still there after logging in again; a page that sends nothing notices too. */
export async function walkEndedSession(world: BrowserSystem): Promise<void> {
  const { page, complaints, close } = await visitAsAdmin(world);
  await page.goto('/jobs');
  await page.getByLabel('Title').fill('Baker of the ended session');
  await page.getByLabel('Description').fill('Baking.');
  await endSession(page);
  await button(page, 'Add it').click();
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByLabel('Password').fill(world.demo.company_admin.password);
  await dialog.getByRole('button', { name: 'Log in' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await page.getByLabel('Title').inputValue()).toBe('Baker of the ended session');
  await button(page, 'Add it').click();
  await page.getByRole('link', { name: 'Baker of the ended session' }).waitFor();

  await page.clock.install();
  await page.goto('/mcp');
  await heading(page, 'Agents and MCP').waitFor();
  await endSession(page);
  await page.clock.runFor(61_000);
  await dialog.waitFor();
  // Another person: nothing of the page before stays.
  await dialog.getByLabel('E-mail').fill(world.demo.super_admin.email);
  await dialog.getByLabel('Password').fill(world.demo.super_admin.password);
  await dialog.getByRole('button', { name: 'Log in' }).click();
  await page.getByText(world.demo.super_admin.email).first().waitFor({ state: 'attached' });
  expect(await heading(page, 'Agents and MCP').count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
}
