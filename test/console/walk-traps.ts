/** What the console must survive: files that do not load, sessions that end, names that are too long. */
import { expect } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../doubles/until.ts';
import { askAs, type BrowserSystem, logIn, type Visitor } from './browser-system.ts';
import { moveTo, violationsOf, widthOf } from './page-checks.ts';

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
  await moveTo(page, '/jobs');
  await page.getByLabel('Title').fill('Baker of the ended session');
  await page.getByLabel('Description').fill('Baking.');
  await endSession(page);
  await button(page, 'Add the job').click();
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.getByLabel('Password').fill(world.demo.company_admin.password);
  await dialog.getByRole('button', { name: 'Log in' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await page.getByLabel('Title').inputValue()).toBe('Baker of the ended session');
  await page.getByRole('alert').getByText('this was not done. Try again.').waitFor();
  await button(page, 'Add the job').click();
  await page.getByRole('link', { name: 'Baker of the ended session' }).waitFor();

  await page.clock.install();
  await page.goto('/mcp');
  await heading(page, 'Agents and MCP').waitFor();
  await endSession(page);
  await page.clock.runFor(31_000);
  await dialog.waitFor();
  expect(complaints).toEqual([]);
  await close();
}

/** More keys than one page: all can be reached and found, and a reload shows the same list. */
export async function walkManyKeys(world: BrowserSystem, page: Page): Promise<void> {
  const ask = await askAs(world.demo, world.demo.company_admin);
  const names = Array.from({ length: 55 }, (_, at) => `many-${at}.`);
  for (let at = 0; at < names.length; at += 5) {
    const minted = names
      .slice(at, at + 5)
      .map((name, n) => `k${n}: createApiKey(input: { name: "${name}" }) { rawKey }`);
    await ask(`mutation { ${minted.join(' ')} }`);
  }
  await moveTo(page, '/keys');
  const rows = page.getByRole('row').filter({ hasText: 'many' });
  await rows.nth(49).waitFor();
  expect(await page.getByText('many-0.').count()).toBe(0);
  await button(page, 'Show more').click();
  await page.getByText('many-0.').waitFor();
  // After an action and a reload of the page the list is as long as before.
  const second = rows.filter({ hasText: 'many-1.' });
  await second.getByRole('button', { name: /^Revoke/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await second.getByText('Revoked').waitFor();
  expect(await page.getByText('many-0.').count()).toBe(1);
  await page.reload();
  await page.getByText('many-0.').waitFor();
  await page.getByLabel('Search').fill('many-3.');
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
  await page.reload();
  await rows.first().waitFor();
  expect(await page.getByLabel('Search').inputValue()).toBe('many-3.');
}

/** Leaving asks while files wait to be sent, and those that still wait are then not sent. */
async function leavesAnUpload(page: Page): Promise<void> {
  const isAnswered = Promise.withResolvers<void>();
  let sent = 0;
  await page.route('**/graphql', async (route) => {
    if (route.request().postData()?.includes('createTalent') === true) {
      sent += 1;
      await isAnswered.promise;
    }
    await route.continue();
  });
  const files = ['Fay', 'Gil'].map((name) => ({
    ...{ name: `${name}.txt`, mimeType: 'text/plain' },
    buffer: Buffer.from(`${name}\nCook and baker since 2012`),
  }));
  await page.getByLabel('Drop CVs here, or choose them').setInputFiles(files);
  await page.getByText('Sending 1 of 2: Fay.txt').waitFor();
  await confirmsBeforeBack(page, 'still being sent');
  page.once('dialog', (dialog) => void dialog.accept());
  await page.getByRole('link', { name: 'Jobs', exact: true }).click();
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
  const answered = page.waitForResponse((one) => one.request().postData()?.includes('createTalent') === true);
  isAnswered.resolve();
  await answered;
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
  expect(sent).toBe(1);
  await page.unroute('**/graphql');
}

/** One file of three is refused: the others are sent, and the list says which was not and why. */
export async function walkBatchUpload(page: Page): Promise<void> {
  await moveTo(page, '/talents');
  const text = (name: string) => ({
    name,
    mimeType: 'text/plain',
    buffer: Buffer.from(`${name}\nCook and baker since 2012\n${name.slice(0, 4)}@people.example`),
  });
  const files = [text('Anna.txt'), { ...text('Bad.txt'), buffer: Buffer.alloc(0) }, text('Cleo.txt')];
  await page.getByLabel('Drop CVs here, or choose them').setInputFiles(files);
  await page.getByText('2 of 3 files sent').waitFor();
  const refused = page.getByRole('alert').filter({ hasText: 'Bad.txt:' });
  await refused.waitFor();
  expect(await refused.getByRole('listitem').count()).toBe(1);
  await button(page, 'Send it again').click();
  await page.getByText('Nothing was sent.').waitFor();
  await leavesAnUpload(page);
}

/** Names as long as they may be: every action is still within the window, on a telephone and on a desk. */
export async function walkLongNames(world: BrowserSystem, page: Page): Promise<void> {
  const ask = await askAs(world.demo, world.demo.company_admin);
  await ask('mutation($name: String!) { createApiKey(input: { name: $name }) { rawKey } }', {
    name: `${'W'.repeat(180)}key`,
  });
  await ask(
    'mutation($title: String!) { createJob(input: { title: $title, description: "x", employmentType: "FULL_TIME" }) { id } }',
    {
      title: `${'W'.repeat(280)}job`,
    },
  );
  await moveTo(page, '/keys?search=wwwwkey');
  const row = page.getByRole('row').filter({ hasText: 'WWkey' });
  const actions = ['Edit', 'Rotate', 'Revoke'].map((name) => row.getByRole('button', { name }));
  await areWithin(page, actions);
  await row.getByRole('button', { name: 'Revoke' }).click();
  await areWithin(page, [page.getByRole('dialog').getByRole('button', { name: 'Revoke' })]);
  await button(page, 'Cancel').click();
  await moveTo(page, '/jobs?search=wwwwjob');
  await areWithin(page, [page.getByRole('link', { name: 'Matches', exact: true }).last()]);
  await page.getByRole('link', { name: /WWjob/ }).click();
  await areWithin(page, [page.getByRole('link', { name: 'Edit', exact: true }), button(page, 'Close')]);
  await page.setViewportSize({ width: 1280, height: 900 });
}

/** On a telephone and on a desk. */
async function areWithin(page: Page, places: readonly Locator[]): Promise<void> {
  for (const width of [390, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    for (const place of places) await isWithin(place, width);
    expect(await widthOf(page)).toBeLessThanOrEqual(width);
  }
}

async function isWithin(place: Locator, width: number): Promise<void> {
  await place.waitFor();
  const box = await place.boundingBox();
  expect(box?.x).toBeGreaterThanOrEqual(0);
  expect((box?.x ?? width) + (box?.width ?? width)).toBeLessThanOrEqual(width);
  expect(await place.evaluate((one) => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(0);
}

/** The back button asks; the answer is no. */
export async function confirmsBeforeBack(page: Page, words: string): Promise<void> {
  let asked = '';
  page.once('dialog', (dialog) => {
    asked = dialog.message();
    void dialog.dismiss();
  });
  await page.goBack();
  await until(() => asked.includes(words));
}

/** Two tabs with one job: the second save is refused with words, and the first is not taken back. */
export async function walkTwoTabs(page: Page): Promise<void> {
  await moveTo(page, '/jobs');
  await page.getByLabel('Title').fill('Tailor of two tabs');
  await page.getByLabel('Description').fill('Sewing.');
  await button(page, 'Add the job').click();
  await page.getByRole('link', { name: 'Tailor of two tabs' }).click();
  await page.getByRole('link', { name: 'Edit', exact: true }).click();
  await page.getByLabel('Place').fill('Leeds');
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.getByLabel('Months of experience').fill('24');
  await other.getByLabel('Title').fill('Tailor of both tabs');
  await button(other, 'Save').click();
  await other.getByText('at least 2 years').waitFor();
  await other.close();
  await page.getByText('was changed in another tab').waitFor();
  await button(page, 'Save').click();
  await page
    .getByRole('alert')
    .getByText(/was changed since you opened it/)
    .waitFor();

  // What was typed is not lost by a link or the back button; the form's own Cancel leaves.
  const asked: string[] = [];
  page.on('dialog', (dialog) => {
    asked.push(dialog.message());
    void dialog.dismiss();
  });
  await page.getByRole('link', { name: 'Talents', exact: true }).click();
  await page.goBack();
  await until(() => asked.length === 2);
  expect(asked[0]).toContain('not saved');
  expect(await page.getByLabel('Place').inputValue()).toBe('Leeds');
  await button(page, 'Load the newer version').click();
  expect(await page.getByLabel('Months of experience').inputValue()).toBe('24');
  await page.getByLabel('Place').fill('York');
  await button(page, 'Save').click();
  await page.getByText('York').first().waitFor();
  expect(asked).toHaveLength(2);
  page.removeAllListeners('dialog');
}

/** What is below something that is loading would be moved by it: it is not shown before. */
export async function walkLoadingPages(page: Page): Promise<void> {
  for (const [path, above, below] of [
    ['/payloads', 'payloadSettings {', 'Find a call'],
    ['/', 'apiKeyPage(first: 50) {', 'Balance'],
  ] as const) {
    const isSeen = Promise.withResolvers<void>();
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes(above) === true) await isSeen.promise;
      await route.fallback();
    });
    await moveTo(page, path);
    const region = page.locator(`section[aria-label="${below}"]`);
    await region.waitFor({ state: 'attached' });
    expect([below, await region.isVisible()]).toEqual([below, false]);
    isSeen.resolve();
    await region.waitFor();
  }
  await page.unrouteAll({ behavior: 'wait' });
}
