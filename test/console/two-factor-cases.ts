/** Two-factor authentication as people meet it: set up, asked for, used for money, lost. */
import { expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { totpCode } from '../../src/domain/accounts/two-factor.ts';
import { type BrowserSystem, logIn } from './browser-system.ts';
import { keepPicture, moveTo, settled, violationsOf, widthOf } from './page-checks.ts';

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const region = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

/** The super admin has a second factor afterwards. */
export function twoFactorCases(world: BrowserSystem): void {
  /** What the authenticator app would show now. */
  async function codeOf(secret: string): Promise<string> {
    return await totpCode(secret, Math.floor(Date.now() / 30_000));
  }

  async function setUp(page: Page, widths: readonly number[] = []) {
    await moveTo(page, '/profile');
    await button(page, 'Set up two-factor authentication').click();
    const secret = await page.getByTestId('totp-secret').innerText();
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      await settled(page);
      await page.getByRole('img', { name: 'QR code of the secret below' }).waitFor();
      expect([width, await widthOf(page)]).toEqual([width, width]);
      expect(await violationsOf(page)).toEqual([]);
      await keepPicture(page, `two-factor ${width}`);
    }
    await page.getByLabel('Two-factor code').fill(await codeOf(secret));
    await button(page, 'Turn it on').click();
    const shown = page.getByTestId('recovery-codes');
    await shown.waitFor();
    const codes = await shown.locator('code').allInnerTexts();
    expect(codes).toHaveLength(10);
    expect(await violationsOf(page)).toEqual([]);
    await button(page, 'I have saved them').click();
    await region(page, 'Two-factor authentication').getByText('10 of 10 recovery codes').waitFor();
    return { secret, codes };
  }

  test('is set up with a QR code, required at log-in, and turned off with password and code', async () => {
    const { page, complaints, close } = await world.visit();
    const person = world.demo.company_admin;
    await logIn(page, person);
    const { secret, codes } = await setUp(page, [390, 1440]);
    await button(page, 'Log out').click();
    await page.getByLabel('E-mail').fill(person.email);
    await page.getByLabel('Password', { exact: true }).fill(person.password);
    await button(page, 'Log in').click();
    const field = page.getByLabel('Two-factor code');
    await field.fill('000000');
    await button(page, 'Log in').click();
    await page.getByText('this code is wrong').waitFor();
    await field.fill(await codeOf(secret));
    await button(page, 'Log in').click();
    await button(page, 'Log out').waitFor();

    await moveTo(page, '/profile');
    await button(page, 'Turn it off').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Password').fill(person.password);
    await dialog.getByLabel('Two-factor code').fill(codes[0] ?? '');
    await dialog.getByRole('button', { name: 'Turn it off' }).click();
    await button(page, 'Set up two-factor authentication').waitFor();
    expect(complaints).toEqual([]);
    await close();
  }, 120_000);

  test('a fresh code is required to move money, and a lost phone is reset by a super admin', async () => {
    const member = await world.visit();
    await logIn(member.page, world.demo.company_admin);
    await setUp(member.page);

    const { page, complaints, close } = await world.visit();
    await logIn(page, world.demo.super_admin);
    const { codes } = await setUp(page);
    await moveTo(page, '/companies');
    await page.getByRole('button', { name: 'Adjust credits' }).first().click();
    await page.getByRole('spinbutton', { name: 'Credits' }).fill('3');
    await page.getByLabel('Reason').fill('goodwill');
    await button(page, 'Post it').click();
    const confirm = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await confirm.getByLabel('Two-factor code').fill(codes[0] ?? '');
    await confirm.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText('Done. The balance is').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();

    const reset = region(page, 'Reset two-factor authentication');
    await reset.getByLabel('E-mail').fill(world.demo.company_admin.email);
    await reset.getByRole('button', { name: 'Reset two-factor authentication' }).click();
    await page.getByText('They then log in with their password alone').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Reset two-factor authentication' }).click();
    await reset.getByText('Two-factor authentication is off for').waitFor();
    await member.page.goto('/team');
    await button(member.page, 'Log in').waitFor();
    await logIn(member.page, world.demo.company_admin);
    expect(complaints).toEqual([]);
    await Promise.all([member.close(), close()]);
  }, 120_000);

  test('a user sees which session is the current one, and logs out everywhere', async () => {
    const [here, elsewhere] = [await world.visit(), await world.visit()];
    for (const { page } of [here, elsewhere]) await logIn(page, world.demo.company_admin, '/profile');
    const sessions = region(here.page, 'Where you are logged in');
    await sessions.getByText('This browser').waitFor();
    await button(here.page, 'Log out everywhere').click();
    await here.page.getByRole('dialog').getByRole('button', { name: 'Log out everywhere' }).click();
    await button(here.page, 'Log in').waitFor();
    await elsewhere.page.goto('/profile');
    await button(elsewhere.page, 'Log in').waitFor();
  }, 120_000);
}
