/** What people do by mistake, and what goes wrong behind a page: nothing is done twice or lost, and the page says what to do. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Locator, Page } from 'playwright-core';
import { givenChromium } from '../services/given.ts';
import { useResource } from '../setup/use-resource.ts';
import { logIn, openBrowserSystem, type Visitor } from './browser-system.ts';
import { loadAgain, moveTo, settled } from './page-checks.ts';
import { walkLoadingPages } from './walk-traps.ts';

describe.skipIf(givenChromium() === null)('mishaps in a real browser', () => {
  let admin: Visitor;

  const world = useResource(() => openBrowserSystem());
  beforeAll(async () => {
    admin = await world.visit();
    await logIn(admin.page, world.demo.company_admin);
  });

  const button = (name: string | RegExp, { page } = admin) => page.getByRole('button', { name, exact: true });

  const call = async (content: string) => {
    const answer = await fetch(`${world.demo.gateway_url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.demo.full_key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc/chat-default', messages: [{ role: 'user', content }] }),
    });
    expect(answer.status).toBe(200);
    await answer.arrayBuffer();
  };

  test('P-15 a name that is changed and changed back is saved both times', async () => {
    const { page } = admin;
    await moveTo(page, '/settings');
    const name = page.getByLabel('Name', { exact: true });
    const before = await name.inputValue();
    for (const wanted of ['Another name', before]) {
      await name.fill(wanted);
      const saved = page.waitForResponse(
        (one) => one.request().postData()?.includes('updateCompany') === true,
      );
      await button('Save the profile').click();
      await saved;
      await page.getByText('The profile is saved').waitFor();
    }
    await page.reload();
    await settled(page);
    expect(await name.inputValue()).toBe(before);
    expect(admin.complaints).toEqual([]);
  });

  test('P-15 a double click posts credits once, and a large amount is asked about first', async () => {
    const operator = await world.visit();
    await logIn(operator.page, world.demo.super_admin, `/companies?search=${world.demo.company_id}`);
    let posted = 0;
    operator.page.on('request', (one) => {
      if (one.postData()?.includes('adjustCredits') === true) posted += 1;
    });
    await operator.page.getByRole('button', { name: 'Adjust credits' }).click();
    await operator.page.getByLabel('Credits', { exact: true }).fill('3');
    await operator.page.getByLabel('Reason').fill('a gift');
    const box = await button('Post it', operator).boundingBox();
    const [x, y] = [(box?.x ?? 0) + 20, (box?.y ?? 0) + 15];
    await operator.page.mouse.click(x, y);
    await operator.page.getByText('Done. The balance is').waitFor();
    await button('Post it', operator).and(operator.page.locator(':enabled')).waitFor();
    const now = await button('Post it', operator).boundingBox();
    await operator.page.mouse.move((now?.x ?? 0) + 20, (now?.y ?? 0) + 15);
    await operator.page.mouse.down({ clickCount: 2 });
    await operator.page.mouse.up({ clickCount: 2 });
    await operator.page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
    expect(posted).toBe(1);
    // Another amount in the same dialog is another posting, and a large one is asked about first.
    for (const amount of ['2', '20000']) {
      await operator.page.getByLabel('Credits', { exact: true }).fill(amount);
      await operator.page.getByLabel('Reason').fill('a gift');
      await button('Post it', operator).click();
      if (amount === '2') await operator.page.getByText('Done. The balance is').waitFor();
    }
    await operator.page.getByText('Give 20,000.00 credits to').waitFor();
    expect(posted).toBe(2);
    expect(operator.complaints).toEqual([]);
    await operator.close();
  });

  test('a dialog whose choices are missing or cannot be loaded has a button that closes it', async () => {
    const operator = await world.visit();
    const { page } = operator;
    await logIn(page, world.demo.super_admin, `/companies?search=${world.demo.company_id}`);
    let isDown = true;
    await page.route('**/graphql', (route) => {
      if (route.request().postData()?.includes('plans {') !== true) return route.continue();
      return isDown ? route.abort() : route.fulfill({ json: { data: { plans: [] } } });
    });
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Assign a plan' }).click();
    await dialog.getByText('The server cannot be reached').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    isDown = false;
    await page.getByRole('button', { name: 'Assign a plan' }).click();
    await dialog.getByText('There is no postpaid plan').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });

    await operator.close();
  });

  test('P-8 a log-out without a connection says that it did not succeed', async () => {
    const { page, close } = await world.visit();
    const failures: Error[] = [];
    page.on('pageerror', (error) => failures.push(error));
    await logIn(page, world.demo.company_admin, '/profile');
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Log out', exact: true }).click();
    await page.getByRole('alert').getByText('The server cannot be reached.').first().waitFor();
    expect(failures).toEqual([]);
    await close();
  });

  test('P-8 what one person has typed is not sent as another who has logged in elsewhere without a message to the tab', async () => {
    const { page, close } = await world.visit();
    await logIn(page, world.demo.company_admin, '/settings');
    await page.getByLabel('City').fill('Leeds');
    const { email } = world.demo.super_admin;
    const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };
    await page.context().request.post('/session/login', { headers, data: world.demo.super_admin });
    // The token of the tab has expired: it takes the session of the cookie.
    const expired = { errors: [{ message: 'expired', extensions: { code: 'UNAUTHENTICATED' } }] };
    let sent = 0;
    await page.route('**/graphql', (route) => {
      if (route.request().postData()?.includes('Leeds') !== true) return route.continue();
      sent += 1;
      return route.fulfill({ json: expired });
    });
    await page.getByRole('button', { name: 'Save the profile' }).click();
    await page.getByText(email).waitFor();
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
    expect(sent).toBe(1);
    await close();
  });

  test('P-8 a log-in that succeeds before the server fails continues afterwards', async () => {
    const { page, close } = await world.visit();
    await page.goto('/usage');
    await page.route('**/graphql', (route) => route.fulfill({ status: 503, body: '<html></html>' }));
    await page.getByLabel('E-mail').fill(world.demo.company_admin.email);
    await page.getByLabel('Password', { exact: true }).fill(world.demo.company_admin.password);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').getByText('The server is not available (503).').waitFor();
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    await close();
  });

  test('answers of proxies become words that say what to do; a server that does not answer is not waited for without end', async () => {
    const { page, close } = await world.visit();
    await logIn(page, world.demo.company_admin, '/requests');
    await settled(page);
    await page.route('**/calls/export*', (route) => route.fulfill({ status: 502, body: '<html></html>' }));
    await page.getByRole('button', { name: 'Export CSV', exact: true }).click();
    await page.getByRole('alert').getByText('The server is not available (502).').first().waitFor();
    await page.unrouteAll();
    await breaksOff(page);
    await page.clock.install();
    await page.route('**/graphql', () => undefined);
    await moveTo(page, '/service-tokens');
    await page.clock.fastForward(61_000);
    await page.getByRole('alert').getByText('has not responded for a minute').first().waitFor();
    await close();
  });

  test('a chart that cannot be loaded says so and offers to try again, in place of zeros', async () => {
    const { page, close } = await world.visit();
    await page.route('**/graphql', (route) =>
      route.request().postData()?.includes('"groupBy":["DAY"]') === true ? route.abort() : route.continue(),
    );
    await logIn(page, world.demo.company_admin, '/usage');
    const spend = page.getByRole('region', { name: 'Spend by day' });
    await spend.getByText('The server cannot be reached').waitFor();
    expect(await spend.getByRole('img').count()).toBe(0);
    await page.unrouteAll();
    await spend.getByRole('button', { name: 'Try again' }).click();
    await spend.getByRole('img', { name: /Credits spent by day/ }).waitFor();
    // An empty list that cannot be loaded again does not say that there is nothing.
    await moveTo(page, '/budgets');
    await page.getByText('No budgets yet').waitFor();
    await page.route('**/graphql', (route) => route.abort());
    await loadAgain(page);
    await page.getByRole('alert').getByText('The server cannot be reached').waitFor();
    expect(await page.getByText('No budgets yet').count()).toBe(0);
    await page.unrouteAll();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('No budgets yet').waitFor();
    await walkLoadingPages(page);
    await close();
  });

  test('invoices and usage are printed without navigation and buttons, in light colours', async () => {
    const { page, close } = await world.visit({ colorScheme: 'dark' });
    await logIn(page, world.demo.company_admin, '/billing');
    await settled(page);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    expect(await page.getByRole('navigation').isVisible()).toBe(false);
    expect(await page.locator('main button:visible').count()).toBe(0);
    await page.getByRole('heading', { name: 'Invoices' }).waitFor();
    const granted = page.getByRole('table').locator('time').first();
    const printed = granted.evaluate((time) => getComputedStyle(time, '::after').content);
    expect(await printed).toBe(`"${await granted.getAttribute('title')}"`);
    const ink = await page.locator('body').evaluate((body) => getComputedStyle(body).color);
    expect(ink).toBe('rgb(23, 26, 36)');
    await close();
  });

  test('the details of a request stay open while newer ones come, and a link shows an older one', async () => {
    const { page } = admin;
    await call('the older one');
    await moveTo(page, '/requests');
    await page
      .getByRole('button', { name: /^Details of / })
      .first()
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    await page.route('**/graphql', async (route) => {
      const answer = await route.fetch();
      const text = await answer.text();
      const isList = route.request().postData()?.includes('"filter":{"id":"') === false;
      const emptied = text.replace(/"nodes":\[\{.*\}\],"pageInfo"/, '"nodes":[],"pageInfo"');
      await route.fulfill({ response: answer, body: isList && text.includes('"calls"') ? emptied : text });
    });
    const repeated = page.waitForResponse((one) => one.request().postData()?.includes('calls(') === true);
    await loadAgain(page);
    await repeated;
    await page.getByText('No requests yet').waitFor();
    expect(await dialog.count()).toBe(1);
    await page.reload();
    await page.getByText('No requests yet').waitFor();
    await dialog.getByText('chat/completions').waitFor();
    await page.unrouteAll({ behavior: 'wait' });
    await dialog.getByRole('button', { name: 'Close' }).click();
  });

  test('large numbers are not broken at any width', async () => {
    const { page } = admin;
    await page.route('**/graphql', async (route) => {
      const answer = await route.fetch();
      const text = (await answer.text())
        .replaceAll(/"calls":[1-9]\d*/g, '"calls":1234567')
        .replace(/"creditBalance":\{"credits":[\d.]+/, '"creditBalance":{"credits":98765432.123456');
      await route.fulfill({ response: answer, body: text });
    });
    await moveTo(page, '/');
    const figure = page.getByRole('region', { name: 'Balance', exact: true }).locator('strong');
    await figure.getByText('98,765,432.12').waitFor();
    const calls = page.getByRole('region', { name: 'Calls', exact: true }).locator('strong');
    await calls.getByText('1,234,567').waitFor();
    for (const width of [360, 900, 1024, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      for (const one of [figure, calls]) expect([width, await linesOf(one)]).toEqual([width, 1]);
    }
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('what a form does is read out, and the focus stays where the person is', async () => {
    const { page } = admin;
    const isFocused = async (name: string) =>
      await page.waitForFunction((text) => document.activeElement?.textContent === text, name);
    await moveTo(page, '/team');
    const read = page.locator('body > #console > .announcements');
    await page.getByLabel('E-mail').fill('read-out@people.example');
    await button('Send the invitation').focus();
    await read.evaluate((one) => one.replaceChildren());
    await page.keyboard.press('Enter');
    await read.getByText('Done.').waitFor();
    await isFocused('Send the invitation');
    await button('Withdraw read-out@people.example').focus();
    await page.keyboard.press('Enter');
    await page.getByText('An invitation is sent by e-mail').waitFor();
    await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
  });

  test('what is typed while a form is being sent is not cleared with it', async () => {
    const { page } = admin;
    await moveTo(page, '/team');
    const address = page.getByLabel('E-mail', { exact: true });
    const isTyped = Promise.withResolvers<void>();
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('inviteMember') === true) await isTyped.promise;
      await route.continue();
    });
    const invitationOf = (email: string) => page.getByRole('cell', { name: email, exact: true });
    await address.fill('first@typed.example');
    await button('Send the invitation').click();
    await button('Working…').waitFor();
    await address.fill('second@typed.example');
    isTyped.resolve();
    await invitationOf('first@typed.example').waitFor();
    await button('Send the invitation').waitFor();
    expect(await address.inputValue()).toBe('second@typed.example');
    await button('Send the invitation').click();
    await invitationOf('second@typed.example').waitFor();
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('[name=email]')?.value === '');
    await page.unroute('**/graphql');
    expect(admin.complaints).toEqual([]);
  });

  test('a CV that was refused can be chosen again, and a cancelled choice keeps the reason', async () => {
    const { page } = admin;
    await moveTo(page, '/talents');
    const chooser = page.getByLabel('Drop CVs here, or choose them');
    await chooser.setInputFiles({ name: 'Empty.txt', mimeType: 'text/plain', buffer: Buffer.alloc(0) });
    const refused = page.getByRole('alert').filter({ hasText: 'Empty.txt' });
    await refused.getByRole('button', { name: 'Send it again' }).waitFor();
    // A browser reports a file only if it differs from the value of the field.
    expect(await chooser.inputValue()).toBe('');
    await chooser.dispatchEvent('change');
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
    expect(await refused.count()).toBe(1);
    expect(admin.complaints).toEqual([]);
  });

  test('the playground says that it waits, and keeps no empty answer of a call that failed', async () => {
    const { page, close } = await world.visit();
    await logIn(page, world.demo.company_admin, '/playground');
    const isSeen = Promise.withResolvers<void>();
    const answers = `${world.demo.gateway_url}/chat/completions`;
    await page.route(answers, async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      await isSeen.promise;
      return route.fulfill({
        status: 503,
        headers: { 'access-control-allow-origin': '*' },
        json: { error: { message: 'No provider answers.', code: 'LLM_GATEWAY_UNAVAILABLE' } },
      });
    });
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('Waiting for the model…').waitFor();
    isSeen.resolve();
    await page.getByRole('alert').getByText('No provider answers.').waitFor();
    await page.getByText('No answer yet').waitFor();
    await close();
  });

  test('a list that is wider than the window keeps its buttons in view', async () => {
    const { page, close } = await world.visit({ width: 1024 });
    await logIn(page, world.demo.company_admin, '/requests');
    await call('Hello');
    await loadAgain(page);
    const details = page.getByRole('button', { name: /^Details of / }).first();
    await details.waitFor();
    const box = await details.boundingBox();
    const scroller = await page.locator('.scroller').first().boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(
      (scroller?.x ?? 0) + (scroller?.width ?? 0),
    );

    await close();
  });

  test('Escape closes the menu of a narrow window, and the focus is at its button', async () => {
    const { page } = admin;
    await page.setViewportSize({ width: 360, height: 900 });
    const menu = page.getByRole('button', { name: 'Menu' });
    await menu.press('Enter');
    await page.getByRole('link', { name: 'Overview' }).focus();
    await page.keyboard.press('Escape');
    await page.getByRole('navigation').waitFor({ state: 'hidden' });
    expect(await menu.getAttribute('aria-expanded')).toBe('false');
    expect(await menu.evaluate((one) => one === document.activeElement)).toBe(true);
    await page.setViewportSize({ width: 1280, height: 900 });
  });
});

const linesOf = async (text: Locator) =>
  Math.round(
    await text.evaluate(
      (one) => one.getBoundingClientRect().height / parseFloat(getComputedStyle(one).lineHeight),
    ),
  );

/** An export shows that it runs, and runs once. One that breaks off is no file, and the page says so. */
async function breaksOff(page: Page): Promise<void> {
  const held = Promise.withResolvers<void>();
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.writeHead(200, { 'content-type': 'text/csv' });
    response.write('id,request_id\r\n');
    void held.promise.then(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/calls/export`;
  await page.route('**/calls/export*', (route) => route.continue({ url }));
  await page.getByRole('button', { name: 'Export CSV' }).click();
  const exporting = page.getByRole('button', { name: /^Exporting…/ });
  await exporting.waitFor();
  expect(await exporting.evaluate((one) => one === document.activeElement)).toBe(true);
  await exporting.click({ force: true });
  await page.getByRole('button', { name: 'Export JSON Lines' }).click({ force: true });
  held.resolve();
  await page.getByRole('alert').getByText('no file was saved').waitFor();
  expect(requests).toBe(1);
  await page.unrouteAll();
  server.close();
}
