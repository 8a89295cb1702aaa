/** What people do by mistake, and what goes wrong behind a page: nothing is done twice or lost, and the page says what to do. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { givenChromium } from '../services/given.ts';
import { useResource } from '../setup/use-resource.ts';
import { askAs, logIn, openBrowserSystem, type Visitor } from './browser-system.ts';
import { loadAgain, moveTo, settled } from './page-checks.ts';

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
});
