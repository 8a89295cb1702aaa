import { readFileSync } from 'node:fs';
import type { Clock } from '../ports/clock.ts';
import {
  type Command,
  type CommandContext,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  readOptions,
} from './command.ts';
import {
  type Ask,
  type Check,
  type CheckResult,
  checksOf,
  createAsk,
  type DeploymentAddresses,
  type Fetch,
  gatewayOf,
  modelCallCheck,
  type ServiceName,
  servicesAt,
} from './deployment-checks.ts';

/** P-6: /health is requested up to 20 times, 3 s apart, for at most 60 s. */
const ATTEMPTS = 20;
const INTERVAL_MS = 3_000;
const TOTAL_MS = 60_000;
/** Failed checks are repeated once the services answer, because workers start after their service. */
const CHECK_ATTEMPTS = 3;
/** A provider may think before its first word. */
const CALL_MS = 60_000;
const MOST_KEY_CHARACTERS = 1_000;

const SERVICES = ['backend', 'gateway', 'ai'] as const;
const TITLES: Readonly<Record<ServiceName, string>> = {
  ...{ backend: 'backend', gateway: 'gateway', ai: 'AI service' },
};

interface VerifyOptions {
  readonly url: string;
  readonly given: Partial<Record<ServiceName, string>>;
  readonly json: boolean;
  /** A file with an API key, for a real call; null makes none. */
  readonly keyFile: string | null;
  /** The model of that call; null is one that the key may use. */
  readonly model: string | null;
}

interface Verification {
  readonly url: string;
  readonly ok: boolean;
  readonly attempts: number;
  readonly checks: readonly CheckResult[];
}

export function verifyDeployment(fetchAnswer: Fetch = fetch): Command {
  const command: Command = {
    name: 'verify-deployment',
    usage: 'URL [--gateway URL] [--ai URL] [--backend URL] [--key-file PATH [--model ALIAS]] [--json]',
    summary: `Waits until URL/health answers (${ATTEMPTS} attempts, ${INTERVAL_MS / 1000} s apart), then checks every service. With an API key it makes one small call.`,
    works: 'alone',
    async run(context, words) {
      const options = readWords(words);
      const { terminal, clock } = context;
      if (options === null) return complainOfUsage(terminal, command);
      const show = options.json ? () => {} : terminal.print;
      const apiKey = options.keyFile === null ? null : readKey(options.keyFile);
      if (apiKey === '') {
        terminal.complain(`--key-file: ${options.keyFile} cannot be read, or is empty`);
        return EXIT_FAILED;
      }
      const ask = createAsk(fetchAnswer, clock);
      const verified = await verify(options, { context, fetchAnswer, ask, show, apiKey });
      if (options.json) terminal.print(JSON.stringify(verified, null, 2));
      const failed = verified.checks.filter(({ status }) => status === 'fail');
      for (const { service, check, url, message } of options.json ? [] : failed) {
        terminal.complain(`${TITLES[service]}, ${check}: ${message} (${url})`);
      }
      const checked = verified.checks.filter(({ status }) => status !== 'skipped').length;
      if (verified.ok) show(`${checked} checks passed`);
      else if (!options.json) terminal.complain(`${failed.length} of ${checked} checks failed`);
      return verified.ok ? EXIT_OK : EXIT_FAILED;
    },
  };
  return command;
}

interface Verifying {
  readonly context: CommandContext;
  readonly fetchAnswer: Fetch;
  readonly ask: Ask;
  readonly show: (line: string) => void;
  readonly apiKey: string | null;
}

