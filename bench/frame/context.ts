import { embeddedFolder } from '../../test/doubles/embedded-folder.ts';
import { emptyDataFolder, startProcess } from '../../test/system/running-system.ts';
import type { BenchContext } from './measurement.ts';
import type { OwnServers } from './own-servers.ts';
import { stopProcess } from './processes.ts';
import type { Scope } from './scope.ts';

/** Nothing is begun once the signal has aborted: what was opened is being ended then. */
export function createContext(servers: OwnServers, scope: Scope, signal: AbortSignal): BenchContext {
  return {
    signal,
    async emptyDatabase(commits) {
      signal.throwIfAborted();
      return await servers.emptyDatabase(commits);
    },
    async emptyRedis() {
      signal.throwIfAborted();
      return await servers.emptyRedis();
    },
    async freshPath() {
      signal.throwIfAborted();
      const { folder, remove } = await emptyDataFolder();
      scope.whenEnding(remove);
      return folder;
    },
    async embeddedFolder() {
      signal.throwIfAborted();
      const making = embeddedFolder();
      // Said before it is made: the first one is built by a process of its own, which is waited for.
      scope.whenEnding(async () => (await making).remove());
      return (await making).folder;
    },
    startProcess(file, env = {}) {
      signal.throwIfAborted();
      const started = startProcess(file, [], env);
      scope.whenEnding(() => stopProcess(started));
      return started;
    },
    whenEnding: scope.whenEnding,
  };
}
