import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { RedisClient } from 'bun';
import {
  findOrInstall,
  type Program,
  postgresProgram,
  redisProgram,
} from '../../test/services/find-or-install.ts';
import { freshDatabase } from '../../test/services/fresh-database.ts';
import { DURABLE, startPrivatePostgres } from '../../test/services/private-postgres.ts';
import { startPrivateRedis } from '../../test/services/private-redis.ts';
import type { PrivateService } from '../../test/services/private-service.ts';
import type { Scope } from './scope.ts';

/** Whether a commit waits for the disk, as in production, or not; `bulk` is a server that is filled with a lot at once. */
export type Commits = 'durable' | 'unsynced' | 'bulk';

/** Tables that are made and filled by one transaction are not written to the log; the memory is that of a small server. */
const BULK = {
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '32GB',
  checkpoint_timeout: '1h',
  shared_buffers: '1GB',
  effective_cache_size: '4GB',
  // What loads it runs vacuum by itself.
  autovacuum: 'off',
};

export interface OwnServers {
  emptyDatabase(commits?: Commits): Promise<string>;
  emptyRedis(): Promise<string>;
}

/**
 * PostgreSQL and Redis of this run alone, on 127.0.0.1, started when they are first asked for. Never a server that
 * the environment names: load goes nowhere else. PostgreSQL runs as for the tests, without fsync: waiting for the
 * disk would be the same for all clients and would hide what they cost. A second server, with fsync, serves the
 * measurements of what a commit costs.
 */
export function createOwnServers(home: string, run: Scope): OwnServers {
  const unsynced = once(() => start(postgresProgram, startPrivatePostgres));
  const durable = once(() => start(postgresProgram, startWith('durable', DURABLE)));
  const bulk = once(() => start(postgresProgram, startWith('bulk', BULK)));
  const redis = once(() => start(redisProgram, startPrivateRedis));

  async function start(
    program: Program,
    starter: (place: string, folder: string) => Promise<PrivateService>,
  ): Promise<string> {
    const place = (await findOrInstall([program])).get(program);
    if (place === undefined) throw new Error(`${program.name} is missing on this machine`);
    const starting = starter(place, home);
    // Said before it runs, so that an interruption does not leave it behind.
    run.whenEnding(async () => (await starting).stop());
    return (await starting).url;
  }

  return {
    async emptyDatabase(commits = 'unsynced') {
      // Here `freshDatabase` looks for its server.
      process.env.TEST_DATABASE_URL = await { durable, unsynced, bulk }[commits]();
      return (await freshDatabase()).url;
    },
    async emptyRedis() {
      const url = await redis();
      const client = new RedisClient(url);
      await client.send('FLUSHALL', []);
      client.close();
      return url;
    },
  };
}

function startWith(name: string, settings: Record<string, string>) {
  return async (place: string, home: string): Promise<PrivateService> => {
    const folder = join(home, name);
    mkdirSync(folder);
    // PostgreSQL runs as another user where this is root's.
    chmodSync(folder, 0o711);
    return await startPrivatePostgres(place, folder, settings);
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
