import { readFileSync } from 'node:fs';
import { cp, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migratedFolder } from '../doubles/embedded-folder.ts';
import { PATIENCE_MS } from '../doubles/patience.ts';
import { oncePerRun } from '../services/once-per-run.ts';
import { noteProcess } from '../setup/recent.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const LOOK_AGAIN_MS = 500;

export interface DemoFile {
  readonly gateway_url: string;
  readonly backend_url: string;
  readonly ai_url: string;
  readonly console_url: string;
  readonly sandbox_url: string;
  readonly api_key: string;
  readonly full_key: string;
  readonly internal_token: string;
  readonly webhook_secret: string;
  readonly jwt_secret: string;
  readonly company_id: string;
  readonly super_admin: { email: string; password: string };
  readonly company_admin: { email: string; password: string };
}

export interface RunningProcess {
  readonly pid: number;
  readonly exited: Promise<number>;
  /** Everything it has written so far. */
  output(): string;
  errors(): string;
  signal(name: NodeJS.Signals): void;
  /** The first line that begins so; rejects when the process ends before it. */
  line(beginning: string): Promise<string>;
}

/** Runs a file of src/start as its npm script would, on free ports. */
export function startProcess(
  file: string,
  words: readonly string[],
  env: Record<string, string>,
): RunningProcess {
  return spawned([process.execPath, join(ROOT, 'src/start', file), ...words], env, false);
}

export interface RunningGroup extends RunningProcess {
  /** What a terminal and systemd do: to npm and to everything that it has started. */
  signalGroup(name: NodeJS.Signals): void;
}

/** The same by its npm script, in a process group of its own. Its pid and its exit code are npm's. */
export function startThroughNpm(script: string, env: Record<string, string>): RunningGroup {
  const running = spawned(['npm', '--silent', 'run', script], env, true);
  return { ...running, signalGroup: (name) => void process.kill(-running.pid, name) };
}

function spawned(command: string[], env: Record<string, string>, detached: boolean): RunningProcess {
  const child = Bun.spawn(command, {
    cwd: ROOT,
    env: { ...plainEnvironment(), ...env },
    stdout: 'pipe',
    stderr: 'pipe',
    detached,
  });
  const out = gather(child.stdout);
  const err = gather(child.stderr);
  // Its own children may keep the pipes open.
  const exited = child.exited.then(async () => {
    await Promise.race([Promise.all([out.done, err.done]), Bun.sleep(LOOK_AGAIN_MS)]);
    return true;
  });
  noteProcess(`${command.at(-1)} (${child.pid})`, () => out.text() + err.text(), child.exited);
  return {
    pid: child.pid,
    exited: Promise.all([child.exited, out.done, err.done]).then(([exitCode]) => exitCode),
    output: out.text,
    errors: err.text,
    signal: (name) => child.kill(name),
    async line(beginning) {
      const deadline = Bun.nanoseconds() / 1e6 + PATIENCE_MS;
      let hasEnded = false;
      for (;;) {
        // The word `ready` at the beginning of a line is on standard error where log lines are JSON.
        const found = [out, err]
          .flatMap((one) => one.text().split('\n').slice(0, -1))
          .find((line) => line.startsWith(beginning));
        if (found !== undefined) return found;
        if (hasEnded || Bun.nanoseconds() / 1e6 > deadline) {
          throw new Error(`no line begins with "${beginning}":\n${out.text()}${err.text()}`);
        }
        hasEnded = await Promise.race([out.more(), err.more(), exited]);
      }
    },
  };
}

export interface RunningSystem extends RunningProcess {
  readonly dataDir: string;
  demo(): DemoFile;
}

/** The whole system in one process, up to its `ready` line. */
export async function startSystem(dataDir: string, env: Record<string, string> = {}): Promise<RunningSystem> {
  const running = startProcess('everything.ts', [], { DATA_DIR: dataDir, ...env });
  await running.line('ready');
  return { ...running, dataDir, demo: () => JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) };
}

/** The data folder of a system that was started once and stopped: half the work of a first start. */
export async function preparedDataFolder(): Promise<{ folder: string; remove(): Promise<void> }> {
  const started = await oncePerRun('started-system', async (folder) => {
    const migrated = await migratedFolder();
    await rename(migrated.folder, folder);
    const system = await startSystem(folder);
    system.signal('SIGTERM');
    await system.exited;
  });
  const data = await emptyDataFolder();
  await cp(started, data.folder, { recursive: true });
  return data;
}

export async function emptyDataFolder(): Promise<{ folder: string; remove(): Promise<void> }> {
  const parent = await mkdtemp(join(tmpdir(), 'turnpike-data-'));
  const remove = () => rm(parent, { recursive: true, force: true });
  return { folder: join(parent, 'data'), remove };
}

export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function plainEnvironment(): Record<string, string> {
  // The last is set by test/run.ts, and not by benchmarks.
  const { PATH = '', HOME = '', BUN_JSC_useOMGJIT = '1' } = process.env;
  const free = { GATEWAY_PORT: '0', BACKEND_PORT: '0', AI_PORT: '0', SANDBOX_PORT: '0' };
  return { PATH, HOME, BUN_CONFIG_MAX_HTTP_REQUESTS: '65336', BUN_JSC_useOMGJIT, ...free };
}

function gather(stream: ReadableStream<Uint8Array>) {
  let text = '';
  let wake = Promise.withResolvers<false>();
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      text += decoder.decode(chunk, { stream: true });
      wake.resolve(false);
      wake = Promise.withResolvers();
    }
  };
  // After the end nothing wakes: a loop over what is resolved already would keep the event loop from seeing the exit.
  const more = () => Promise.race([wake.promise, Bun.sleep(LOOK_AGAIN_MS).then(() => false)]);
  return { text: () => text, done: read(), more };
}
