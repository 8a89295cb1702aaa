import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { boundToRunner, type ServiceAccount } from './service-account.ts';

export interface PrivateService {
  readonly url: string;
  stop(): Promise<void>;
}

interface ServiceDefinition {
  readonly name: string;
  readonly command: readonly string[];
  readonly account: ServiceAccount | null;
  /** Belongs to the account; the service runs in it. */
  readonly folder: string;
  readonly url: string;
  /** May reject as well as say no. */
  isReady(): Promise<boolean>;
}

const readyWithinMs = 30_000;
const stopWithinMs = 5_000;

/** Nothing of the developer's environment (PGDATA, PGPORT, secrets) reaches a service. */
export const serviceEnvironment = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };

export async function startService(definition: ServiceDefinition): Promise<PrivateService> {
  const logFile = join(definition.folder, '..', `${definition.name}.log`);
  const log = openSync(logFile, 'a');
  const [program = '', ...words] = boundToRunner(definition.command, 'INT', definition.account);
  const child = spawn(program, words, {
    cwd: definition.folder,
    env: serviceEnvironment,
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const ended = new Promise<void>((resolve) => {
    child.on('exit', () => resolve());
    child.on('error', () => resolve());
  });
  const stop = () => stopChild(child, ended);

  if (await becomesReady(definition, child)) return { url: definition.url, stop };
  await stop();
  const tail = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-20).join('\n');
  throw new Error(`${definition.name} did not start; the end of its log:\n${tail}`);
}

async function becomesReady(definition: ServiceDefinition, child: ChildProcess): Promise<boolean> {
  const deadline = performance.now() + readyWithinMs;
  while (performance.now() < deadline && child.pid !== undefined && isAlive(child)) {
    // Another program may have taken the port meanwhile: the answer counts only while our child lives.
    if ((await definition.isReady().catch(() => false)) && isAlive(child)) return true;
    await Bun.sleep(20);
  }
  return false;
}

function isAlive(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function stopChild(child: ChildProcess, ended: Promise<void>): Promise<void> {
  // PostgreSQL's "fast" shutdown, which sends its clients away; Redis ends at once.
  child.kill('SIGINT');
  const inTime = await Promise.race([ended.then(() => true), Bun.sleep(stopWithinMs).then(() => false)]);
  if (inTime) return;
  child.kill('SIGKILL');
  await ended;
}

export function makeServiceFolder(parent: string, name: string, account: ServiceAccount | null): string {
  const folder = join(parent, name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (account !== null) chownSync(folder, account.uid, account.gid);
  return folder;
}

/** Three tries, where the port was taken in between. */
export async function onFreePort<T>(start: (port: number) => Promise<T>): Promise<T> {
  for (let triesLeft = 2; ; triesLeft--) {
    try {
      return await start(freePort());
    } catch (error) {
      if (triesLeft === 0 || !/address already in use/i.test(String(error))) throw error;
    }
  }
}
