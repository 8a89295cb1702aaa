/** Every page, on every width and in both colour schemes: whole, reachable, and without a word from the browser. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { givenChromium } from '../services/given.ts';
import { useResource } from '../setup/use-resource.ts';
import { logIn, openBrowserSystem, type Visitor } from './browser-system.ts';
import { fillCompany } from './filled-company.ts';
import { keepPicture, moveTo, settled, violationsOf, widthOf } from './page-checks.ts';

const WIDTHS = [360, 768, 1440];
const SCHEMES = ['light', 'dark'] as const;
const DOORS = [
  ...['/', '/sign-up', '/forgotten-password'],
  ...['/invitation#token=abc', '/reset-password#token=abc', '/verify-email#token=abc'],
];
const COMPANY = [
  '/',
  '/settings',
  '/keys',
  '/service-tokens',
  '/provider-keys',
  '/usage',
  '/requests',
  '/billing',
  '/playground',
  '/payloads',
  '/calls/req_none/payload',
  '/prices',
  '/mcp',
  '/team',
  '/alerts',
  '/budgets',
  '/audit',
  '/jobs',
  '/talents',
  '/matches',
  '/meetings',
];
const SYSTEM = [
  '/companies',
  '/catalogue',
  '/models',
  '/margins',
  '/payment-events',
  '/stale-subscriptions',
  '/logs',
  '/generator',
  '/mail',
];
describe.skipIf(givenChromium() === null)('the pages', () => {
  let single: readonly string[] = [];

  const world = useResource(() => openBrowserSystem());
  beforeAll(async () => {
    // With something in every list: empty pages prove little.
    const { jobId, talentId, meetingId } = await fillCompany(world.demo);
    const edited = [`/jobs/${jobId}`, `/talents/${talentId}`].flatMap((path) => [path, `${path}/edit`]);
    single = [...edited, `/meetings/${meetingId}`];
  });

  async function enter(person: { email: string; password: string } | null): Promise<Visitor> {
    const visitor = await world.visit();
    if (person !== null) await logIn(visitor.page, person);
    return visitor;
  }

  const rows = [
    ['somebody who is not logged in', () => DOORS, () => null],
    ['a company admin', () => [...COMPANY, '/profile', '/nowhere'], () => world.demo.company_admin],
    ['a company admin, of one thing each,', () => single, () => world.demo.company_admin],
    ['a super admin', () => SYSTEM, () => world.demo.super_admin],
  ] as const;
  test.each(rows)(
    'of %s are whole and reachable at every width, light and dark',
    async (who, pathsOf, person) => {
      const { page, complaints, close } = await enter(person());
      for (const [at, path] of pathsOf().entries()) {
        if (at === 0) await page.goto(path);
        else await moveTo(page, path);
        await settled(page);
        for (const colorScheme of SCHEMES) {
          await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
          for (const width of WIDTHS) {
            await page.setViewportSize({ width, height: 900 });
            const where = `${path} ${colorScheme} ${width}`;
            expect([where, await widthOf(page)]).toEqual([where, width]);
            expect([where, await violationsOf(page, colorScheme === 'dark')]).toEqual([where, []]);
            await keepPicture(page, `${who}${where}`);
          }
        }
      }
      expect(complaints).toEqual([]);
      await close();
    },
    120_000,
  );

  test('dialogs are reachable too, hold the focus and close with Escape', async () => {
    const { page, complaints, close } = await enter(world.demo.company_admin);
    await page.goto('/keys');
    await page.getByRole('button', { name: 'Mint a key' }).click();
    await page.getByLabel('Name').waitFor();
    await page.setViewportSize({ width: 360, height: 900 });
    expect(await violationsOf(page)).toEqual([]);
    await keepPicture(page, 'dialog mint');
    expect(await page.evaluate(() => document.activeElement?.closest('dialog') !== null)).toBe(true);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
    await close();
  });
});
