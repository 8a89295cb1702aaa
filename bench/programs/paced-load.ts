/**
 * Sends calls at a pace, whether or not the ones before were answered, and tells of each slice of the time: so an answer
 * that waits behind others counts with its wait. `url key perSecond seconds sliceSeconds`; a line of JSON a slice.
 */
const [url = '', key = '', perSecond = '100', seconds = '60', sliceSeconds = '10'] = process.argv.slice(2);
const TURN_MS = 10;
const body = '{"model":"svc/chat-default","messages":[{"role":"user","content":"Hello"}],"max_tokens":5}';
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
const sliceMs = Number(sliceSeconds) * 1_000;
const begun = performance.now();

interface Slice {
  times: number[];
  failed: number;
}
const slices: Slice[] = [];

async function call(dueAt: number): Promise<void> {
  const at = Math.floor((dueAt - begun) / sliceMs);
  slices[at] ??= { times: [], failed: 0 };
  const slice = slices[at];
  try {
    const response = await fetch(url, { method: 'POST', headers, body });
    await response.arrayBuffer();
    if (response.status !== 200) slice.failed += 1;
  } catch {
    slice.failed += 1;
  }
  slice.times.push(performance.now() - dueAt);
}

let sent = 0;
const running = new Set<Promise<void>>();
for (let now = begun; now - begun < Number(seconds) * 1_000; now = performance.now()) {
  const due = Math.floor(((now - begun) / 1_000) * Number(perSecond));
  for (; sent < due; sent += 1) {
    const one = call(begun + (sent * 1_000) / Number(perSecond));
    running.add(one);
    one.finally(() => running.delete(one));
  }
  await Bun.sleep(TURN_MS);
}
await Promise.all(running);
for (const { times, failed } of slices) {
  times.sort((one, other) => one - other);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  const line = { calls: times.length, failed, p50Ms: at(0.5), p99Ms: at(0.99) };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

export {};
