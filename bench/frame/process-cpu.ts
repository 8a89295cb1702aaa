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

/** The servers of this run, by the name of their program: they are children of ours. */
export function ownServerPid(program: string): number | null {
  const own = readdirSync('/proc/self/task').flatMap((task) => {
    const text = readFileSync(`/proc/self/task/${task}/children`, 'utf8');
    return text.split(' ').filter(Boolean).map(Number);
  });
  return own.find((pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === program) ?? null;
}

/** User and system time so far. */
export function cpuMicros(pid: number): number {
  try {
    // The name in brackets may hold spaces; the fields are counted from behind it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * MICROS_PER_TICK;
  } catch {
    // Gone since it was listed.
    return 0;
  }
}
