import type { Clock } from '../ports/clock.ts';

/** The base address of each service of a deployment; null if unknown. */
export type DeploymentAddresses = Readonly<Record<ServiceName, string | null>>;
export type ServiceName = 'backend' | 'gateway' | 'ai';

export type Fetch = (url: string, init: RequestInit & { signal: AbortSignal }) => Promise<Response>;

/** `warn` needs the attention of an operator but does not prevent anything from working. */
export interface CheckResult {
  readonly service: ServiceName;
  readonly check: string;
  readonly url: string;
  readonly status: 'ok' | 'warn' | 'fail' | 'skipped';
  readonly message: string;
}

/** One request to a service, with a time limit; rejects with a readable message. */
export type Ask = (
  url: string,
  init?: RequestInit,
) => Promise<{ readonly response: Response; readonly text: string }>;

export interface Check {
  readonly service: ServiceName;
  readonly name: string;
  readonly url: string;
  run(ask: Ask): Promise<Finding>;
}

type Finding = Pick<CheckResult, 'status' | 'message'>;

const REQUEST_MS = 5_000;
const MOST_BODY_CHARACTERS = 200;

export function createAsk(fetchAnswer: Fetch, clock: Clock, timeoutMs = REQUEST_MS): Ask {
  return async (url, init = {}) => {
    const stop = new AbortController();
    const timer = clock.after(timeoutMs, () => stop.abort());
    try {
      const response = await fetchAnswer(url, { ...init, redirect: 'manual', signal: stop.signal });
      return { response, text: await response.text() };
    } catch {
      throw new Error(stop.signal.aborted ? `no answer within ${timeoutMs} ms` : 'it cannot be reached');
    } finally {
      timer.cancel();
    }
  };
}

/** All checks of the services whose addresses are known, in display order. */
export function checksOf({ backend, gateway, ai }: DeploymentAddresses): readonly Check[] {
  return [
    ...(backend === null ? [] : backendChecks(backend)),
    ...(gateway === null ? [] : gatewayChecks(gateway)),
    ...(ai === null ? [] : aiChecks(ai)),
  ];
}

function backendChecks(base: string): readonly Check[] {
  const check = checker('backend', base);
  return [
    check('health', '/health', async (ask, url) => dependencies(await ask(url))),
    check('healthz', '/healthz', async (ask, url) => expectStatus(await ask(url), 200, 'It answers.')),
    check('GraphQL introspection', '/graphql', async (ask, url) => {
      const query = '{ __typename __schema { queryType { name } } }';
      const answer = await ask(url, jsonBody({ query }));
      const name = at(jsonOf(answer.text), 'data', '__schema', 'queryType', 'name');
      return typeof name === 'string' ? ok(`The schema begins at ${name}.`) : unexpected(answer);
    }),
    check('console', '/', consoleAssets),
    check('webhook refuses an unsigned event', '/payments/webhook', async (ask, url) => {
      const answer = await ask(url, jsonBody({}));
      const isRefused = answer.response.status === 400 && answer.text.startsWith('Webhook Error:');
      return isRefused ? ok('It answers 400, "Webhook Error:".') : unexpected(answer);
    }),
    docsCheck('backend', base),
  ];
}

/** The gateway's address ends in /llm/v1; its health and documentation routes are at the root. */
function gatewayChecks(base: string): readonly Check[] {
  const root = base.replace(/\/llm\/v1$/, '');
  return [
    checker('gateway', root)('health', '/health', async (ask, url) => dependencies(await ask(url))),
    checker('gateway', base)('call without a key', '/models', async (ask, url) => refusal(await ask(url))),
    docsCheck('gateway', root),
  ];
}

interface ModelCall {
  readonly apiKey: string;
  readonly model: string | null;
  /** With the time limit of a call. */
  readonly askModel: Ask;
}

/** One small call, through the key, the price of the model, the provider's key and the provider. */
export function modelCallCheck(base: string, { apiKey, model, askModel }: ModelCall): Check {
  return checker('gateway', base)('model call', '/chat/completions', async (ask, url) => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const named = model ?? usualModel(jsonOf((await ask(`${base}/models`, { headers })).text));
    const body = { model: named, messages: [{ role: 'user', content: 'ping' }], max_tokens: 16 };
    const request = jsonBody(body);
    const answer = await askModel(url, { ...request, headers: { ...request.headers, ...headers } });
    if (answer.response.status === 200 && Array.isArray(at(jsonOf(answer.text), 'choices'))) {
      return ok(`${named} answered.`);
    }
    const id = answer.response.headers.get('x-request-id');
    return fail(
      `A call to ${named} failed. ${unexpected(answer).message} ${adviceFor(answer.response.status)}` +
        (id === null ? '' : ` Its request id is ${id}.`),
    );
  });
}

