/**
 * The pictures of README.md and docs/console.md: `bun test/console/pictures.ts [folder]`, on a system of its own with a month of
 * calls. It writes into docs/pictures unless a folder is named. Look at them before you commit them: 150 kB each at most.
 */
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { openPglite } from '../../src/adapters/database/pglite/pglite.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import type { FinishedCall } from '../../src/domain/calls/settlement/finished-call.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { startSystem } from '../system/running-system.ts';
import { askAs, type BrowserSystem, logIn, openBrowserSystem } from './browser-system.ts';
import { fillCompany } from './filled-company.ts';
import { moveTo, settled } from './page-checks.ts';

const FOLDER = process.argv[2] ?? join(import.meta.dir, '../../docs/pictures');
const MOST_BYTES = 150_000;
const [DAY_MS, HOUR_MS] = [86_400_000, 3_600_000];
const MODELS = [
  'svc/chat-default',
  'svc/chat-default',
  'svc/chat-cheap',
  'svc/chat-premium',
  'svc/chat-cheap',
];
const PROJECTS = [
  ['Support desk', 'support', ['visitor-7', 'visitor-12', 'visitor-31'], 'feature:answers'],
  ['Search', 'search', ['acme-shop', 'northwind'], 'feature:rerank'],
  ['Reports', 'reports', [null], 'env:batch'],
] as const;

/** A month that has weekdays and grows, with a few failures and refusals; the same with every run. */
function monthOfCalls(companyId: string, keys: readonly string[]): FinishedCall[] {
  let seed = 7;
  const below = (most: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % most;
  };
  const now = Date.now();
  return Array.from({ length: 30 }, (_, ago) => {
    const isWeekend = [0, 6].includes(new Date(now - ago * DAY_MS).getUTCDay());
    const calls = Math.round((isWeekend ? 6 : 18) + (30 - ago) / 3 + below(8));
    return Array.from({ length: calls }, (__, n) => {
      const which = below(10) < 5 ? 0 : below(10) < 6 ? 1 : 2;
      const [, project, users, tag] = PROJECTS[which] ?? PROJECTS[0];
      const [isFailed, isRefused] = [below(40) === 0, below(30) === 0];
      const began =
        ago === 0 ? now - below(5) * HOUR_MS - n * 71_000 : now - ago * DAY_MS - below(20) * HOUR_MS;
      return finishedCall(companyId, {
        keyId: keys[which] ?? null,
        requestId: `req_${began.toString(36)}${n}`,
        alias: MODELS[below(MODELS.length)] ?? null,
        startedAtMs: began,
        streamed: below(2) === 0,
        firstByteMs: isRefused ? null : 180 + below(400),
        durationMs: isRefused ? 2 + below(9) : 700 + below(5_000),
        tokens:
          isFailed || isRefused
            ? null
            : {
                promptTokens: 400 + below(3_000),
                cachedTokens: below(300),
                completionTokens: 60 + below(900),
              },
        ...(isFailed ? { outcome: 'FAILED', reason: 'upstream-time-out', httpStatus: 504 } : {}),
        ...(isRefused
          ? { outcome: 'REFUSED', reason: 'rateLimited', httpStatus: 429, alias: 'svc/chat-default' }
          : {}),
        project,
        ...endUserOf(users[below(users.length)] ?? null),
        tags: [tag, below(3) === 0 ? 'env:staging' : 'env:prod'],
      });
    });
  }).flat();
}

/** What the keys of the projects may do; the last one was never limited. */
const KEYS = [
  { requestsPerMinute: 300, monthlySpendingLimit: 40, expiresAt: new Date(Date.now() + 90 * DAY_MS) },
  { models: ['svc/chat-cheap', 'svc/embed-default'], monthlySpendingLimit: 15 },
  { scopes: ['inference:chat'] },
] as const;

const endUserOf = (endUser: string | null) => (endUser === null ? {} : { endUser });

const BUDGETS = [
  { scope: 'COMPANY', monthlyCredits: 2, hard: false },
  { scope: 'PROJECT', subject: 'support', monthlyCredits: 1.2 },
  { scope: 'PROJECT', subject: 'reports', monthlyCredits: 0.25, hard: false },
  { scope: 'END_USER', subject: 'visitor-7', monthlyCredits: 0.3 },
];

/** The demo world exists after a first start; its database is locked while it runs. */
async function prepare(dataFolder: string): Promise<void> {
  const first = await startSystem(dataFolder);
  const demo = first.demo();
  const ask = await askAs(demo, demo.company_admin);
  const keys: string[] = [];
  for (const [at, [name, project]] of PROJECTS.entries()) {
    const { createApiKey } = await ask<{ createApiKey: { apiKey: { id: string } } }>(
      'mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKey { id } } }',
      { input: { name, project, ...KEYS[at] } },
    );
    keys.push(createApiKey.apiKey.id);
  }
  for (const input of BUDGETS)
    await ask('mutation($input: BudgetInput!) { setBudget(input: $input) { id } }', { input });
  first.signal('SIGTERM');
  await first.exited;
  const folder = join(dataFolder, 'database');
  const limits = { maxWaiting: 100, statementTimeoutMs: 100_000 };
  const database = await openPglite({ folder, log: createSilentLog(), ...limits });
  await chargeCalls(database, monthOfCalls(demo.company_id, keys));
  // As the gateway does behind a call.
  await database.query('update api_keys set last_used_at = now() where id = any($1)', [keys]);
  await database.close();
}

