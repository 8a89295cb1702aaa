/**
 * A service whose clock can be set (the gateway, or what the first argument names): the file that MOVED_CLOCK_FILE names
 * holds how many milliseconds it is ahead. Only the time of day moves, as when an operator or a time server sets it;
 * timers and durations go on.
 */
import { readFileSync } from 'node:fs';

const file = process.env.MOVED_CLOCK_FILE ?? '';
const real = Date;
const readAhead = () => Number(readFileSync(file, 'utf8')) || 0;
let aheadMs = readAhead();
setInterval(() => {
  aheadMs = readAhead();
}, 20).unref();

const now = () => real.now() + aheadMs;
globalThis.Date = new Proxy(real, {
  construct: (target, given) => (given.length === 0 ? new target(now()) : Reflect.construct(target, given)),
  apply: () => new real(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});

await import(
  process.argv[2] === 'ai-service' ? '../../src/start/ai-service.ts' : '../../src/start/gateway.ts'
);
