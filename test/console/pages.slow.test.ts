/** Every page, on every width and in both colour schemes: whole, reachable, and without a word from the browser. */
import { expect, test } from 'bun:test';
import { isWholeEverywhere, keepPicture, violationsOf } from './page-checks.ts';
import { walkPages } from './walk-pages.ts';

walkPages('whole and reachable at every width, light and dark', isWholeEverywhere, ({ enter, world }) => {
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