const DEFAULT_CHAT = /\/chat-default$/;

/** The default one, or any other that the key may use. Without one the call itself says what is wrong with the key. */
function usualModel(list: unknown): string {
  const data = at(list, 'data');
  const ids = Array.isArray(data) ? data.map((one) => String(at(one, 'id'))) : [];
  return ids.find((id) => DEFAULT_CHAT.test(id)) ?? ids[0] ?? 'svc/chat-default';
}

function adviceFor(status: number): string {
  if (status === 401) return 'Give a live API key of a company with --key-file.';
  if (status === 402) return 'Give the company credits, or use the key of another one.';
  if (status === 400 || status === 403) return 'Name a chat model that the key may use with --model.';
  return "Look at the gateway's log: a provider's key that does not open needs the right MASTER_KEY, and a provider that refuses its key another one (turnpike set-alias).";
}

function aiChecks(base: string): readonly Check[] {
  const check = checker('ai', base);
  return [
    check('health', '/health', async (ask, url) => {
      const answer = await ask(url);
      return at(jsonOf(answer.text), 'status') === 'healthy' ? ok('It is healthy.') : unexpected(answer);
    }),
    check('readiness', '/health/ready', async (ask, url) => readiness(await ask(url))),
    check('internal route without a token', '/monitoring/stats', async (ask, url) => refusal(await ask(url))),
    docsCheck('ai', base),
  ];
}

function checker(service: ServiceName, base: string) {
  return (name: string, path: string, run: (ask: Ask, url: string) => Promise<Finding>): Check => {
    const url = `${base}${path}`;
    return { service, name, url, run: (ask) => run(ask, url) };
  };
}

type Answer = Awaited<ReturnType<Ask>>;

/** Reads /health of the backend or gateway: what is down, and what needs an operator. */
function dependencies(answer: Answer): Finding {
  const body = jsonOf(answer.text);
  const status = at(body, 'status');
  if (answer.response.status !== 200 || typeof status !== 'string') return unexpected(answer);
  const parts = Object.entries(body as Record<string, unknown>).flatMap(([name, part]) => {
    const state = at(part, 'status');
    return typeof state === 'string' ? [{ name, state }] : [];
  });
  const named = (searched: string) => parts.filter(({ state }) => state === searched).map(({ name }) => name);
  const [down, degraded] = [named('down'), named('degraded')];
  if (down.length > 0) return fail(`Down: ${down.join(', ')}.`);
  if (degraded.length > 0) return warn(`An operator has to look at: ${degraded.join(', ')}.`);
  return status === 'ok' ? ok(`Up: ${named('up').join(', ')}.`) : fail(`Its status is ${status}.`);
}

/** An open breaker is caused by a provider, and calls that wait for an operator do not prevent anything from working. */
function readiness(answer: Answer): Finding {
  const components = at(jsonOf(answer.text), 'components');
  if (typeof components !== 'object' || components === null) return unexpected(answer);
  const unavailable = ['database', 'cache']
    .filter((name) => at(components, name, 'status') !== 'healthy')
    .map((name) => `${name} unavailable`);
  const workers = at(components, 'workers', 'status');
  const states = Object.entries((at(components, 'workers', 'states') ?? {}) as Record<string, unknown>);
  const idle = states.filter(([, state]) => state === 'failing' || state === 'stopped');
  const listed = idle.map(([name, state]) => `${name} ${String(state)}`).join(', ');
  const wrong = [
    ...unavailable,
    ...(workers === 'healthy' ? [] : [`workers ${String(workers)} (${listed})`]),
  ];
  if (wrong.length > 0) return fail(`Not well: ${wrong.join('; ')}.`);
  const breakers = Object.entries((at(components, 'circuit_breakers') ?? {}) as Record<string, unknown>);
  const open = breakers
    .filter(([, state]) => state !== 'closed')
    .map(([name]) => `circuit breaker of ${name}`);
  const waiting = ['journal', 'usage', 'secrets'].filter(
    (name) => at(components, name, 'status') === 'degraded',
  );
  const noted = [...open, ...waiting];
  if (noted.length > 0) return warn(`An operator has to look at: ${noted.join(', ')}.`);
  return answer.response.status === 200 ? ok('Database, cache and workers are healthy.') : unexpected(answer);
}

