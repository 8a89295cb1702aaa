/** What operators see and do, in a real browser: on a system with a failing provider and with dead letters. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../doubles/until.ts';
import { givenChromium } from '../services/given.ts';
import { askAs, type BrowserSystem, logIn, openBrowserSystem, type Visitor } from './browser-system.ts';
import { buryMails } from './buried-jobs.ts';
import { mockLogStream } from './mocked-log-stream.ts';
import { appears, isWholeEverywhere, keepPicture, moveTo, settled, violationsOf } from './page-checks.ts';
import { OPERATIONS } from './page-lists.ts';

const ABSURD_ANSWER = {
  object: 'chat.completion',
  model: 'some-model',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 300_000 },
};
const BROKEN_ROOM = 'a-room-of-nobody';

describe.skipIf(givenChromium() === null)('operations in a real browser', () => {
  let world: BrowserSystem;
  let visitor: Visitor;
  let page: Page;
  let isBroken = true;
  let isAbsurd = false;
  const provider = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () =>
      isAbsurd ? Response.json(ABSURD_ANSWER) : new Response('{}', { status: isBroken ? 503 : 400 }),
  });
  const host = `127.0.0.1:${provider.port}`;

  beforeAll(async () => {
    world = await openBrowserSystem((folder) => buryMails(folder, 3), {
      CALL_HOOK_AFTER_URL: `http://${host}/records`,
      CALL_HOOK_SECRET: 'a secret of thirty-two characters',
    });
    visitor = await world.visit();
    page = visitor.page;
    await logIn(page, world.demo.super_admin);
  });
  afterAll(async () => {
    await world?.close();
    await provider.stop(true);
  });

  const row = (text: string) => page.getByRole('row').filter({ hasText: text });
  const open = async (path: string, heading: string) => {
    await moveTo(page, path);
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
  };
  const target = (number: number) =>
    page.getByRole('dialog').getByRole('group', { name: `Target ${number}` });
  const isMarked = async (field: Locator) =>
    (await field.getAttribute('aria-invalid')) === 'true' &&
    (await field.evaluate((one) => one === document.activeElement));
  const isWholeAtBothWidths = async () => {
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      expect([width, await violationsOf(page)]).toEqual([width, []]);
    }
  };
  const call = async (key = world.demo.api_key) => {
    const response = await fetch(`${world.demo.gateway_url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc/chat-cheap', messages: [{ role: 'user', content: 'hello' }] }),
    });
    return response.status;
  };

  test('P-15 services show every process, its version and its parts, and that all are ready', async () => {
    await open('/services', 'Services');
    for (const name of ['Gateway', 'Backend', 'AI service']) {
      await page.getByRole('region', { name, exact: true }).getByText('Ready').waitFor();
    }
    await row('Gateway').getByText('database: up').waitFor();
    const process = row('Backend, AI service');
    await process.getByText(/version \d+\.\d+\.\d+/).waitFor();
    for (const part of ['database: up', 'cache: up', 'cv worker: running', 'email worker: running']) {
      await process.getByText(part).waitFor();
    }
  });

  test('A-15 a breaker opens on the page, and an operator resets it', async () => {
    await open('/models', 'Models');
    await row('svc/chat-cheap').getByRole('button', { name: 'Targets' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Add a target' }).click();
    await dialog.getByLabel('Model').fill('some-model');
    await dialog.getByLabel('Key').fill('sk-of-the-console');
    await dialog.getByLabel('Address').fill('ftp://provider');
    await dialog.getByRole('button', { name: 'Save the targets' }).click();
    // The error belongs to its field, also to one of a group that is closed.
    await until(async () => await isMarked(dialog.getByLabel('Address')));
    await dialog.getByLabel('Address').fill(`http://${host}/v1`);
    expect(await isMarked(dialog.getByLabel('Address'))).toBe(false);
    await dialog.getByText('Limits and cost').click();
    await dialog.getByLabel('Cost when cached').fill('0.1');
    await dialog.getByText('Limits and cost').click();
    await dialog.getByRole('button', { name: 'Save the targets' }).click();
    await until(async () => await isMarked(dialog.getByLabel('Cost of the prompt')));
    await dialog.getByLabel('Cost when cached').fill('');
    await dialog.getByRole('button', { name: 'Test Target 1' }).click();
    await dialog.getByText(/^Failed: The provider answered with status 5/).waitFor();
    await keepPicture(page, 'targets of an alias');
    await dialog.getByRole('button', { name: 'Save the targets' }).click();
    await row('svc/chat-cheap').getByText(host).waitFor();
    await open('/breakers', 'Breakers');
    await row(host).getByText('Closed').waitFor();
    await until(async () => (await call()) === 503);
    for (let more = 0; more < 5; more += 1) expect(await call()).toBe(503);
    await row(host).getByText('Open', { exact: true }).waitFor();
    await row(host)
      .getByText(/^in \d+ s$/)
      .waitFor();
    await keepPicture(page, 'an open breaker');
    isBroken = false;
    await row(host).getByRole('button', { name: 'Reset' }).press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Reset' }).click();
    await row(host).getByText('Closed').waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await call()).toBe(400);
  });

  test('P-15 an own alias is added with suggested values, gets targets, and is changed and retired', async () => {
    await open('/models', 'Models');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Add an alias' }).click();
    await dialog.getByLabel('Name').fill('team-a/fast');
    await dialog.getByLabel('Like the well-known').fill('gpt-4o-mini');
    await dialog.getByRole('button', { name: 'Use suggested values' }).click();
    expect(await dialog.getByLabel('Context length').inputValue()).toBe('128000');
    for (const label of ['Prompt', 'Cached', 'Completion']) {
      await dialog.getByLabel(label, { exact: true }).fill('0.2');
    }
    await dialog.getByLabel('Fallback', { exact: true }).selectOption('svc/chat-cheap');
    await isWholeAtBothWidths();
    await dialog.getByRole('button', { name: 'Add the alias' }).click();
    // Its targets come next.
    await page.getByRole('heading', { name: 'Targets of team-a/fast' }).waitFor();
    for (const number of [1, 2]) {
      await dialog.getByRole('button', { name: 'Add a target' }).click();
      await target(number).getByLabel('Address').fill(`http://${host}/v1`);
      await target(number).getByLabel('Model').fill(`gpt-4o-mini-${number}`);
      await target(number).getByLabel('Key').fill('sk-of-the-console');
    }
    await isWholeAtBothWidths();
    await keepPicture(page, 'targets of an own alias');
    await dialog.getByRole('button', { name: 'Save the targets' }).click();
    await row('team-a/fast').getByText('falls back to svc/chat-cheap').waitFor();
    // A changed weight keeps the keys of all targets.
    await page.getByRole('button', { name: 'Targets team-a/fast' }).click();
    await target(1).getByLabel('Weight').fill('5');
    await dialog.getByRole('button', { name: 'Save the targets' }).click();
    await row('team-a/fast').getByText('weight 5, with a key').waitFor();
    await row('team-a/fast').getByText('weight 1, with a key').waitFor();
    await page.getByRole('button', { name: 'Settings team-a/fast' }).click();
    await dialog.getByLabel('Retries').fill('2');
    await dialog.getByRole('button', { name: 'Save the settings' }).click();
    await dialog.waitFor({ state: 'detached' });
    await row('team-a/fast').getByRole('button', { name: 'Retire' }).click();
    await dialog.getByRole('button', { name: 'Retire' }).click();
    await row('team-a/fast').waitFor({ state: 'detached' });
    await page.getByLabel('Show retired aliases').check();
    await row('team-a/fast').getByText('retired', { exact: true }).waitFor();
    await page.getByLabel('Show retired aliases').uncheck();
  });

  test('P-24 the audit shows whether the books agree with the payment provider, and starts at a click', async () => {
    await open('/audit-report', 'Audit');
    await page.getByText('The books agree with the payment provider.').waitFor();
    await page.getByRole('button', { name: 'Start an audit now' }).click();
    await until(async () => await page.getByRole('button', { name: 'Start an audit now' }).isEnabled());
  });

  test('tools, tiers and the fee for own keys of an alias are set in their dialogs', async () => {
    await open('/models', 'Models');
    const dialog = page.getByRole('dialog');
    const alias = row('svc/chat-premium');
    const press = (name: string) => dialog.getByRole('button', { name, exact: true }).click();
    await alias.getByRole('button', { name: 'Tools' }).click();
    await dialog.getByLabel('Web search').fill('0.01');
    expect(await violationsOf(page)).toEqual([]);
    await press('Save the tools');
    await alias.getByText('with web_search (0.01 a use)', { exact: true }).waitFor();

    const factor = (number: number) => dialog.getByRole('group', { name: `Factor ${number}` });
    await alias.getByRole('button', { name: 'Tiers' }).click();
    for (const [number, times] of [
      [1, '2.5'],
      [2, '3'],
    ] as const) {
      await press('Add a factor');
      await factor(number).getByLabel('Value').fill('priority');
      await factor(number).getByLabel('Factor', { exact: true }).fill(times);
    }
    await isWholeAtBothWidths();
    await press('Save the factors');
    await dialog.getByText('service_tier priority has a factor above').waitFor();
    expect(await isMarked(factor(2).getByLabel('Value'))).toBe(true);
    await press('Remove Factor 2');
    await press('Save the factors');
    await alias.getByText('service_tier priority × 2.5').waitFor();

    await alias.getByRole('button', { name: 'Own keys' }).click();
    await dialog.getByLabel('Fee, in percent').fill('12.5');
    expect(await violationsOf(page)).toEqual([]);
    await press('Save');
    await dialog.waitFor({ state: 'detached' });
  });

  test('implausible usage is posted or dropped, with a reason', async () => {
    isAbsurd = true;
    // Each uses up the tokens of its key for this minute.
    expect([await call(), await call(world.demo.full_key)]).toEqual([200, 200]);
    isAbsurd = false;
    await open('/withheld-usage', 'Withheld usage');
    const dialog = page.getByRole('dialog');
    await appears(page, row('svc/chat-cheap').nth(1));
    await row('svc/chat-cheap').first().getByRole('button', { name: 'Post' }).click();
    await dialog.getByLabel('Reason').fill('The provider is right.');
    await dialog.getByRole('button', { name: 'Charge it' }).click();
    await dialog.waitFor({ state: 'detached' });
    await until(async () => (await row('svc/chat-cheap').count()) === 1);
    await row('svc/chat-cheap').first().getByRole('button', { name: 'Drop' }).click();
    await dialog.getByLabel('Reason').fill('A fault of the provider.');
    await dialog.getByRole('button', { name: 'Drop it' }).click();
    await page.getByText('Usage that needs a decision is listed here.').waitFor();
    await page.getByLabel('Show').selectOption('all');
    await row('The provider is right.').getByText('Posted').waitFor();
    await row('A fault of the provider.').getByText('Dropped').waitFor();
  });

  test('A-8 operations are filtered by the URL, and link to the log lines of their request', async () => {
    // Filters in the URL that the page does not offer are ignored.
    await open('/ai-operations?hours=5&outcome=nonsense', 'AI operations');
    expect(await page.getByLabel('Time').inputValue()).toBe('24');
    await page.getByLabel('Outcome').selectOption('FAILED');
    await row('chat/completions').filter({ hasText: '503' }).first().waitFor();
    expect(new URL(page.url()).searchParams.get('outcome')).toBe('FAILED');
    await page.getByRole('link', { name: 'Lines of the log' }).last().click();
    await page.getByRole('heading', { name: 'Errors', level: 1 }).waitFor();
    await row('a model target failed').first().waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'AI operations', level: 1 }).waitFor();
    expect(await page.getByLabel('Outcome').inputValue()).toBe('FAILED');
  });

  test('requests of all companies show target and tries, and refused addresses are counted', async () => {
    await fetch(`${world.demo.gateway_url}/models`, { headers: { authorization: 'Bearer guessed' } });
    await open('/all-requests', 'Requests');
    await page
      .getByRole('button', { name: /^Details of / })
      .first()
      .click();
    for (const name of ['Company', 'Target', 'Tries']) {
      await page.getByRole('dialog').getByText(name, { exact: true }).waitFor();
    }
    await page.keyboard.press('Escape');
    await appears(page, row('unauthenticated').getByText('127.0.0.1'));
  });

  test('the delivery log of the hook after calls shows requests and responses', async () => {
    await open('/call-hooks', 'Call hooks');
    // Sent again after a minute, with whatever the provider answers by then.
    const refused = page.getByRole('row').filter({ hasText: /status [45]\d\d/ });
    await appears(page, refused.filter({ hasText: 'Waiting' }).first());
  });

  test('A-8 errors and warnings are grouped and counted, with links to their lines', async () => {
    await open('/errors', 'Errors');
    await page.getByLabel('Level').selectOption('WARN');
    await row('a model target failed').getByRole('button', { name: 'Lines' }).click();
    const dialog = page.getByRole('dialog');
    await dialog
      .getByRole('cell', { name: /reason 503/ })
      .first()
      .waitFor();
    await keepPicture(page, 'lines of a warning');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  });

  test('A-7 a room that was not announced is shown', async () => {
    const headers = {
      authorization: `Bearer ${world.demo.internal_token}`,
      'content-type': 'application/json',
    };
    const event = { event: 'room_created', room: BROKEN_ROOM, timestamp: new Date().toISOString() };
    const sent = { method: 'POST', headers, body: JSON.stringify(event) };
    expect((await fetch(`${world.demo.ai_url}/api/events/room/created`, sent)).status).toBe(202);
    await open('/unannounced-meetings', 'Unannounced rooms');
    await appears(page, row(BROKEN_ROOM).getByText('Under way'));
  });

  test('P-13 the live log keeps the newest lines of a flood, stays where it is read, and connects again soon', async () => {
    const { page: watched, close } = await world.visit();
    const server = await mockLogStream(watched);
    await watched.clock.install();
    /** In steps, because the page registers a timer only after it has heard of a lost connection. */
    const passUntil = async (mostMs: number, isSo: () => boolean) => {
      for (let ms = 0; ms < mostMs && !isSo(); ms += 500) await watched.clock.runFor(500);
      expect(isSo()).toBe(true);
    };
    await logIn(watched, world.demo.super_admin, '/logs');
    const connected = () => watched.getByText('connected', { exact: true }).waitFor();
    const lines = watched.getByRole('region', { name: 'Lines of the log' });
    await connected();
    for (let number = 1; number <= 700; number += 1) server.line(`line ${number}.`);
    await lines.getByText('line 700.').waitFor();
    expect(await lines.locator('> div').count()).toBe(500);
    expect(await lines.locator('> div').first().innerText()).toContain('line 201.');
    await lines.evaluate((box) => box.scrollTo({ top: 0 }));
    await until(async () => (await lines.evaluate((box) => box.scrollTop)) === 0);
    server.line('line 701.');
    await lines.getByText('line 701.').waitFor();
    expect(await lines.evaluate((box) => box.scrollTop < box.clientHeight)).toBe(true);
    server.isUnavailable = true;
    await server.drop();
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      await passUntil(20_000, () => server.refused() >= attempt);
    }
    server.isUnavailable = false;
    await passUntil(20_000, () => server.opened() === 2);
    await connected();
    await watched.clock.runFor(500);
    await lines.getByText('The connection was lost from').waitFor();
    await watched.getByRole('button', { name: 'Pause' }).click();
    await watched.getByRole('button', { name: 'Follow' }).click();
    await connected();
    await watched.clock.runFor(500);
    await lines.getByText('Paused from').waitFor();
    server.isSilent = true;
    const opened = server.opened();
    await passUntil(60_000, () => server.opened() === opened + 1);
    await close();
  });

  test('A-8 the log is searched by service, level, request, company and time, and followed live with the same filters', async () => {
    const requestId = 'req_of_the_log_page';
    const unsigned = (headers: Record<string, string>) =>
      fetch(`${world.demo.backend_url}/payments/webhook`, { method: 'POST', body: '{}', headers });
    await unsigned({ 'x-request-id': requestId });
    await open('/services', 'Services');
    await open('/logs?show=stored', 'Logs');
    const found = row('a payment event was refused').filter({ hasText: requestId });
    const apply = () => page.getByRole('button', { name: 'Apply' }).click();
    await until(async () => {
      await page.getByLabel('Request id').fill(requestId);
      await page.getByLabel('Service').selectOption('backend');
      await page.getByLabel('Lowest level').selectOption('WARN');
      await apply();
      return (await found.count()) > 0;
    });
    expect(new URL(page.url()).searchParams.toString()).toBe(
      `show=stored&service=backend&level=WARN&request=${requestId}`,
    );
    await page.getByLabel('Until').fill('2001-01-02T00:00');
    await apply();
    await page.getByText('No such line').waitFor();
    await page.goBack();
    await found.first().waitFor();
    await page.getByRole('button', { name: 'Live' }).click();
    await page.getByText('connected', { exact: true }).waitFor();
    await unsigned({});
    await unsigned({ 'x-request-id': requestId });
    const lines = page.getByRole('region', { name: 'Lines of the log' });
    await lines.getByText(requestId).first().waitFor();
    const shown = await lines.locator('div').allInnerTexts();
    expect(shown.filter((line) => !line.includes(requestId))).toEqual([]);
  });

  test('members see on the page that is open that their company is suspended, and that it is resumed', async () => {
    const ask = await askAs(world.demo, world.demo.super_admin);
    const { page: open, close } = await world.visit();
    await open.clock.install();
    await logIn(open, world.demo.company_admin, '/prices');
    await settled(open);
    const notice = open.getByText('Your company is suspended');
    expect(await notice.count()).toBe(0);
    const id = world.demo.company_id;
    const reason = 'Unpaid invoices.';
    await ask('mutation($id: ID!, $reason: String!) { suspendCompany(id: $id, reason: $reason) { id } }', {
      ...{ id, reason },
    });
    await open.clock.runFor(31_000);
    await notice.getByText('Reason: Unpaid invoices. Contact the operator').waitFor();
    await ask('mutation($id: ID!) { resumeCompany(id: $id) { id } }', { id });
    await open.clock.runFor(31_000);
    await notice.waitFor({ state: 'detached' });
    await close();
  });

  test('P-15 a company’s ceilings are set by the operator, and the company sees its use of them', async () => {
    await open('/services', 'Services');
    await open('/companies', 'Companies');
    await row(world.demo.company_id).getByRole('button', { name: 'Ceilings' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Live API keys').fill('50');
    await dialog.getByLabel('Requests a minute, all keys').fill('500');
    await dialog.getByRole('button', { name: 'Set ceilings' }).click();
    await dialog.getByText('The ceilings are set.').waitFor();
    await dialog.getByText(/of 50$/).waitFor();
    // Only what was changed since the form was opened or saved: another person may have set the others.
    const sent = page.waitForRequest((one) => one.postData()?.includes('setCompanyCeilings') === true);
    await dialog.getByLabel('Live API keys').fill('');
    await dialog.getByRole('button', { name: 'Set ceilings' }).click();
    expect((await sent).postDataJSON().variables.input).toEqual({ apiKeys: null });
    await dialog.getByText(/of 50$/).waitFor({ state: 'detached' });
    await isWholeAtBothWidths();
    await dialog.getByRole('button', { name: 'Close' }).click();
    const company = await world.visit();
    await logIn(company.page, world.demo.company_admin, '/usage');
    const card = company.page.getByRole('region', { name: 'Ceilings' });
    await card.getByText(/of 500$/).waitFor();
    await company.close();
  });

  test('P-15 each page of operations is complete and reachable at every width, light and dark', async () => {
    for (const [at, path] of OPERATIONS.entries()) {
      await moveTo(page, path);
      await settled(page);
      await isWholeEverywhere(page, path, 'operations', at === 0);
    }
  });

  test('A-13 dead letters are redriven, deleted after a confirmation, and the counts update without a reload', async () => {
    await open('/queues', 'Workers and queues');
    const toMail = page.getByRole('cell', { name: 'mail', exact: true }).getByRole('link');
    await page.getByRole('row').filter({ has: toMail }).locator('.tag', { hasText: /^3$/ }).waitFor();
    await toMail.click();
    await page.getByRole('heading', { name: 'Queue mail' }).waitFor();
    await row('the mail server refused').first().waitFor();
    await row('the mail server refused').first().getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('One letter is deleted.').waitFor();
    // The list is read again after the message: until then the first row is the deleted one.
    await until(async () => (await row('the mail server refused').count()) === 2);
    await row('the mail server refused').first().getByRole('button', { name: 'Redrive' }).click();
    await page.getByText('One job runs again.').waitFor();
    const dead = page.getByRole('region', { name: 'Dead', exact: true });
    await dead.getByText('1', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Redrive all' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Redrive all' }).click();
    await page.getByText('No dead letters').waitFor();
    expect(visitor.complaints).toEqual([]);
  });
});
