/** Pages by role, how users sign in, and the pages of API documentation: in a real browser on a fresh start. */
import { describe, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { givenChromium } from '../services/given.ts';
import { useResource } from '../setup/use-resource.ts';
import { apiDocsCases } from './api-docs-cases.ts';
import { askAs, logIn, mailedLink, openBrowserSystem, shownLink, typeLogIn } from './browser-system.ts';
import { loadAgain, moveTo } from './page-checks.ts';
import { NOT_FOR_MEMBERS, NOT_FOR_SUPER_ADMINS } from './page-lists.ts';
import { twoFactorCases } from './two-factor-cases.ts';

const PASSWORD = 'a password of the invited';

describe.skipIf(givenChromium() === null)('roles in a real browser', () => {
  const world = useResource(() => openBrowserSystem());

  describe('pages and metrics of the running services', () => apiDocsCases(world));

  test('P-14 an invited member signs in by the mailed link, and sees only their own pages', async () => {
    const admin = await world.visit();
    await logIn(admin.page, world.demo.company_admin, '/');
    await moveTo(admin.page, '/team');
    await admin.page.getByLabel('E-mail').fill('invited@people.example');
    await admin.page.getByRole('button', { name: 'Send the invitation' }).click();
    await admin.page.getByRole('cell', { name: 'invited@people.example', exact: true }).waitFor();

    const superAdmin = await world.visit();
    await logIn(superAdmin.page, world.demo.super_admin);
    const link = await shownLink(superAdmin.page, 'invited@people.example', 'invitation');

    const invited = await world.visit();
    await invited.page.goto(link);
    await invited.page.getByLabel('Password').fill(PASSWORD);
    await invited.page.getByRole('button', { name: 'Join' }).click();
    await invited.page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(new URL(invited.page.url()).hash).toBe('');
    const groupsOf = ({ page }: typeof admin) =>
      page.getByRole('navigation').getByRole('heading').allInnerTexts();
    expect(await groupsOf(invited)).toEqual(['Gateway', 'Company', 'Hiring', 'You']);
    expect(await groupsOf(admin)).toEqual(['Gateway', 'Billing', 'Company', 'Hiring', 'You']);
    await findsNothingAt(invited.page, NOT_FOR_MEMBERS);
    await findsNothingAt(superAdmin.page, NOT_FOR_SUPER_ADMINS);
    await findsNothingAt(admin.page, ['/companies', '/services', '/logs']);
    await moveTo(admin.page, '/team');
    const person = admin.page.getByRole('row').filter({ hasText: 'invited@people.example' });
    await person.getByRole('button', { name: 'Make an admin' }).click();
    await admin.page.getByRole('dialog').getByRole('button', { name: 'Make an admin' }).click();
    await person.getByText('Company admin').waitFor();
    await invited.page.goto('/keys');
    await invited.page.getByRole('heading', { name: 'API keys' }).waitFor();
    await losesRole(invited.page, admin.page, person);
    await person.getByRole('button', { name: 'Remove' }).click();
    await admin.page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await person.waitFor({ state: 'detached' });
    await invited.page.goto('/');
    await invited.page.getByRole('heading', { name: 'Log in' }).waitFor();
    await invited.page.getByText('The log-ins of the demo company are in demo.json').waitFor();
    for (const visitor of [admin, superAdmin, invited]) {
      expect(visitor.complaints).toEqual([]);
      await visitor.close();
    }
  });

  /** What was typed is not lost with the role: it can be copied until the page is left. */
  async function losesRole(page: Page, admin: Page, person: Locator): Promise<void> {
    await moveTo(page, '/settings');
    const city = page.getByLabel('City');
    await city.fill('Leeds');
    await person.getByRole('button', { name: 'Make a member' }).click();
    await admin.getByRole('dialog').getByRole('button', { name: 'Make a member' }).click();
    await person.getByText('Member', { exact: true }).waitFor();
    await loadAgain(page);
    await page.getByText('Your role was changed').waitFor();
    expect(await city.inputValue()).toBe('Leeds');
    expect(await page.getByRole('link', { name: 'Company settings' }).count()).toBe(0);
    page.once('dialog', (dialog) => void dialog.accept());
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await findsNothingAt(page, ['/settings']);
  }

  /** The first by a load of its own, the others as a link would lead there, which is the same router. */
  async function findsNothingAt(page: Page, [first = '', ...others]: readonly string[]): Promise<void> {
    await page.goto(first);
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    const found = await page.evaluate(async (paths) => {
      const pages: string[] = [];
      for (const path of paths) {
        history.pushState(null, '', path);
        // React has answered when the next frame is due; a page that has yet to be loaded shows bones and no heading.
        for (const _ of ['this frame', 'the next']) await new Promise(requestAnimationFrame);
        if (document.querySelector('h1')?.textContent !== 'There is no such page') pages.push(path);
      }
      return pages;
    }, others);
    expect(found).toEqual([]);
  }

  test('a wrong password is reported in plain words, with the request id', async () => {
    const { page, complaints, close } = await world.visit();
    await page.goto('/usage');
    await page.getByLabel('E-mail').fill(world.demo.company_admin.email);
    await page.getByLabel('Password', { exact: true }).fill('not this one');
    await page.getByRole('button', { name: 'Log in' }).click();
    const alert = page.getByRole('alert');
    await alert.getByText('The e-mail address or the password is wrong.').waitFor();
    await alert.getByText(/Request id \S{8,}/).waitFor();
    await page.getByLabel('Password', { exact: true }).fill(world.demo.company_admin.password);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('A-9 the match generator is stopped and started', async () => {
    const { page, complaints, close } = await world.visit();
    await logIn(page, world.demo.super_admin, '/generator');
    const state = page.getByRole('region', { name: 'State' });
    await state.waitFor();
    const [start, stop] = ['Start', 'Stop'].map((name) => page.getByRole('button', { name, exact: true }));
    // Only what changes something is offered.
    await stop?.waitFor();
    expect(await start?.count()).toBe(0);
    await stop?.click();
    await state.getByText('requested: stopped').waitFor();
    expect(await stop?.count()).toBe(0);
    await start?.click();
    await state.getByText('requested: running').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('P-8 a password is changed and reset by the mailed link, and blanks at its ends are part of it', async () => {
    const { page, complaints, close } = await world.visit();
    const [email, first, second] = ['blank@newcomers.example', ` ${PASSWORD} `, `  ${PASSWORD}`];
    await page.goto('/sign-up');
    await page.getByLabel('Company').fill('Blanks');
    await page.getByLabel('E-mail').fill(email);
    await page.getByLabel('Password').fill(first);
    await page.getByRole('button', { name: 'Sign up' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await askAs(world.demo, { email, password: first });
    await moveTo(page, '/profile');
    await page.getByLabel('Current password').fill(first);
    await page.getByLabel('New password').fill(second);
    await page.getByRole('button', { name: 'Change the password' }).click();
    await page.getByText('Your password was changed').waitFor();
    await page.getByRole('button', { name: 'Log out', exact: true }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await typeLogIn(page, { email, password: second });
    await page.getByRole('button', { name: 'Log out', exact: true }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await page.goto('/forgotten-password');
    await page.getByLabel('E-mail').fill(email);
    await page.getByRole('button', { name: 'Mail me a link' }).click();
    await page.getByText('we have sent a link to it').waitFor();
    await page.goto(await mailedLink(world.demo, email, 'reset-password'));
    await page.getByLabel('Password').fill(first);
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await askAs(world.demo, { email, password: first });
    await page.goto('/reset-password');
    await page.getByText('This link is incomplete.').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  describe('two-factor authentication', () => twoFactorCases(world));
});
