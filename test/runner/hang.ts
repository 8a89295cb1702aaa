import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { stackFile } from './recent-files.ts';

/** How long a process has to write down where it is. */
const ANSWER_MS = 3_000;

/**
 * What a process and those that it started do, where nothing is written any more. Test processes write their own stack on SIGUSR2
 * (test/setup/preload.ts); one that runs without ever waiting cannot, and shows as running with its processor time.
 */
export async function describeHang(pid: number, folder: string): Promise<string> {
  const members = descendantsOf(pid);
  // What only hands files to workers has no handler, and the signal would end it.
  const workers = members.filter(({ command }) => / --test-worker\b/.test(command));
  const testers =
    workers.length > 0 ? workers : members.filter(({ command }) => /bun\S* test /.test(command));
  for (const tester of testers) signal(tester.pid);
  await Bun.sleep(ANSWER_MS);
  const lines = members.map(({ command, state, cpuSeconds, waitsIn, ...member }) => {
    const wait = waitsIn === '' || waitsIn === '0' ? '' : ` in ${waitsIn}`;
    return `  ${member.pid} ${state}${wait}, ${cpuSeconds} s of processor time: ${command.slice(0, 160)}`;
  });
  const stacks = members.flatMap((member) => {
    const path = stackFile(folder, member.pid);
    return existsSync(path) ? [readFileSync(path, 'utf8')] : [];
  });
  return `Nothing has been written for too long. The processes of this run:\n${[...lines, ...stacks].join('\n')}`;
}

interface Member {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
  /** As /proc has it: R runs, S waits. */
  readonly state: string;
  readonly cpuSeconds: number;
  /** The kernel's function that it waits in. */
  readonly waitsIn: string;
}

function descendantsOf(pid: number): Member[] {
  const all = processes();
  const found = all.filter((one) => one.pid === pid);
  for (const { pid: parent } of found) found.push(...all.filter((one) => one.parent === parent));
  return found;
}

function processes(): Member[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      // The program's name may hold anything: the fields are counted from behind it.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      const waitsIn = readFileSync(`/proc/${name}/wchan`, 'utf8');
      const cpuSeconds = Math.round((Number(fields[11]) + Number(fields[12])) / 100);
      const parent = Number(fields[1]);
      return [{ pid: Number(name), parent, command, state: fields[0] ?? '?', cpuSeconds, waitsIn }];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGUSR2');
  } catch {
    // It has ended meanwhile.
  }
}
