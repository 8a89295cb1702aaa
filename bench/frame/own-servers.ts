import { RedisClient } from 'bun';
import {
  findOrInstall,
  type Wanted,
  wantedPostgres,
  wantedRedis,
} from '../../test/services/find-or-install.ts';
import { freshDatabase } from '../../test/services/fresh-database.ts';
import { startPrivatePostgres } from '../../test/services/private-postgres.ts';
import { startPrivateRedis } from '../../test/services/private-redis.ts';
import type { PrivateService } from '../../test/services/private-service.ts';
import type { Scope } from './scope.ts';

export interface OwnServers {
  emptyDatabase(): Promise<string>;
  emptyRedis(): Promise<string>;
}

/**
 * PostgreSQL and Redis of this run alone, on 127.0.0.1, started when they are first asked for. Never a server that
 * the environment names: load goes nowhere else. PostgreSQL runs as for the tests, without fsync: waiting for the
 * disk would be the same for all clients and would hide what they cost.
 */
export function createOwnServers(home: string, run: Scope): OwnServers {
  const postgres = once(() => start(wantedPostgres, startPrivatePostgres));
  const redis = once(() => start(wantedRedis, startPrivateRedis));

  async function start(
    wanted: Wanted,
    starter: (place: string, folder: string) => Promise<PrivateService>,
  ): Promise<string> {
    const place = (await findOrInstall([wanted])).get(wanted);
    if (place === undefined) throw new Error(`${wanted.name} is missing on this machine`);
    const starting = starter(place, home);
    // Said before it runs, so that an interruption does not leave it behind.
    run.whenEnding(async () => (await starting).stop());
    return (await starting).url;
  }

  return {
    async emptyDatabase() {
      // Here `freshDatabase` looks for its server.
      process.env.TEST_DATABASE_URL = await postgres();
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

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
