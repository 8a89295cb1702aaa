/** Every page, on every width and in both colour schemes: whole, reachable, and without a word from the browser. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { givenChromium } from '../services/given.ts';
import { type BrowserSystem, logIn, openBrowserSystem, type Visitor } from './browser-system.ts';

const AXE = readFileSync(join(import.meta.dir, '../../node_modules/axe-core/axe.min.js'), 'utf8');
const WIDTHS = [360, 768, 1440];
const SCHEMES = ['light', 'dark'] as const;
const DOORS = ['/', '/sign-up', '/forgotten-password', '/invitation#token=abc', '/reset-password#token=abc'];
const COMPANY = [
  '/',
  '/keys',
  '/usage',
  '/billing',
  '/playground',
  '/team',
  '/audit',
  '/jobs',
  '/talents',
  '/matches',
  '/meetings',
];
const SYSTEM = [
  '/companies',
  '/catalogue',
  '/models',
  '/payment-events',
  '/stale-subscriptions',
  '/logs',
  '/generator',
  '/mail',
];
const CV = `Grace Miller
grace.miller@example.org
Welder

Experience
Acme Steel, Welder, 01/2018 - 12/2023
TIG welding of pipes, reading drawings.

Skills: TIG welding, MAG welding, technical drawings
`;

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

describe.skipIf(givenChromium() === null)('the pages', () => {
  let world: BrowserSystem;
  const visitors: Visitor[] = [];

  beforeAll(async () => {
    world = await openBrowserSystem();
  }, 90_000);
  afterAll(async () => {
    await world?.close();
  }, 30_000);

  async function enter(person: { email: string; password: string } | null): Promise<Visitor> {
    const visitor = await world.visit();
    visitors.push(visitor);
    if (person !== null) await logIn(visitor.page, person);
    return visitor;
  }

  test('P-15 a CV is uploaded, read and matched with a job, all in the browser', async () => {
    const { page, complaints } = await enter(world.demo.company_admin);
    await page.goto('/jobs');
    await page.getByLabel('Title').fill('Welder (TIG)');
    await page.getByLabel('Description').fill('Welding of pipes by TIG in our workshop.');
    await page.getByLabel('Must have').fill('TIG welding');
    await page.getByRole('button', { name: 'Add it' }).click();
    await page.getByRole('cell', { name: 'Welder (TIG)' }).waitFor();
    await page.goto('/talents');
    const file = { name: 'grace.txt', mimeType: 'text/plain', buffer: Buffer.from(CV) };
    await page.getByLabel('Drop CVs here, or choose them').setInputFiles(file);
    await page.getByRole('cell', { name: /Grace Miller/ }).waitFor();
    await page.getByRole('button', { name: 'What was found' }).click();
    await page.getByRole('dialog').getByText('grace.miller@example.org').first().waitFor();
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    const found = page.getByRole('cell', { name: /Grace Miller/ });
    await page.goto('/matches');
    for (let look = 0; look < 60 && (await found.count()) === 0; look++) {
      await page.reload();
      await page.getByRole('heading', { name: 'Matches' }).waitFor();
      await found.waitFor({ timeout: 500 }).catch(() => undefined);
    }
    await page.getByRole('button', { name: 'Reasons' }).first().click();
    await page.getByRole('dialog').getByText('The talent fulfils the job').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    expect(complaints).toEqual([]);
  }, 90_000);

  const rows = [
    ['somebody who is not logged in', DOORS, () => null],
    ['a company admin', [...COMPANY, '/profile', '/nowhere'], () => world.demo.company_admin],
    ['a super admin', SYSTEM, () => world.demo.super_admin],
  ] as const;
  test.each(rows)(
    'of %s are whole and reachable at every width, light and dark',
    async (who, paths, person) => {
      const { page, complaints, close } = await enter(person());
      for (const [at, path] of paths.entries()) {
        if (at === 0) await page.goto(path);
        else await moveTo(page, path);
        await settled(page);
        for (const colorScheme of SCHEMES) {
          await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
          for (const width of WIDTHS) {
            await page.setViewportSize({ width, height: 900 });
            const where = `${path} ${colorScheme} ${width}`;
            expect([where, await widthOf(page)]).toEqual([where, width]);
            expect([where, await violationsOf(page, colorScheme === 'dark')]).toEqual([where, []]);
            await keepPicture(page, `${who}${where}`);
          }
        }
      }
      expect(complaints).toEqual([]);
      await close();
    },
    120_000,
  );

  test('dialogs are reachable too, hold the focus and close with Escape', async () => {
    const { page, complaints, close } = await enter(world.demo.company_admin);
    await page.goto('/keys');
    await page.getByRole('button', { name: 'Mint a key' }).click();
    await page.getByLabel('Name').waitFor();
    await page.setViewportSize({ width: 360, height: 900 });
    expect(await violationsOf(page)).toEqual([]);
    await keepPicture(page, 'dialog mint');
    expect(await page.evaluate(() => document.activeElement?.closest('dialog') !== null)).toBe(true);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
    await close();
  }, 60_000);
});

/** As a link would, without a new load. Each page has a title of its own, and sets it when it appears. */
async function moveTo(page: Page, path: string): Promise<void> {
  await page.evaluate((wanted) => {
    document.title = 'moving';
    history.pushState(null, '', wanted);
  }, path);
  await page.waitForFunction(() => document.title !== 'moving');
}

/** The page itself is there, and nothing in it is still loading. */
async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForFunction(
    () => document.querySelector('.bone') === null && !document.body.innerText.includes('…\n'),
  );
}

/** What follows a change of the window does so within some frames. */
async function widthOf(page: Page): Promise<number> {
  const fits = () => document.documentElement.scrollWidth <= innerWidth;
  await page.waitForFunction(fits, undefined, { timeout: 2_000 }).catch(() => undefined);
  return await page.evaluate(() => document.documentElement.scrollWidth);
}

/** In the dark only the colours are others than in the light. */
async function violationsOf(page: Page, onlyColours = false): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  const rules = onlyColours ? { runOnly: ['color-contrast'] } : {};
  const violations = await page.evaluate(async (options) => {
    const { axe } = window as unknown as {
      axe: { run(where: Document, options: object): Promise<{ violations: Violation[] }> };
    };
    return (await axe.run(document, { resultTypes: ['violations'], ...options })).violations;
  }, rules);
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}

/** For eyes, where a folder is named. */
async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env.CONSOLE_PICTURES;
  if (!folder) return;
  await page.screenshot({ path: join(folder, `${name.replaceAll(/[^\w]+/g, '-')}.png`), fullPage: true });
}
