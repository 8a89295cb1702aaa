import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chownSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { openPostgres } from '../../../src/adapters/database/postgres.ts';
import { failureOf } from '../../contracts/database.contract.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { until } from '../../doubles/until.ts';
import { type Certificates, makeCertificates } from '../../services/certificates.ts';
import { postgresProgram } from '../../services/find-or-install.ts';
import { makePrivateFolder } from '../../services/private-folder.ts';
import { startPrivatePostgres } from '../../services/private-postgres.ts';
import type { PrivateService } from '../../services/private-service.ts';
import { serviceAccount } from '../../services/service-account.ts';

const binaries = postgresProgram.find();
const PASSWORD = 'p@ss:w/rd';
const bounds = {
  log: createSilentLog(),
  maxWaiting: 10,
  statementTimeoutMs: 100_000,
  connectTimeoutMs: 60_000,
};

describe.skipIf(binaries === null)('PostgreSQL with TLS and passwords', () => {
  const folder = makePrivateFolder();
  let certificates: Certificates;
  let server: PrivateService;

  beforeAll(async () => {
    certificates = makeCertificates(folder);
    const account = serviceAccount();
    if (account !== null) chownSync(certificates.key, account.uid, account.gid);
    const access = join(folder, 'access.conf');
    // Over TLS alone, and with a password.
    writeFileSync(
      access,
      'host all postgres 127.0.0.1/32 trust\nhostssl all app 127.0.0.1/32 scram-sha-256\n',
    );
    server = await startPrivatePostgres(binaries ?? '', folder, {
      ...{ ssl: 'on', ssl_cert_file: certificates.certificate, ssl_key_file: certificates.key },
      hba_file: access,
    });
    const sql = new SQL({ url: server.url, max: 1 });
    await sql.unsafe(`create role app login password '${PASSWORD}'`);
    await sql.close();
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const addressOf = (host: string, query: string, password = PASSWORD) => {
    const url = new URL(server.url);
    Object.assign(url, {
      hostname: host,
      username: 'app',
      password: encodeURIComponent(password),
      search: query,
    });
    return url.href;
  };
  const ca = (name: 'ca' | 'otherCa') => readFileSync(certificates[name], 'utf8');
  const open = (url: string, authority: string | null = null) =>
    openPostgres({ ...bounds, url, ca: authority, poolSize: 1, applicationName: 'test' });

  test('sslmode and the authority decide what is encrypted and verified', async () => {
    for (const [url, authority] of [
      [addressOf('localhost', '?sslmode=verify-full'), ca('ca')],
      [addressOf('localhost', ''), ca('ca')],
      [addressOf('127.0.0.1', '?sslmode=verify-ca'), ca('ca')],
      [addressOf('127.0.0.1', '?sslmode=require'), null],
    ] as const) {
      const database = await open(url, authority);
      const encrypted = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';
      expect(await database.query(encrypted)).toEqual([{ ssl: true }]);
      await database.close();
    }
  });

  test('a changed password is used by the next connection, without a restart', async () => {
    const operator = new SQL({ url: server.url, max: 1 });
    let current = PASSWORD;
    const url = addressOf('127.0.0.1', '?sslmode=require', '');
    const database = await openPostgres({
      ...{ ...bounds, url, password: () => current, poolSize: 2, applicationName: 'rotated' },
    });
    await database.listen(
      'news',
      () => {},
      () => {},
    );
    const pids = async () => (await database.query<{ pid: number }>('select pg_backend_pid() as pid'))[0];
    const first = await pids();
    await operator.unsafe(`alter role app password 'n3w p@ss'`);
    // Those that are open go on.
    expect(await pids()).toEqual(first);
    current = 'n3w p@ss';
    await operator.unsafe(
      `select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'rotated'`,
    );
    await until(
      async () =>
        await pids().then(
          (pid) => pid?.pid !== first?.pid,
          () => false,
        ),
    );
    // Notifications arrive again too.
    const listening = `select 1 from pg_stat_activity where application_name = 'rotated' and query ilike 'listen%'`;
    await until(async () => (await operator.unsafe(listening)).length === 1);
    const failure = await failureOf(open(addressOf('127.0.0.1', '?sslmode=require')));
    expect(failure.message).toContain('password authentication failed');
    await operator.unsafe(`alter role app password '${PASSWORD}'`);
    await Promise.all([database.close(), operator.close()]);
  });

  test('a rejected connection names the setting to change, and never the password', async () => {
    for (const [url, authority, message] of [
      [addressOf('localhost', '?sslmode=verify-full'), null, 'set DATABASE_CA_FILE'],
      [addressOf('localhost', ''), ca('otherCa'), 'set DATABASE_CA_FILE'],
      [addressOf('127.0.0.1', '?sslmode=verify-full'), ca('ca'), 'use a name of the certificate as the host'],
      [addressOf('127.0.0.1', '?sslmode=disable'), null, 'no encryption'],
      [addressOf('localhost', '?sslmode=require', 'wrong'), null, 'password authentication failed'],
    ] as const) {
      const failure = await failureOf(open(url, authority));
      expect(failure.message).toContain(message);
      expect(failure.message).not.toContain(PASSWORD);
    }
  });
});
