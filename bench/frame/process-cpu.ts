import { readdirSync, readFileSync } from 'node:fs';

/** The kernel counts in ticks of ten milliseconds. */
const MICROS_PER_TICK = 10_000;

/** User and system time so far, of the process and of the children it has now. */
export function cpuMicrosWithChildren(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, one) => sum + cpuMicros(one), 0);
}

export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

/** The threads in which the runtime compiles what is called often, JavaScript and WebAssembly. */
const COMPILER = /JITWorker|Helper Thread|V8 DefaultWorke/;

/** User and system time so far of the threads that compile, in the process and in the children it has now. */
export function compilerMicros(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, one) => sum + compilerMicrosOf(one), 0);
}

function compilerMicrosOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`)
      .filter((task) => COMPILER.test(readFileSync(`/proc/${pid}/task/${task}/comm`, 'utf8')))
      .reduce((sum, task) => sum + cpuMicros(Number(task), `/proc/${pid}/task/${task}/stat`), 0);
  } catch {
    // Gone since it was listed.
    return 0;
  }
}

/** The servers of this run, by the name of their program: they are children of ours. */
export function ownServerPid(program: string): number | null {
  const own = readdirSync('/proc/self/task').flatMap((task) => {
    const text = readFileSync(`/proc/self/task/${task}/children`, 'utf8');
    return text.split(' ').filter(Boolean).map(Number);
  });
  return own.find((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === program) ?? null;
}

/** User and system time so far. */
export function cpuMicros(pid: number, file = `/proc/${pid}/stat`): number {
  try {
    // The name in brackets may hold spaces; the fields are counted from behind it.
    const fields = readFileSync(file, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * MICROS_PER_TICK;
  } catch {
    // Gone since it was listed.
    return 0;
  }
}
