/** Every form of the company's own pages, clicked once; what is refused is said in words, with the request id. */
import { expect } from 'bun:test';
import type { Page, Request } from 'playwright-core';
import { until } from '../doubles/until.ts';
import { chatAnswer, type ScriptedUpstream } from '../gateway/scripted-upstream.ts';
import type { DemoFile } from '../system/running-system.ts';
import { askAs } from './browser-system.ts';
import { moveTo, violationsOf } from './page-checks.ts';
import { confirmsBeforeBack } from './walk-traps.ts';

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const inDialog = (page: Page, name: string) =>
  page.getByRole('dialog').getByRole('button', { name, exact: true });
const card = (page: Page, name: string) => page.getByRole('region', { name, exact: true }).first();

/** The last alert: words, and the id under which the log has it. */
async function refused(page: Page, words: RegExp): Promise<void> {
  const alert = page.getByRole('alert').filter({ hasText: words });
  await alert.getByText(/Request id \S{8,}/).waitFor();
}

/** Created with everything that can be chosen, limited, rotated; a call that it may not make shows among the failures. */
export async function walkKeys(page: Page, demo: DemoFile): Promise<void> {
  await moveTo(page, '/keys');
  await button(page, 'Create a key').click();
  await inDialog(page, 'Cancel').click();
  await button(page, 'Create a key').click();
  await page.getByLabel('Name').fill('narrow');
  await confirmsBeforeBack(page, 'not saved');
  await page.getByLabel('usage:read').uncheck();
  await page.getByLabel('svc/chat-premium').uncheck();
  await page.getByLabel('Expires').fill('2020-01-01T10:00');
  await button(page, 'Create').click();
  await refused(page, /expires/i);
  await page.getByLabel('Expires').fill('');
  await page.getByLabel('Expires').focus();
  await page.keyboard.type('010120401000AM');
  expect(await page.getByLabel('Expires').inputValue()).toBe('2040-01-01T10:00');
  await page.getByLabel('Credits a month').fill('5');
  await page.getByLabel('Usage chunk of streams').selectOption('ASKED');
  await page.getByLabel('Cache answers for (seconds)').fill('600');
  await button(page, 'Create').click();
  const key = await page.getByTestId('raw-key').innerText();
  await copyTheKey(page);
  await button(page, 'I have stored it').click();

  await limitKey(page, demo);
  const row = page.getByRole('row').filter({ hasText: 'narrow' });
  await row.getByRole('button', { name: 'Rotate' }).click();
  await page.getByLabel('The new key expires').fill('2042-02-02T10:00');
  await inDialog(page, 'Rotate').click();
  expect(await page.getByTestId('raw-key').innerText()).not.toBe(key);
  await button(page, 'I have stored it').click();
  await row.nth(1).waitFor();
  await row.locator('time[datetime^="2042-02-02"]').waitFor();
  // Two of one name: the list says which is the new one, and which is to be revoked.
  await row.filter({ hasText: 'Rotated' }).locator('time[datetime^="2042-02-02"]').waitFor();
  await row
    .filter({ hasText: 'Revoke it once nothing uses it' })
    .locator('time[datetime^="2041-01-01"]')
    .waitFor();
  await row.first().getByRole('button', { name: 'Revoke' }).click();
  await inDialog(page, 'Cancel').click();
  expect(await row.getByText('Live').count()).toBe(2);

  await button(page, 'Clear cache').click();
  await inDialog(page, 'Clear cache').click();
  await page.getByText('0 cached answers were removed.').waitFor();

  const answer = await fetch(`${demo.gateway_url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'svc/chat-premium', messages: [{ role: 'user', content: 'Hello' }] }),
  });
  expect(answer.status).toBe(403);
}

/** A browser that refuses the clipboard does not leave the button silent. */
async function copyTheKey(page: Page): Promise<void> {
  await page.evaluate(() => {
    const writeText = () => Promise.reject(new DOMException('Write permission denied.', 'NotAllowedError'));
    Object.defineProperty(navigator.clipboard, 'writeText', { value: writeText, configurable: true });
  });
  await button(page, 'Copy the key').click();
  await page.getByRole('alert').getByText('copy it by hand').waitFor();
  await page.evaluate(() => Reflect.deleteProperty(navigator.clipboard, 'writeText'));
  await button(page, 'Copy the key').click();
  await page.getByText('Copied').waitFor();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await confirmsBeforeBack(page, 'the only time');
}

/** Edited: what is wrong is said, and what was not touched is not sent. */
async function limitKey(page: Page, demo: DemoFile): Promise<void> {
  const row = page.getByRole('row').filter({ hasText: 'narrow' });
  await row.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Requests a minute').fill('7');
  expect(await page.getByLabel('Expires').inputValue()).toBe('2040-01-01T10:00');
  await page.getByLabel('Expires').fill('2020-01-01T10:00');
  await button(page, 'Save').click();
  await refused(page, /expires/i);
  await page.getByLabel('Expires').fill('2041-01-01T10:00');
  expect(await page.getByLabel('Usage chunk of streams').inputValue()).toBe('ASKED');
  await page.getByLabel('Usage chunk of streams').selectOption('');
  await row.getByText('answers cached for 600 s').waitFor();
  expect(await page.getByLabel('Cache answers for (seconds)').inputValue()).toBe('600');
  await page.getByLabel('Cache answers for (seconds)').fill('');
  const saving = page.waitForRequest((request) => request.postData()?.includes('updateApiKey') === true);
  await button(page, 'Save').click();
  const { variables } = (await saving).postDataJSON() as { variables: { input: object; ifVersion: number } };
  // Name, tokens, project and the rest were not touched: they are not sent.
  expect(Object.keys(variables.input).sort()).toEqual([
    ...['cacheTtlSeconds', 'expiresAt', 'requestsPerMinute', 'streamUsageChunk'],
  ]);
  await row.getByText('7 requests').waitFor();
  await saveFromOldPage(page, demo, variables.ifVersion + 1);
  await row.locator('time[datetime^="2041-01-01"]').waitFor();
}

/** Another person saves while the form is open: it is not saved over, and the newer values are shown when it is opened again. */
async function saveFromOldPage(page: Page, demo: DemoFile, version: number): Promise<void> {
  const row = page.getByRole('row').filter({ hasText: 'narrow' });
  await row.getByRole('button', { name: 'Edit' }).click();
  const ask = await askAs(demo, demo.company_admin);
  const { apiKeyPage } = await ask<{ apiKeyPage: { nodes: { id: string; version: number }[] } }>(
    '{ apiKeyPage(search: "narrow") { nodes { id version } } }',
  );
  expect(apiKeyPage.nodes.map((one) => one.version)).toEqual([version]);
  await ask('mutation($id: ID!) { updateApiKey(id: $id, input: { tokensPerMinute: 9000 }) { id } }', {
    id: apiKeyPage.nodes[0]?.id,
  });
  await page.getByLabel('Requests a minute').fill('8');
  await button(page, 'Save').click();
  await refused(page, /key was changed since you opened it/);
  await inDialog(page, 'Cancel').click();
  await row.getByText('9,000 tokens').waitFor();
  expect(await row.getByText('7 requests').count()).toBe(1);
}

/** Created with two scopes, used, revoked. */
export async function walkServiceTokens(page: Page): Promise<void> {
  await moveTo(page, '/service-tokens');
  await button(page, 'Create a token').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('console walk');
  await button(page, 'Create').click();
  await dialog.getByText('scopes: none is given').waitFor();
  await dialog.getByLabel('keys:read').check();
  await dialog.getByLabel('usage:read').check();
  await button(page, 'Create').click();
  const token = await page.getByTestId('raw-token').innerText();
  const asked = async () => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ query: '{ apiKeys { id } }' });
    const answer = await fetch(new URL('/graphql', page.url()), { method: 'POST', headers, body });
    return ((await answer.json()) as { errors?: { extensions: { code: string } }[] }).errors?.[0]?.extensions
      .code;
  };
  expect(await asked()).toBeUndefined();
  await button(page, 'I have stored it').click();
  const row = page.getByRole('row').filter({ hasText: 'console walk' });
  await row.getByText('keys:read, usage:read').waitFor();
  await row.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await row.getByText('revoked', { exact: false }).first().waitFor();
  expect(await asked()).toBe('UNAUTHENTICATED');
}

/** Refused by the provider it is not stored; then stored, tested, replaced, deleted. */
export async function walkProviderKeys(page: Page, provider: ScriptedUpstream): Promise<void> {
  const [wrong, right] = ['sk-own-0123456789-oops', 'sk-own-0123456789-wxyz'];
  provider.answer(({ headers }) =>
    headers.authorization === `Bearer ${right}`
      ? Response.json(chatAnswer())
      : Response.json({ error: { message: `Incorrect API key provided: ${wrong}` } }, { status: 401 }),
  );
  await moveTo(page, '/provider-keys');
  await button(page, 'Store a key').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('12.5% of the price').waitFor({ state: 'attached' });
  await dialog.getByLabel('Key').fill(wrong);
  await inDialog(page, 'Test and store').click();
  await dialog.getByText('The provider answered with status 401').waitFor();
  expect(await dialog.innerText()).not.toContain(wrong);
  // It is not stored: Escape asks before it closes the dialog.
  expect(await dialog.locator('form[data-touched]').count()).toBe(1);
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByLabel('Key').fill(right);
  await inDialog(page, 'Test and store').click();
  const row = page.getByRole('row').filter({ hasText: 'svc/chat-cheap' });
  await row.getByText('…wxyz').waitFor();
  await row.getByRole('button', { name: 'Test' }).click();
  await page.getByText('accepted the key').waitFor();
  await row.getByRole('button', { name: 'Replace' }).click();
  await inDialog(page, 'Cancel').click();
  await row.getByRole('button', { name: 'Delete' }).click();
  await inDialog(page, 'Delete').click();
  await page.getByText('calls use the operator’s keys').waitFor();
}

/** Failures by what they are split by, each as a file too; the request id is the one the caller got. */
export async function walkUsage(page: Page): Promise<void> {
  await moveTo(page, '/usage');
  const failures = card(page, 'Failures by reason');
  await failures.getByText('The key may not call this model').waitFor();
  await failures.getByRole('link', { name: 'See the keys' }).waitFor();
  for (const [split, shown] of [
    ['Day', /^\d{4}-\d\d-\d\d$/],
    ['Model', 'svc/chat-premium'],
    ['Key', /^narrow \(…/],
  ] as const) {
    await page.getByLabel('Split by').selectOption(split === 'Model' ? 'ALIAS' : split.toUpperCase());
    await failures.getByRole('cell', { name: shown }).waitFor();
  }
  const file = page.waitForEvent('download');
  await button(page, 'Download failures as CSV').click();
  const lines = (await Bun.file((await (await file).path()) ?? '').text()).split('\r\n');
  expect(lines[0]).toBe('Why,Code,Outcome,Answered,Key,Calls,Last');
  expect(lines[1]).toStartWith('The key may not call this model,LLM_MODEL_NOT_ALLOWED,REFUSED,403,narrow');
  await card(page, 'Latest failures').getByText(/^req_/).first().waitFor();
  await walkChart(page);
  await page.getByLabel('Time').selectOption('90');
  await page.getByRole('combobox', { name: 'Group by', exact: true }).selectOption('DAY');
  const usage = page.waitForEvent('download');
  await button(page, 'Download CSV').click();
  expect((await usage).suggestedFilename()).toBe('usage-day.csv');
  await walkManyEndUsers(page);
}

/** More rows than are drawn at once. */
async function walkManyEndUsers(page: Page): Promise<void> {
  const totals = {
    ...{ calls: 1, failures: 0, credits: 1, toolCredits: 0 },
    ...{ promptTokens: 1, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 1 },
  };
  const nothing = { day: null, alias: null, keyId: null, project: null, tag: null };
  const rows = Array.from({ length: 1_200 }, (_, at) => ({ ...nothing, endUser: `user ${at}`, totals }));
  await page.route('**/graphql', async (route) => {
    if (!route.request().postData()?.includes('"END_USER"')) return await route.fallback();
    await route.fulfill({ json: { data: { usage: { totals, rows } } } });
  });
  await page.getByRole('combobox', { name: 'Group by', exact: true }).selectOption('END_USER');
  const drawn = card(page, 'Breakdown');
  await drawn.getByText('500 of 1,200 rows are shown.').waitFor();
  expect(await drawn.locator('tbody tr').count()).toBe(500);
  await button(page, 'Show more').click();
  await drawn.getByText('1,000 of 1,200 rows are shown.').waitFor();
  await page.unroute('**/graphql');
}

/** What the colours are, in which zone a day is a day, and the values of the day under the pointer. */
async function walkChart(page: Page): Promise<void> {
  const chart = card(page, 'Spend by day').getByRole('img', { name: /Credits spent by day/ });
  const legend = chart.locator('.u-legend');
  for (const name of ['Day (UTC)', 'Credits']) await legend.getByText(name, { exact: true }).waitFor();
  const today = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });
  expect(await legend.innerText()).not.toContain(today.format(new Date()));
  // The pointer is moved within what the window shows.
  await chart.scrollIntoViewIfNeeded();
  const { width = 0, height = 0 } = (await chart.locator('.u-over').boundingBox()) ?? {};
  await chart.locator('.u-over').hover({ position: { x: width - 2, y: height / 2 } });
  await legend.getByText(today.format(new Date())).waitFor();
}

export async function walkTeam(page: Page, demo: DemoFile): Promise<void> {
  await moveTo(page, '/team');
  await page.getByLabel('E-mail').fill(demo.company_admin.email);
  await button(page, 'Send the invitation').click();
  await refused(page, /already|taken|account/i);
  await page.getByLabel('E-mail').fill('late@people.example');
  await page.getByLabel('Role').selectOption('COMPANY_ADMIN');
  await confirmsBeforeBack(page, 'not saved');
  await button(page, 'Send the invitation').click();
  const row = page.getByRole('row').filter({ hasText: 'late@people.example' });
  await row.getByText('Company admin').waitFor();
  await row.getByRole('button', { name: 'Withdraw' }).click();
  await row.waitFor({ state: 'detached' });
  await walkMemberCredits(page, demo);
  await moveTo(page, '/team');
  await page.getByRole('link', { name: 'Company settings', exact: true }).click();
  const tabs = page.getByRole('navigation', { name: 'Company settings' });
  await tabs.getByRole('link', { name: 'API keys' }).click();
  await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor();
  await tabs.getByRole('link', { name: 'Profile' }).click();
  await page.getByLabel('Name').fill('Demo Company Ltd');
  await page.getByLabel('Address', { exact: true }).fill('1 Main Street');
  await page.getByLabel('Country').fill('D');
  await button(page, 'Save the profile').click();
  await refused(page, /two letters/);
  await page.getByLabel('Country').fill('de');
  await page.getByLabel('Tax id').fill('DE123456789');
  await page.getByLabel('Billing e-mail').fill('bills@demo.example');
  expect(await violationsOf(page)).toEqual([]);
  await button(page, 'Save the profile').click();
  await page.getByText('The profile is saved').waitFor();
  await moveTo(page, '/');
  await page.getByText('Demo Company Ltd, the last 30 days.').waitFor();
  // One request for the names in all rows, not one for each.
  let named = 0;
  const countNames = (request: Request) => {
    if (request.postData()?.includes('objectNames') === true) named += 1;
  };
  page.on('request', countNames);
  await moveTo(page, '/audit');
  const renamed = page
    .getByRole('row')
    .filter({ hasText: /company/i })
    .first();
  await renamed.locator('summary').click();
  await renamed.getByText('Request id').waitFor();
  await until(async () => named > 0);
  page.off('request', countNames);
  expect(named).toBe(1);
  await walkAuditLog(page, demo);
}

/** Found by words and days, which are in the address; names in place of ids, and times with their zone. */
async function walkAuditLog(page: Page, demo: DemoFile): Promise<void> {
  const rows = page.getByRole('row').filter({ has: page.getByRole('cell') });
  await page.getByLabel('Search').fill(`key changed ${demo.company_admin.email}`.replace(' ', '.'));
  const changed = rows.filter({ hasText: 'Key changed' });
  await changed.first().waitFor();
  await page.waitForFunction(() =>
    [...document.querySelectorAll('tbody tr')].every((row) => row.textContent?.includes('Key changed')),
  );
  await changed.first().getByText('narrow').first().waitFor();
  const zone = await page.evaluate(() =>
    new Intl.DateTimeFormat('en', { timeStyle: 'long' }).format(new Date()).split(' ').at(-1),
  );
  expect(await changed.first().innerText()).toContain(zone as string);
  await changed.first().locator('summary').click();
  const details = await changed.first().locator('details').innerText();
  expect(details).not.toMatch(/\d{4}-\d\d-\d\dT/);
  expect(await violationsOf(page)).toEqual([]);
  // Typed, one digit of the year after the other: one step back is the list before.
  const asked: string[] = [];
  const listen = (request: Request) => asked.push(request.postData() ?? '');
  page.on('request', listen);
  await page.getByLabel('Until').focus();
  await page.keyboard.type('01012001');
  await page.getByText('No such change').waitFor();
  expect(asked.filter((one) => /"to":"(?!200)/.test(one))).toEqual([]);
  page.off('request', listen);
  await page.goBack();
  await changed.first().waitFor();
  expect(new URL(page.url()).searchParams.get('search')).toContain('key.changed');
}

/** Credits are moved to a person, never more than there are, and a key that the person pays for spends them. */
async function walkMemberCredits(page: Page, demo: DemoFile): Promise<void> {
  const { email } = demo.company_admin;
  const person = page.getByRole('row').filter({ hasText: email });
  await person.getByRole('button', { name: 'Credits' }).click();
  await page.getByLabel('Credits', { exact: true }).fill('1000000000');
  await page.getByLabel('Reason').fill('for trying things');
  await button(page, 'Move the credits').click();
  await button(page, 'Yes, post this amount').click();
  await refused(page, /credits/i);
  await button(page, 'No, change it').click();
  await page.getByLabel('Credits', { exact: true }).fill('2.5');
  await button(page, 'Move the credits').click();
  await person.getByText('2.50', { exact: true }).waitFor();
  await person.getByRole('button', { name: 'Credits' }).click();
  await page.getByRole('dialog').getByRole('row').filter({ hasText: 'for trying things' }).waitFor();
  await inDialog(page, 'Cancel').click();
  await moveTo(page, '/keys');
  await button(page, 'Create a key').click();
  await page.getByLabel('Name').fill('my own');
  await page.getByLabel('Also models that are added later').uncheck();
  await page.getByLabel('Paid by').selectOption({ label: `the personal credits of ${email}` });
  await button(page, 'Create').click();
  const rawKey = await page.getByTestId('raw-key').innerText();
  await button(page, 'I have stored it').click();
  const row = page.getByRole('row').filter({ hasText: 'my own' });
  await row.getByText(`paid by ${email}`).waitFor();
  await row.getByText(/^\d+ models$/).waitFor();
  const answer = await fetch(`${demo.gateway_url}/usage`, { headers: { authorization: `Bearer ${rawKey}` } });
  expect(await answer.json()).toMatchObject({ balance: { credits: 2.5, payer: 'user' } });
  await moveTo(page, '/');
  await page.getByText('Your own balance').waitFor();
}

/** A wrong password, the right one, another session ended, and the last admin who cannot leave. */
export async function walkProfile(page: Page, person: { email: string; password: string }): Promise<void> {
  await moveTo(page, '/profile');
  await page.getByLabel('Current password').fill('not this one');
  await page.getByLabel('New password').fill('another good password');
  await button(page, 'Change the password').click();
  await refused(page, /password/i);
  await page.getByLabel('Current password').fill(person.password);
  await button(page, 'Change the password').click();
  await page.getByText('Your password was changed').waitFor();
  await page.getByText('The last admin of a company cannot leave.').waitFor();
  expect(await button(page, 'Leave the company').count()).toBe(0);
  await page.getByText('Chrome on Linux').first().waitFor();
}

/** What is bought is paid elsewhere: who turns back has bought nothing; a plan that is paid is there. */
export async function walkBilling(page: Page, demo: DemoFile): Promise<void> {
  await moveTo(page, '/billing?checkout=cancel');
  await page.getByText('Nothing was bought').waitFor();
  await button(page, 'Close').click();
  await page.getByText('Nothing was bought').waitFor({ state: 'detached' });
  const statement = page.waitForEvent('download');
  await button(page, 'Download statement (90 days)').click();
  expect((await statement).suggestedFilename()).toBe('credits.csv');
  const transactions = card(page, 'Transactions');
  await page.getByLabel('Kind').selectOption('USAGE');
  await page.waitForFunction(() =>
    [...document.querySelectorAll('[aria-label="Table: Transactions"] tbody tr')].every((row) =>
      row.textContent?.includes('Usage'),
    ),
  );
  await page.getByLabel('Kind').selectOption('not-usage');
  await transactions.getByRole('cell', { name: 'Usage', exact: true }).first().waitFor({ state: 'detached' });
  await transactions.getByRole('row').nth(1).waitFor();
  await page.getByLabel('Reason contains').fill('no such words');
  await page.getByText('No such transaction').waitFor();
  await page.goBack();
  expect(await page.getByLabel('Kind').inputValue()).toBe('USAGE');
  await page.getByLabel('Number').fill('no such number');
  await page.getByText('No such invoice').waitFor();
  await button(page, 'Subscribe to Basic').click();
  await page.waitForURL(`${demo.sandbox_url}/**`);
  await page.goBack();
  await button(page, 'Billing portal').click();
  await page.waitForURL(`${demo.sandbox_url}/**`);
  await page.goBack();
  await button(page, 'Billing portal').waitFor();
}

/** Set to chosen values, with messages for invalid ones, switched off after a confirmation, and on again. */
async function walkAlertSettings(page: Page, demo: DemoFile): Promise<void> {
  await button(page, 'Change alerts').click();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByLabel('Balances, in credits').fill('a lot');
  await button(page, 'Set the alerts').click();
  await page.getByText('“a” cannot be read. Write balances as').waitFor();
  await page.getByLabel('Balances, in credits').fill('1 2 3 4 5 6');
  await button(page, 'Set the alerts').click();
  await refused(page, /Balances, in credits: 1 to 5/);
  await page.getByLabel('Balances, in credits').fill('2.5, 500');
  await page.getByLabel('Shares of limits, in percent').fill('90%');
  await page.getByLabel(demo.company_admin.email).check();
  await page.keyboard.press('Enter');
  await page.getByText('Saved. It takes effect now.').waitFor();
  // Another person saves while the form is open: the second save does not win.
  await button(page, 'Change alerts').click();
  const ask = await askAs(demo, demo.company_admin);
  await ask(
    `mutation($receivers: [String!]) { setAlertSettings(input: { isOn: true, limitPercents: [90],
      balanceThresholds: [500, 2.5], receivers: $receivers }) { version } }`,
    { receivers: [demo.company_admin.email] },
  );
  await page.getByLabel('Shares of limits, in percent').fill('50');
  await button(page, 'Set the alerts').click();
  await refused(page, /changed/);
  await inDialog(page, 'Cancel').click();
  await card(page, 'Thresholds').getByText('when 500.00 and 2.50 credits are left').waitFor();
  await card(page, 'Thresholds').getByText('at 90% of the monthly limit').waitFor();
  await card(page, 'Recipients').getByText('The people you chose').waitFor();
  await button(page, 'Turn off').click();
  await inDialog(page, 'Turn off').click();
  await page.getByText('Alerts are off').waitFor();
  await button(page, 'Turn on').click();
  await page.getByText('Alerts are off').waitFor({ state: 'detached' });
  await card(page, 'Thresholds').getByText('500.00').waitFor();
}

/** A webhook is added, its secret shown once, tested, changed from an outdated page, looked into and deleted. */
async function walkAlertChannels(page: Page): Promise<void> {
  const got: string[] = [];
  const receiver = Bun.serve({
    ...{ port: 0, hostname: '127.0.0.1' },
    fetch: async (request) => new Response(String(got.push(await request.text()))),
  });
  await button(page, 'Add a channel').click();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByLabel('Name').fill('Pager');
  await page.getByLabel('URL').fill(receiver.url.href);
  await page.getByLabel('Credits have expired').uncheck();
  await button(page, 'Save the channel').click();
  expect(await page.getByTestId('channel-secret').innerText()).toStartWith('whsec_');
  await page.keyboard.press('Escape');
  await button(page, 'I have stored it').click();
  await button(page, 'Test Pager').click();
  await page.getByText('The test alert to Pager was delivered').waitFor();
  expect(JSON.parse(got[0] ?? '')).toMatchObject({ type: 'alert.test' });
  await button(page, 'Deliveries Pager').click();
  await page.getByRole('dialog').getByText('delivered').waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await button(page, 'Close').click();
  // Another tab saves first: this one shows a conflict, and the other's changes are not lost.
  await button(page, 'Edit Pager').click();
  const other = await page.context().newPage();
  await other.goto('/alerts');
  await button(other, 'Edit Pager').click();
  await other.getByLabel('Name').fill('Pager 2');
  await button(other, 'Save the channel').click();
  await button(other, 'Test Pager 2').waitFor();
  await other.close();
  await page.getByLabel('Name').fill('Pager 3');
  await button(page, 'Save the channel').click();
  await refused(page, /changed after you loaded it/);
  await button(page, 'Cancel').click();
  await receiver.stop(true);
  await button(page, 'Test Pager 2').click();
  await page.getByText('The test alert to Pager 2 failed').waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await violationsOf(page)).toEqual([]);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  await page.setViewportSize({ width: 1440, height: 900 });
  await button(page, 'Delete Pager 2').click();
  await inDialog(page, 'Delete').click();
  await page.getByText('Add one to get alerts').waitFor();
}

export async function walkAlertsAndAgents(page: Page, demo: DemoFile): Promise<void> {
  await moveTo(page, '/alerts');
  await card(page, 'Recipients').getByText(demo.company_admin.email).waitFor();
  await card(page, 'Thresholds').getByText('narrow').waitFor();
  await walkAlertSettings(page, demo);
  await walkAlertChannels(page);
  await page.getByRole('link', { name: 'Agents and MCP' }).click();
  const settings = page.getByTestId('client-settings');
  expect(await settings.innerText()).toContain(
    `claude mcp add --transport http turnpike ${demo.gateway_url}/mcp`,
  );
  await page.getByLabel('Client').selectOption({ label: 'VS Code' });
  const file = JSON.parse(await settings.innerText()) as { servers: { turnpike: { url: string } } };
  expect(file.servers.turnpike.url).toBe(`${demo.gateway_url}/mcp`);
}
