import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readConfiguration } from '../../src/start/settings/configuration.ts';
import {
  documentedSecrets,
  imageEnvironment,
  KNOWN_NAMES,
  madeUp,
  ROOT,
  read,
  roleOf,
  statusOf,
} from './deployment-files.ts';
import { type ComposeService, readCompose } from './manifests.ts';

const dockerfile = read('Dockerfile');
const services = readCompose().filter(([, { build }]) => build !== undefined);

/** As compose fills it in: the operator's value, or the default after :- */
function environmentOf({ environment }: ComposeService): Record<string, string> {
  const filled = Object.entries(environment).map(([name, text]) => [
    name,
    text.replaceAll(/\$\{([A-Z_]+):([-?])([^}]*)\}/g, (_, asked: string, mark: string, otherwise: string) =>
      mark === '-' ? otherwise : madeUp(asked).replaceAll(/[^A-Za-z0-9]/g, ''),
    ),
  ]);
  return { ...imageEnvironment(), ...Object.fromEntries(filled) };
}

/** Of the script of a health check where a service answers so, in a container that is given a proxy. */
async function exitCodeOf(script: string, status: number): Promise<number> {
  const service = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response(null, { status }) });
  const own = script.replace(/(?<=127\.0\.0\.1:)\d+/, String(service.port));
  const env = { HTTP_PROXY: 'http://127.0.0.1:1', NO_PROXY: '.internal' };
  const check = Bun.spawn([process.execPath, '-e', own], { env, stdout: 'ignore', stderr: 'ignore' });
  const exitCode = await check.exited;
  await service.stop(true);
  return exitCode;
}

describe('the image', () => {
  test('takes along what there is, and all that runs', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, words = '']) =>
      words.split(' ').slice(0, -1),
    );
    for (const path of copied) expect(existsSync(join(ROOT, path))).toBe(true);
    expect(copied).toEqual(expect.arrayContaining(['src', 'migrations', 'console', 'package-lock.json']));
    const ignored = read('.dockerignore').split('\n');
    for (const path of copied) expect(ignored).not.toContain(path);
  });

  test('is not root’s, knows its settings and is asked for its health where it answers', async () => {
    expect(dockerfile).toMatch(/^USER 10001:10001$/m);
    for (const name of Object.keys(imageEnvironment())) expect(KNOWN_NAMES).toContain(name);
    const secrets = ['JWT_SECRET', 'INTERNAL_TOKEN', 'MASTER_KEY', 'WEBHOOK_SECRET'];
    const given = Object.fromEntries(secrets.map((name) => [name, madeUp(name)]));
    const configured = readConfiguration('everything', { ...imageEnvironment(), ...given });
    expect(configured).toMatchObject({ outcome: 'read' });
    if (configured.outcome !== 'read') return;
    const { gateway, backend, ai } = configured.configuration.ports;
    expect(dockerfile).toContain(`EXPOSE ${gateway} ${backend} ${ai}`);
    const asked = /http:\/\/127\.0\.0\.1:(\d+)(\/\w+)/.exec(dockerfile) ?? [];
    expect(Number(asked[1])).toBe(gateway);
    expect(await statusOf('gateway', asked[2] ?? '')).toBe(200);
    const script = /^HEALTHCHECK [^"]*"[^"]+", "-e", "(.+)"\]$/m.exec(dockerfile)?.[1] ?? '';
    expect(await exitCodeOf(script, 503)).toBe(1);
    expect(await exitCodeOf(script, 200)).toBe(0);
  });
});

const NOT_IN_COMPOSE: ReadonlySet<string> = new Set([
  'CALL_HOOK_SECRET',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'REDIS_SENTINEL_PASSWORD',
]);

describe.each(services)('compose: %s', (_, service) => {
  const role = roleOf(service.command);

  test('starts with what compose gives it', () => {
    for (const name of Object.keys(environmentOf(service))) expect(KNOWN_NAMES).toContain(name);
    expect(readConfiguration(role, environmentOf(service))).toMatchObject({ outcome: 'read' });
    expect(existsSync(join(ROOT, service.command[1] ?? ''))).toBe(true);
  });

  test('is given every secret that the documentation says it has, but those of parts that compose does not run', () => {
    const expected = documentedSecrets(role).filter((name) => !NOT_IN_COMPOSE.has(name));
    expect(expected.length).toBeGreaterThan(2);
    expect(Object.keys(environmentOf(service))).toEqual(expect.arrayContaining(expected));
  });

  test('is asked for its health where it answers, and has time to stop', async () => {
    const asked = /http:\/\/127\.0\.0\.1:(\d+)([/\w]+)/.exec(service.healthcheck.test.at(-1) ?? '') ?? [];
    expect(service.ports).toEqual([`127.0.0.1:${asked[1]}:${asked[1]}`]);
    expect(await statusOf(role, asked[2] ?? '')).toBe(200);
    expect(await exitCodeOf(service.healthcheck.test.at(-1) ?? '', 200)).toBe(0);
    const stops = Number.parseInt(service.stop_grace_period, 10) * 1_000;
    expect(stops).toBeGreaterThanOrEqual(Number(environmentOf(service).SHUTDOWN_TIMEOUT_MS) + 15_000);
  });
});

test('compose runs the three services', () => {
  expect(services.map(([name]) => name)).toEqual(['gateway', 'backend', 'ai-service']);
});
