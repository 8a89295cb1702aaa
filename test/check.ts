/** `npm run check`: format, lint and types, on two cores at a time, and then the shape of the code. */
import { join } from 'node:path';
import { runChild } from './runner/child.ts';

const root = join(import.meta.dir, '..');
// Several checkers of one program repeat each other's work, which costs a third more processor time.
const TYPES = ['tsc', '--noEmit', '--singleThreaded', '--pretty', String(process.stdout.isTTY === true)];
const LANES = [
  [TYPES],
  [
    ['biome', 'check', '.'],
    [...TYPES, '-p', 'console'],
  ],
];

async function run([program = '', ...words]: readonly string[]): Promise<boolean> {
  const command = [join(root, 'node_modules/.bin', program), ...words];
  return (await runChild(command, { env: process.env })) === 0;
}

process.chdir(root);
const results = await Promise.all(
  LANES.map(async (lane) => {
    for (const command of lane) if (!(await run(command))) return false;
    return true;
  }),
);
if (results.includes(false)) process.exit(1);
await import('./tidy/print-shape.ts');
