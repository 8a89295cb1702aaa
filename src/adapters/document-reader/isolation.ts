/**
 * What a reading process is started through, so that a document that takes it over finds no network: user, network, IPC
 * and host name namespaces of its own, in which not even loopback is up. The kernel decides whether that is permitted: on
 * most Linux machines and under our systemd unit it is, in containers with the usual seccomp profile and on macOS not.
 */
const NAMESPACES = ['--user', '--map-current-user', '--net', '--ipc', '--uts', '--'];
const TRIAL_MS = 2_000;

/** Empty where namespaces are not permitted here. Tried once for each process. */
export function readerIsolation(): readonly string[] {
  known ??= tryNamespaces();
  return known;
}

let known: readonly string[] | null = null;

function tryNamespaces(): readonly string[] {
  const unshare = process.platform === 'linux' ? Bun.which('unshare') : null;
  if (unshare === null) return [];
  const words = [unshare, ...NAMESPACES];
  // The same program that will run inside: where its files cannot be read, reading documents could not start.
  const trial = Bun.spawnSync([...words, process.execPath, '--version'], {
    env: {},
    stdio: ['ignore', 'ignore', 'ignore'],
    timeout: TRIAL_MS,
  });
  return trial.exitCode === 0 ? words : [];
}
