import { expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { until } from '../doubles/until.ts';

const AXE = readFileSync(join(import.meta.dir, '../../node_modules/axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/**
 * As a link would, without a new load, which costs a second where many tests run; a tab that is not in the console is loaded.
 * Each page has a title of its own, and sets it when it appears; a page that is
 * already shown does not set it again.
 */
export async function moveTo(page: Page, path: string): Promise<void> {
  if (!(await page.evaluate(() => document.querySelector('.frame') !== null))) {
    await page.goto(path);
    return;
  }
  await page.evaluate((wanted) => {
    if (`${location.pathname}${location.search}` === wanted) return;
    if (location.pathname !== wanted.split('?')[0]) document.title = 'moving';
    history.pushState(null, '', wanted);
  }, path);
  await page.waitForFunction(() => document.title !== 'moving');
}

/** The page itself is there, and nothing in it is still loading. */
export async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForFunction(
    () =>
      document.querySelector('.bone, [aria-busy="true"]') === null &&
      !document.body.innerText.includes('…\n'),
  );
}

/**
 * What happens behind a page: it loads its data again, as after a change in another tab, until it shows it. Pages do so by themselves
 * every two to fifteen seconds, which the tests of live lists wait for.
 */
export async function appears(page: Page, what: Locator): Promise<void> {
  await until(async () => {
    await loadAgain(page);
    await what.waitFor({ timeout: 1_000 });
    return true;
  });
}

/** As the console does in the other tabs after a change in one. */
export async function loadAgain(page: Page): Promise<void> {
  await page.evaluate(() => {
    const tabs = new BroadcastChannel('turnpike-session');
    tabs.postMessage('changed');
    tabs.close();
  });
}

/** What follows a change of the window does so within some frames. */
export async function widthOf(page: Page): Promise<number> {
  const fits = () => document.documentElement.scrollWidth <= innerWidth;
  await page.waitForFunction(fits).catch(() => undefined);
  return await page.evaluate(() => document.documentElement.scrollWidth);
}

/**
 * In the dark only the colours are others than in the light. Of an open dialog it is the dialog alone: what is behind it
 * cannot be reached. `isInFrame` leaves out the navigation, which is the same on every page of a person.
 */
export async function violationsOf(
  page: Page,
  { onlyColours = false, isInFrame = false } = {},
): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  // Style sheets are fetched again for experimental rules only, which are not run.
  const preload = { assets: ['media'] };
  const rules = onlyColours ? { preload, runOnly: ['color-contrast'] } : { preload };
  const left = isInFrame ? ['header.side nav'] : [];
  const violations = await page.evaluate(
    async ([options, exclude]) => {
      const { axe } = window as unknown as {
        axe: { run(where: object, options: object): Promise<{ violations: Violation[] }> };
      };
      const open = [...document.querySelectorAll('dialog[open]')].at(-1);
      const where = open ?? { include: [document], exclude };
      return (await axe.run(where, { resultTypes: ['violations'], ...options })).violations;
    },
    [rules, left] as const,
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary}`);
}

/** For eyes, where a folder is named. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  const folder = process.env.CONSOLE_PICTURES;
  if (!folder) return;
  await page.screenshot({ path: join(folder, `${name.replaceAll(/[^\w]+/g, '-')}.png`), fullPage: true });
}

/** Buttons in the rows of tables that those who do not see the row cannot tell apart. */
async function equalNames(page: Page): Promise<string[]> {
  return await page.evaluate(() => {
    const buttons = [...document.querySelectorAll('tbody button')].filter((one) => one.checkVisibility());
    const names = buttons.map((one) => one.getAttribute('aria-label') ?? one.textContent ?? '');
    return names.filter((name, at) => names.indexOf(name) !== at);
  });
}

/** A page whose content fits into the window, and that scrolls nevertheless: something invisible is below it. */
async function scrollsForNothing(page: Page): Promise<boolean> {
  return await page.evaluate(() => {
    const { bottom } = document.querySelector('.frame, .alone')?.getBoundingClientRect() ?? { bottom: 0 };
    return bottom + scrollY <= innerHeight && document.documentElement.scrollHeight > innerHeight;
  });
}

/** The page fits into the window, and the buttons of its rows can be told apart. */
export async function isWholeOnce(page: Page, path: string): Promise<void> {
  const width = page.viewportSize()?.width;
  expect([path, await widthOf(page)]).toEqual([path, width ?? 0]);
  expect([path, await equalNames(page)]).toEqual([path, []]);
}

const WIDTHS = [360, 768, 1440];

/**
 * Nothing is beyond the window at any width. Axe looks at the narrowest and the widest; the colours of the dark do not
 * depend on the width, except for what the frame alone shows on a narrow screen: that is looked at where `isFirst`, and the
 * navigation only there.
 */
export async function isWholeEverywhere(
  page: Page,
  path: string,
  who: string,
  isFirst: boolean,
): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    const where = `${path} light ${width}`;
    expect([where, await widthOf(page)]).toEqual([where, width]);
    if (width !== 768)
      expect([where, await violationsOf(page, { isInFrame: !isFirst })]).toEqual([where, []]);
    if (width === 1440) expect([where, await equalNames(page)]).toEqual([where, []]);
    if (width === 1440) expect([where, await scrollsForNothing(page)]).toEqual([where, false]);
    await keepPicture(page, `${who}${where}`);
  }
  await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
  for (const width of isFirst ? [1440, 360] : [1440]) {
    await page.setViewportSize({ width, height: 900 });
    const where = `${path} dark ${width}`;
    const colours = await violationsOf(page, { onlyColours: true, isInFrame: !isFirst });
    expect([where, colours]).toEqual([where, []]);
    await keepPicture(page, `${who}${where}`);
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
}
