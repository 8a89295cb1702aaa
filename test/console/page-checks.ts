import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

const AXE = readFileSync(join(import.meta.dir, '../../node_modules/axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/**
 * As a link would, without a new load. Each page has a title of its own, and sets it when it appears; a page that is
 * already shown does not set it again.
 */
export async function moveTo(page: Page, path: string): Promise<void> {
  await page.evaluate((wanted) => {
    if (`${location.pathname}${location.search}` === wanted) return;
    document.title = 'moving';
    history.pushState(null, '', wanted);
  }, path);
  await page.waitForFunction(() => document.title !== 'moving');
}

/** The page itself is there, and nothing in it is still loading. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForFunction(
    () => document.querySelector('.bone') === null && !document.body.innerText.includes('…\n'),
  );
}

/** What follows a change of the window does so within some frames. */
export async function widthOf(page: Page): Promise<number> {
  const fits = () => document.documentElement.scrollWidth <= innerWidth;
  await page.waitForFunction(fits, undefined, { timeout: 2_000 }).catch(() => undefined);
  return await page.evaluate(() => document.documentElement.scrollWidth);
}

/** In the dark only the colours are others than in the light. */
export async function violationsOf(page: Page, onlyColours = false): Promise<string[]> {
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
export async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env.CONSOLE_PICTURES;
  if (!folder) return;
  await page.screenshot({ path: join(folder, `${name.replaceAll(/[^\w]+/g, '-')}.png`), fullPage: true });
}
