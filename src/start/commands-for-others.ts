import { migrate } from '../adapters/database/migrate.ts';
import { createAccessTokens } from '../domain/accounts/access-token.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import { openControlSocket } from './control-socket.ts';
import { needed } from './kept-secrets.ts';
import type { Opening } from './start-service.ts';

/** Lets the command line work on the embedded database while this process holds it. */
export function openCommandsForOthers(opening: Opening, jobQueue: JobQueue): void {
  const { configuration, clock, secrets, database, keys, log } = opening;
  const accessTokens = async () => await createAccessTokens(needed(keys, 'jwtSecret'), clock);
  const system = { clock, secrets, database, jobQueue, accessTokens, migrate: () => migrate(database) };
  const socket = openControlSocket(configuration.dataDir, system, log);
  opening.whenClosing('control socket', socket.close);
}
