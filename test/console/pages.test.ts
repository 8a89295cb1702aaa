/** Every page, on every width and in both colour schemes: whole, reachable, and without a word from the browser. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { givenChromium } from '../services/given.ts';
import { useResource } from '../setup/use-resource.ts';
import { logIn, openBrowserSystem, type Visitor } from './browser-system.ts';
import { fillCompany } from './filled-company.ts';
import { isWholeEverywhere, keepPicture, moveTo, settled, violationsOf } from './page-checks.ts';
import { COMPANY, DOORS, SYSTEM, singlePages } from './page-lists.ts';

describe.skipIf(givenChromium() === null)('the pages', () => {
  let single: readonly string[] = [];

  const world = useResource(() => openBrowserSystem());
  beforeAll(async () => {
    // With something in every list: empty pages prove little.
    single = singlePages(await fillCompany(world.demo));
  });

  async function enter(person: { email: string; password: string } | null, path = '/'): Promise<Visitor> {
    const visitor = await world.visit();
    if (person === null) await visitor.page.goto(path);
    else await logIn(visitor.page, person, path);
    return visitor;
  }

  const rows = [
    ['a visitor who is not logged in', () => DOORS, () => null],
    ['a company admin', () => [...COMPANY, '/profile', '/nowhere'], () => world.demo.company_admin],
    ['a company admin, of one thing each,', () => single, () => world.demo.company_admin],
    ['a super admin', () => SYSTEM, () => world.demo.super_admin],
  ] as const;
  test.each(rows)(
    'of %s are whole and reachable at every width, light and dark',
    async (who, pathsOf, person) => {
      const paths = pathsOf();
      const { page, complaints, close } = await enter(person(), paths[0]);
      for (const [at, path] of paths.entries()) {
        if (at > 0) await moveTo(page, path);
        await settled(page);
        await isWholeEverywhere(page, path, who, at === 0);
      }
      expect(complaints).toEqual([]);
      await close();
    },
    120_000,
  );

  test('dialogs are reachable too, hold the focus and close with Escape', async () => {
    const { page, complaints, close } = await enter(world.demo.company_admin, '/keys');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name').waitFor();
    await page.setViewportSize({ width: 360, height: 900 });
    expect(await violationsOf(page)).toEqual([]);
    await keepPicture(page, 'dialog mint');
    expect(await page.evaluate(() => document.activeElement?.closest('dialog') !== null)).toBe(true);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
    await close();
  });
});
