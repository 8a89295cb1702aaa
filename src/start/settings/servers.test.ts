import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { readConfiguration } from './configuration.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-servers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};
const AUTHORITIES = rootCertificates.slice(0, 2).join('\n');
const URLS = { DATABASE_URL: 'postgres://me@db:5432/t', REDIS_URL: 'rediss://me@cache:6379' };

function read(changes: Record<string, string>) {
  const environment = { BUN_CONFIG_MAX_HTTP_REQUESTS: '65336', ...URLS, ...changes };
  const outcome = readConfiguration('command-line', environment);
  return outcome.outcome === 'refused' ? outcome.problems : outcome.configuration;
}

describe('the settings of PostgreSQL and Redis', () => {
  test('passwords and authorities are read from files, without the trailing newline', () => {
    const secret = file('password', 'p@ss:w/rd\n');
    const ca = file('ca.pem', `${AUTHORITIES}\n`);
    const direct = { DATABASE_DIRECT_URL: 'postgres://me:old@server:5432/t' };
    const files = { DATABASE_PASSWORD_FILE: secret, REDIS_PASSWORD_FILE: secret };
    const configuration = read({ ...direct, ...files, DATABASE_CA_FILE: ca, REDIS_CA_FILE: ca });
    if (!('postgres' in configuration)) throw new Error(configuration.join());
    const { postgres, redis } = configuration;
    expect(postgres).toMatchObject({
      ...{ url: 'postgres://me@db:5432/t', directUrl: 'postgres://me@server:5432/t', ca: AUTHORITIES },
    });
    expect(redis).toMatchObject({ ca: AUTHORITIES, topology: { kind: 'server' } });
    const passwords = () => [postgres?.password?.(), redis?.password?.()];
    expect(passwords()).toEqual(['p@ss:w/rd', 'p@ss:w/rd']);
    file('password', 'changed\n');
    expect(passwords()).toEqual(['changed', 'changed']);
    file('password', '');
    expect(passwords()).toEqual(['changed', 'changed']);
  });

  test('Sentinel and Cluster are used as configured', () => {
    const nodes = ['10.0.0.5:6379', '[::1]:6379'];
    expect(read({ REDIS_CLUSTER: 'on', REDIS_NODES: nodes.join(', ') })).toMatchObject({
      redis: { topology: { kind: 'cluster', nodes } },
    });
    expect(read({ REDIS_SENTINEL_NAME: 'main', REDIS_SENTINEL_PASSWORD: 'watch' })).toMatchObject({
      redis: { topology: { kind: 'sentinel', primaryName: 'main', password: 'watch', nodes: [] } },
    });
  });

  test.each([
    [{ DATABASE_PASSWORD_FILE: '/none' }, 'DATABASE_PASSWORD_FILE /none cannot be read, or is empty'],
    [{ REDIS_CA_FILE: __filename }, `REDIS_CA_FILE ${__filename} must be certificates in PEM form`],
    [{ DATABASE_URL: 'postgres://me:100%@db/t' }, 'DATABASE_URL must have its user and password percent-'],
    [{ DATABASE_URL: `${URLS.DATABASE_URL}?sslmode=on` }, 'DATABASE_URL: sslmode must be one of disable'],
    [{ REDIS_URL: 'redis://cache', REDIS_CA_FILE: file('ca.pem', AUTHORITIES) }, 'REDIS_CA_FILE needs TLS'],
    [
      { DATABASE_URL: `${URLS.DATABASE_URL}?sslmode=prefer`, DATABASE_CA_FILE: file('ca.pem', AUTHORITIES) },
      'DATABASE_URL: sslmode=prefer verifies nothing',
    ],
    [
      { REDIS_CLUSTER: 'on', REDIS_SENTINEL_NAME: 'main' },
      'REDIS_CLUSTER and REDIS_SENTINEL_NAME are both set',
    ],
    [
      { REDIS_CLUSTER: 'on', REDIS_URL: 'redis://cache/3' },
      'REDIS_URL: a Redis Cluster has no databases but 0',
    ],
    [{ REDIS_NODES: 'a:1' }, 'REDIS_NODES needs REDIS_CLUSTER or REDIS_SENTINEL_NAME'],
    [{ REDIS_CLUSTER: 'on', REDIS_NODES: 'a' }, 'REDIS_NODES must be addresses such as'],
  ])('%p is refused in one sentence', (changes, problem) => {
    const problems = read(changes as Record<string, string>);
    expect(problems).toEqual([expect.stringContaining(problem)]);
  });
});
