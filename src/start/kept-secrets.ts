import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { Secrets } from '../ports/secrets.ts';
import type { Configuration, SecretName } from './configuration.ts';
import { StartProblem } from './start-problem.ts';

/** What the embedded default makes up at its first start and keeps: the demo world is drawn from `demoSeed`. */
const keptSecrets = z.strictObject({
  jwtSecret: z.string().min(32),
  internalToken: z.string().min(32),
  webhookSecret: z.string().min(32),
  demoSeed: z.string().regex(/^[0-9a-f]{64}$/),
});

export type KeptSecrets = z.output<typeof keptSecrets>;

/** Null only in production, for what this process does not need and nobody gave. */
export type SecretsInUse = Readonly<Record<SecretName | 'demoSeed', string | null>>;

/**
 * The secrets of the settings; outside of production, what is missing there comes from `secrets.json` in the data
 * folder, which is made once.
 */
export function secretsInUse(configuration: Configuration, random: Secrets): SecretsInUse {
  const given = configuration.secrets;
  if (configuration.isProduction) return { ...given, demoSeed: null };
  const kept = readOrMake(join(configuration.dataDir, 'secrets.json'), random);
  return {
    jwtSecret: given.jwtSecret ?? kept.jwtSecret,
    internalToken: given.internalToken ?? kept.internalToken,
    webhookSecret: given.webhookSecret ?? kept.webhookSecret,
    demoSeed: kept.demoSeed,
  };
}

/** A secret that cannot be done without. */
export function needed(keys: SecretsInUse, name: SecretName): string {
  const secret = keys[name];
  if (secret !== null) return secret;
  const setting = name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  throw new StartProblem(`${setting} is missing: give this process the same one as the services`);
}

function readOrMake(file: string, random: Secrets): KeptSecrets {
  if (!existsSync(file)) return make(file, random);
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    parsed = null;
  }
  const read = keptSecrets.safeParse(parsed);
  if (read.success) return read.data;
  throw new StartProblem(
    `${file} is damaged: restore it, or remove it to have new secrets made (sessions and the demo world then end)`,
  );
}

function make(file: string, random: Secrets): KeptSecrets {
  const draw = (bytes: number) => random.randomBytes(bytes).toHex();
  const made: KeptSecrets = {
    jwtSecret: draw(32),
    internalToken: draw(32),
    webhookSecret: `whsec_${draw(32)}`,
    demoSeed: draw(32),
  };
  // Several processes may start at once on one folder: the first one's secrets count, the others read them.
  const wasFirst = writeOwnerOnly(file, `${JSON.stringify(made, null, 2)}\n`, 'keep-existing');
  return wasFirst ? made : readOrMake(file, random);
}

/**
 * Whole or not at all, on the disk before it is named, readable by its owner only. False where there was a file
 * that is to be kept.
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
