import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Debian asks this program before it starts or stops a service; 101 is no. */
const policyFile = '/usr/sbin/policy-rc.d';
const policyMark = "# Made for the time of an installation by Turnpike's test/services/debian-install.ts.";

/** Debian makes a cluster of its own with PostgreSQL, unless this file says otherwise. */
const clusterFile = '/etc/postgresql-common/createcluster.conf';
const packagedClusterFile = '/usr/share/postgresql-common/createcluster.conf';

/**
 * Installs programs, and nothing else: no service starts, no cluster is made, and what was written to
 * prevent it is taken away again. Returns null, or the end of what apt-get said.
 */
export async function installDebianPackages(packages: readonly string[]): Promise<string | null> {
  const guards = [forbidServiceStarts(), forbidMainCluster()];
  try {
    const options = ['-o', 'DPkg::Lock::Timeout=120', '-o', 'Dpkg::Options::=--force-confold'];
    // An outdated list asks for versions that the mirror has dropped. If it cannot be had, the old one may do.
    const updated = await aptGet(['update']);
    const failure = await aptGet([...options, 'install', '--yes', '--no-install-recommends', ...packages]);
    return failure === null ? null : `${updated ?? ''}${failure}`;
  } finally {
    for (const undo of guards) undo();
  }
}

function forbidServiceStarts(): () => void {
  // A guard of a run that was killed counts as ours; anyone else's stays.
  const isForeign = existsSync(policyFile) && !readFileSync(policyFile, 'utf8').includes(policyMark);
  if (isForeign) return () => undefined;
  writeFileSync(policyFile, `#!/bin/sh\n${policyMark}\nexit 101\n`, { mode: 0o755 });
  return () => rmSync(policyFile, { force: true });
}

function forbidMainCluster(): () => void {
  if (existsSync(clusterFile)) return () => undefined;
  mkdirSync(dirname(clusterFile), { recursive: true });
  writeFileSync(clusterFile, 'create_main_cluster = false\n');
  return () => {
    // With the package comes its own version of the file, which apt-get left aside because ours was there.
    if (existsSync(packagedClusterFile)) {
      copyFileSync(packagedClusterFile, clusterFile);
      rmSync(`${clusterFile}.ucf-dist`, { force: true });
    } else {
      rmSync(dirname(clusterFile), { recursive: true, force: true });
    }
  };
}

/** Not ended by an interruption of the tests: a half-configured package is worse than a late end. */
function aptGet(words: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn('apt-get', ['-q', ...words], {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keep = (text: string) => {
      output = (output + text).slice(-3_000);
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code) => resolve(code === 0 ? null : output));
  });
}
