/** Who sees what, and how somebody comes in: in a real browser on a fresh start. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { givenChromium } from '../services/given.ts';
import { type BrowserSystem, logIn, openBrowserSystem } from './browser-system.ts';

const NOT_FOR_MEMBERS = [
  '/keys',
  '/billing',
  '/playground',
  '/audit',
  '/companies',
  '/logs',
  '/mail',
  '/generator',
];
const PASSWORD = 'a password of the invited';

describe.skipIf(givenChromium() === null)('roles in a real browser', () => {
  let world: BrowserSystem;
  beforeAll(async () => {
    world = await openBrowserSystem();
  }, 90_000);
  afterAll(async () => {
    await world?.close();
  }, 30_000);

  test('P-14 an invited member comes in by the mailed link, and finds only what is theirs', async () => {
    const admin = await world.visit();
    await logIn(admin.page, world.demo.company_admin);
    await admin.page.goto('/team');
    await admin.page.getByLabel('E-mail').fill('invited@people.example');
    await admin.page.getByRole('button', { name: 'Send the invitation' }).click();
    await admin.page.getByRole('cell', { name: 'invited@people.example' }).waitFor();

    const superAdmin = await world.visit();
    await logIn(superAdmin.page, world.demo.super_admin);
    await superAdmin.page.goto('/mail');
    const row = superAdmin.page.getByRole('row').filter({ hasText: 'invited@people.example' });
    await row.getByRole('button', { name: 'Read' }).click();
    const text = await superAdmin.page.getByRole('dialog').locator('pre').innerText();
    const link = /http\S+\/invitation#token=\S+/.exec(text)?.[0] ?? '';
    expect(link).toStartWith(world.demo.console_url);

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
      'Team',
      'Jobs',
      'Talents',
      'Matches',
      'Meetings',
      'Password and sessions',
    ]);
    for (const path of NOT_FOR_MEMBERS) {
      await invited.page.goto(path);
      await invited.page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    }
    for (const visitor of [admin, superAdmin, invited]) expect(visitor.complaints).toEqual([]);
  }, 90_000);

  test('a wrong password is said in words, with the request id', async () => {
    const { page, complaints } = await world.visit();
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
  }, 60_000);

  test('A-9 the match generator is stopped and started', async () => {
    const { page, complaints } = await world.visit();
    await logIn(page, world.demo.super_admin);
    await page.goto('/generator');
    const state = page.getByRole('region', { name: 'State' });
    await state.waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await state.getByText('is to be stopped').waitFor();
    await page.getByRole('button', { name: 'Start' }).click();
    await state.getByText('is to be running').waitFor();
    expect(complaints).toEqual([]);
  }, 60_000);

  test('P-14 a new company signs up and is told what to do first', async () => {
    const { page, complaints } = await world.visit();
    await page.goto('/sign-up');
    await page.getByLabel('Company').fill('Newcomers');
    await page.getByLabel('E-mail').fill('first@newcomers.example');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign up' }).click();
    await page.getByText('No calls yet').waitFor();
    await page.getByText('There are no credits').waitFor();
    expect(complaints).toEqual([]);
  }, 60_000);
});
