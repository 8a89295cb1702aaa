import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { makePrivateFolder } from './private-folder.ts';
import { makeServiceFolder, onFreePort, type PrivateService, startService } from './private-service.ts';
import { serviceAccount } from './service-account.ts';

/** Debian puts it where only root looks. */
export function findPooler(): string | null {
  return Bun.which('pgbouncer', { PATH: `${process.env.PATH}:/usr/sbin` });
}

/** PgBouncer in transaction mode before a PostgreSQL, with fewer connections to it than its clients have to it. */
export async function startPrivatePooler(program: string, database: string): Promise<PrivateService> {
  const account = serviceAccount();
  const folder = makePrivateFolder();
  const home = makeServiceFolder(folder, 'pgbouncer', account);
  const { hostname, port: serverPort, username, pathname } = new URL(database);
  const service = await onFreePort((port) => {
    const settings = join(folder, 'pgbouncer.ini');
    writeFileSync(
      settings,
      `[databases]\n* = host=${hostname} port=${serverPort} user=${username}\n[pgbouncer]\nlisten_addr = 127.0.0.1
listen_port = ${port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 2\n`,
      { mode: 0o644 },
    );
    const url = `postgres://${username}@127.0.0.1:${port}${pathname}`;
    return startService({
      name: 'pgbouncer',
      command: [program, settings],
      account,
      folder: home,
      url,
      isReady: () => answers(url),
    });
  });
  return {
    url: service.url,
    async stop() {
      await service.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const sql = new SQL({ url, max: 1, connectionTimeout: 2, prepare: false });
  try {
    await sql`select 1`;
    return true;
  } finally {
    await sql.close().catch(() => undefined);
  }
}
