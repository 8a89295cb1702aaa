/** The time from sending a streamed call to its first bytes, one call at a time. */
const [url = '', key = ''] = process.argv.slice(2);
/** The first ones run code that is not compiled yet. */
const WARM_UP = 1_500;
const CALLS = 500;
const body = '{"model":"svc/chat-default","messages":[{"role":"user","content":"Hello"}],"stream":true}';
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
const times: number[] = [];
for (let call = 0; call < WARM_UP + CALLS; call += 1) {
  const begun = performance.now();
  const response = await fetch(url, { method: 'POST', headers, body });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  if (call >= WARM_UP) times.push(performance.now() - begun);
  while (!(await reader.read()).done);
}
times.sort((a, b) => a - b);
process.stdout.write(`${JSON.stringify({ p50Ms: times[Math.floor(times.length / 2)] })}\n`);

export {};
