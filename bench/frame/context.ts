import { embeddedFolder } from '../../test/doubles/embedded-folder.ts';
import { emptyDataFolder, type RunningProcess, startProcess } from '../../test/system/running-system.ts';
import type { BenchContext } from './measurement.ts';
import type { OwnServers } from './own-servers.ts';
import type { Scope } from './scope.ts';

const STOP_WITHIN_MS = 8_000;

export function createContext(servers: OwnServers, scope: Scope, signal: AbortSignal): BenchContext {
  return {
    signal,
    ...servers,
    async freshPath() {
      const { folder, remove } = await emptyDataFolder();
      scope.whenEnding(remove);
      return folder;
    },
    async embeddedFolder() {
      const { folder, remove } = await embeddedFolder();
      scope.whenEnding(remove);
      return folder;
    },
    startProcess(file, env = {}) {
      const started = startProcess(file, [], env);
      scope.whenEnding(() => stopProcess(started));
      return started;
    },
    whenEnding: scope.whenEnding,
  };
}

/** Returns once it has ended. May be called again. */
export async function stopProcess(running: RunningProcess): Promise<void> {
  // In its first start it has a process of its own that builds the database, and would leave it behind.
  await running.line('ready').catch(() => {});
  running.signal('SIGTERM');
  const inTime = await Promise.race([
    running.exited.then(() => true),
    Bun.sleep(STOP_WITHIN_MS).then(() => false),
  ]);
  if (inTime) return;
  running.signal('SIGKILL');
  await running.exited;
}
