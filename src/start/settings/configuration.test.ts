import { describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Environment, type Role, readConfiguration } from './configuration.ts';
import { settingsPage } from './settings-page.ts';

const fetches = { BUN_CONFIG_MAX_HTTP_REQUESTS: '65336' };
const strong = 'k3J9xQ0vTz7LmPw2RbYc5NdHs8GfAu1E';
const production = {
  ...fetches,
  NODE_ENV: 'production',
  JWT_SECRET: strong,
  INTERNAL_TOKEN: `i${strong}`,
  MASTER_KEY: `m${strong}`,
  WEBHOOK_SECRET: `whsec_w${strong}`,
};
const outside = { DATABASE_URL: 'postgres://u:p@db/x', REDIS_URL: 'redis://cache' };

function problemsOf(role: Role, environment: Environment): readonly string[] {
  const read = readConfiguration(role, environment);
  return read.outcome === 'refused' ? read.problems : [];
}

function configurationOf(role: Role, environment: Environment) {
  const read = readConfiguration(role, environment);
  if (read.outcome === 'refused') throw new Error(read.problems.join('\n'));
  return read.configuration;
}

describe('configuration', () => {
  test('an empty environment is the embedded default on the documented ports; an empty value counts as not set', () => {
    const configuration = configurationOf('everything', fetches);
    expect(configuration).toMatchObject({
      isProduction: false,
      host: '127.0.0.1',
      ports: { gateway: 8080, backend: 8081, ai: 8082, sandbox: 8083 },
      postgres: null,
      redis: null,
      demoWorld: true,
      paymentSandbox: true,
      maxBodyBytes: 32 * 1024 * 1024,
    });
    expect(configuration.dataDir.endsWith('/.data')).toBe(true);
    const blank = configurationOf('everything', { ...fetches, REDIS_URL: '', GATEWAY_PORT: ' 9000 ' });
    expect([blank.redis, blank.ports.gateway]).toEqual([null, 9000]);
  });

  test('headers for the collector may hold blanks, as a scheme of authorization does, escaped or not', () => {
    const traces = { ...fetches, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
    const headersOf = (value: string) =>
      configurationOf('gateway', { ...traces, ...outside, OTEL_EXPORTER_OTLP_HEADERS: value }).traces
        ?.headers;
    const sent = { authorization: 'Basic YTpi==', 'x-tenant': 'ours' };
    expect(headersOf('Authorization=Basic YTpi==, x-tenant=ours')).toEqual(sent);
    expect(headersOf('Authorization=Basic%20YTpi==,x-tenant=ours')).toEqual(sent);
    for (const wrong of ['authorization', 'a b=c', 'a=', 'a=b%0d%0ac:d', 'a=é', 'a=b,']) {
      const problems = problemsOf('gateway', { ...traces, ...outside, OTEL_EXPORTER_OTLP_HEADERS: wrong });
      expect(problems).toEqual([expect.stringContaining('OTEL_EXPORTER_OTLP_HEADERS must be pairs')]);
    }
  });

  test('ceilings of new companies are pairs; an invalid name or number is reported', () => {
    const of = (value: string) => configurationOf('everything', { ...fetches, COMPANY_CEILINGS: value });
    expect(of('requestsPerMinute=600, members=5').companyCeilings).toMatchObject({
      ...{ requestsPerMinute: 600, members: 5, apiKeys: null },
    });
    expect(of('').companyCeilings.requestsPerMinute).toBeNull();
    for (const [value, complaint] of [
      ['requests=600', 'must be pairs such as requestsPerMinute=600'],
      ['members=0', 'members: a whole number from 1'],
      ['members=3,members=4', 'members: names members twice'],
      ['apiKeys', 'must be pairs'],
    ] as const) {
      const problems = problemsOf('everything', { ...fetches, COMPANY_CEILINGS: value });
      expect(problems.join()).toContain(complaint);
    }
  });

  test('CORS_ORIGINS are origins; one with a path or without a scheme is refused with the reason', () => {
    const of = (value: string) =>
      configurationOf('everything', { ...fetches, CORS_ORIGINS: value }).corsOrigins;
    expect([of(''), of('*')]).toEqual([[], ['*']]);
    expect(of('https://a.example, http://localhost:5173')).toEqual([
      'https://a.example',
      'http://localhost:5173',
    ]);
    const WITH_SCHEME = 'must be * or origins that begin with https:// or http://';
    for (const [value, complaint] of [
      ['https://a.example/app', 'without a path, such as https://a.example;'],
      ['https://a.example/', 'without a path, such as https://a.example;'],
      ['https://u:p@a.example', 'must be origins as browsers send them'],
      ['https://*.example.org', 'must name each host'],
      ['a.example', WITH_SCHEME],
      ['https://a.example,,', WITH_SCHEME],
    ] as const) {
      expect(problemsOf('everything', { ...fetches, CORS_ORIGINS: value }).join()).toContain(complaint);
    }
  });

  test('all problems are reported at once, each with its setting and the accepted values', () => {
    const problems = problemsOf('everything', {
      ...fetches,
      GATEWAY_PORT: '80x',
      LOG_LEVEL: 'loud',
      MAX_BODY_BYTES: '-1',
      DEMO_WORLD: 'yes',
      DATABASE_URL: 'mysql://root:hunter2@db/x',
    });
    expect(problems).toHaveLength(5);
    // It may contain a password.
    expect(problems.join('\n')).toContain('DATABASE_URL must be an address that begins with postgres://');
    expect(problems.join('\n')).not.toContain('hunter2');
    expect(problems).toContain('GATEWAY_PORT must be a whole number from 0 to 65535; "80x" is not');
    expect(problems.join('\n')).toContain('LOG_LEVEL must be one of debug, info, warn, error; "loud" is not');
  });

  test('what Kubernetes sets for a Service of the same name is named as such, for any setting', () => {
    const given = {
      GATEWAY_PORT: 'tcp://10.0.0.1:80',
      SMTP_URL: 'tcp://[fd00::1]:25',
      LOG_LEVEL: 'udp://10.1.2.3:53',
    };
    const problems = problemsOf('everything', { ...fetches, ...given });
    expect(problems).toHaveLength(3);
    expect(problems[0]).toBe(
      'GATEWAY_PORT is "tcp://10.0.0.1:80", which Kubernetes sets for a Service named gateway: set enableServiceLinks: false in the spec of the pod, or give the Service another name',
    );
    for (const problem of problems) expect(problem).toContain('enableServiceLinks: false');
    expect(problemsOf('everything', { ...fetches, DATABASE_URL: 'postgres://u:p@10.0.0.1:5432/x' })).toEqual(
      [],
    );
  });

  test('a password with characters that end a host is refused: its beginning would be shown as a port', () => {
    const addresses = ['postgres://u:12/34@db/x', 'postgres://u:12#34@db/x', 'postgres://u:p?w@db/x'];
    const after = 'postgres://u:pass@db/x?application_name=a@b';
    for (const DATABASE_URL of [...addresses, 'postgres://u:pa/ss@db/x', after]) {
      expect(problemsOf('everything', { ...fetches, DATABASE_URL })).toEqual([
        `DATABASE_URL must have its user and password percent-encoded, as %2F for /, %23 for # and %25 for %, and an @ after the host as %40; what is set is not`,
      ]);
    }
    const encoded = {
      DATABASE_URL: 'postgres://u:1%2F@2@db/x?sslmode=require',
      REDIS_URL: 'redis://:a%23@c/1',
    };
    expect(problemsOf('everything', { ...fetches, ...encoded, SMTP_URL: 'smtp://mail/' })).toEqual([]);
  });

  test('addresses that would fail later are refused: of servers, of the sender of mail, of the gateway', () => {
    const wrong = {
      HOST: ['http://127.0.0.1', '[::1]', '256.1.1.1', 'a b'],
      MAIL_FROM: ['nobody', 'Turnpike <a@b.example>', 'a@b.example, c@d.example'],
      GATEWAY_URL: ['https://gateway.example/llm/v1', 'https://gateway.example/llm/v1/'],
    };
    for (const [name, values] of Object.entries(wrong)) {
      for (const value of values) {
        const problems = problemsOf('everything', { ...fetches, [name]: value });
        expect(problems.map((problem) => problem.split(' ')[0])).toEqual([name]);
      }
    }
    const right = { HOST: 'localhost', MAIL_FROM: 'no-reply@localhost', GATEWAY_URL: 'https://a.example/' };
    expect(problemsOf('everything', { ...fetches, ...right })).toEqual([]);
    expect(problemsOf('everything', { ...fetches, HOST: '::1' })).toEqual([]);
  });

  test('production names every missing secret, and refuses a weak one without showing it', () => {
    const missing = problemsOf('everything', { ...fetches, NODE_ENV: 'production' }).join('\n');
    for (const name of ['JWT_SECRET', 'INTERNAL_TOKEN', 'MASTER_KEY', 'WEBHOOK_SECRET'])
      expect(missing).toContain(`${name} is missing`);
    const weak = 'abababababababababababababababababab';
    const [problem] = problemsOf('everything', { ...production, JWT_SECRET: weak });
    expect(problem).toStartWith('JWT_SECRET is too weak');
    expect(problem).not.toContain(weak);
  });

  test('production refuses the demo world and the sandbox, and disables them by default', () => {
    expect(configurationOf('everything', production)).toMatchObject({
      demoWorld: false,
      paymentSandbox: false,
    });
    const problems = problemsOf('everything', { ...production, DEMO_WORLD: 'on', PAYMENT_SANDBOX: 'on' });
    expect(problems.map((problem) => problem.split(' ')[0])).toEqual(['DEMO_WORLD', 'PAYMENT_SANDBOX']);
  });

  test('super admins need two-factor authentication by default in production, and elsewhere if configured', () => {
    const isRequired = (environment: object) =>
      configurationOf('everything', { ...fetches, ...environment }).requireSuperAdminTotp;
    expect([isRequired({}), isRequired({ REQUIRE_SUPER_ADMIN_TOTP: 'true' })]).toEqual([false, true]);
    expect(isRequired(production)).toBe(true);
    expect(isRequired({ ...production, REQUIRE_SUPER_ADMIN_TOTP: 'false' })).toBe(false);
    expect(problemsOf('everything', { ...fetches, REQUIRE_SUPER_ADMIN_TOTP: 'on' })).toHaveLength(1);
  });

  test('sign-in by OIDC is configured completely or not at all, over TLS in production', () => {
    const id = '019a0000-0000-7000-8000-000000000000';
    const whole = {
      ...{ ...production, OIDC_ISSUER: 'https://login.example', OIDC_CLIENT_ID: 'c' },
      ...{ OIDC_DOMAINS: `acme.example=${id}, partner.example=existing` },
      ...{ OIDC_ROLE_CLAIM: 'groups', OIDC_ROLES: 'staff=MEMBER,ops=SUPER_ADMIN' },
    };
    expect(configurationOf('everything', whole).oidc).toMatchObject({
      domains: { 'acme.example': id, 'partner.example': null },
      roles: { staff: 'MEMBER', ops: 'SUPER_ADMIN' },
      clientSecret: null,
    });
    expect(configurationOf('everything', production).oidc).toBeNull();
    for (const [name, value] of [
      ['OIDC_CLIENT_ID', ''],
      ['OIDC_DOMAINS', 'acme.example=acme'],
      ['OIDC_ROLES', 'staff=OWNER'],
      ['OIDC_ISSUER', 'http://login.example'],
      ['OIDC_CLIENT_SECRET_FILE', '/nowhere/secret'],
    ] as const) {
      const problems = problemsOf('everything', { ...whole, [name]: value });
      expect([name, value, problems.length]).toEqual([name, value, 1]);
      expect(problems[0]).toContain(name);
    }
  });

  test('hooks around calls are off unless they are set, and are signed', () => {
    expect(configurationOf('everything', fetches).callHooks).toMatchObject({ before: null, afterUrl: null });
    const hooked = { ...fetches, CALL_HOOK_BEFORE_URL: 'https://guard.example', CALL_HOOK_SECRET: strong };
    expect(configurationOf('everything', hooked).callHooks).toMatchObject({
      before: { url: 'https://guard.example', onFailure: 'closed', timeoutMs: 2_000 },
      secrets: [strong],
    });
    const changing = { ...hooked, CALL_HOOK_SECRET_ALSO: `a${strong}` };
    expect(configurationOf('everything', changing).callHooks.secrets).toEqual([strong, `a${strong}`]);
    for (const [name, value] of [
      ['CALL_HOOK_SECRET', ''],
      ['CALL_HOOK_SECRET_ALSO', 'short'],
      ['CALL_HOOK_BEFORE_URL', 'guard.example'],
      ['CALL_HOOK_FAILURE', 'ajar'],
    ] as const) {
      expect(problemsOf('everything', { ...hooked, [name]: value })[0]).toContain(name);
    }
    const both = { ...hooked, CALL_HOOK_SECRET_FILE: '/nowhere/secret' };
    expect(problemsOf('everything', both)).toHaveLength(2);
  });

  test('A-6 the AI service does not start in production without an internal token', () => {
    const { INTERNAL_TOKEN: _, ...without } = { ...production, ...outside };
    expect(problemsOf('ai-service', without)[0]).toStartWith('INTERNAL_TOKEN is missing');
    expect(problemsOf('gateway', without)).toEqual([]);
  });

  test('single services and several gateway processes need PostgreSQL and Redis, and report it', () => {
    for (const role of ['gateway', 'backend', 'ai-service'] as const) {
      expect(problemsOf(role, fetches).map((problem) => problem.split(' ')[0])).toEqual([
        'DATABASE_URL',
        'REDIS_URL',
      ]);
      expect(problemsOf(role, { ...fetches, ...outside })).toEqual([]);
    }
    expect(problemsOf('everything', { ...fetches, GATEWAY_PROCESSES: '2' })).toHaveLength(2);
    expect(problemsOf('everything', { ...fetches, ...outside, GATEWAY_PROCESSES: '2' })).toEqual([]);
  });

  test('a gateway whose fetch would queue at 256 calls does not start', () => {
    expect(problemsOf('gateway', outside)[0]).toStartWith(
      'BUN_CONFIG_MAX_HTTP_REQUESTS must be at least 1024',
    );
    expect(problemsOf('backend', outside)).toEqual([]);
  });
});

describe('the file behind MODEL_CONFIG', () => {
  function problemsWith(content: string): readonly string[] {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-models-'));
    const path = join(folder, 'models.json');
    writeFileSync(path, content);
    const problems = problemsOf('everything', { ...fetches, MODEL_CONFIG: path });
    rmSync(folder, { recursive: true });
    return problems;
  }
  const target = { base_url: 'https://models.example/v1', model: 'm', api_key: 'sk-hunter2' };

  test('a valid one is accepted', () => {
    const price = { prompt: 1, cached: 0.5, completion: 2 };
    const aliases = {
      'svc/chat-default': { targets: [{ ...target, weight: 2 }], price },
      'svc/chat-cheap': {},
    };
    expect(problemsWith(JSON.stringify({ aliases }))).toEqual([]);
  });

  test('a missing, malformed or invalid one is one clear line that shows no key of it', () => {
    expect(problemsOf('everything', { ...fetches, MODEL_CONFIG: '/nowhere/x.json' })[0]).toContain(
      'cannot be read',
    );
    expect(problemsWith('{')[0]).toContain('is not valid JSON');
    expect(problemsWith('[]')[0]).toContain('is wrong at its top');
    const [bare] = problemsWith(JSON.stringify({ 'svc/chat-default': {} }));
    expect(bare).toEndWith('is wrong at aliases: must be an object of aliases by their names');
  });

  test('all problems in it are reported at once, and no key of it', () => {
    const targets = [{ ...target, base_url: 'ftp://x', model: 1 }];
    const problems = problemsWith(JSON.stringify({ aliases: { a: { targets }, b: [] }, more: 1 }));
    expect(problems.map((line) => / at (.+?): /.exec(line)?.[1])).toEqual([
      'aliases.a.targets.0.base_url',
      'aliases.a.targets.0.model',
      'aliases.b',
      'its top',
    ]);
    expect(problems.join()).not.toContain('hunter2');
  });
});

test('docs/configuration.md matches the settings; npm run turnpike -- settings writes it', async () => {
  const written = await Bun.file(new URL('../../../docs/configuration.md', import.meta.url)).text();
  expect(written).toBe(settingsPage());
});
