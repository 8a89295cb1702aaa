/** People's ways through the console, in a real browser on a fresh start. */
import { beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { until } from '../doubles/until.ts';
import { givenChromium } from '../services/given.ts';
import { useResource } from '../setup/use-resource.ts';
import { logIn, openBrowserSystem, typeLogIn, type Visitor } from './browser-system.ts';
import { appears, loadAgain, moveTo, violationsOf, widthOf } from './page-checks.ts';
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

  test('G-19 the first steps: mint a key, call with it, see the usage change', async () => {
    const { page } = admin;
    const key = await mint('first');
    expect(key.length).toBeGreaterThan(20);
    await page.getByRole('row').filter({ hasText: 'first' }).getByText('all, including new ones').waitFor();
    expect(await page.content()).not.toContain(key);
    const before = Number(await numberOf(page));
    expect((await call(key)).status).toBe(200);
    await page.waitForFunction(
      (calls) => Number(document.querySelector('[aria-label="Calls"] strong')?.textContent) > calls,
      before,
    );
    expect(admin.complaints).toEqual([]);
  });

  async function numberOf(page: Page): Promise<string> {
    await open(page, 'Overview');
    await page.waitForFunction(() =>
      /^\d/.test(document.querySelector('[aria-label="Calls"] strong')?.textContent ?? ''),
    );
    return await figure(page, 'Calls').innerText();
  }

  test('G-19 a revoked key answers 401', async () => {
    const { page } = admin;
    const key = await mint('short lived');
    expect((await call(key)).status).toBe(200);
    const row = page.getByRole('row').filter({ hasText: 'short lived' });
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await row.getByText('Revoked').waitFor();
    expect((await call(key)).status).toBe(401);
    expect(admin.complaints).toEqual([]);
  });

  test('P-12 P-20 the whole purchase: buy, pay, see the credits, call, get a refund and see it', async () => {
    const { page } = admin;
    const key = await mint('buyer');
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

    expect((await call(key)).status).toBe(200);
    const afterCall = await balanceUntil(page, (now) => now < bought);
    await refundLastCharge();
    await balanceUntil(page, (now) => now < afterCall - (bought - before) / 2);
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
    expect(await violationsOf(operator.page)).toEqual([]);
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
    await open(operator.page, 'Companies');
    await operator.page.getByRole('button', { name: 'Assign a plan' }).first().click();
    await operator.page.getByRole('dialog').getByLabel('Invoice day').fill('29');
    expect(await violationsOf(operator.page)).toEqual([]);
    await operator.page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect(operator.complaints).toEqual([]);
    await operator.close();

    const { page } = admin;
    await moveTo(page, '/billing');
    await page.getByRole('button', { name: 'Contact us about Enterprise' }).click();
    await page.getByRole('dialog').getByLabel('Message').fill('For 200 people.');
    expect(await violationsOf(page)).toEqual([]);
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
    await figure(page, 'Next to expire').waitFor();
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await violationsOf(page)).toEqual([]);
      expect(await widthOf(page)).toBeLessThanOrEqual(width);
    }
    expect(admin.complaints).toEqual([]);
  });

  test('the playground streams an answer with its own key and shows the cost', async () => {
    const { page } = admin;
    await open(page, 'Playground');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText(/completion tokens/).waitFor();
    expect((await page.getByTestId('answer').innerText()).length).toBeGreaterThan(0);
    await open(page, 'API keys');
    await page.getByRole('row').filter({ hasText: 'Playground' }).first().waitFor();
    expect(admin.complaints).toEqual([]);
  });

  test('leaving the playground ends its call, and coming back uses the same key', async () => {
    await walkPlaygroundLeft(world, admin.page);
    expect(admin.complaints).toEqual([]);
  });

  test('the focus returns to where a dialog was opened, buttons of rows have distinct names, refused fields are marked', async () => {
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

  test('P-13 a super admin watches the log while calls run, and a company admin finds no such page', async () => {
    const watcher = await world.visit();
    await logIn(watcher.page, world.demo.super_admin);
    await open(watcher.page, 'Logs');
    await watcher.page.getByText('connected').waitFor();
    const lines = watcher.page.getByRole('region', { name: 'Lines of the log' });
    // An open socket is not yet a running subscription: lines logged in between are not received.
    await until(async () => {
      await fetch(`${world.demo.backend_url}/payments/webhook`, { method: 'POST', body: '{}' });
      return (await lines.getByText('a payment event was refused').count()) > 0;
    });
    await watcher.page.getByRole('button', { name: 'Pause' }).click();
    await watcher.page.getByText('paused').waitFor();
    expect(watcher.complaints).toEqual([]);
    await watcher.close();

    await moveTo(admin.page, '/logs');
    await admin.page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    expect(await admin.page.getByRole('link', { name: 'Logs' }).count()).toBe(0);
  });
});
