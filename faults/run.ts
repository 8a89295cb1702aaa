/**
 * `npm run faults`: breaks the running system on purpose, one case after the other, on servers of its own, and says for
 * each what kept working, what was refused and how, how long recovery took and what was lost. `-- NAME …` runs only
 * those (a name means all that begin with it and a dash), `-- --list` says which there are. `--from` and `--to` name the
 * revisions of cases that run two versions. Ends with 0 only where every case held and every audit was clean.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPausableRedis } from '../test/adapters/shared-state/pausable-redis.ts';
import { findOrInstall, postgresProgram, redisProgram } from '../test/services/find-or-install.ts';
import { listenForInterruption } from '../test/services/interruption.ts';
import { faultCases } from './cases.ts';
import type { Revisions } from './frame/commits.ts';
import type { FaultCase } from './frame/fault-case.ts';
import { startPausablePostgres } from './frame/pausable-postgres.ts';
import { type Shown, takeCase } from './frame/take-case.ts';

const interruption = listenForInterruption();
const { words, revisions } = readWords(process.argv.slice(2));
if (words.includes('--list')) {
  const width = Math.max(...faultCases.map(({ name }) => name.length));
  for (const { name, what } of faultCases) console.log(`${name.padEnd(width)}  ${what}`);
  process.exit(0);
}
const isMeant = (name: string, word: string) => name === word || name.startsWith(`${word}-`);
const unknown = words.find((word) => !faultCases.some(({ name }) => isMeant(name, word)));
if (unknown !== undefined) {
  console.error(`there is no case "${unknown}": npm run faults -- --list says which there are`);
  process.exit(2);
}
const chosen = faultCases.filter(
  ({ name }) => words.length === 0 || words.some((word) => isMeant(name, word)),
);
const failed = await runAll(chosen);
const interruptedWith = interruption.exitCode();
if (interruptedWith !== null) console.error('interrupted: what was started is ended');
process.exit(interruptedWith ?? (failed === 0 ? 0 : 1));

async function runAll(cases: readonly FaultCase[]): Promise<number> {
  const places = await findOrInstall([postgresProgram, redisProgram]);
  const binaries = places.get(postgresProgram);
  if (binaries === undefined || !places.has(redisProgram)) {
    throw new Error('PostgreSQL and Redis are needed, and are missing on this machine');
  }
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-faults-'));
  chmodSync(folder, 0o711);
  const [postgres, redis] = await Promise.all([
    startPausablePostgres(binaries, folder),
    startPausableRedis(),
  ]);
  // Here the worlds of the cases look for their servers.
  process.env.TEST_DATABASE_URL = postgres.url;
  process.env.TEST_REDIS_URL = redis.url;
  let failures = 0;
  try {
    for (const fault of cases) {
      if (interruption.signal.aborted) break;
      console.log(`\n${fault.name}: ${fault.what}`);
      if (fault.needs === 'root' && process.getuid?.() !== 0) {
        console.log('  left out: it needs root');
        continue;
      }
      const shown = await takeCase(fault, { postgres, redis }, interruption.signal, revisions);
      print(shown);
      if (shown.problems.length > 0) failures += 1;
    }
  } finally {
    await redis.remove();
    await postgres.kill();
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(`\n${cases.length - failures} held, ${failures} did not`);
  return failures;
}

function readWords(typed: readonly string[]): { words: string[]; revisions: Revisions } {
  const words = [...typed];
  const take = (option: string): string | null => {
    const at = words.indexOf(option);
    if (at === -1) return null;
    const [, value] = words.splice(at, 2);
    if (value !== undefined) return value;
    console.error(`${option} needs a revision of this repository, such as a tag or HEAD~20`);
    process.exit(2);
  };
  return { revisions: { from: take('--from'), to: take('--to') ?? 'HEAD' }, words };
}

function print(shown: Shown): void {
  const { kept, refused, recoveryMs, lost, audit, seconds, problems, latency = [], steps = [] } = shown;
  const recovery = recoveryMs === null ? 'nothing had to' : `${Math.round(recoveryMs)} ms`;
  const rows = { 'kept working': kept, refused, recovered: recovery, lost, audit };
  for (const [label, text] of Object.entries(rows)) console.log(`  ${label.padEnd(13)} ${text || '-'}`);
  for (const line of steps) console.log(`  step          ${line}`);
  for (const line of latency) console.log(`  latency       ${line}`);
  for (const problem of problems) console.log(`  FAILED        ${problem}`);
  console.log(`  (${seconds} s)`);
}