async function take(page: Page, name: string): Promise<void> {
  await settled(page);
  await page.waitForLoadState('networkidle');
  const path = join(FOLDER, `${name}.webp`);
  // Playwright itself has no WebP, which is a third of a PNG here.
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 90 });
  const bytes = Buffer.from(data, 'base64');
  await Bun.write(path, bytes);
  console.log(`${path} ${Math.round(bytes.length / 1_000)} kB`);
  if (bytes.length > MOST_BYTES) {
    throw new Error(`${name} has more than ${MOST_BYTES} bytes: take less of the page`);
  }
}

async function ofCompany(world: BrowserSystem): Promise<void> {
  const { demo } = world;
  const { page, close } = await world.visit({ width: 1280 });
  await page.setViewportSize({ width: 1280, height: 800 });
  await logIn(page, demo.company_admin, '/keys');
  await page.getByRole('row').filter({ hasText: 'Support desk' }).waitFor();
  await take(page, 'keys');
  await moveTo(page, '/budgets');
  await page.getByRole('row').filter({ hasText: 'visitor-7' }).waitFor();
  await page.setViewportSize({ width: 1280, height: 600 });
  await take(page, 'budgets');
  await page.setViewportSize({ width: 1280, height: 800 });
  await moveTo(page, '/requests');
  await page.getByRole('row').nth(8).waitFor();
  await page.evaluate(() => scrollTo(0, 430));
  await take(page, 'requests');
  await page.getByRole('row').filter({ hasText: 'rateLimited' }).first().getByRole('button').click();
  await page.getByRole('dialog').getByText('Request id').waitFor();
  await take(page, 'request');
  await page.getByRole('button', { name: 'Close' }).click();
  const { talentId } = await fillCompany(demo);
  await moveTo(page, '/usage?by=project');
  await page.getByText('reports', { exact: true }).first().waitFor();
  // A chart that is drawn again does not know where the pointer is.
  await settled(page);
  await page.evaluate(() => scrollTo(0, 250));
  await page.mouse.move(900, 180);
  await take(page, 'usage');
  await moveTo(page, `/talents/${talentId}`);
  await page.setViewportSize({ width: 1280, height: 700 });
  await take(page, 'talent');
  await page.setViewportSize({ width: 1280, height: 800 });
  await moveTo(page, '/matches');
  await page.getByRole('button', { name: 'Reasons' }).first().click();
  await page.getByRole('dialog').getByRole('cell', { name: 'Skills' }).waitFor();
  await take(page, 'match');
  await moveTo(page, '/playground');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText(/completion tokens/).waitFor();
  await take(page, 'playground');
  await close();
}

async function ofOperators(world: BrowserSystem): Promise<void> {
  const { page, close } = await world.visit({ width: 1280 });
  await page.setViewportSize({ width: 1280, height: 800 });
  await logIn(page, world.demo.super_admin, '/models');
  const row = page.getByRole('row').filter({ hasText: 'svc/chat-default' });
  await row.getByRole('button', { name: 'Targets' }).click();
  const dialog = page.getByRole('dialog');
  for (const number of [1, 2]) {
    await dialog.getByRole('button', { name: 'Add a target' }).click();
    const target = dialog.getByRole('group', { name: `Target ${number}` });
    await target.getByLabel('Provider').selectOption(number === 1 ? 'openai' : 'anthropic');
    await target.getByLabel('Model').fill(number === 1 ? 'gpt-4o-mini' : 'claude-3-5-haiku-latest');
    await target.getByLabel('Weight').fill(number === 1 ? '3' : '1');
    await target.getByLabel('Key').fill('sk-of-the-picture');
  }
  await dialog.getByRole('heading').scrollIntoViewIfNeeded();
  await take(page, 'providers');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await moveTo(page, '/services');
  await page
    .getByRole('region', { name: 'Machines' })
    .getByText(/of one core|cores/)
    .waitFor();
  await take(page, 'services');
  await close();
}

/** A company that has just signed up. */
async function ofNewcomers(world: BrowserSystem): Promise<void> {
  const { page, close } = await world.visit({ width: 1280 });
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto('/sign-up');
  await page.getByLabel('Company').fill('Newcomers Ltd');
  await page.getByLabel('E-mail').fill('ada@newcomers.example');
  await page.getByLabel('Password').fill('a long enough secret 7');
  await page.getByRole('button', { name: 'Sign up' }).click();
  await page.getByRole('region', { name: 'Your first call' }).first().waitFor();
  await take(page, 'first-call');
  await close();
}

const world = await openBrowserSystem(prepare, { TRIAL_CREDITS: '25' });
try {
  await ofCompany(world);
  await ofOperators(world);
  await ofNewcomers(world);
} finally {
  await world.close();
}
