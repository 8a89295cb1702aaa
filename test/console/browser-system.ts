import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { graphqlClient } from '../backend/graphql-client.ts';
import { PATIENCE_MS } from '../doubles/patience.ts';
import { until } from '../doubles/until.ts';
import { freePort } from '../services/free-port.ts';
import { givenChromium } from '../services/given.ts';
import {
  type DemoFile,
  preparedDataFolder,
  type RunningSystem,
  startSystem,
} from '../system/running-system.ts';
import { moveTo } from './page-checks.ts';

export interface Visitor {
  readonly page: Page;
  /** What the browser complained about, and every request to a place that is not ours. */
  readonly complaints: string[];
  close(): Promise<void>;
}

interface VisitOptions {
  readonly width?: number;
  readonly colorScheme?: 'light' | 'dark';
}

export interface BrowserSystem {
  readonly browser: Browser;
  readonly demo: DemoFile;
  readonly system: RunningSystem;
  visit(options?: VisitOptions): Promise<Visitor>;
  close(): Promise<void>;
}

/** What Chromium loads into a process of its own for the address bar of each context: a tenth of the browser's processor time. */
const POPUPS = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup'];
/** Chromium takes the last list of features alone, so that Playwright's is repeated here. */
const PLAYWRIGHT_DISABLES = [
  ...['AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose', 'HttpsUpgrades'],
  ...['HttpsFirstBalancedModeAutoEnable', 'LensOverlay', 'MediaRouter', 'PaintHolding'],
  ...['ThirdPartyStoragePartitioning', 'AvoidCorsURLLoaderRestartOnRedirect', 'OptimizationHints'],
  ...['NetworkTimeServiceQuerying', 'AimEnabled', 'PreconnectToSearch'],
];

/** The whole system on an empty database, and a real browser beside it. `prepare` fills the data folder before. */
export async function openBrowserSystem(
  prepare: (dataFolder: string) => Promise<void> = async () => {},
  environment: Readonly<Record<string, string>> = {},
): Promise<BrowserSystem> {
  const program = givenChromium();
  if (program === null) throw new Error('these tests are skipped where there is no Chromium');
  const data = await preparedDataFolder();
  await prepare(data.folder);
  const [gateway, backend, ai, sandbox] = freePorts(4);
  const system = await startSystem(data.folder, {
    GATEWAY_PORT: String(gateway),
    BACKEND_PORT: String(backend),
    AI_PORT: String(ai),
    SANDBOX_PORT: String(sandbox),
    ...environment,
  });
  const demo = system.demo();
  // One renderer for all tabs: each further process costs a part of a second.
  const args = [
    ...['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--renderer-process-limit=1'],
    `--disable-features=${[...PLAYWRIGHT_DISABLES, ...POPUPS].join()}`,
  ];
  const browser = await chromium.launch({ executablePath: program, args });
  const own = [demo.gateway_url, demo.backend_url, demo.sandbox_url].map((url) => new URL(url).host);
  const idle: Tab[] = [];

  async function openTab(options: VisitOptions): Promise<Tab> {
    const { width = 1280, colorScheme = 'light' } = options;
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme,
      reducedMotion: 'reduce',
      baseURL: demo.backend_url,
      permissions: ['clipboard-write'],
    });
    context.setDefaultTimeout(PATIENCE_MS);
    // An installed clock cannot be removed from a context.
    let isReusable = isPlain(options);
    const install = context.clock.install.bind(context.clock);
    context.clock.install = async (time) => {
      isReusable = false;
      await install(time);
    };
    async function close(): Promise<void> {
      if (isReusable) idle.push({ page: await replacePages(context, demo), close });
      else await context.close();
    }
    return { page: await context.newPage(), close };
  }

  return {
    browser,
    demo,
    system,
    async visit(options = {}) {
      const { page, close } = (isPlain(options) ? idle.pop() : undefined) ?? (await openTab(options));
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(String(error)));
      page.on('request', (request) => {
        const url = new URL(request.url());
        if (url.protocol.startsWith('http') && !own.includes(url.host)) complaints.push(`outside: ${url}`);
      });
      return { page, complaints, close };
    },
    async close() {
      await browser.close();
      system.signal('SIGTERM');
      await system.exited;
      await data.remove();
    },
  };
}

