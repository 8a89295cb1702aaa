/** Reads, drops and leaves bodies that break off; its test looks at what the runtime prints about them. */
import { createSystemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createHttpUpstream } from '../../../src/adapters/model-upstream/http.ts';
import type { UpstreamBody } from '../../../src/ports/model-upstream.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { textIn } from '../../doubles/upstream-body.ts';
import { STREAM_HEAD, startRawUpstream } from './raw-upstream.ts';

const provider = startRawUpstream((socket) => {
  socket.write(STREAM_HEAD);
  setImmediate(() => socket.terminate());
});
const upstream = createHttpUpstream({ clock: createSystemClock(), log: createSilentLog() });
const target = { id: 't', baseUrl: provider.baseUrl, model: 'm', apiKey: null };

async function body(): Promise<UpstreamBody> {
  const { signal } = new AbortController();
  const call = { endpoint: 'completions', body: new Uint8Array(2), headers: {}, signal } as const;
  return (await upstream.send(target, call)).body;
}

const read = await textIn(await body()).then(
  () => 'whole',
  () => 'errored',
);
const late = await body();
await body();
// Until the break-off has reached the others too.
await textIn(late).catch(() => {});
Bun.gc(true);
process.stdout.write(`${read}\n`);
process.exit(0);
