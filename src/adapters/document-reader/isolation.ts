/**
 * The command that starts a reader process without a network, in case a document takes control of it: with its own user,
 * network, IPC and UTS namespaces, in which not even loopback is up. Most Linux machines and our systemd unit permit that;
 * containers with the default seccomp profile and macOS do not.
 */
const NAMESPACES = ['--user', '--map-current-user', '--net', '--ipc', '--uts', '--'];
const TRIAL_MS = 2_000;

/** Empty if namespaces are not permitted. Checked once per process. */
export function readerIsolation(): readonly string[] {
  known ??= tryNamespaces();
  return known;
}

let known: readonly string[] | null = null;

function tryNamespaces(): readonly string[] {
  const unshare = process.platform === 'linux' ? Bun.which('unshare') : null;
  if (unshare === null) return [];
  const words = [unshare, ...NAMESPACES];
  // Tries the program that will run inside: if its files cannot be read there, no reader could start.
  const trial = Bun.spawnSync([...words, process.execPath, '--version'], {
    env: {},
    stdio: ['ignore', 'ignore', 'ignore'],
    timeout: TRIAL_MS,
  });
  return trial.exitCode === 0 ? words : [];
}
