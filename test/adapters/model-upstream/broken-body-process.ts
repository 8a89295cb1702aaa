/** Reads, drops and leaves bodies that break off; its test looks at what the runtime prints about them. */
import { createSystemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createHttpUpstream } from '../../../src/adapters/model-upstream/http.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { STREAM_HEAD, startRawUpstream } from './raw-upstream.ts';

const provider = startRawUpstream((socket) => {
  socket.write(STREAM_HEAD);
  setImmediate(() => socket.terminate());
});
const upstream = createHttpUpstream({ clock: createSystemClock(), log: createSilentLog() });
const target = { id: 't', baseUrl: provider.baseUrl, model: 'm', apiKey: null };

async function body(): Promise<ReadableStream<Uint8Array>> {
  const { signal } = new AbortController();
  const call = { endpoint: 'completions', body: new Uint8Array(2), headers: {}, signal } as const;
  return (await upstream.send(target, call)).body;
}

const read = await new Response(await body()).text().then(
  () => 'whole',
  () => 'errored',
);
const late = (await body()).getReader();
(await body()).getReader();
// Until the break-off has reached the others too.
for (let isOpen = true; isOpen; ) {
  isOpen = await late.read().then(
    ({ done }) => !done,
    () => false,
  );
}
Bun.gc(true);
process.stdout.write(`${read}\n`);
process.exit(0);
