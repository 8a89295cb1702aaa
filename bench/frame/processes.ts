import type { RunningProcess } from '../../test/system/running-system.ts';

const READY_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 8_000;
const LOOK_EVERY_MS = 1;
/** Of what a process complained about before it ended: enough to see why. */
const SHOWN_CHARACTERS = 600;
const LONGEST_SHOWN_LINE = 200;

/** Resolves with the time at which it said that it is ready; rejects where it ends before. */
export async function whenReady(running: RunningProcess): Promise<number> {
  const ended = endingOf(running);
  const deadline = performance.now() + READY_WITHIN_MS;
  while (!/^ready\b.*\n/m.test(`${running.output()}\n${running.errors()}`)) {
    if (ended.exitCode !== null) {
      throw new Error(`a process ended with ${ended.exitCode} before it was ready: ${complaintOf(running)}`);
    }
    if (performance.now() > deadline) throw new Error(`no process is ready within ${READY_WITHIN_MS} ms`);
    await Bun.sleep(LOOK_EVERY_MS);
  }
  return performance.now();
}

/** Returns once it has ended. May be called again. */
export async function stopProcess(running: RunningProcess): Promise<void> {
  // In its first start it has a process of its own that builds the database, and would leave it behind.
  await whenReady(running).catch(() => {});
  running.signal('SIGTERM');
  const inTime = await Promise.race([
    running.exited.then(() => true),
    Bun.sleep(STOP_WITHIN_MS).then(() => false),
  ]);
  if (inTime) return;
  running.signal('SIGKILL');
  await running.exited;
}

function endingOf(running: RunningProcess): { exitCode: number | null } {
  const ending: { exitCode: number | null } = { exitCode: null };
  running.exited.then((exitCode) => {
    ending.exitCode = exitCode;
  });
  return ending;
}

/** Without the lines of other people's packed code that Bun shows around an error. */
function complaintOf(running: RunningProcess): string {
  const lines = `${running.output()}${running.errors()}`.split('\n').map((line) => line.trim());
  const readable = lines.filter((line) => line !== '' && line.length <= LONGEST_SHOWN_LINE);
  return readable.join(' / ').slice(0, SHOWN_CHARACTERS);
}
