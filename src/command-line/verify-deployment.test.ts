import { describe, expect, test } from 'bun:test';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createManualClock } from '../../test/doubles/manual-clock.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { verifyDeployment } from './verify-deployment.ts';

type Answer = () => Promise<Response>;
type Routes = Readonly<Record<string, () => Response>>;
const start = Date.UTC(2026, 0, 1);
const B = 'http://b:1';
const G = 'http://g:2';
const A = 'http://a:3';

interface Run {
  readonly words?: readonly string[];
  readonly answer: (url: string, attempt: number, init: RequestInit) => ReturnType<Answer>;
  readonly known?: boolean;
}

/** Runs the command against scripted services, moving the clock until it has ended. */
async function verify(url: string, { words = [], answer, known = true }: Run) {
  const clock = createManualClock(start);
  const asked: { url: string; at: number }[] = [];
  const command = verifyDeployment(async (address, { signal, ...init }) => {
    asked.push({ url: address, at: clock.now() - start });
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason)),
    );
    return await Promise.race([answer(address, asked.length, init), aborted]);
  });
  const [printed, complained]: [string[], string[]] = [[], []];
  const terminal = {
    print: (line: string) => void printed.push(line),
    complain: (line: string) => void complained.push(line),
  };
  let exitCode = -1;
  if (command.works !== 'alone') throw new Error('it needs no database');
  const deployments = () => (known ? [{ backend: B, gateway: `${G}/llm/v1`, ai: A }] : []);
  const context = { terminal, clock, secrets: createSystemSecrets(), deployments };
  const running = command.run(context, [url, ...words]).then((code) => {
    exitCode = code;
  });
  for (let second = 0; second < 130 && exitCode === -1; second += 1) await clock.advance(1_000);
  await running;
  return { exitCode, asked, printed, complained, tookMs: clock.now() - start };
}

const json = (body: unknown, status = 200) => Response.json(body, { status });
const html = (body: string) =>
  new Response(body, { headers: { 'content-type': 'text/html; charset=utf-8' } });
const up = { status: 'up', latency_ms: 1 };
const refused = () =>
  json({ error: { message: 'no', type: 'authentication_error', code: null, param: null } }, 401);
const page = (gateway: string) =>
  html(
    `<meta name="gateway-url" content="${gateway}"><script src="/assets/a.js"></script><link href="/assets/b.css">`,
  );
const ready = (changes: object = {}, status = 200) =>
  json(
    {
      status: 'healthy',
      components: {
        database: { status: 'healthy', latency_ms: 1 },
        cache: { status: 'healthy', latency_ms: 1 },
        workers: { status: 'healthy', active: 0, idle: 1, states: { cv_worker: 'running' } },
        circuit_breakers: { 'service-1': 'closed' },
        ...changes,
      },
    },
    status,
  );

/** A whole deployment, as it answers when all is well. */
const WELL: Routes = {
  [`${B}/health`]: () => json({ status: 'ok', database: up, cache: up }),
  [`${B}/healthz`]: () => new Response('ok'),
  [`${B}/graphql`]: () => json({ data: { __typename: 'Query', __schema: { queryType: { name: 'Query' } } } }),
  [`${B}/`]: () => page(`${G}/llm/v1`),
  [`${B}/assets/a.js`]: () => new Response('1'),
  [`${B}/assets/b.css`]: () => new Response('a{}'),
  [`${B}/payments/webhook`]: () => new Response('Webhook Error: no signature', { status: 400 }),
  [`${B}/docs`]: () => html('<html>'),
  [`${B}/openapi.json`]: () => json({ paths: {} }),
  [`${G}/health`]: () => json({ status: 'ok', database: up, cache: up }),
  [`${G}/llm/v1/models`]: refused,
  [`${G}/docs`]: () => html('<html>'),
  [`${G}/openapi.json`]: () => json({ paths: { '/a': {} } }),
  [`${A}/health`]: () => json({ status: 'healthy' }),
  [`${A}/health/live`]: () => json({ status: 'alive' }),
  [`${A}/health/ready`]: () => ready(),
  [`${A}/monitoring/stats`]: refused,
  [`${A}/docs`]: () => html('<html>'),
  [`${A}/openapi.json`]: () => json({ paths: {} }),
};

function deployment(changes: Routes = {}) {
  const routes = { ...WELL, ...changes };
  return async (url: string) => routes[url]?.() ?? json({ error: { type: 'not_found_error' } }, 404);
}

const unavailable = () => Promise.reject(new Error('refused'));
const isHealth = ({ url }: { url: string }) => url === `${B}/health`;

