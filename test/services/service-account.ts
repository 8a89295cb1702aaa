import { spawnSync } from 'node:child_process';

/** Whom the private services run as; null means as oneself. */
export interface ServiceAccount {
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL refuses to run as root, so a run by root lends its services another user. */
export function serviceAccount(): ServiceAccount | null {
  if (process.getuid?.() !== 0) return null;
  for (const user of ['postgres', 'nobody']) {
    const uid = idOf('-u', user);
    const gid = idOf('-g', user);
    if (uid !== null && gid !== null) return { uid, gid };
  }
  throw new Error('PostgreSQL does not run as root, and there is neither a user postgres nor nobody');
}

function idOf(option: '-u' | '-g', user: string): number | null {
  const answer = spawnSync('id', [option, user], { encoding: 'utf8' });
  return answer.status === 0 ? Number(answer.stdout.trim()) : null;
}

/**
 * The command that runs `command` as `account` and that ends with this process, even when this process is
 * killed with -9: the kernel then sends `deathSignal`. Only Linux does this; elsewhere services
 * outlive a runner killed that way.
 */
export function boundToRunner(
  command: readonly string[],
  deathSignal: 'INT' | 'TERM',
  account: ServiceAccount | null = null,
): string[] {
  const setpriv = Bun.which('setpriv');
  if (setpriv === null || !hasDeathSignal(setpriv)) {
    if (account === null) return [...command];
    throw new Error('starting PostgreSQL as another user than root needs setpriv: install util-linux');
  }
  const identity =
    account === null ? [] : ['--reuid', `${account.uid}`, '--regid', `${account.gid}`, '--clear-groups'];
  return [setpriv, ...identity, '--pdeathsig', deathSignal, ...command];
}

/** Busybox has a setpriv that cannot do it. */
function hasDeathSignal(setpriv: string): boolean {
  const help = spawnSync(setpriv, ['--help'], { encoding: 'utf8' });
  return `${help.stdout}${help.stderr}`.includes('--pdeathsig');
}
