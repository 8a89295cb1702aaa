/** People's ways through the console, in a real browser on a fresh start. */
import { beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { until } from '../doubles/until.ts';
import { givenChromium } from '../services/given.ts';
import { useResource } from '../setup/use-resource.ts';
import { logIn, openBrowserSystem, typeLogIn, type Visitor } from './browser-system.ts';
import { appears, loadAgain, moveTo, violationsOf } from './page-checks.ts';
import { walkDialogs, walkFirstCall, walkPlaygroundLeft } from './walk-first-call.ts';

describe.skipIf(givenChromium() === null)('in a real browser', () => {
  let admin: Visitor;

  const world = useResource(() => openBrowserSystem(undefined, { TRIAL_CREDITS: '25' }));
  beforeAll(async () => {
    admin = await world.visit();
    await logIn(admin.page, world.demo.company_admin);
  });

  const figure = (page: Page, name: string) =>
    page.getByRole('region', { name, exact: true }).locator('strong');
  const open = (page: Page, name: string) =>
    page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();
  const call = async (key: string) =>
    await fetch(`${world.demo.gateway_url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hello' }] }),
    });

  async function mint(name: string): Promise<string> {
    const { page } = admin;
    await open(page, 'API keys');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const key = await page.getByTestId('raw-key').innerText();
    expect(await page.locator('dialog pre').nth(1).innerText()).toContain(`Bearer ${key}`);
    await page.getByRole('button', { name: 'I have stored it' }).click();
    return key;
  }

  test('G-19 a key is minted and shown once, a call with it is counted, and revoked it answers 401', async () => {
    const { page } = admin;
    const key = await mint('first');
    const row = page.getByRole('row').filter({ hasText: 'first' });
    await row.getByText('all, including new ones').waitFor();
    expect(await page.content()).not.toContain(key);
    await open(page, 'Overview');
    const calls = figure(page, 'Calls');
    await calls.getByText(/^\d/).waitFor();
    const before = await calls.innerText();
    expect((await call(key)).status).toBe(200);
    await until(async () => (await calls.innerText()) !== before);
    await open(page, 'API keys');
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await row.getByText('Revoked').waitFor();
    expect((await call(key)).status).toBe(401);
    expect(admin.complaints).toEqual([]);
  });

  test('a key with the tokens a minute that were once the default is offered those of new keys', async () => {
    const { page } = admin;
    await open(page, 'API keys');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('from before');
    await page.getByLabel('Tokens a minute').fill('200000');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('button', { name: 'I have stored it' }).click();
    const row = page.getByRole('row').filter({ hasText: 'from before' });
    await row.getByText('200,000 tokens a minute').waitFor();
    await row.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('New keys have 2,000,000 tokens a minute').waitFor();
    await dialog.getByRole('button', { name: 'Set 2,000,000' }).click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await row.getByText('2,000,000 tokens a minute').waitFor();
    expect(admin.complaints).toEqual([]);
  });

  test('P-12 P-20 the whole purchase: buy, pay, see the credits, get a refund and see it', async () => {
    const { page } = admin;
    await open(page, 'Credits');
    await page.getByRole('button', { name: /^Buy / }).first().waitFor();
    const before = await balance(page);
    await page.getByRole('button', { name: /^Buy / }).first().click();
    await page.waitForURL(`${world.demo.sandbox_url}/**`);
    await page.getByRole('button', { name: /pay/i }).first().click();
    await page.waitForURL(/\/billing\?checkout=success/);
    await page.getByText('Your payment succeeded').waitFor();
    const bought = await balanceUntil(page, (now) => now > before);
    await appears(page, transactions(page).getByRole('cell', { name: 'Pack purchase' }).first());
    await refundLastCharge();
    await balanceUntil(page, (now) => now < bought - (bought - before) / 2);
    await appears(page, transactions(page).getByRole('cell', { name: 'Refund' }).first());
    expect(admin.complaints).toEqual([]);
  });

  const transactions = (page: Page) => page.getByRole('region', { name: 'Transactions' }).first();

  const balance = async (page: Page) =>
    Number(((await figure(page, 'Balance').getAttribute('title')) ?? '').replaceAll(',', ''));

  async function balanceUntil(page: Page, isSo: (now: number) => boolean): Promise<number> {
    let now = await balance(page);
    await until(async () => {
      if (isSo(now)) return true;
      await Promise.all([page.waitForResponse('**/graphql'), loadAgain(page)]);
      now = await balance(page);
      return false;
    });
    return now;
  }

  async function refundLastCharge(): Promise<void> {
    const headers = {
      authorization: 'Bearer sk_test_anything',
      'content-type': 'application/x-www-form-urlencoded',
    };
    const sandbox = world.demo.sandbox_url;
    const charges = (await (await fetch(`${sandbox}/v1/charges?limit=1`, { headers })).json()) as {
      data: { id: string }[];
    };
    const body = new URLSearchParams({ charge: charges.data[0]?.id ?? '' });
    const refund = await fetch(`${sandbox}/v1/refunds`, { method: 'POST', headers, body });
    expect(refund.status).toBe(200);
  }

  test('a super admin edits and retires products; a company subscribes, sees the cost of a change and changes its plan', async () => {
    const operator = await world.visit();
    await logIn(operator.page, world.demo.super_admin);
    await open(operator.page, 'Plans and packs');
    await operator.page.getByRole('button', { name: 'Edit Pro' }).click();
    await operator.page.getByRole('dialog').getByLabel('Price').fill('109');
    await operator.page.getByRole('dialog').getByLabel('Credits expire after days').fill('365');
    await operator.page.getByRole('button', { name: 'Save the plan' }).click();
    await operator.page.getByRole('row').filter({ hasText: 'Pro' }).getByText('109').waitFor();
    await operator.page.getByRole('button', { name: 'Edit Starter' }).click();
    await operator.page.getByRole('dialog').getByLabel('Credits expire after days').fill('90');
    await operator.page.getByRole('button', { name: 'Save the pack' }).click();
    await operator.page.getByText('After 90 days').waitFor();
    const scale = operator.page.getByRole('row').filter({ hasText: 'Scale' });
    await scale.getByRole('button', { name: 'Retire' }).click();
    await operator.page.getByRole('dialog').getByRole('button', { name: 'Retire' }).click();
    await scale.waitFor({ state: 'detached' });
    expect(operator.complaints).toEqual([]);
    await operator.close();

    const { page } = admin;
    await moveTo(page, '/billing');
    await page.getByRole('button', { name: 'Contact us about Enterprise' }).click();
    await page.getByRole('dialog').getByLabel('Message').fill('For 200 people.');
    await page.getByRole('button', { name: 'Send the request' }).click();
    await page.getByText('We received your request').waitFor();
    await page.getByRole('button', { name: 'Subscribe to Basic' }).click();
    await page.waitForURL(`${world.demo.sandbox_url}/**`);
    await page
      .getByRole('button', { name: /pay|subscribe/i })
      .first()
      .click();
    await page.waitForURL(/\/billing\?checkout=success/);
    await page.getByText(/^Basic: Active/).waitFor();
    const before = await balanceUntil(page, (now) => now >= 3_200);
    await page.getByRole('button', { name: 'Change to Pro' }).click();
    await page.getByText(/Your card is charged/).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Change the plan' }).click();
    await page.getByText(/^Pro: Active/).waitFor();
    await balanceUntil(page, (now) => now > before);
    await page.getByText('valid for 90 days').waitFor();
    const lots = page.getByRole('region', { name: 'Credits that expire' }).first();
    await lots.getByText('Plan Pro').waitFor();
    expect(admin.complaints).toEqual([]);
  });

  test('leaving the playground ends its call, and coming back it streams an answer with the same key, and its cost', async () => {
    await walkPlaygroundLeft(world, admin.page);
    expect(admin.complaints).toEqual([]);
  });

  test('the focus returns to where a dialog was opened, and refused fields are marked', async () => {
    await walkDialogs(admin.page);
    expect(admin.complaints).toEqual([]);
  });

  test('a new company gets from sign-up to its first call by the checklist, with trial credits', async () => {
    await walkFirstCall(world);
  });

  test('P-8 a reload keeps the session, no script can read its cookie, and a log-out reaches the other tab', async () => {
    const { page } = admin;
    await page.reload();
    await page.getByRole('button', { name: 'Log out', exact: true }).waitFor();
    expect(
      await page.evaluate(() => document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })),
    ).toBe('{}');
    const other = await page.context().newPage();
    await other.goto('/usage');
    await other.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    await other.getByRole('button', { name: 'Log out', exact: true }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await typeLogIn(other, world.demo.company_admin);
    await page.getByRole('button', { name: 'Log out', exact: true }).waitFor();
    await other.close();
    expect(admin.complaints).toEqual([]);
  });
});