async function verify(options: VerifyOptions, parts: Verifying): Promise<Verification> {
  const { context, fetchAnswer, ask, show, apiKey } = parts;
  const { clock } = context;
  const deadline = clock.now() + TOTAL_MS;
  const { url } = options;
  const first = await waitForHealth(`${url}/health`, { clock, fetchAnswer, show, deadline });
  const present = first.isUp ? await servicesAt(url, ask) : [];
  if (!first.isUp || present.length === 0) {
    const message = first.isUp
      ? 'No service of Turnpike answers at this address.'
      : `It did not answer well within ${TOTAL_MS / 1000} s (${first.why}). Look at the log of that service.`;
    const check = { service: present[0] ?? 'backend', check: 'health', url: `${url}/health` } as const;
    const checks: readonly CheckResult[] = [{ ...check, status: 'fail', message }];
    return { url, ok: false, attempts: first.attempts, checks };
  }
  const addresses = await addressesOf(options, present, parts);
  // Other services may still be starting. Those that never answer fail their own checks.
  const others = SERVICES.filter((service) => !present.includes(service)).flatMap((service) => {
    const base = addresses[service]?.replace(/\/llm\/v1$/, '');
    return base === undefined ? [] : [`${base}/health`];
  });
  await Promise.all(others.map((health) => waitForHealth(health, { clock, fetchAnswer, show, deadline })));
  const { gateway } = addresses;
  const askModel = createAsk(fetchAnswer, clock, CALL_MS);
  const call =
    gateway === null || apiKey === null
      ? []
      : [modelCallCheck(gateway, { apiKey, model: options.model, askModel })];
  const results = await runChecks([...checksOf(addresses), ...call], ask, clock);
  const unmade = gateway === null || apiKey !== null ? [] : [noCall(gateway)];
  const unknown = SERVICES.flatMap((service) => skipped(service, addresses[service]));
  const checks = [...results, ...unmade, ...unknown];
  for (const result of checks) show(lineOf(result));
  return { url, ok: checks.every(({ status }) => status !== 'fail'), attempts: first.attempts, checks };
}

/**
 * In order of precedence: given addresses, services that answer at the URL itself, deployments known on this machine,
 * and the console's setting for the gateway.
 */
async function addressesOf(
  { url, given }: VerifyOptions,
  present: readonly ServiceName[],
  { context, ask }: Verifying,
): Promise<DeploymentAddresses> {
  const known = (context.deployments?.() ?? []).find((one) =>
    Object.values(one).some((address) => originOf(address) === originOf(url)),
  );
  const here = (service: ServiceName) => (present.includes(service) ? url : null);
  const backend = given.backend ?? here('backend') ?? known?.backend ?? null;
  const local = given.gateway ?? here('gateway') ?? known?.gateway ?? null;
  const gateway = local ?? (backend === null ? null : await gatewayOf(backend, ask));
  return {
    backend,
    gateway: gateway === null ? null : `${gateway.replace(/\/llm\/v1$/, '')}/llm/v1`,
    ai: given.ai ?? here('ai') ?? known?.ai ?? null,
  };
}

async function runChecks(checks: readonly Check[], ask: Ask, clock: Clock): Promise<readonly CheckResult[]> {
  const results = await Promise.all(checks.map((check) => runCheck(check, ask)));
  for (let attempt = 2; attempt <= CHECK_ATTEMPTS; attempt += 1) {
    if (results.every(({ status }) => status !== 'fail')) break;
    await clock.sleep(INTERVAL_MS);
    for (const [index, check] of checks.entries()) {
      if (results[index]?.status === 'fail') results[index] = await runCheck(check, ask);
    }
  }
  return results;
}

async function runCheck(check: Check, ask: Ask): Promise<CheckResult> {
  const { service, name, url } = check;
  try {
    return { service, check: name, url, ...(await check.run(ask)) };
  } catch (error) {
    return { service, check: name, url, status: 'fail', message: sentence((error as Error).message) };
  }
}

function skipped(service: ServiceName, address: string | null): readonly CheckResult[] {
  if (address !== null) return [];
  const message = `Its address is not known: pass --${service} URL.`;
  return [{ service, check: 'all', url: '', status: 'skipped', message }];
}

