/**
 * `npm run busy -- 4`: so many loops that each take a core, to see what tests do on a busy machine. They end with Ctrl-C, and
 * after an hour in any case; `npm run busy -- 4 600` says after how many seconds.
 */
import { boundToRunner } from './services/service-account.ts';

const MOST_LOOPS = 64;
const LONGEST_SECONDS = 3_600;

const [loops = 4, seconds = LONGEST_SECONDS] = process.argv.slice(2).map(Number);
const isUsable = (value: number, most: number) => Number.isInteger(value) && value >= 1 && value <= most;
if (!isUsable(loops, MOST_LOOPS) || !isUsable(seconds, LONGEST_SECONDS)) {
  console.error(
    `Usage: npm run busy -- [loops, at most ${MOST_LOOPS}] [seconds, at most ${LONGEST_SECONDS}]`,
  );
  process.exit(2);
}
const spin = `const end = Date.now() + ${seconds * 1_000}; while (Date.now() < end);`;
// They end with this process, however it ends, and by themselves where the system cannot see to that.
const children = Array.from({ length: loops }, () =>
  Bun.spawn(boundToRunner([process.execPath, '-e', spin], 'TERM'), {
    stdio: ['ignore', 'inherit', 'inherit'],
  }),
);
console.log(`${loops} loops for ${seconds} s: ${children.map(({ pid }) => pid).join(' ')}`);
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.on(name, () => {
    for (const child of children) child.kill();
  });
}
await Promise.all(children.map(({ exited }) => exited));
