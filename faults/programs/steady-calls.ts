/**
 * Calls at a steady rate, each at its own moment whether the ones before have ended or not; a delay counts from that
 * moment. In a process of its own, so that an attack that keeps its own process busy does not slow the measuring.
 * `URL KEY CALLS-A-SECOND SECONDS`; prints the calls as JSON.
 */
import { callOnce, type TimedCall } from '../frame/load.ts';

const [url = '', key = '', rate = '', seconds = ''] = process.argv.slice(2);
const everyMs = 1_000 / Number(rate);
const count = Math.round(Number(rate) * Number(seconds));
// A process's first calls load and compile what the later ones find ready.
for (let warm = 0; warm < 5; warm += 1) await callOnce(url, key);
const begun = performance.now();
const running: Promise<TimedCall>[] = [];
for (let place = 0; place < count; place += 1) {
  const dueAt = begun + place * everyMs;
  await Bun.sleep(Math.max(0, dueAt - performance.now()));
  running.push(callOnce(url, key).then((call) => ({ ...call, tookMs: call.endedAt - dueAt })));
}
process.stdout.write(JSON.stringify(await Promise.all(running)));
