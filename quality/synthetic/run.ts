/**
 * `bun quality/synthetic/run.ts COUNT SEED [postings] > FILE`: that many synthetic CVs, or lines of postings, one JSON object
 * a line.
 */
import { syntheticCv } from './cv.ts';
import { syntheticLine } from './postings.ts';

const [count, seed] = [Number(process.argv[2]), Number(process.argv[3])];
const what = process.argv[4] ?? 'cvs';
if (
  !Number.isInteger(count) ||
  count < 1 ||
  !Number.isInteger(seed) ||
  seed < 0 ||
  !/^(?:cvs|postings)$/.test(what)
) {
  console.error('usage: bun quality/synthetic/run.ts COUNT SEED [cvs|postings]');
  process.exit(2);
}
const make = what === 'cvs' ? syntheticCv : syntheticLine;
for (let at = 0; at < count; at++) process.stdout.write(`${JSON.stringify(make(seed * 1_000_000 + at))}\n`);
