import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import type { Database } from '../../ports/database.ts';
import type { JobQueue } from '../../ports/job-queue.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { type Role, readConfiguration } from '../settings/configuration.ts';
import { accepted, needed, secretsInUse } from '../settings/secrets.ts';
import { askThroughSocket, openControlSocket } from './control-socket.ts';
import {
  explainForeignFiles,
  isDataFolderHeld,
  lockDataFolder,
  prepareDataFolder,
  refuseFolderOfAnother,
  usesOfDataFolder,
} from './data-folder.ts';

let parent: string;
beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'turnpike-folder-'));
});
afterAll(() => rmSync(parent, { recursive: true }));

describe("the data folder's lock", () => {
  test('a second process is rejected with the id of the first, and the next one starts after its release', () => {
    const folder = join(parent, 'one', 'deep');
    expect([isDataFolderHeld(folder), existsSync(folder)]).toEqual([false, false]);
    const held = lockDataFolder(folder);
    expect(isDataFolderHeld(folder)).toBe(true);
    expect(() => lockDataFolder(folder)).toThrow(`is in use by process ${process.pid}`);
    held.release();
    expect(isDataFolderHeld(folder)).toBe(false);
    lockDataFolder(folder).release();
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test('a lock that cannot be taken for another reason, such as a full disk, is not another process', () => {
    const folder = mkdtempSync(join(parent, 'damaged-'));
    writeFileSync(join(folder, 'lock'), 'x'.repeat(2_000));
    const problem = /cannot be locked \(.+\): free some disk/;
    expect(() => isDataFolderHeld(folder)).toThrow(problem);
    expect(() => lockDataFolder(folder)).toThrow(problem);
  });
});

describe('a folder of another user', () => {
  const own = process.getuid?.() ?? 0;

  test.skipIf(own !== 0)(
    'is not opened by a command, as root neither: its files would stop the next start',
    () => {
      const folder = mkdtempSync(join(parent, 'foreign-'));
      // A volume of root that the service may write.
      refuseFolderOfAnother(folder, 10_001);
      const database = join(folder, 'database');
      mkdirSync(database);
      chownSync(database, 10_001, 10_001);
      refuseFolderOfAnother(folder, 10_001);
      for (const user of [0, 10_002]) {
        expect(() => refuseFolderOfAnother(folder, user)).toThrow(
          `DATA_DIR ${folder} belongs to another user: run the command as that user (sudo -u '#10001' …)`,
        );
      }
      refuseFolderOfAnother(join(parent, 'nowhere'), own + 1);
    },
  );

  test('whose database cannot be opened: files of it that are not of this user are named, otherwise the failure stays', () => {
    const folder = mkdtempSync(join(parent, 'mixed-'));
    const failure = new Error('it cannot be opened');
    mkdirSync(join(folder, 'lost+found'));
    expect(() => explainForeignFiles(folder, failure, own + 1)).toThrow(failure);
    const database = join(folder, 'database');
    mkdirSync(database);
    expect(() => explainForeignFiles(folder, failure, own)).toThrow(failure);
    expect(() => explainForeignFiles(folder, failure, own + 1)).toThrow(
      `DATA_DIR ${folder} has files of another user, such as ${database}: give all of them to this one (chown -R '${own + 1}' ${folder})`,
    );
    expect(() => explainForeignFiles(folder, failure, 0)).toThrow(failure);
  });
});

describe('a folder that cannot be written, or has no room', () => {
  const random = createSystemSecrets();
  const secret = () => random.randomBytes(32).toHex();
  const production = {
    ...{ NODE_ENV: 'production', REDIS_URL: 'redis://localhost', DATABASE_URL: 'postgres://a@localhost/a' },
    ...{ JWT_SECRET: secret(), MASTER_KEY: secret(), WEBHOOK_SECRET: secret(), INTERNAL_TOKEN: secret() },
    ...{ BUN_CONFIG_MAX_HTTP_REQUESTS: '65336', SMTP_URL: 'smtp://localhost' },
  };

  function usesOf(role: Role, more: Record<string, string> = {}): readonly string[] {
    const read = readConfiguration(role, { ...production, ...more });
    if (read.outcome === 'refused') throw new Error(read.problems.join());
    return usesOfDataFolder(read.configuration);
  }

  test('is demanded only of processes that write to it, and the message says what', () => {
    const roles = ['backend', 'ai-service', 'command-line'] as const;
    for (const role of roles) expect(usesOf(role)).toEqual([]);
    expect(usesOf('command-line', { NODE_ENV: 'development', SMTP_URL: '' })).toEqual([]);
    expect(usesOf('command-line', { DATABASE_URL: '' })).toEqual(['the embedded database']);
    expect(usesOf('gateway', { SMTP_URL: '' })).toEqual(['the journal of finished calls']);
    expect(usesOf('backend', { SMTP_URL: '' })).toEqual(['mail, without SMTP_URL']);
    expect(usesOf('ai-service', { NODE_ENV: 'development' })).toEqual(['the secrets, outside production']);
    const uses = usesOf('everything', { REDIS_URL: '' });
    expect(uses).toEqual(['the journal of finished calls', 'the socket between its two processes']);
    const folder = unwritable('uses');
    expect(() => prepareDataFolder(parent, [], Number.MAX_SAFE_INTEGER)).toThrow(
      'MiB of free disk: at least',
    );
    expect(() => prepareDataFolder(folder, uses)).toThrow(
      'and this process stores there: the journal of finished calls; the socket between its two processes. Mend',
    );
  });

  test('gives a command the secrets that are set, and it says which other one it needs', () => {
    const environment = { DATA_DIR: unwritable('secrets-of'), DATABASE_URL: production.DATABASE_URL };
    const read = readConfiguration('command-line', { ...environment, JWT_SECRET: 'given' });
    if (read.outcome === 'refused') throw new Error(read.problems.join());
    const keys = secretsInUse(read.configuration, random);
    expect(keys).toMatchObject({ jwtSecret: 'given', masterKey: null, demoSeed: null });
    expect(() => needed(keys, 'masterKey')).toThrow('MASTER_KEY is missing');
  });

  /** Also for root: a file is where its parent would be. */
  function unwritable(name: string): string {
    writeFileSync(join(parent, name), '');
    return join(parent, name, 'data');
  }
});

describe('stored secrets', () => {
  function configurationOf(folder: string, more: Record<string, string> = {}) {
    const read = readConfiguration('command-line', { DATA_DIR: folder, ...more });
    if (read.outcome === 'refused') throw new Error(read.problems.join());
    return read.configuration;
  }

  test('are generated once, readable by their owner only, and configured ones take precedence', () => {
    const folder = join(parent, 'secrets');
    lockDataFolder(folder).release();
    const random = createSystemSecrets();
    const made = secretsInUse(configurationOf(folder), random);
    expect(secretsInUse(configurationOf(folder), random)).toEqual(made);
    expect(statSync(join(folder, 'secrets.json')).mode & 0o777).toBe(0o600);
    const given = secretsInUse(configurationOf(folder, { JWT_SECRET: 'given' }), random);
    expect(given).toEqual({ ...made, jwtSecret: 'given' });
    // A file from before a secret was needed gets it, and keeps the others.
    const { masterKey: _, also: __, metricsToken: ___, ...older } = made;
    writeFileSync(join(folder, 'secrets.json'), JSON.stringify(older));
    const completed = secretsInUse(configurationOf(folder), random);
    expect(completed).toMatchObject(older);
    expect(completed.masterKey).toHaveLength(64);
    expect(secretsInUse(configurationOf(folder), random)).toEqual(completed);
  });

  test('in production nothing is generated', () => {
    const folder = join(parent, 'production');
    lockDataFolder(folder).release();
    const keys = secretsInUse(configurationOf(folder, { NODE_ENV: 'production' }), createSystemSecrets());
    const none = {
      jwtSecret: null,
      internalToken: null,
      masterKey: null,
      webhookSecret: null,
      metricsToken: null,
    };
    expect(keys).toEqual({ ...none, demoSeed: null, also: none });
    expect(existsSync(join(folder, 'secrets.json'))).toBe(false);
    expect(() => needed(keys, 'jwtSecret')).toThrow('JWT_SECRET is missing');
  });

  test('during a rotation both secrets are accepted, and the first is used', () => {
    const folder = join(parent, 'changing');
    lockDataFolder(folder).release();
    const both = configurationOf(folder, { JWT_SECRET: 'new', JWT_SECRET_ALSO: 'old' });
    const keys = secretsInUse(both, createSystemSecrets());
    expect(accepted(keys, 'jwtSecret')).toEqual(['new', 'old']);
    expect(accepted(keys, 'masterKey')).toEqual([keys.masterKey ?? '']);
  });

  test('a damaged file is refused with advice, and not changed', () => {
    const folder = join(parent, 'damaged');
    lockDataFolder(folder).release();
    for (const damage of ['', '{', '{"jwtSecret":"short"}', 'null']) {
      writeFileSync(join(folder, 'secrets.json'), damage);
      expect(() => secretsInUse(configurationOf(folder), createSystemSecrets())).toThrow(
        'is damaged: restore it',
      );
      expect(readFileSync(join(folder, 'secrets.json'), 'utf8')).toBe(damage);
    }
  });
});

describe('the control socket', () => {
  const system = {
    clock: createManualClock(),
    secrets: createSystemSecrets(),
    database: {} as Database,
    sharedState: {} as SharedState,
    jobQueue: { redrive: async () => 3 } as unknown as JobQueue,
    mailOutbox: { send: () => Promise.reject(new Error('not in this test')) },
    aliasPrefix: 'svc',
    accessTokens: () => Promise.reject(new Error('not in this test')),
    cipher: () => Promise.reject(new Error('not in this test')),
    answerCipher: () => Promise.reject(new Error('not in this test')),
    migrate: async () => ['0007_seven'],
  };
  const clock = createManualClock();
  async function whileTimePasses<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    void work.finally(() => {
      isOver = true;
    });
    await until(async () => {
      await clock.advance(1_000);
      return isOver;
    });
    return await work;
  }
  async function ask(folder: string, ...words: string[]) {
    const lines: string[] = [];
    const terminal = {
      print: (line: string) => void lines.push(line),
      complain: (line: string) => void lines.push(`! ${line}`),
    };
    const exitCode = await askThroughSocket(folder, words, { terminal, clock });
    return { exitCode, lines };
  }

  test('runs a command in the running process and returns its output and exit code', async () => {
    for (const name of ['socket', `socket-${'long-name-'.repeat(15)}`]) {
      const folder = join(parent, name);
      lockDataFolder(folder).release();
      const socket = openControlSocket(folder, system, createSilentLog());
      expect(await ask(folder, 'migrate')).toEqual({
        exitCode: 0,
        lines: ['applied 0007_seven', 'changes applied: 1'],
      });
      expect(await ask(folder, 'redrive')).toMatchObject({ exitCode: 2 });
      expect(await ask(folder, 'queue', 'x')).toMatchObject({ exitCode: 1 });
      expect(statSync(join(folder, 'control.sock')).mode & 0o777).toBe(0o600);
      await socket.close();
    }
  });

  test('a command waits for the socket while the folder is locked, as after a kill, and is sent once', async () => {
    const folder = join(parent, 'left');
    const held = lockDataFolder(folder);
    const server = Bun.spawnSync([
      process.execPath,
      ...[
        '-e',
        "Bun.serve({ unix: process.argv[1], fetch: () => new Response() }); process.kill(process.pid, 'SIGKILL')",
      ],
      join(folder, 'control.sock'),
    ]);
    expect(server.signalCode).toBe('SIGKILL');
    const asked = ask(folder, 'migrate');
    await until(() => clock.pendingTimers() === 1);
    const socket = openControlSocket(folder, system, createSilentLog());
    expect(await whileTimePasses(asked)).toEqual({
      exitCode: 0,
      lines: [
        '! the system is starting, or restarting a part: waiting for it',
        'applied 0007_seven',
        'changes applied: 1',
      ],
    });
    await socket.close();
    held.release();
  });

  test('a command gives up on a process without a socket, and works by itself once the folder is free', async () => {
    const folder = join(parent, 'without');
    const held = lockDataFolder(folder);
    const gaveUp = ask(folder, 'migrate').catch((error: Error) => error.message);
    expect(await whileTimePasses(gaveUp)).toContain(
      'cannot be asked (it is not ready after 60 s): try again',
    );
    const asked = ask(folder, 'migrate');
    await until(() => clock.pendingTimers() === 1);
    held.release();
    expect(await whileTimePasses(asked)).toMatchObject({ exitCode: null });
  });
});
