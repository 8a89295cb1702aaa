/** Pages by role, how users sign in, and the pages of API documentation: in a real browser on a fresh start. */
import { describe, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { givenChromium } from '../services/given.ts';
import { useResource } from '../setup/use-resource.ts';
import { apiDocsCases } from './api-docs-cases.ts';
import { askAs, logIn, mailedLink, openBrowserSystem, shownLink, typeLogIn } from './browser-system.ts';
import { loadAgain, moveTo } from './page-checks.ts';
import { twoFactorCases } from './two-factor-cases.ts';

const NOT_FOR_MEMBERS = [
  '/settings',
  '/keys',
  '/service-tokens',
  '/provider-keys',
  '/billing',
  '/playground',
  '/payloads',
  '/alerts',
  '/budgets',
  '/audit',
  '/companies',
  '/catalogue',
  '/models',
  '/margins',
  '/payment-events',
  '/stale-subscriptions',
  '/logs',
  '/mail',
  '/generator',
  '/services',
  '/breakers',
  '/call-hooks',
  '/queues/mail',
  '/ai-operations',
  '/all-requests',
  '/withheld-usage',
  '/audit-report',
  '/errors',
  '/unannounced-meetings',
];
const NOT_FOR_SUPER_ADMINS = [
  '/settings',
  '/keys',
  '/service-tokens',
  '/provider-keys',
  '/usage',
  '/requests',
  '/billing',
  '/payloads',
  '/mcp',
  '/alerts',
  '/budgets',
  '/team',
  '/jobs',
  '/talents/019a0000-0000-7000-8000-00000000dead',
  '/meetings',
];
const PASSWORD = 'a password of the invited';

describe.skipIf(givenChromium() === null)('roles in a real browser', () => {
  const world = useResource(() => openBrowserSystem());

  describe('pages and metrics of the running services', () => apiDocsCases(world));

  test('P-14 an invited member signs in by the mailed link, and sees only their own pages', async () => {
    const admin = await world.visit();
    await logIn(admin.page, world.demo.company_admin, '/');
    // The form is below the list, which may be long, and comes with it: the button waits for both.
    const isClicked = Promise.withResolvers<void>();
    await admin.page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('members(') === true) await isClicked.promise;
      await route.continue();
    });
    await moveTo(admin.page, '/team');
    await admin.page.getByRole('button', { name: 'Invite a member' }).click();
    expect(await admin.page.getByLabel('E-mail').count()).toBe(0);
    isClicked.resolve();
    await admin.page.locator('input[name=email]:focus').waitFor();
    await admin.page.keyboard.type('invited@people.example');
    await admin.page.unroute('**/graphql');
    await admin.page.getByRole('button', { name: 'Send the invitation' }).click();
    await admin.page.getByRole('cell', { name: 'invited@people.example', exact: true }).waitFor();

    const superAdmin = await world.visit();
    await logIn(superAdmin.page, world.demo.super_admin);
    await superAdmin.page.locator('nav a[aria-current=page]', { hasText: /^Companies$/ }).waitFor();
    const link = await shownLink(superAdmin.page, 'invited@people.example', 'invitation');

    const invited = await world.visit();
    await invited.page.goto(link);
    await invited.page.getByLabel('Password').fill(PASSWORD);
    await invited.page.getByRole('button', { name: 'Join' }).click();
    await invited.page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(new URL(invited.page.url()).hash).toBe('');
    const links = await invited.page.getByRole('navigation').getByRole('link').allInnerTexts();
    expect(links).toEqual([
      'Overview',
      'Usage',
      'Models and prices',
      'Agents and MCP',
      'Team',
      'Jobs',
      'Talents',
      'Matches',
      'Meetings',
      'Password and sessions',
    ]);
    const groupsOf = ({ page }: typeof admin) =>
      page.getByRole('navigation').getByRole('heading').allInnerTexts();
    expect(await groupsOf(invited)).toEqual(['Gateway', 'Company', 'Hiring', 'You']);
    expect(await groupsOf(admin)).toEqual(['Gateway', 'Billing', 'Company', 'Hiring', 'You']);
    await findsNothingAt(invited.page, NOT_FOR_MEMBERS);
    await findsNothingAt(superAdmin.page, NOT_FOR_SUPER_ADMINS);
    await findsNothingAt(admin.page, ['/companies', '/services']);
    await moveTo(invited.page, '/jobs/019a0000-0000-7000-8000-00000000dead');
    await invited.page.getByRole('alert').getByText('There is no such job.').waitFor();
    await moveTo(admin.page, '/team');
    const person = admin.page.getByRole('row').filter({ hasText: 'invited@people.example' });
    await person.getByRole('button', { name: 'Make an admin' }).click();
    await admin.page.getByRole('dialog').getByText('read every request').waitFor();
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
    await page.getByRole('link', { name: 'Team' }).click();
    await page.getByRole('heading', { name: 'Team' }).waitFor();
    await page.goBack();
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

  test('P-14 a new company signs up, sees the first steps, and verifies its address before it invites', async () => {
    const { page, complaints, close } = await world.visit();
    await page.goto('/sign-up');
    await page.getByLabel('Company').fill('Newcomers');
    await page.getByLabel('E-mail').fill('first@newcomers.example');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign up' }).click();
    await page.getByText('There are no credits').waitFor();
    await page.getByText('Verify your e-mail address:').waitFor();
    const steps = page.getByRole('region', { name: 'Your first call' }).first().getByRole('listitem');
    await steps.nth(3).waitFor();
    await moveTo(page, '/team');
    await page.getByLabel('E-mail').fill('second@newcomers.example');
    await page.getByRole('button', { name: 'Send the invitation' }).click();
    await page.getByText('Verify your e-mail address first').waitFor();
    await page.getByRole('button', { name: 'Send the mail again' }).click();
    await page.getByText('Another e-mail was sent').waitFor();
    await page.goto(await mailedLink(world.demo, 'first@newcomers.example', 'verify-email'));
    await page.getByRole('button', { name: 'Verify the address' }).click();
    await page.getByText('The address is verified').waitFor();
    await page.getByRole('link', { name: 'Continue to the console' }).click();
    await steps.first().getByText('Done').waitFor();
    expect(await page.getByText('Verify your e-mail address:').count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  });

  test('P-8 a forgotten password is reset by the mailed link', async () => {
    const { page, complaints, close } = await world.visit();
    const email = 'first@newcomers.example';
    await page.goto('/forgotten-password');
    await page.getByLabel('E-mail').fill(email);
    await page.getByRole('button', { name: 'Mail me a link' }).click();
    await page.getByText('we have sent a link to it').waitFor();
    await page.goto(await mailedLink(world.demo, email, 'reset-password'));
    await page.getByLabel('Password').fill(`${PASSWORD}, another`);
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.goto('/reset-password');
    await page.getByText('This link is incomplete.').waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('P-8 blanks at the ends of a password are part of it', async () => {
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
    await askAs(world.demo, { email, password: second });
    await page.getByRole('button', { name: 'Log out', exact: true }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await typeLogIn(page, { email, password: second });
    await page.goto(await resetLink(email));
    await page.getByLabel('Password').fill(first);
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await askAs(world.demo, { email, password: first });
    expect(complaints).toEqual([]);
    await close();
  });

  async function resetLink(email: string): Promise<string> {
    const ask = await askAs(world.demo, world.demo.super_admin);
    await ask('mutation($email: String!) { requestPasswordReset(email: $email) }', { email });
    return await mailedLink(world.demo, email, 'reset-password');
  }

  describe('two-factor authentication', () => twoFactorCases(world));
});
