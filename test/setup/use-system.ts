import { afterAll, beforeAll } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { migratedFolder } from '../doubles/embedded-folder.ts';
import { TEST_MS } from '../doubles/patience.ts';
import { type FreshDatabase, freshDatabase, migratedDatabase } from '../services/fresh-database.ts';
import { givenRedis } from '../services/given.ts';
import {
  type DemoFile,
  emptyDataFolder,
  type RunningProcess,
  type RunningSystem,
  startProcess,
  startSystem,
} from '../system/running-system.ts';

/** The whole system in one process with its embedded database, from before the first test until after the last. */
export function useSystem(env: Record<string, string> = {}): {
  readonly system: RunningSystem;
  readonly demo: DemoFile;
} {
  let data: Awaited<ReturnType<typeof migratedFolder>> | undefined;
  let system: RunningSystem | undefined;
  let demo: DemoFile | undefined;
  beforeAll(async () => {
    data = await migratedFolder();
    system = await startSystem(data.folder, env);
    demo = system.demo();
  }, TEST_MS);
  afterAll(async () => {
    system?.signal('SIGTERM');
    await system?.exited;
    await data?.remove();
  });
  return {
    get system() {
      return known(system);
    },
    get demo() {
      return known(demo);
    },
  };
}

export interface StartedProcess extends RunningProcess {
  /** Scheme, host and port of the first address in its `ready` line. */
  readonly origin: string;
}

interface ProcessesUnderTest {
  /** The settings that name the data folder, the database and Redis, which all processes share. */
  readonly environment: Readonly<Record<string, string>>;
  readonly demo: DemoFile;
  /** Starts a file of src/start and waits for its `ready` line. */
  start(file: string, env?: Record<string, string>): Promise<StartedProcess>;
  startSystem(env?: Record<string, string>): Promise<RunningSystem>;
}

/**
 * Processes on a PostgreSQL database and a data folder of their own. What still runs after the last test is killed.
 * `empty` leaves the migrations to the first process.
 */
export function useProcesses(schema: 'empty' | 'migrated' = 'migrated'): ProcessesUnderTest {
  let database: FreshDatabase | undefined;
  let data: Awaited<ReturnType<typeof emptyDataFolder>> | undefined;
  const running: RunningProcess[] = [];
  beforeAll(async () => {
    const opened = schema === 'empty' ? freshDatabase() : migratedDatabase();
    [database, data] = await Promise.all([opened, emptyDataFolder()]);
  }, TEST_MS);
  afterAll(async () => {
    for (const process of running) process.signal('SIGKILL');
    await Promise.all(running.map(({ exited }) => exited));
    await database?.drop();
    await data?.remove();
  });
  const environment = () => ({
    DATA_DIR: known(data).folder,
    DATABASE_URL: known(database).url,
    REDIS_URL: givenRedis() ?? '',
  });
  return {
    get environment() {
      return environment();
    },
    get demo() {
      return JSON.parse(readFileSync(join(known(data).folder, 'demo.json'), 'utf8')) as DemoFile;
    },
    async start(file, env = {}) {
      const process = startProcess(file, [], { ...environment(), ...env });
      running.push(process);
      const address = /http:\S+?(?=[,\s]|$)/.exec(await process.line('ready'))?.[0];
      return { ...process, origin: address === undefined ? '' : new URL(address).origin };
    },
    async startSystem(env = {}) {
      const system = await startSystem(known(data).folder, { ...environment(), ...env });
      running.push(system);
      return system;
    },
  };
}

function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('processes are started by a hook before the first test');
  return value;
}