interface Tab {
  readonly page: Page;
  /** Leaves a new tab for the next visit: a context that has loaded the console loads it again for a third of the CPU time. */
  close(): Promise<void>;
}

function isPlain({ width, colorScheme }: VisitOptions): boolean {
  return width === undefined && colorScheme === undefined;
}

/** A new tab without the session, storage, routes and listeners of the others, which are closed. */
async function replacePages(context: BrowserContext, { backend_url }: DemoFile): Promise<Page> {
  const used = context.pages();
  const page = await context.newPage();
  await Promise.all(used.map((one) => one.close()));
  await context.unrouteAll();
  await context.setOffline(false);
  await context.clearCookies();
  const tools = await context.newCDPSession(page);
  const { origin } = new URL(backend_url);
  await tools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'local_storage' });
  await tools.detach();
  return page;
}

interface Credentials {
  readonly email: string;
  readonly password: string;
}

/**
 * A session as the form begins one, without the form, which `roles.slow.test.ts` tests: the browser gets its cookie and the first
 * page finds it. Not one stored for several visits: a refresh token is good once.
 */
export async function logIn(page: Page, { email, password }: Credentials, path = '/'): Promise<void> {
  const headers = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };
  const sent = { headers, data: { email, password } };
  const answer = await page.context().request.post('/session/login', sent);
  const { errors } = (await answer.json()) as { errors?: readonly { message: string }[] };
  if (errors !== undefined) throw new Error(`${email} cannot log in: ${errors[0]?.message}`);
  await page.goto(path);
  await page.getByRole('button', { name: 'Log out', exact: true }).waitFor({ state: 'attached' });
}

/** By the form, in a tab that shows it. */
export async function typeLogIn(page: Page, { email, password }: Credentials): Promise<void> {
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('button', { name: 'Log out', exact: true }).waitFor({ state: 'attached' });
}

const SUBJECTS = {
  invitation: 'You are invited',
  'reset-password': 'Set a new password',
  'verify-email': 'Verify your e-mail address',
} as const;

type Ask = ReturnType<typeof graphqlClient>['ask'];

/** The backend as that person: for what is not what the test is about. */
export async function askAs({ backend_url }: DemoFile, { email, password }: Credentials): Promise<Ask> {
  const send = async (request: Request) =>
    await fetch(`${backend_url}/graphql`, {
      method: 'POST',
      headers: request.headers,
      body: await request.text(),
    });
  const { login } = await graphqlClient(send, null).ask<{ login: { accessToken: string } }>(
    'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }',
    { email, password },
  );
  return graphqlClient(send, login.accessToken).ask;
}

interface Mails {
  readonly capturedMails: { readonly nodes: readonly { to: string; subject: string; text: string }[] };
}

/** Out of the newest mail of that kind to the address, once it has been sent. */
export async function mailedLink(
  demo: DemoFile,
  email: string,
  kind: keyof typeof SUBJECTS,
): Promise<string> {
  const ask = await askAs(demo, demo.super_admin);
  let text = '';
  await until(async () => {
    const { capturedMails } = await ask<Mails>('{ capturedMails(first: 50) { nodes { to subject text } } }');
    const isMeant = ({ to, subject }: { to: string; subject: string }) =>
      to === email && subject.includes(SUBJECTS[kind]);
    text = capturedMails.nodes.find(isMeant)?.text ?? '';
    return text !== '';
  });
  return linkIn(text, kind);
}

/** The same on the page of captured mail. */
export async function shownLink(page: Page, email: string, kind: keyof typeof SUBJECTS): Promise<string> {
  await moveTo(page, '/mail');
  const row = page.getByRole('row').filter({ hasText: email }).filter({ hasText: SUBJECTS[kind] }).first();
  await row.getByRole('button', { name: 'Read' }).click();
  return linkIn(await page.getByRole('dialog').locator('pre').innerText(), kind);
}

function linkIn(text: string, kind: keyof typeof SUBJECTS): string {
  const link = new RegExp(`http\\S+/${kind}#token=\\S+`).exec(text)?.[0];
  if (link === undefined) throw new Error(`no link of ${kind} in the mail`);
  return link;
}

/** The console knows its own address and the gateway's before either is open: ports are chosen first. */
function freePorts(count: number): number[] {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(freePort());
  return [...ports];
}
