import { describe, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Role, readConfiguration } from '../../src/start/settings/configuration.ts';
import { KNOWN_NAMES, madeUp, ROOT, read } from './deployment-files.ts';

const FOLDER = 'deploy/systemd';
const unit = read(`${FOLDER}/turnpike@.service`);
const INSTANCES: readonly Role[] = ['everything', 'gateway', 'backend', 'ai-service'];
const tool = Bun.which('systemd-analyze');

const valuesOf = (name: string) =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value);

/** The unit's own, then the file that the operator fills in, which comes over it. */
function environmentOf(instance: string): Record<string, string> {
  const own = valuesOf('Environment').map((pair) => pair.replaceAll('%i', instance));
  const file = read(`${FOLDER}/turnpike.env.example`)
    .split('\n')
    .filter((line) => /^[A-Z]/.test(line));
  const pairs = [...own, ...file].map((pair) => {
    const [name = '', ...value] = pair.split('=');
    return [name, value.join('=')] as const;
  });
  const optional = ['PAYMENT_PROVIDER_KEY', 'SMTP_URL'];
  return Object.fromEntries(
    pairs.map(([name, value]) => [
      name,
      value === '' && !optional.includes(name) ? madeUp(name) : value.replace('PASSWORD', 'a0Fq7xW2'),
    ]),
  );
}

describe.each([...INSTANCES])('turnpike@%s', (instance) => {
  test('starts a file that there is with settings that it takes', () => {
    const [start = ''] = valuesOf('ExecStart');
    expect(existsSync(join(ROOT, start.split(' ')[1]?.replace('%i', instance) ?? ''))).toBe(true);
    for (const name of Object.keys(environmentOf(instance))) expect(KNOWN_NAMES).toContain(name);
    expect(readConfiguration(instance, environmentOf(instance))).toMatchObject({ outcome: 'read' });
  });
});

test('keeps its data where it may write, and has time to stop', () => {
  expect(valuesOf('StateDirectory')).toEqual(['turnpike/%i']);
  expect(environmentOf('gateway').DATA_DIR).toBe('/var/lib/turnpike/gateway');
  const stopsMs = Number(valuesOf('TimeoutStopSec')[0]) * 1_000;
  expect(stopsMs).toBeGreaterThanOrEqual(Number(environmentOf('gateway').SHUTDOWN_TIMEOUT_MS) + 15_000);
});

test('is started again for as long as its servers are down', () => {
  expect(valuesOf('Restart')).toEqual(['always']);
  expect(valuesOf('StartLimitIntervalSec')).toEqual(['0']);
});

test('is hardened: nothing to be written, no rights, no foreign system calls', () => {
  const wanted: Record<string, string> = {
    NoNewPrivileges: 'yes',
    ProtectSystem: 'strict',
    ProtectHome: 'yes',
    CapabilityBoundingSet: '',
    RestrictAddressFamilies: 'AF_INET AF_INET6 AF_UNIX',
    UMask: '0077',
  };
  for (const [name, value] of Object.entries(wanted)) expect([name, valuesOf(name)]).toEqual([name, [value]]);
  // The runtime compiles at run time and would not start.
  expect(unit).not.toMatch(/^MemoryDenyWriteExecute=yes/m);
});

test.if(tool !== null)('systemd itself finds nothing amiss, and little that is exposed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-units-'));
  try {
    // It looks whether the program is there.
    writeFileSync(join(folder, 'turnpike@.service'), unit.replaceAll('/opt/turnpike', ROOT));
    const dropIn = 'turnpike@gateway.service.d';
    cpSync(join(ROOT, FOLDER, dropIn), join(folder, dropIn), { recursive: true });
    const run = (...words: string[]) =>
      Bun.spawnSync([tool ?? '', ...words, 'turnpike@gateway.service'], { cwd: folder });
    const verified = run('verify', '--man=no');
    expect([verified.exitCode, verified.stderr.toString()]).toEqual([0, '']);
    const judged = run('security', '--offline=true', '--no-pager').stdout.toString();
    const exposure = Number(/exposure level for \S+: ([\d.]+)/.exec(judged)?.[1]);
    expect(exposure).toBeLessThan(2);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
