import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { addHealth, createWorkerRegistry } from '../../src/ai-service/health.ts';
import { addServiceHealth } from '../../src/http/health.ts';
import { createServiceApp } from '../../src/http/service-app.ts';
import type { Role } from '../../src/start/settings/configuration.ts';
import { SETTINGS } from '../../src/start/settings/settings.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createSilentLog } from '../doubles/silent-log.ts';

export const ROOT = join(import.meta.dir, '../..');
export const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Settings, and what the runtime itself reads. */
export const KNOWN_NAMES: ReadonlySet<string> = new Set([
  ...Object.keys(SETTINGS),
  'BUN_CONFIG_MAX_HTTP_REQUESTS',
]);

/** The service that a command starts, by the file that it names. */
export function roleOf(command: readonly string[]): Role {
  const file = /^src\/start\/([a-z-]+)\.ts$/.exec(command[1] ?? '')?.[1];
  if (file === 'turnpike') return 'command-line';
  if (file === 'everything' || file === 'gateway' || file === 'backend' || file === 'ai-service') return file;
  throw new Error(`no service is started by ${command.join(' ')}`);
}

/** ENV of the image, which whatever runs in it finds. */
export function imageEnvironment(): Record<string, string> {
  const lines = read('Dockerfile').replaceAll('\\\n', ' ');
  const given = [...lines.matchAll(/^ENV (.+)$/gm)].flatMap(([, words = '']) => words.trim().split(/\s+/));
  return Object.fromEntries(given.map((word) => word.split('=') as [string, string]));
}

/** In the place of a secret or of what the operator is asked for: something of the right form, no two alike. */
export function madeUp(name: string): string {
  if (name === 'DATABASE_URL') return 'postgres://turnpike:a0Fq7xW2@postgres:5432/turnpike';
  if (name === 'REDIS_URL') return 'redis://redis:6379';
  if (name === 'SMTP_URL' || name === 'REDIS_SENTINEL_PASSWORD') return '';
  if (name === 'OTEL_EXPORTER_OTLP_HEADERS') return 'authorization=Basic YTpi';
  return new Bun.CryptoHasher('sha256').update(name).digest('base64') + name;
}

/** The secrets that docs/operations.md (Changing secrets) says a service has; those with an exchange have a second one. */
export function documentedSecrets(role: Role): readonly string[] {
  const [, chapter = ''] = /^## Changing secrets$(.*?)^### /ms.exec(read('docs/operations.md')) ?? [];
  const service = role === 'ai-service' ? 'AI service' : role;
  return [...chapter.matchAll(/^\| (`[^|]+`) \| ([^|]+?) \|/gm)].flatMap(([, names = '', processes = '']) => {
    const [first = ''] = processes.split(';');
    const isFor = first === 'all' || first.split(', ').includes(service);
    return isFor ? [...names.matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => name) : [];
  });
}

/** What the service answers to a probe. */
export async function statusOf(role: Role, path: string): Promise<number> {
  const dependencies = async () => ({
    database: { status: 'up' as const, latencyMs: 1 },
    cache: { status: 'up' as const, latencyMs: 1 },
  });
  const parts = { clock: createManualClock(), log: createSilentLog(), secrets: createSystemSecrets() };
  const app = createServiceApp({ ...parts, maxBodyBytes: 1_024, answerTimeoutMs: null });
  if (role === 'ai-service') {
    const pool = () => ({ size: 1, busy: 0, waiting: 0 });
    const circuitBreakers = () => ({});
    addHealth(app, {
      dependencies,
      pool,
      workers: createWorkerRegistry(),
      circuitBreakers,
      internalTokens: [],
    });
  } else {
    addServiceHealth(app, dependencies);
  }
  return (await app.request(path)).status;
}
