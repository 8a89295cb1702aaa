import { migrate } from '../adapters/database/migrate.ts';
import type { JobQueue } from '../ports/job-queue.ts';
import { openControlSocket } from './control-socket.ts';
import { openedSystem } from './opened-system.ts';
import type { Opening } from './start-service.ts';

/** Lets the command line work on the embedded database while this process holds it. */
export function openCommandsForOthers(opening: Opening, jobQueue: JobQueue): void {
  const system = openedSystem(opening, jobQueue, () => migrate(opening.database));
  const socket = openControlSocket(opening.configuration.dataDir, system, opening.log);
  opening.whenClosing('control socket', socket.close);
}
