/** Every form of the company's own pages, clicked once; what is refused is said in words, with the request id. */
import { expect } from 'bun:test';
import type { Page } from 'playwright-core';
import { chatAnswer, type ScriptedUpstream } from '../gateway/scripted-upstream.ts';
import type { DemoFile } from '../system/running-system.ts';
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
  await page.getByLabel('Name').fill('narrow');
  await confirmsBeforeBack(page, 'not saved');
  await page.getByLabel('usage:read').uncheck();
  await page.getByLabel('svc/chat-premium').uncheck();
  await page.getByLabel('Expires').fill('2020-01-01T10:00');
  await button(page, 'Create').click();
  await refused(page, /expires/i);
  await page.getByLabel('Expires').fill('2040-01-01T10:00');
  await page.getByLabel('Credits a month').fill('5');
  await page.getByLabel('Usage chunk of streams').selectOption('ASKED');
  await page.getByLabel('Cache answers for (seconds)').fill('600');
  await button(page, 'Create').click();
  const key = await page.getByTestId('raw-key').innerText();
  await copyTheKey(page);
  await button(page, 'I have stored it').click();

  const row = page.getByRole('row').filter({ hasText: 'narrow' });
  await row.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Requests a minute').fill('7');
  await page.getByLabel('Expires').fill('2041-01-01T10:00');
  await button(page, 'Save').click();
  await row.getByText('7 requests').waitFor();
  await row.getByRole('button', { name: 'Rotate' }).click();
  await page.getByLabel('The new key expires').fill('2042-02-02T10:00');
  await inDialog(page, 'Rotate').click();
  await button(page, 'I have stored it').click();
  // Two of one name: the list says which is the new one, and which is to be revoked.
  await row.filter({ hasText: 'Rotated' }).locator('time[datetime^="2042-02-02"]').waitFor();
  await row
    .filter({ hasText: 'Revoke it once nothing uses it' })
    .locator('time[datetime^="2041-01-01"]')
    .waitFor();
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

/** Created with two scopes, revoked. */
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
  await page.getByTestId('raw-token').waitFor();
  await button(page, 'I have stored it').click();
  const row = page.getByRole('row').filter({ hasText: 'console walk' });
  await row.getByText('keys:read, usage:read').waitFor();
  await row.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await row.getByText('revoked', { exact: false }).first().waitFor();
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
  expect(await violationsOf(page)).toEqual([]);
  await dialog.getByLabel('Key').fill(right);
  await inDialog(page, 'Test and store').click();
  const row = page.getByRole('row').filter({ hasText: 'svc/chat-cheap' });
  await row.getByText('…wxyz').waitFor();
  await row.getByRole('button', { name: 'Test' }).click();
  await page.getByText('accepted the key').waitFor();
  await row.getByRole('button', { name: 'Delete' }).click();
  await inDialog(page, 'Delete').click();
  await page.getByText('calls use the operator’s keys').waitFor();
}

/** Failures by what they are split by, each as a file too; the request id is the one the caller got. */
export async function walkUsage(page: Page): Promise<void> {
  await moveTo(page, '/usage');
  const failures = card(page, 'Failures by reason');
  await failures.getByText('The key may not call this model').waitFor();
  await page.getByLabel('Split by').selectOption('KEY');
  await failures.getByRole('cell', { name: /^narrow \(…/ }).waitFor();
  const file = page.waitForEvent('download');
  await button(page, 'Download failures as CSV').click();
  const lines = (await Bun.file((await (await file).path()) ?? '').text()).split('\r\n');
  expect(lines[0]).toBe('Why,Code,Outcome,Answered,Key,Calls,Last');
  expect(lines[1]).toStartWith('The key may not call this model,LLM_MODEL_NOT_ALLOWED,REFUSED,403,narrow');
  await card(page, 'Latest failures').getByText(/^req_/).first().waitFor();
  await walkChart(page);
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
  await page.getByLabel('Name').fill('Demo Company Ltd');
  await page.getByLabel('Address', { exact: true }).fill('1 Main Street');
  await page.getByLabel('Country').fill('D');
  await button(page, 'Save the profile').click();
  await refused(page, /two letters/);
  await page.getByLabel('Country').fill('de');
  await page.getByLabel('Billing e-mail').fill('bills@demo.example');
  await button(page, 'Save the profile').click();
  await page.getByText('The profile is saved').waitFor();
  await moveTo(page, '/audit');
  await walkAuditLog(page, demo);
}

/** Found by words and days, which are in the address; names in place of ids. */
async function walkAuditLog(page: Page, demo: DemoFile): Promise<void> {
  const rows = page.getByRole('row').filter({ has: page.getByRole('cell') });
  await page.getByLabel('Search').fill(`key changed ${demo.company_admin.email}`.replace(' ', '.'));
  const changed = rows.filter({ hasText: 'Key changed' });
  await changed.first().waitFor();
  await changed.first().getByText('narrow').first().waitFor();
  await page.getByLabel('Until').fill('2001-01-01');
  await page.getByText('No such change').waitFor();
  await page.goBack();
  await changed.first().waitFor();
  expect(new URL(page.url()).searchParams.get('search')).toContain('key.changed');
}

/** Credits are moved to a person, never more than there are, and the person may pay for a key. */
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
  await moveTo(page, '/keys');
  await button(page, 'Create a key').click();
  await page.getByLabel('Name').fill('my own');
  await page.getByLabel('Paid by').selectOption({ label: `the personal credits of ${email}` });
  await button(page, 'Create').click();
  await button(page, 'I have stored it').click();
  await page.getByRole('row').filter({ hasText: 'my own' }).getByText(`paid by ${email}`).waitFor();
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
  // Passwords do not stay in their fields.
  await page.waitForFunction(() =>
    [...document.querySelectorAll<HTMLInputElement>('input[type=password]')].every(
      ({ value }) => value === '',
    ),
  );
  await page.getByText('The last admin of a company cannot leave.').waitFor();
  expect(await button(page, 'Leave the company').count()).toBe(0);
  await page.getByText('Chrome on Linux').first().waitFor();
}