describe('P-6 turnpike verify-deployment', () => {
  describe('with an API key', () => {
    const keyFile = join(mkdtempSync(join(tmpdir(), 'verify-')), 'key');
    writeFileSync(keyFile, 'tp_live_secret\n');
    const words = ['--key-file', keyFile];
    const models = ['acme/chat-cheap', 'acme/chat-default'].map((id) => ({ id }));
    const called: unknown[] = [];
    /** As a gateway whose calls end with `answered`. */
    const calling = (answered: () => Response) => async (url: string, _: number, init: RequestInit) => {
      const isKnown = new Headers(init.headers).get('authorization') === 'Bearer tp_live_secret';
      if (url === `${G}/llm/v1/models` && isKnown) return json({ data: models });
      if (url !== `${G}/llm/v1/chat/completions`) return await deployment()(url);
      if (isKnown) called.push(JSON.parse(String(init.body)));
      return answered();
    };

    test('makes one small call to a model that the key may use', async () => {
      const answered = () => json({ choices: [{}] });
      const { exitCode, printed } = await verify(B, { words, answer: calling(answered) });
      expect([exitCode, printed.at(-1)]).toEqual([0, '14 checks passed']);
      expect(called.splice(0)).toEqual([
        { model: 'acme/chat-default', messages: [{ role: 'user', content: 'ping' }], max_tokens: 16 },
      ]);
      await verify(B, { words: [...words, '--model', 'acme/fast'], answer: calling(answered) });
      expect(called.splice(0)).toMatchObject([{ model: 'acme/fast' }]);
    });

    test('fails where the call fails, and says what to do', async () => {
      const cases = [
        [503, 'MASTER_KEY'],
        [401, '--key-file'],
        [402, 'credits'],
        [403, '--model'],
      ] as const;
      for (const [status, advice] of cases) {
        const body = { error: { message: 'no target' } };
        const headers = { 'x-request-id': 'req-1' };
        const answer = calling(() => Response.json(body, { status, headers }));
        const { exitCode, complained } = await verify(B, { words, answer });
        expect(exitCode).toBe(1);
        expect(complained[0]).toStartWith('gateway, model call: A call to acme/chat-default failed.');
        for (const part of [String(status), 'no target', advice, 'req-1'])
          expect(complained[0]).toContain(part);
        expect(complained.join()).not.toContain('tp_live_secret');
      }
    });

    test('a file that cannot be read is reported, and without one it says that no call was made', async () => {
      const missing = await verify(B, { words: ['--key-file', '/nowhere'], answer: deployment() });
      expect([missing.exitCode, missing.complained]).toEqual([
        1,
        ['--key-file: /nowhere cannot be read, or is empty'],
      ]);
      const { exitCode, printed } = await verify(B, { answer: deployment() });
      expect(exitCode).toBe(0);
      expect(printed.join('\n')).toContain('skipped gateway     model call: No call was made');
      expect((await verify(B, { words: ['--model', 'x'], answer: deployment() })).exitCode).toBe(2);
    });
  });

  test('P-6 succeeds at the first healthy response, and checks every service', async () => {
    const { exitCode, asked, printed, complained } = await verify(B, { answer: deployment() });
    expect([exitCode, complained]).toEqual([0, []]);
    expect(printed[0]).toBe(`${B}/health is up after 1 of 20 attempts, status ok`);
    expect(printed.at(-1)).toBe('13 checks passed');
    const urls = new Set(asked.map(({ url }) => url));
    for (const url of Object.keys(WELL)) {
      if (url !== `${A}/health/live`) expect([url, urls.has(url)]).toEqual([url, true]);
    }
  });

  test('P-6 requests /health 20 times, 3 s apart, then gives up within 60 s', async () => {
    const { exitCode, asked, complained, tookMs } = await verify(B, { answer: unavailable });
    expect(exitCode).toBe(1);
    const attempts = asked.filter(isHealth).map(({ at }) => at);
    expect(attempts).toEqual(Array.from({ length: 20 }, (_, n) => n * 3_000));
    expect(tookMs).toBeLessThanOrEqual(60_000);
    expect(complained.join()).toContain('did not answer well within 60 s (it cannot be reached)');
  });

  test('P-6 a service that hangs does not make it take longer', async () => {
    const { exitCode, asked, tookMs } = await verify(B, { answer: () => new Promise(() => {}) });
    expect(exitCode).toBe(1);
    expect(asked.filter(isHealth)).toHaveLength(20);
    expect(tookMs).toBeLessThanOrEqual(60_000);
  });

  test('P-6 a service that starts late passes; other statuses and bodies without a status do not', async () => {
    const answers: Answer[] = [
      unavailable,
      async () => new Response('starting', { status: 503 }),
      async () => new Response('<html>'),
      async () => Response.json({ fine: true }),
      async () => Response.json({ status: 1 }),
      async () => new Response(null, { status: 301, headers: { location: 'http://elsewhere' } }),
    ];
    const well = deployment();
    const answer = (url: string, attempt: number) => (answers[attempt - 1] ?? (() => well(url)))();
    const { exitCode, printed } = await verify(B, { answer });
    expect(exitCode).toBe(0);
    expect(printed).toContain(`${B}/health is up after 7 of 20 attempts, status ok`);
  });

  test('P-6 names the problem and exits with 1, for every part of every service', async () => {
    const down = { status: 'down', latency_ms: 2_000 };
    const cases: readonly (readonly [changes: Routes, said: string])[] = [
      [
        { [`${B}/health`]: () => json({ status: 'degraded', database: down, cache: up }) },
        'backend, health: Down: database.',
      ],
      [
        { [`${B}/healthz`]: () => new Response('no', { status: 502 }) },
        'backend, healthz: It answers 502: no',
      ],
      [{ [`${B}/graphql`]: () => json({ errors: [{ message: 'off' }] }) }, 'backend, GraphQL introspection'],
      [
        { [`${B}/assets/b.css`]: () => new Response('', { status: 404 }) },
        'console: /assets/b.css answers 404.',
      ],
      [
        { [`${B}/payments/webhook`]: () => json({ received: true }) },
        'webhook refuses an unsigned event: It answers 200',
      ],
      [{ [`${G}/llm/v1/models`]: () => json({ data: [] }) }, 'gateway, call without a key: It answers 200'],
      [{ [`${A}/openapi.json`]: () => json({}) }, 'AI service, documentation: /openapi.json'],
      [
        { [`${A}/monitoring/stats`]: () => json({ uptime_seconds: 1 }) },
        'AI service, internal route without a token',
      ],
      [
        { [`${A}/health/ready`]: () => ready({ database: { status: 'unhealthy' } }, 503) },
        'AI service, readiness: Not well: database unavailable.',
      ],
      [
        {
          [`${A}/health/ready`]: () =>
            ready({ workers: { status: 'degraded', states: { cv_worker: 'failing' } } }),
        },
        'Not well: workers degraded (cv_worker failing).',
      ],
    ];
    for (const [changes, said] of cases) {
      const { exitCode, complained, tookMs } = await verify(B, { answer: deployment(changes) });
      expect([said, exitCode, complained.join('\n')]).toEqual([said, 1, expect.stringContaining(said)]);
      expect(complained.at(-1)).toBe('1 of 13 checks failed');
      expect(tookMs).toBeLessThanOrEqual(10_000);
    }
  });

  test('a service that does not answer fails; a state that needs an operator, or a provider, is only reported', async () => {
    const well = deployment();
    const answer = (url: string) => (url.startsWith(A) ? unavailable() : well(url));
    const gone = await verify(B, { answer });
    expect([gone.exitCode, gone.complained[0]]).toEqual([
      1,
      `AI service, health: It cannot be reached. (${A}/health)`,
    ]);
    const noted = await verify(B, {
      answer: deployment({
        [`${B}/health`]: () => json({ status: 'degraded', database: up, journal: { status: 'degraded' } }),
        [`${A}/health/ready`]: () => ready({ circuit_breakers: { 'service-1': 'open' } }),
      }),
    });
    expect(noted.exitCode).toBe(0);
    expect(noted.printed.filter((line) => line.startsWith('warn'))).toEqual([
      'warn    backend     health: An operator has to look at: journal.',
      'warn    AI service  readiness: An operator has to look at: circuit breaker of service-1.',
    ]);
  });

  test('accepts the address of any service or of one of its routes, and those of the others by name', async () => {
    for (const given of [`${B}/graphql`, `${G}/llm/v1`, A]) {
      expect([given, (await verify(given, { answer: deployment() })).exitCode]).toEqual([given, 0]);
    }
    const alone = await verify(B, { answer: deployment(), known: false });
    expect(alone.asked.map(({ url }) => url)).toContain(`${G}/llm/v1/models`);
    expect([alone.exitCode, alone.printed.at(-2)]).toEqual([
      0,
      'skipped AI service  all: Its address is not known: pass --ai URL.',
    ]);
    const named = await verify(A, {
      ...{ answer: deployment(), known: false },
      words: ['--gateway', `${G}/llm/v1`, '--backend', B],
    });
    expect(named.printed.at(-1)).toBe('13 checks passed');
    expect((await verify(B, { answer: deployment(), words: ['--ai', 'nonsense'] })).exitCode).toBe(2);
    const stranger = await verify('http://x:9', {
      answer: async (url) => json({ status: 'ok' }, url.endsWith('/health') ? 200 : 404),
    });
    expect([stranger.exitCode, stranger.complained[0]]).toEqual([
      1,
      expect.stringContaining('No service of Turnpike'),
    ]);
  });

  test('--json prints one object, whatever the result', async () => {
    const changes = { [`${B}/health`]: () => json({ status: 'degraded', database: { status: 'down' } }) };
    const { exitCode, printed, complained } = await verify(B, {
      answer: deployment(changes),
      words: ['--json'],
    });
    const body = JSON.parse(printed.join('\n'));
    expect([exitCode, complained, body.ok, body.attempts]).toEqual([1, [], false, 1]);
    expect(body.checks[0]).toEqual({
      ...{ service: 'backend', check: 'health', url: `${B}/health` },
      ...{ status: 'fail', message: 'Down: database.' },
    });
  });
});
