import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';
import { type Environment, type Role, readConfiguration } from '../../src/start/settings/configuration.ts';
import { emptyDataFolder, startProcess } from '../system/running-system.ts';

const ROOT = join(import.meta.dir, '../..');
const SECRETS = ['JWT_SECRET', 'INTERNAL_TOKEN', 'MASTER_KEY', 'WEBHOOK_SECRET', 'METRICS_TOKEN'] as const;
const secretFor = (name: string) => new Bun.CryptoHasher('sha256').update(name).digest('base64');
const production: Environment = {
  BUN_CONFIG_MAX_HTTP_REQUESTS: '65336',
  NODE_ENV: 'production',
  ...Object.fromEntries(SECRETS.map((name) => [name, secretFor(name)])),
};

function problemsOf(changes: Environment, role: Role = 'everything'): readonly string[] {
  const read = readConfiguration(role, { ...production, ...changes });
  return read.outcome === 'refused' ? read.problems : [];
}

/** Every value that a file of ours shows for a secret or inside an address. */
function valuesShown(): readonly { readonly file: string; readonly name: string; readonly value: string }[] {
  const places = ['README.md', 'compose.yaml', 'Dockerfile', 'docs/*.md', 'deploy/**/*'];
  const files = places.flatMap((place) => [...new Glob(place).scanSync(ROOT)]);
  const form = /\b([A-Z][A-Z_]*(?:SECRET|TOKEN|KEY|_URL))\s*[=:]\s*["']?([^\s"'`|]+)/g;
  return files.flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(form)].map(([, name = '', value = '']) => {
      return { file, name, value };
    }),
  );
}

describe('production does not start with', () => {
  test('any secret that a document or a sample of ours contains', () => {
    const shown = valuesShown().filter(({ value }) => !value.startsWith('$'));
    const secrets = shown.filter(({ name }) => (SECRETS as readonly string[]).includes(name));
    for (const { file, name, value } of secrets) {
      expect([file, name, problemsOf({ [name]: value }).length > 0]).toEqual([file, name, true]);
    }
    const withPassword = shown.filter(({ value }) => (URL.parse(value)?.password ?? '') !== '');
    expect(withPassword.length).toBeGreaterThan(2);
    for (const { file, name, value } of withPassword) {
      const problems = problemsOf({ [name]: value });
      expect([file, name, problems.length]).toEqual([file, name, 1]);
      expect(problems[0]).toStartWith(`${name} has the password of an example`);
    }
  });

  test('a secret of a tutorial, the command that creates one, or one without randomness', () => {
    for (const value of [
      'your-256-bit-secret-your-256-bit-secret',
      'ChangeMe-ChangeMe-1234567890-ChangeMe!',
      'openssl rand -base64 48; openssl rand -base64',
      '<the output of openssl rand -base64 48 here>',
      '0123456789abcdef0123456789abcdef',
      'zQ4vTz7LmPzQ4vTz7LmPzQ4vTz7LmPzQ4vTz7LmP',
      'whsec_of_the_sandbox_8f31c2d94ab07e65',
    ]) {
      for (const name of SECRETS) {
        const problems = problemsOf({ [name]: value });
        expect([name, value, problems.length]).toEqual([name, value, 1]);
        expect(problems[0]).toMatch(new RegExp(`^${name} is (too weak|a value of an example)`));
        expect(problems[0]).not.toContain(value);
      }
    }
    expect(problemsOf({ PAYMENT_PROVIDER_KEY: 'sk_test_sandbox' })[0]).toStartWith(
      'PAYMENT_PROVIDER_KEY is a value of an example',
    );
  });

  test('one secret in two places, also as the second one of a rotation', () => {
    for (const name of SECRETS) {
      for (const other of SECRETS.filter((one) => one !== name)) {
        expect(problemsOf({ [name]: production[other] })[0]).toContain('are equal');
        expect(problemsOf({ [`${name}_ALSO`]: production[other] })[0]).toContain('are equal');
      }
      expect(problemsOf({ [`${name}_ALSO`]: secretFor('next') })).toEqual([]);
    }
    const webhook = { WEBHOOK_SECRET: `whsec_${production.JWT_SECRET}` };
    expect(problemsOf(webhook)[0]).toStartWith('JWT_SECRET and WEBHOOK_SECRET are equal');
  });

  test('public addresses without TLS, unless the operator allows it', () => {
    for (const name of ['CONSOLE_URL', 'GATEWAY_URL', 'PAYMENT_PROVIDER_URL']) {
      const plain = { [name]: 'http://turnpike.internal.org' };
      expect(problemsOf(plain)).toEqual([expect.stringMatching(new RegExp(`^${name} begins with http://`))]);
      expect(problemsOf({ ...plain, ALLOW_PLAIN_HTTP: 'on' })).toEqual([]);
      for (const fine of [
        'https://turnpike.internal.org',
        'http://127.0.0.1:8081',
        'http://localhost:8081',
      ]) {
        expect(problemsOf({ [name]: fine })).toEqual([]);
      }
      // Not loopback, whatever the names look like.
      for (const wrong of ['http://127.0.0.1.nip.io', 'http://localhost.example.org', 'http://0.0.0.0:1']) {
        expect(problemsOf({ [name]: wrong })).toHaveLength(1);
      }
    }
  });
});

describe('development does not start', () => {
  const open = {
    NODE_ENV: 'development',
    HOST: '0.0.0.0',
    DATABASE_URL: 'postgres://u:x@db/x',
    REDIS_URL: 'redis://c',
  };

  test('on an open port with the demo world or the sandbox, unless the operator allows it', () => {
    for (const role of ['everything', 'gateway', 'backend', 'ai-service'] as const) {
      for (const HOST of ['0.0.0.0', '::', '10.0.0.5', 'build-7.internal.org']) {
        expect(problemsOf({ ...open, HOST }, role)).toEqual([
          `HOST ${HOST} is reachable from other machines while DEMO_WORLD and PAYMENT_SANDBOX are on: set DEMO_WORLD=off and PAYMENT_SANDBOX=off, or ALLOW_PUBLIC_DEMO=on if others may use the demo`,
        ]);
      }
      expect(problemsOf({ ...open, ALLOW_PUBLIC_DEMO: 'on' }, role)).toEqual([]);
      for (const HOST of ['127.0.0.53', '::1', 'localhost']) {
        expect(problemsOf({ ...open, HOST }, role)).toEqual([]);
      }
    }
    expect(problemsOf({ ...open, DEMO_WORLD: 'off' })[0]).toContain('while PAYMENT_SANDBOX is on');
    expect(problemsOf({ ...open, PAYMENT_SANDBOX: 'off' })[0]).toContain('while DEMO_WORLD is on');
    expect(problemsOf({ ...open, DEMO_WORLD: 'off', PAYMENT_SANDBOX: 'off' })).toEqual([]);
    expect(problemsOf(open, 'command-line')).toEqual([]);
  });

  test('and reports it before it opens a port', async () => {
    const { folder, remove } = await emptyDataFolder();
    const running = startProcess('everything.ts', [], { DATA_DIR: folder, HOST: '0.0.0.0' });
    expect(await running.exited).toBe(1);
    expect(running.errors()).toContain('HOST 0.0.0.0 is reachable from other machines');
    await remove();
  });
});
