/** What operators see and do, in a real browser: on a system with a failing provider and with dead letters. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../doubles/until.ts';
import { givenChromium } from '../services/given.ts';
import { askAs, type BrowserSystem, logIn, openBrowserSystem, type Visitor } from './browser-system.ts';
import { buryMails } from './buried-jobs.ts';
import { mockLogStream } from './mocked-log-stream.ts';
import {
  appears,
  isWholeEverywhere,
  keepPicture,
  loadAgain,
  moveTo,
  settled,
  violationsOf,
} from './page-checks.ts';
import { OPERATIONS } from './page-lists.ts';

const ABSURD_ANSWER = {
  object: 'chat.completion',
  model: 'some-model',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 20_000 },
};
const BROKEN_ROOM = 'a-room-of-nobody';

describe.skipIf(givenChromium() === null)('operations in a real browser', () => {
  let world: BrowserSystem;
  let visitor: Visitor;
  let page: Page;
  let isBroken = true;
  let isAbsurd = false;
  let refusal = 400;
  const provider = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () =>
      isAbsurd ? Response.json(ABSURD_ANSWER) : new Response('{}', { status: isBroken ? 503 : refusal }),
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
  const call = async () => {
    const response = await fetch(`${world.demo.gateway_url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.demo.api_key}`, 'content-type': 'application/json' },
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
    const machines = page.getByRole('region', { name: 'Machines' });
    await machines.getByText(/^\d+% of (one core|\d+ cores)/).waitFor();
    await machines
      .getByText(/ of \d+\.\d GB$/)
      .first()
      .waitFor();
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
    // A list typed into one field is no address.
    await dialog.getByLabel('Address').fill(`http://${host}/v1, some-model, 3`);
    await dialog.getByRole('button', { name: 'Save the targets' }).click();
    await dialog.getByText(/^Address: Its address must .* no comma and no space/).waitFor();
    // The error belongs to its field, of the test button too, and of a group of fields that is closed.
    expect(await isMarked(dialog.getByLabel('Address'))).toBe(true);
    await dialog.getByLabel('Address').fill('ftp://provider');
    expect(await isMarked(dialog.getByLabel('Address'))).toBe(false);
    await dialog.getByRole('button', { name: 'Test Target 1' }).click();
    await until(async () => await isMarked(dialog.getByLabel('Address')));
    await dialog.getByLabel('Address').fill(`http://${host}/v1`);
    await dialog.getByText('Limits and cost').click();
    await dialog.getByLabel('Cost when cached').fill('0.1');
    await dialog.getByText('Limits and cost').click();
    await dialog.getByRole('button', { name: 'Save the targets' }).click();
    await until(async () => await isMarked(dialog.getByLabel('Cost of the prompt')));
    expect(await dialog.getByLabel('Cost of the prompt').isVisible()).toBe(true);
    await dialog.getByLabel('Cost when cached').fill('');
    await dialog.getByLabel('Address').fill(`http://${host}/v1`);
    await dialog.getByRole('button', { name: 'Test Target 1' }).click();
    await dialog.getByText(/^Failed: The provider answered with status 5/).waitFor();
    await keepPicture(page, 'targets of an alias');
    await dialog.getByRole('button', { name: 'Save the targets' }).click();
    await row('svc/chat-cheap').getByText(host).waitFor();
    // A changed weight keeps the key.
    await row('svc/chat-cheap').getByRole('button', { name: 'Targets' }).click();
    await dialog.getByText('No failure in the last 24 hours.').waitFor();
    await dialog.getByLabel('Weight').fill('3');
    await dialog.getByRole('button', { name: 'Save the targets' }).click();
    await row('svc/chat-cheap').getByText('weight 3, with a key').waitFor();
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
    refusal = 401;
    expect(await call()).toBe(503);
    await row(host)
      .getByText(/^svc\/chat-cheap \(some-model\): 401 key refused, \d+ s left$/)
      .waitFor();
    await row(host).getByText('Closed').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    refusal = 400;
    // The page of models says the same of the target.
    await open('/models', 'Models');
    await row('svc/chat-cheap')
      .getByText(/^cools after 401, \d+ s left$/)
      .waitFor();
    await row('svc/chat-cheap')
      .getByText(/last failure 401/)
      .waitFor();
  });

  test('P-15 an own alias is added with suggested values and has its own targets', async () => {
    await open('/models', 'Models');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Add an alias' }).click();
    await dialog.getByLabel('Name').fill('team-a/fast');
    await dialog.getByLabel('Like the well-known').fill('gpt-4o-mini');
    await dialog.getByRole('button', { name: 'Use suggested values' }).click();
    expect(await dialog.getByLabel('Context length').inputValue()).toBe('128000');
    for (const [label, value] of [
      ['Prompt', '0.2'],
      ['Cached', '0.1'],
      ['Completion', '0.8'],
    ] as const) {
      await dialog.getByLabel(label, { exact: true }).fill(value);
    }
    await dialog.getByLabel('Fallback').selectOption('svc/chat-cheap');
    await dialog.getByLabel('Statuses that try the next target').fill('404; 9');
    await dialog.getByRole('button', { name: 'Add the alias' }).click();
    await dialog.getByText('“9” is not one').waitFor();
    await dialog.getByLabel('Statuses that try the next target').fill('404, 409');
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
    await target(1).getByText('Limits and cost').click();
    await target(1).getByLabel('Calls at once').fill('7');
    await target(1).getByLabel('Cost of the prompt').fill('0.15');
    await target(1).getByLabel('Cost of the completion').fill('0.6');
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
  });

  test('P-15 an own alias is changed from one tab at a time, and retired', async () => {
    const dialog = page.getByRole('dialog');
    const other = await world.visit();
    await logIn(other.page, world.demo.super_admin, '/models');
    await other.page.getByRole('button', { name: 'Targets team-a/fast' }).click();
    await page.getByRole('button', { name: 'Targets team-a/fast' }).click();
    await target(1).getByLabel('Remove the stored key').check();
    await dialog.getByRole('button', { name: 'Save the targets' }).click();
    await row('team-a/fast').getByText('weight 5, without a key').waitFor();
    await row('team-a/fast').getByText('weight 1, with a key').waitFor();
    await other.page.getByLabel('Weight').first().fill('9');
    await other.page.getByRole('button', { name: 'Save the targets' }).click();
    await other.page.getByText('The alias was changed since you opened it').waitFor();
    await other.close();

    await page.getByRole('button', { name: 'Targets team-a/fast' }).click();
    expect(await target(1).getByLabel('Calls at once').inputValue()).toBe('7');
    expect(await target(1).getByLabel('Cost of the prompt').inputValue()).toBe('0.15');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Settings team-a/fast' }).click();
    expect(await dialog.getByLabel('Statuses that try the next target').inputValue()).toBe('404, 409');
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
    await page.getByText('No differences').waitFor();
    await page.getByRole('button', { name: 'Start an audit now' }).click();
    await until(async () => await page.getByRole('button', { name: 'Start an audit now' }).isEnabled());
    expect(await violationsOf(page)).toEqual([]);
  });

  test('hosted tools of an alias are priced, and an empty price disables one', async () => {
    await open('/models', 'Models');
    const dialog = page.getByRole('dialog');
    const openTools = () => row('svc/chat-premium').getByRole('button', { name: 'Tools' }).click();
    await openTools();
    await dialog.getByLabel('Web search').fill('0.01');
    await dialog.getByLabel('File search').fill('0.0025');
    await dialog.getByLabel('Uses a call').fill('5');
    await dialog.getByLabel('Ids of the provider').fill('vs_shared');
    expect(await violationsOf(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Save the tools' }).click();
    await row('svc/chat-premium')
      .getByText('with web_search (0.01 a use), file_search (0.0025 a use)')
      .waitFor();
    await openTools();
    expect(await dialog.getByLabel('Ids of the provider').inputValue()).toBe('vs_shared');
    await dialog.getByLabel('File search').fill('');
    await dialog.getByRole('button', { name: 'Save the tools' }).click();
    await row('svc/chat-premium').getByText('with web_search (0.01 a use)', { exact: true }).waitFor();
  });

  test('tiers of an alias have price factors, which its price list and the details of a call show', async () => {
    await open('/models', 'Models');
    const dialog = page.getByRole('dialog');
    const factor = (number: number) => dialog.getByRole('group', { name: `Factor ${number}` });
    const button = (name: string) => dialog.getByRole('button', { name, exact: true });
    const openFactors = () => row('svc/chat-premium').getByRole('button', { name: 'Tiers' }).click();
    await openFactors();
    for (const [at, value, times] of [
      [1, 'priority', '2.5'],
      [2, 'priority', '3'],
      [3, 'flex', '0.5'],
    ] as const) {
      await button('Add a factor').click();
      await factor(at).getByLabel('Value').fill(value);
      await factor(at).getByLabel('Factor', { exact: true }).fill(times);
    }
    await isWholeAtBothWidths();
    await button('Save the factors').click();
    await dialog.getByText('service_tier priority has a factor above').waitFor();
    expect(await isMarked(factor(2).getByLabel('Value'))).toBe(true);
    await button('Remove Factor 2').click();
    await button('Save the factors').click();
    const saved = 'service_tier flex × 0.5, service_tier priority × 2.5';
    await row('svc/chat-premium').getByText(saved).waitFor();
    const sent = JSON.stringify({
      ...{ model: 'svc/chat-premium', service_tier: 'priority', max_tokens: 5 },
      messages: [{ role: 'user', content: 'Hello' }],
    });
    const headers = {
      authorization: `Bearer ${world.demo.api_key}`,
      'content-type': 'application/json',
    };
    await until(async () => {
      const url = `${world.demo.gateway_url}/chat/completions`;
      return (await fetch(url, { method: 'POST', headers, body: sent })).status === 200;
    });
    await open('/all-requests?model=svc/chat-premium', 'Requests');
    await appears(page, row('svc/chat-premium').filter({ hasText: '200' }).first());
    await row('svc/chat-premium').filter({ hasText: '200' }).first().getByRole('button').click();
    await dialog.getByText('2.5 × the price of tokens').waitFor();
    await dialog.getByText('priority', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await open('/models', 'Models');
    await openFactors();
    expect(await factor(2).getByLabel('Factor', { exact: true }).inputValue()).toBe('2.5');
    await button('Remove Factor 1').click();
    await button('Remove Factor 1').click();
    await button('Save the factors').click();
    await row('svc/chat-premium').getByText('service_tier').waitFor({ state: 'detached' });
  });

  test('own provider keys are allowed for an alias at a fee, and forbidden again', async () => {
    await open('/models', 'Models');
    const dialog = page.getByRole('dialog');
    const openFee = () => row('svc/chat-premium').getByRole('button', { name: 'Own keys' }).click();
    for (const fee of ['12.5', '']) {
      await openFee();
      await dialog.getByLabel('Fee, in percent').fill(fee);
      expect(await violationsOf(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.waitFor({ state: 'detached' });
      await openFee();
      expect(await dialog.getByLabel('Fee, in percent').inputValue()).toBe(fee);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
    }
  });

  test('implausible usage is posted or dropped, with a reason', async () => {
    isAbsurd = true;
    expect([await call(), await call()]).toEqual([200, 200]);
    isAbsurd = false;
    await open('/withheld-usage', 'Withheld usage');
    const dialog = page.getByRole('dialog');
    await appears(page, row('svc/chat-cheap').nth(1));
    expect(await row('svc/chat-cheap').count()).toBe(2);
    await row('svc/chat-cheap').first().getByRole('button', { name: 'Post' }).click();
    expect(await violationsOf(page)).toEqual([]);
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
    expect(await violationsOf(page)).toEqual([]);
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
    expect(await violationsOf(page)).toEqual([]);
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

  test('P-13 the live log shows connected once no line is missed any more', async () => {
    await open('/logs', 'Logs');
    await page.getByText('connected', { exact: true }).waitFor();
    isBroken = true;
    expect(await call()).toBe(503);
    await page.getByRole('region', { name: 'Lines of the log' }).getByText('a model target failed').waitFor();
    isBroken = false;
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
    // The lines of another filter are not among those of this one.
    await watched.getByLabel('Request id').fill('req_1');
    await watched.getByRole('button', { name: 'Apply' }).click();
    await lines.getByText('line 701.').waitFor({ state: 'detached' });
    await connected();
    expect(await lines.innerText()).not.toContain('from');
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
    await page.getByLabel('From').fill('2001-01-01T00:00');
    await page.getByLabel('Until').fill('2001-01-02T00:00');
    await apply();
    await page.getByText('No such line').waitFor();
    await page.goBack();
    await found.first().waitFor();
    await page.getByLabel('Service').selectOption('gateway');
    await apply();
    await page.getByText('No such line').waitFor();
    await page.getByLabel('Service').selectOption('backend');
    await apply();
    await page.getByRole('button', { name: 'Live' }).click();
    await page.getByText('connected', { exact: true }).waitFor();
    const edgeOf = (name: string) =>
      page.getByRole('button', { name, exact: true }).evaluate((one) => getComputedStyle(one).borderColor);
    expect(await edgeOf('Live')).not.toBe(await edgeOf('Stored'));
    await page.emulateMedia({ forcedColors: 'active' });
    expect(await edgeOf('Live')).not.toBe(await edgeOf('Stored'));
    await page.emulateMedia({ forcedColors: 'none' });
    await unsigned({});
    await unsigned({ 'x-request-id': requestId });
    const lines = page.getByRole('region', { name: 'Lines of the log' });
    await lines.getByText(requestId).first().waitFor();
    const shown = await lines.locator('div').allInnerTexts();
    expect(shown.filter((line) => !line.includes(requestId))).toEqual([]);
    expect(await violationsOf(page)).toEqual([]);
  });

  test('A-8 the stack of an error stays open when newer lines come above it', async () => {
    const line = (message: string, stack?: string) => ({
      ...{ timestamp: '2030-01-02T03:04:05.678Z', level: 'ERROR', message },
      context: stack === undefined ? null : { error: { message: 'broken', stack } },
    });
    let nodes = [line('the one that is read', 'at first.ts:1'), line('an older one', 'at second.ts:1')];
    await page.route('**/graphql', (route) => {
      if (route.request().postData()?.includes('logEntries(') !== true) return route.continue();
      const logEntries = { nodes, pageInfo: { hasNextPage: false, endCursor: null } };
      return route.fulfill({ json: { data: { logEntries } } });
    });
    await open('/services', 'Services');
    await open('/logs?show=stored', 'Logs');
    await row('the one that is read').locator('summary').click();
    await page.getByText('at first.ts:1').waitFor();
    nodes = [line('the newest', 'at third.ts:1'), ...nodes];
    await loadAgain(page);
    await row('the newest').waitFor();
    expect(await page.getByText('at first.ts:1').isVisible()).toBe(true);
    expect(await page.getByText('at third.ts:1').isVisible()).toBe(false);
    await page.unroute('**/graphql');
  });

  test('G-29 companies show their balance and whether their calls are admitted', async () => {
    await open('/companies', 'Companies');
    await row(world.demo.company_id).getByText('Good').waitFor();
    await row(world.demo.company_id).getByRole('button', { name: 'Adjust credits' }).click();
    await page.getByRole('spinbutton', { name: 'Credits' }).fill('-100000000');
    await page.getByLabel('Reason').fill('to see it');
    await page.getByRole('button', { name: 'Post it' }).click();
    await page.getByRole('button', { name: 'Yes, post this amount' }).click();
    await page
      .getByRole('dialog')
      .getByText(/The balance is -/)
      .waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await row(world.demo.company_id).getByText('Out of credits').waitFor();
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
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await violationsOf(page)).toEqual([]);
    }
    await dialog.getByRole('button', { name: 'Close' }).click();
    const company = await world.visit();
    await logIn(company.page, world.demo.company_admin, '/usage');
    const card = company.page.getByRole('region', { name: 'Ceilings' });
    await card.getByText(/of 500$/).waitFor();
    for (const width of [390, 1440]) {
      await company.page.setViewportSize({ width, height: 900 });
      expect(await violationsOf(company.page)).toEqual([]);
    }
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
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect(await row('the mail server refused').count()).toBe(3);
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
