import { type ChildProcess, spawn } from 'node:child_process';

export interface ChildOptions {
  readonly env: Record<string, string | undefined>;
  /** Ends the child and everything it started. */
  readonly signal?: AbortSignal;
  /** Gets what the child writes to standard error, besides the terminal. */
  readonly onErrorOutput?: (text: string) => void;
  /** A child that writes nothing to standard error for so long is described and killed. */
  readonly silence?: { readonly afterMs: number; describe(pid: number): Promise<string> };
}

/** How long a child may take to end once it is asked to. */
const graceMs = 3_000;

/**
 * Runs a command to its end, all output passed through, and resolves with its exit code (1 where a signal
 * ended it). It gets a process group of its own, so that Ctrl-C reaches the runner alone, which then ends
 * things in order.
 */
export function runChild(command: readonly string[], options: ChildOptions): Promise<number> {
  const [program, ...words] = command;
  if (program === undefined) throw new Error('an empty command');
  if (options.signal?.aborted) return Promise.resolve(1);
  return new Promise((resolve) => {
    const child = spawn(program, words, {
      env: options.env,
      detached: true,
      stdio: ['ignore', 'inherit', options.onErrorOutput ? 'pipe' : 'inherit'],
    });
    const watch = watchSilence(child, options.silence);
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      process.stderr.write(text);
      watch.heard();
      options.onErrorOutput?.(text);
    });
    const end = () => endGroup(child);
    options.signal?.addEventListener('abort', end, { once: true });
    child.on('error', (error) => {
      console.error(`${program} could not be started: ${error.message}`);
      resolve(1);
    });
    // `close` comes after the last output, `exit` may come before it.
    child.on('close', (code) => {
      watch.end();
      options.signal?.removeEventListener('abort', end);
      resolve(code ?? 1);
    });
  });
}

function watchSilence(child: ChildProcess, silence: ChildOptions['silence']) {
  let timer: NodeJS.Timeout | undefined;
  let isCut = false;
  async function cut(): Promise<void> {
    // What it writes when asked is no sign of life.
    isCut = true;
    if (silence !== undefined && child.pid !== undefined) console.error(await silence.describe(child.pid));
    signalGroup(child, 'SIGKILL');
  }
  const again = () => {
    clearTimeout(timer);
    if (silence !== undefined) timer = setTimeout(() => void cut(), silence.afterMs);
  };
  again();
  return { heard: () => isCut || again(), end: () => clearTimeout(timer) };
}

function endGroup(child: ChildProcess): void {
  signalGroup(child, 'SIGTERM');
  setTimeout(() => signalGroup(child, 'SIGKILL'), graceMs).unref();
}

export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The whole group has ended already.
  }
}