/** Expects a 401 in the error envelope, for a request without a key or token. */
function refusal(answer: Answer): Finding {
  const error = at(jsonOf(answer.text), 'error');
  const isEnvelope = at(error, 'type') === 'authentication_error' && typeof at(error, 'message') === 'string';
  if (answer.response.status !== 401 || !isEnvelope) return unexpected(answer);
  return ok('Refused with 401 and an error object.');
}

/** Checks the page, and every script, style sheet and icon that it refers to. */
async function consoleAssets(ask: Ask, url: string): Promise<Finding> {
  const page = await ask(url, { headers: { accept: 'text/html' } });
  if (page.response.status !== 200 || !isOfType(page, 'text/html')) return unexpected(page);
  const names = [...page.text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, name = '']) => name);
  if (names.length === 0) return fail('The page names no assets.');
  for (const name of names) {
    const asset = await ask(new URL(name, url).href);
    if (asset.response.status !== 200 || asset.text === '')
      return fail(`${name} answers ${asset.response.status}.`);
  }
  return ok(`The page and its ${names.length} assets are served.`);
}

function docsCheck(service: ServiceName, base: string): Check {
  return checker(service, base)('documentation', '/docs', async (ask, url) => {
    const page = await ask(url);
    if (page.response.status !== 200 || !isOfType(page, 'text/html')) return unexpected(page);
    const document = await ask(`${base}/openapi.json`);
    const paths = at(jsonOf(document.text), 'paths');
    if (typeof paths !== 'object' || paths === null)
      return fail(`/openapi.json: ${unexpected(document).message}`);
    return ok(`The page, and ${Object.keys(paths).length} paths in /openapi.json.`);
  });
}

/** The services that answer at one address: a proxy may serve all of them. */
export async function servicesAt(base: string, ask: Ask): Promise<readonly ServiceName[]> {
  const probes: readonly (readonly [ServiceName, string, RequestInit?])[] = [
    ['backend', '/graphql', jsonBody({ query: '{ __typename }' })],
    ['gateway', '/llm/v1/models'],
    ['ai', '/health/live'],
  ];
  const found = await Promise.all(
    probes.map(async ([service, path, init]) => {
      const answer = await ask(`${base}${path}`, init).catch(() => null);
      return answer !== null && answer.response.status !== 404 ? [service] : [];
    }),
  );
  return found.flat();
}

/** The gateway's address according to the console; null if it has none. */
export async function gatewayOf(backend: string, ask: Ask): Promise<string | null> {
  const page = await ask(`${backend}/`, { headers: { accept: 'text/html' } }).catch(() => null);
  const content = /<meta name="gateway-url" content="([^"]+)"/.exec(page?.text ?? '')?.[1];
  const url = URL.parse((content ?? '').replaceAll('&amp;', '&'));
  // If the gateway's port is chosen by the system, the backend does not know it.
  return url === null || url.port === '0' ? null : url.href.replace(/\/+$/, '');
}

function jsonBody(body: unknown) {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

function expectStatus(answer: Answer, status: number, message: string): Finding {
  return answer.response.status === status ? ok(message) : unexpected(answer);
}

function isOfType({ response }: Answer, type: string): boolean {
  return (response.headers.get('content-type') ?? '').startsWith(type);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function at(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[name] : undefined,
    value,
  );
}

function ok(message: string): Finding {
  return { status: 'ok', message };
}

function warn(message: string): Finding {
  return { status: 'warn', message };
}

function fail(message: string): Finding {
  return { status: 'fail', message };
}

/** Shows the actual answer on one line: the operator may recognize the text of a proxy. */
function unexpected({ response, text }: Answer): Finding {
  const line = text.replace(/[\s\p{C}]+/gu, ' ').trim();
  const begin = line.length > MOST_BODY_CHARACTERS ? `${line.slice(0, MOST_BODY_CHARACTERS)}…` : line;
  return fail(`It answers ${response.status}${begin === '' ? '' : `: ${begin}`}`);
}
