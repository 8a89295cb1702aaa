import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisTopology } from '../../adapters/shared-state/redis/topology.ts';
import { ENCODED_PASSWORD } from './setting-forms.ts';
import type { SettingValues } from './settings.ts';

/** The addresses of PostgreSQL and Redis and how to connect; null selects the embedded part. */

export interface PostgresConfiguration {
  readonly url: string;
  /** The server itself, if `url` is a pooler. */
  readonly directUrl: string | null;
  /** Read for each connection, so that a password can be changed without a restart. Null if it is in the URLs. */
  readonly password: (() => string) | null;
  /** CA certificates, as PEM. */
  readonly ca: string | null;
  readonly poolSize: number;
  readonly connectTimeoutMs: number;
}

export interface RedisConfiguration {
  readonly url: string;
  readonly password: (() => string) | null;
  readonly ca: string | null;
  readonly topology: RedisTopology;
  readonly timeoutMs: number;
}

const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];
const UNVERIFIED = ['disable', 'allow', 'prefer'];

export function refuseWrongServers(values: SettingValues, problems: string[]): void {
  refuseUnreadable(values, problems);
  for (const name of ['DATABASE_URL', 'DATABASE_DIRECT_URL'] as const) {
    const address = values[name];
    const url = address === null ? null : new URL(address);
    if (url !== null && !isDecodable(url)) problems.push(`${name} ${ENCODED_PASSWORD}`);
    const mode = url?.searchParams.get('sslmode') ?? null;
    if (mode === null) continue;
    if (!SSL_MODES.includes(mode)) problems.push(`${name}: sslmode must be one of ${SSL_MODES.join(', ')}`);
    else if (values.DATABASE_CA_FILE !== null && UNVERIFIED.includes(mode)) {
      problems.push(`${name}: sslmode=${mode} verifies nothing: leave it or DATABASE_CA_FILE out`);
    }
  }
  const { REDIS_URL, REDIS_CA_FILE, REDIS_CLUSTER, REDIS_SENTINEL_NAME } = values;
  if (REDIS_CA_FILE !== null && REDIS_URL?.startsWith('redis:') === true) {
    problems.push('REDIS_CA_FILE needs TLS: write REDIS_URL with rediss://');
  }
  if (REDIS_CLUSTER && REDIS_SENTINEL_NAME !== null) {
    problems.push('REDIS_CLUSTER and REDIS_SENTINEL_NAME are both set: leave one out');
  }
  if (REDIS_CLUSTER && REDIS_URL !== null && !/^\/?0?$/.test(new URL(REDIS_URL).pathname)) {
    problems.push('REDIS_URL: a Redis Cluster has no databases but 0: leave the number out');
  }
  if (values.REDIS_NODES.length > 0 && !REDIS_CLUSTER && REDIS_SENTINEL_NAME === null) {
    problems.push('REDIS_NODES needs REDIS_CLUSTER or REDIS_SENTINEL_NAME, which says what the nodes are');
  }
}

/** The runtime's client of PostgreSQL does not connect otherwise. */
function isDecodable({ username, password }: URL): boolean {
  try {
    decodeURIComponent(`${username} ${password}`);
    return true;
  } catch {
    return false;
  }
}

function refuseUnreadable(values: SettingValues, problems: string[]): void {
  for (const name of [
    'DATABASE_PASSWORD_FILE',
    'DATABASE_CA_FILE',
    'REDIS_PASSWORD_FILE',
    'REDIS_CA_FILE',
  ] as const) {
    const path = values[name];
    if (path !== null && readTextFile(path) === null) {
      problems.push(`${name} ${path} cannot be read, or is empty`);
    }
  }
  for (const name of ['DATABASE_CA_FILE', 'REDIS_CA_FILE'] as const) {
    const path = values[name];
    const pem = fileAt(path);
    if (pem !== null && !isCertificates(pem)) {
      problems.push(`${name} ${path} must be certificates in PEM form (-----BEGIN CERTIFICATE-----)`);
    }
  }
}

function isCertificates(pem: string): boolean {
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  try {
    return certificates.map((certificate) => new X509Certificate(certificate)).length > 0;
  } catch {
    return false;
  }
}

export function postgresOf(values: SettingValues): PostgresConfiguration | null {
  if (values.DATABASE_URL === null) return null;
  const password = passwordIn(values.DATABASE_PASSWORD_FILE);
  const address = (url: string) => (password === null ? url : withoutPassword(url));
  return {
    url: address(values.DATABASE_URL),
    directUrl: values.DATABASE_DIRECT_URL === null ? null : address(values.DATABASE_DIRECT_URL),
    password,
    ca: fileAt(values.DATABASE_CA_FILE),
    poolSize: values.DATABASE_POOL_SIZE,
    connectTimeoutMs: values.DATABASE_CONNECT_TIMEOUT_MS,
  };
}

export function redisOf(values: SettingValues): RedisConfiguration | null {
  if (values.REDIS_URL === null) return null;
  return {
    url: values.REDIS_URL,
    password: passwordIn(values.REDIS_PASSWORD_FILE),
    ca: fileAt(values.REDIS_CA_FILE),
    topology: topologyOf(values),
    timeoutMs: values.REDIS_TIMEOUT_MS,
  };
}

function topologyOf(values: SettingValues): RedisTopology {
  const { REDIS_NODES: nodes, REDIS_SENTINEL_NAME: primaryName, REDIS_SENTINEL_PASSWORD: password } = values;
  if (values.REDIS_CLUSTER) return { kind: 'cluster', nodes };
  return primaryName === null ? { kind: 'server' } : { kind: 'sentinel', primaryName, password, nodes };
}

function withoutPassword(address: string): string {
  const url = new URL(address);
  url.password = '';
  return url.href;
}

/** While the file is being replaced it may be missing or empty; the last password is then used. */
function passwordIn(path: string | null): (() => string) | null {
  if (path === null) return null;
  let last = '';
  return () => {
    last = readTextFile(path) ?? last;
    return last;
  };
}

function fileAt(path: string | null): string | null {
  return path === null ? null : readTextFile(path);
}

/** Trimmed, because editors add a newline. Null if the file is empty or cannot be read. */
export function readTextFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim() || null;
  } catch {
    return null;
  }
}
