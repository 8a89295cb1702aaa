import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openPglite } from '../../src/adapters/database/pglite/pglite.ts';
import { createSilentLog } from './silent-log.ts';

export interface EmbeddedFolder {
  /** Holds an empty embedded database under `database`. */
  readonly folder: string;
  remove(): Promise<void>;
}

let template: Promise<string> | null = null;

/** Building a cluster takes seconds, copying one a tenth of a second: it is built once for all tests. */
export async function embeddedFolder(): Promise<EmbeddedFolder> {
  template ??= buildTemplate();
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-embedded-'));
  await cp(await template, join(folder, 'database'), { recursive: true });
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

async function buildTemplate(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), 'turnpike-template-'));
  process.on('exit', () => void Bun.spawnSync(['rm', '-rf', parent]));
  const folder = join(parent, 'database');
  const options = { folder, log: createSilentLog(), maxWaiting: 10, statementTimeoutMs: 30_000 };
  await (await openPglite(options)).close();
  return folder;
}