function noCall(gateway: string): CheckResult {
  const message =
    'No call was made, so that keys, prices and providers are not checked: pass --key-file PATH with an API key of a company.';
  return {
    service: 'gateway',
    check: 'model call',
    url: `${gateway}/chat/completions`,
    status: 'skipped',
    message,
  };
}

/** Empty if there is none. */
function readKey(path: string): string {
  try {
    return readFileSync(path, 'utf8').slice(0, MOST_KEY_CHARACTERS).trim();
  } catch {
    return '';
  }
}

function lineOf({ service, check, status, message }: CheckResult): string {
  return `${status.padEnd(8)}${TITLES[service].padEnd(11)} ${check}: ${message}`;
}

interface Waiting {
  readonly clock: Clock;
  readonly fetchAnswer: Fetch;
  readonly show: (line: string) => void;
  readonly deadline: number;
}

interface Health {
  readonly isUp: boolean;
  readonly attempts: number;
  readonly why: string;
}

async function waitForHealth(
  address: string,
  { clock, fetchAnswer, show, deadline }: Waiting,
): Promise<Health> {
  let why = 'no attempt was made';
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const begun = clock.now();
    if (begun >= deadline) return { isUp: false, attempts: attempt - 1, why };
    const health = await askHealth(
      address,
      createAsk(fetchAnswer, clock, Math.min(INTERVAL_MS, deadline - begun)),
    );
    if ('status' in health) {
      show(`${address} is up after ${attempt} of ${ATTEMPTS} attempts, status ${health.status}`);
      return { isUp: true, attempts: attempt, why: '' };
    }
    why = health.why;
    show(`attempt ${attempt} of ${ATTEMPTS}: ${address}: ${why}`);
    const pauseMs = Math.min(begun + INTERVAL_MS, deadline) - clock.now();
    if (attempt < ATTEMPTS && pauseMs > 0) await clock.sleep(pauseMs);
  }
  return { isUp: false, attempts: ATTEMPTS, why };
}

async function askHealth(address: string, ask: Ask): Promise<{ status: string } | { why: string }> {
  try {
    const { response, text } = await ask(address);
    if (response.status !== 200) return { why: `it answered ${response.status}` };
    const body: unknown = JSON.parse(text);
    const status = (body as { status?: unknown } | null)?.status;
    return typeof status === 'string' ? { status } : { why: 'its answer has no "status"' };
  } catch (error) {
    return { why: error instanceof SyntaxError ? 'its answer has no "status"' : (error as Error).message };
  }
}

const OPTIONS = {
  backend: { type: 'string' },
  gateway: { type: 'string' },
  ai: { type: 'string' },
  'key-file': { type: 'string' },
  model: { type: 'string' },
  json: { type: 'boolean' },
} as const;

/** Null if the arguments are invalid. */
function readWords(words: readonly string[]): VerifyOptions | null {
  const typed = readOptions(words, OPTIONS, 1);
  if (typed === null) return null;
  const { json = false, 'key-file': keyFile = null, model = null, ...named } = typed.values;
  if (model !== null && keyFile === null) return null;
  const [url] = typed.positionals.map(baseOf);
  const given = Object.entries(named).map(([name, word]) => [name, baseOf(word)] as const);
  if (url == null || given.some(([, base]) => base === null)) return null;
  return { url, given: Object.fromEntries(given), json, keyFile, model };
}

/** The base address of a service, given as such or as one of its routes. */
function baseOf(word: string): string | null {
  const url = URL.parse(word);
  if (url === null || !/^https?:$/.test(url.protocol)) return null;
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '').replace(/\/(?:healthz?|graphql|llm\/v1)$/, '');
}

/** Treats localhost and 127.0.0.1 as the same. */
function originOf(address: string | null): string | null {
  const url = URL.parse(address ?? '');
  return url === null ? null : url.origin.replace('//localhost', '//127.0.0.1');
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
