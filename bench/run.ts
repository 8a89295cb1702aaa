/**
 * `npm run bench`: measures this system beside what it is made of, on servers of its own, and prints a table.
 * `-- NAME …` measures only those, `-- --list` says which there are, `-- --json FILE` writes the figures too.
 * Ends with 0 only where every measurement was taken.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listenForInterruption } from '../test/services/interruption.ts';
import { readWords } from './frame/command-words.ts';
import { describeMachine, readMachine } from './frame/machine.ts';
import type { Measurement } from './frame/measurement.ts';
import { createOwnServers } from './frame/own-servers.ts';
import { createScope } from './frame/scope.ts';
import { renderRows } from './frame/table.ts';
import { type Taken, take } from './frame/take.ts';
import { measurements } from './measurements.ts';

const interruption = listenForInterruption();
const command = readWords(process.argv.slice(2), measurements);
if (command.kind === 'list') {
  const width = Math.max(...measurements.map(({ name }) => name.length));
  for (const { name, what } of measurements) console.log(`${name.padEnd(width)}  ${what}`);
  process.exit(0);
}
if (command.kind === 'wrong') {
  console.error(command.problem);
  process.exit(2);
}
// Before the run, so that a place that cannot be written costs no minutes.
if (command.jsonFile !== null) writeFileSync(command.jsonFile, '');

const machine = readMachine();
console.log(describeMachine(machine));
const taken = await takeAll(command.chosen);

const interruptedWith = interruption.exitCode();
if (command.jsonFile !== null && interruptedWith === null) {
  const figures = { machine, measurements: taken };
  writeFileSync(command.jsonFile, `${JSON.stringify(figures, null, 2)}\n`);
  console.log(`\nfigures written to ${command.jsonFile}`);
}
const failed = taken.filter(({ outcome }) => outcome === 'failed');
if (interruptedWith !== null) console.error('interrupted: what was started is ended');
else if (failed.length > 0) console.error(`\nfailed: ${failed.map(({ name }) => name).join(', ')}`);
process.exit(interruptedWith ?? (failed.length === 0 ? 0 : 1));

/** Everything that the run writes to the disk is in one folder, and is removed with it. */
async function takeAll(chosen: readonly Measurement[]): Promise<Taken[]> {
  const home = makeHome();
  const scope = createScope();
  const servers = createOwnServers(home, scope);
  const results: Taken[] = [];
  try {
    for (const measurement of chosen) {
      if (interruption.signal.aborted) break;
      console.log(`\n${measurement.name}: ${measurement.what}`);
      const result = await take(measurement, servers, interruption.signal);
      results.push(result);
      if (result.outcome === 'measured') console.log(renderRows(result.rows));
      else if (!interruption.signal.aborted) console.log(`  failed: ${result.error}`);
    }
  } finally {
    for (const problem of await scope.end()) console.error(problem);
    rmSync(home, { recursive: true, force: true });
  }
  return results;
}

function makeHome(): string {
  // PostgreSQL does not run as root but as another user, to whom root's own folder may be closed.
  const parent = process.getuid?.() === 0 ? '/tmp' : tmpdir();
  const home = mkdtempSync(join(parent, 'turnpike-bench-'));
  chmodSync(home, 0o711);
  // For every temporary folder that is created from here on.
  process.env.TMPDIR = home;
  return home;
}
