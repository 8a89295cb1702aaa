import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  chromiumProgram,
  findOrInstall,
  type Program,
  postgresProgram,
  redisProgram,
} from './find-or-install.ts';
import { folderParents, MEMORY_FOLDER, makePrivateFolder, memoryFolders } from './private-folder.ts';
import { startPrivatePostgres } from './private-postgres.ts';
import { startPrivateRedis } from './private-redis.ts';
import type { PrivateService } from './private-service.ts';
import { newRunName, runVariable } from './run-name.ts';
import { sweepStaleFolders } from './sweep.ts';
import { dropDatabasesOf, sweepStaleDatabases } from './template-database.ts';

export interface TestServices {
  /** The variables that name the servers, the temporary folder and the run. */
  readonly environment: Record<string, string>;
  /** Services that are on this machine and did not start: unlike a missing one, always a failure. */
  readonly failedStarts: number;
  /** Stops what was started here and removes its folder. */
  stop(): Promise<void>;
}

const starters = new Map<Program, (place: string, folder: string) => Promise<PrivateService>>([
  [postgresProgram, startPrivatePostgres],
  [redisProgram, startPrivateRedis],
  // Each test file starts a browser of its own: here it only has to be there.
  [chromiumProgram, async (place) => ({ url: place, stop: async () => undefined })],
]);

/** Private services for whatever the caller has not given. One that cannot be had is said and left out. */
export async function startServices(): Promise<TestServices> {
  sweepStaleFolders([MEMORY_FOLDER, ...folderParents()]);
  // A server that the caller gave outlives this run, and may hold what a killed run has left.
  const given = process.env[postgresProgram.variable];
  if (given) await sweepStaleDatabases(given).catch((error) => console.error(`sweeping ${error}`));
  const programs = [...starters.keys()].filter((one) => !process.env[one.variable]);
  const places = await findOrInstall(programs);
  const folder = makePrivateFolder([...memoryFolders(), ...folderParents()]);
  const running: PrivateService[] = [];
  // What tests leave in the temporary folder goes with the rest, also when a run is killed in the middle.
  const temporary = join(folder, 'temporary');
  mkdirSync(temporary);
  const run = newRunName();
  const environment: Record<string, string> = { TMPDIR: temporary, [runVariable]: run };
  let failedStarts = 0;

  await Promise.all(
    [...places].map(async ([one, place]) => {
      try {
        const service = await starters.get(one)?.(place, folder);
        if (service === undefined) return;
        running.push(service);
        environment[one.variable] = service.url;
      } catch (error) {
        failedStarts++;
        console.error(error instanceof Error ? error.message : error);
      }
    }),
  );
  return {
    environment,
    failedStarts,
    async stop() {
      if (given) await dropDatabasesOf(given, run).catch((error) => console.error(`cleaning up ${error}`));
      await Promise.all(running.map((service) => service.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
