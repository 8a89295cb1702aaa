import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../src/adapters/database/migrate.ts';
import { openPglite } from '../../src/adapters/database/pglite/pglite.ts';
import { oncePerRun } from '../services/once-per-run.ts';
import { createSilentLog } from './silent-log.ts';

interface EmbeddedFolder {
  /** Holds an embedded database under `database`. */
  readonly folder: string;
  remove(): Promise<void>;
}

/** With an empty database. Building a cluster takes seconds, copying one a tenth of a second. */
export async function embeddedFolder(): Promise<EmbeddedFolder> {
  return await copyOf(await emptyCluster());
}

/** With a migrated database, for a start that is not about the first one. */
export async function migratedFolder(): Promise<EmbeddedFolder> {
  return await copyOf(await migratedCluster());
}

function emptyCluster(): Promise<string> {
  return oncePerRun('cluster', async (folder) => (await open(folder)).close());
}

function migratedCluster(): Promise<string> {
  return oncePerRun('migrated-cluster', async (folder) => {
    await cp(await emptyCluster(), folder, { recursive: true });
    const database = await open(folder);
    await migrate(database);
    await database.close();
  });
}

function open(folder: string) {
  return openPglite({ folder, log: createSilentLog(), maxWaiting: 10, statementTimeoutMs: 100_000 });
}

async function copyOf(cluster: string): Promise<EmbeddedFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-embedded-'));
  await cp(cluster, join(folder, 'database'), { recursive: true });
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}