/** What is bought is paid elsewhere: who turns back has bought nothing. */
export async function walkBilling(page: Page, demo: DemoFile): Promise<void> {
  await moveTo(page, '/billing?checkout=cancel');
  await page.getByText('Nothing was bought').waitFor();
  await button(page, 'Close').click();
  await page.getByText('Nothing was bought').waitFor({ state: 'detached' });
  const statement = page.waitForEvent('download');
  await button(page, 'Download statement (90 days)').click();
  expect((await statement).suggestedFilename()).toBe('credits.csv');
  await page.getByLabel('Kind').selectOption('USAGE');
  await page.waitForFunction(() =>
    [...document.querySelectorAll('[aria-label="Table: Transactions"] tbody tr')].every((row) =>
      row.textContent?.includes('Usage'),
    ),
  );
  await page.getByLabel('Reason contains').fill('no such words');
  await page.getByText('No such transaction').waitFor();
  await button(page, 'Billing portal').click();
  await page.waitForURL(`${demo.sandbox_url}/**`);
  await page.goBack();
  await button(page, 'Billing portal').waitFor();
}

/** Set to chosen values, with messages for invalid ones, switched off after a confirmation, and on again. */
async function walkAlertSettings(page: Page, demo: DemoFile): Promise<void> {
  await button(page, 'Change alerts').click();
  expect(await violationsOf(page)).toEqual([]);
  await page.getByLabel('Balances, in credits').fill('1 2 3 4 5 6');
  await button(page, 'Set the alerts').click();
  await refused(page, /Balances, in credits: 1 to 5/);
  await page.getByLabel('Balances, in credits').fill('2.5, 500');
  await page.getByLabel('Shares of limits, in percent').fill('90%');
  await page.getByLabel(demo.company_admin.email).check();
  await page.keyboard.press('Enter');
  await page.getByText('Saved. It takes effect now.').waitFor();
  await card(page, 'Thresholds').getByText('when 500.00 and 2.50 credits are left').waitFor();
  await button(page, 'Turn off').click();
  await inDialog(page, 'Turn off').click();
  await page.getByText('Alerts are off').waitFor();
  await button(page, 'Turn on').click();
  await page.getByText('Alerts are off').waitFor({ state: 'detached' });
}

/** A webhook is added, its secret shown once, tested, looked into, changed and deleted. */
async function walkAlertChannels(page: Page): Promise<void> {
  const receiver = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('taken') });
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
  await button(page, 'Deliveries Pager').click();
  await page.getByRole('dialog').getByText('delivered').waitFor();
  await button(page, 'Close').click();
  await button(page, 'Edit Pager').click();
  await page.getByLabel('Name').fill('Pager 2');
  await button(page, 'Save the channel').click();
  await receiver.stop(true);
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
  expect(JSON.parse(await settings.innerText())).toMatchObject({
    servers: { turnpike: { url: `${demo.gateway_url}/mcp` } },
  });
}

/** One of each kind is added, edited and deleted. */
export async function walkBudgets(page: Page): Promise<void> {
  await moveTo(page, '/budgets');
  const save = async () => {
    await button(page, 'Save').click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  };
  const amount = page.getByRole('spinbutton', { name: 'Credits a month' });
  await button(page, 'Add a budget').click();
  await page.getByRole('dialog').getByLabel('For').selectOption('END_USER');
  expect(await violationsOf(page)).toEqual([]);
  await page.getByRole('textbox', { name: 'End user' }).fill('visitor-7');
  await amount.fill('0.000001');
  await save();
  await button(page, 'Add a budget').click();
  await page.getByRole('dialog').getByLabel('For').selectOption('COMPANY');
  await amount.fill('1000');
  await page.getByRole('combobox', { name: 'When it is used up' }).selectOption('alert');
  await save();
  await button(page, 'Edit the budget of the end user visitor-7').click();
  await amount.fill('50');
  await save();
  for (const name of ['the company', 'the end user visitor-7']) {
    const row = page.getByRole('row').filter({ hasText: name });
    await row.getByRole('button', { name: 'Delete' }).click();
    await inDialog(page, 'Delete').click();
    await row.waitFor({ state: 'detached' });
  }
}
