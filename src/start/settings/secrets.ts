import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Secrets } from '../../ports/secrets.ts';
import { StartProblem } from '../processes/lifecycle.ts';
import type { Configuration, SecretName } from './configuration.ts';

/**
 * Secrets that are generated at the first start outside production and then kept. The demo world is derived from
 * `demoSeed`.
 */
const storedSecrets = z.strictObject({
  jwtSecret: z.string().min(32),
  internalToken: z.string().min(32),
  masterKey: z.string().min(32),
  webhookSecret: z.string().min(32),
  demoSeed: z.string().regex(/^[0-9a-f]{64}$/),
});

type StoredSecrets = z.output<typeof storedSecrets>;

/**
 * Null in production for secrets that are not set and that this process does not need; `metricsToken` may be null
 * anywhere.
 */
export type SecretsInUse = Readonly<Record<SecretName | 'demoSeed', string | null>> & {
  readonly also?: Configuration['secretsAlso'];
};

/**
 * The first secret is used for new values; all of them are accepted for existing ones. This allows rotation without an
 * outage.
 */
type AcceptedSecrets = readonly [string, ...string[]];

/**
 * The secrets from the settings. Outside production, missing ones are read from `secrets.json` in the data folder,
 * which is generated once.
 */
export function secretsInUse(configuration: Configuration, random: Secrets): SecretsInUse {
  const { secrets: given, secretsAlso: also } = configuration;
  if (configuration.isProduction) return { ...given, demoSeed: null, also };
  const stored = keptSecrets(configuration, random);
  if (stored === null) return { ...given, demoSeed: null, also };
  return {
    jwtSecret: given.jwtSecret ?? stored.jwtSecret,
    internalToken: given.internalToken ?? stored.internalToken,
    masterKey: given.masterKey ?? stored.masterKey,
    webhookSecret: given.webhookSecret ?? stored.webhookSecret,
    // None is generated: without one, the internal token gives access to the metrics.
    metricsToken: given.metricsToken,
    demoSeed: stored.demoSeed,
    also,
  };
}

/** Throws if the secret is missing. */
export function needed(keys: SecretsInUse, name: SecretName): string {
  const secret = keys[name];
  if (secret !== null) return secret;
  const setting = name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  throw new StartProblem(`${setting} is missing: give this process the same one as the services`);
}

export function accepted(keys: SecretsInUse, name: SecretName): AcceptedSecrets {
  const also = keys.also?.[name] ?? null;
  return also === null ? [needed(keys, name)] : [needed(keys, name), also];
}

/** The tokens for `/metrics`: its own, or the internal ones; empty if this process has neither. */
export function metricsAccess(keys: SecretsInUse): { tokens: readonly string[]; setting: string } {
  if (keys.metricsToken !== null) return { tokens: accepted(keys, 'metricsToken'), setting: 'METRICS_TOKEN' };
  const tokens = keys.internalToken === null ? [] : accepted(keys, 'internalToken');
  return { tokens, setting: 'INTERNAL_TOKEN' };
}

/** Null for a command on a folder without secrets that cannot be written: `needed` says so where one is used. */
function keptSecrets({ dataDir, role }: Configuration, random: Secrets): StoredSecrets | null {
  const file = join(dataDir, 'secrets.json');
  if (role !== 'command-line') return readOrMake(file, random);
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    return readOrMake(file, random);
  } catch (error) {
    if (error instanceof StartProblem) throw error;
    return null;
  }
}

function readOrMake(file: string, random: Secrets): StoredSecrets {
  if (!existsSync(file)) {
    const made = draw(random);
    // Several processes may start on one folder at the same time: the secrets of the first are used, and the others
    // read them.
    const wasFirst = writeOwnerOnly(file, written(made), 'keep-existing');
    return wasFirst ? made : readOrMake(file, random);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    parsed = null;
  }
  const read = storedSecrets.partial().safeParse(parsed);
  if (!read.success || read.data.demoSeed === undefined) {
    throw new StartProblem(
      `${file} is damaged: restore it, or remove it to have new secrets made (sessions and the demo world then end)`,
    );
  }
  const whole = storedSecrets.safeParse(read.data);
  if (whole.success) return whole.data;
  // Adds secrets that were introduced after the file was written.
  const completed: StoredSecrets = { ...draw(random), ...(read.data as Partial<StoredSecrets>) };
  writeOwnerOnly(file, written(completed), 'replace');
  return completed;
}

function draw(random: Secrets): StoredSecrets {
  const hex = () => random.randomBytes(32).toHex();
  return {
    jwtSecret: hex(),
    internalToken: hex(),
    masterKey: hex(),
    webhookSecret: `whsec_${hex()}`,
    demoSeed: hex(),
  };
}

function written(secrets: StoredSecrets): string {
  return `${JSON.stringify(secrets, null, 2)}\n`;
}

/**
 * Writes the file atomically, synced to disk before it gets its name, and accessible to its owner only. False if an
 * existing file was kept.
 */
export function writeOwnerOnly(file: string, text: string, mode: 'replace' | 'keep-existing'): boolean {
  const unfinished = `${file}.${process.pid}.unfinished`;
  const handle = openSync(unfinished, 'w', 0o600);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  if (mode === 'replace') renameSync(unfinished, file);
  const isOurs = mode === 'replace' || linkAsNew(unfinished, file);
  const folder = openSync(dirname(file), 'r');
  fsyncSync(folder);
  closeSync(folder);
  return isOurs;
}

function linkAsNew(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (existsSync(to)) return false;
    throw error;
  } finally {
    unlinkSync(from);
  }
}
