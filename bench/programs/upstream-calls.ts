/** Calls a provider that answers at once, through both clients in turns, and prints the CPU time of a call of each. */
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { createHttpUpstream } from '../../src/adapters/model-upstream/http.ts';
import { createSocketUpstream } from '../../src/adapters/model-upstream/sockets.ts';
import { createCallAbort } from '../../src/domain/model-calls/call-abort.ts';
import { gatherBody } from '../../src/http/read-body.ts';
import type { ModelUpstream } from '../../src/ports/model-upstream.ts';
import { approveAnyHost } from '../../test/doubles/approve-any-host.ts';
import { createSilentLog } from '../../test/doubles/silent-log.ts';

const [baseUrl = '', calls = '20000', rounds = '5', lanes = '32'] = process.argv.slice(2);
const clock = createSystemClock();
const parts = { clock, log: createSilentLog() };
const clients = {
  sockets: createSocketUpstream({ ...parts, approveHost: approveAnyHost }),
  fetch: createHttpUpstream(parts),
};
const target = { id: 't', baseUrl, model: 'instant', apiKey: 'sk-instant' };
const body = new TextEncoder().encode('{"model":"instant","messages":[{"role":"user","content":"Hello "}]}');

async function run(upstream: ModelUpstream, count: number): Promise<void> {
  let left = count;
  async function lane(): Promise<void> {
    while (left > 0) {
      left -= 1;
      const call = { endpoint: 'chat/completions', body, headers: {}, signal: createCallAbort() } as const;
      const answer = await upstream.send(target, call);
      const gathered = await gatherBody(answer.body, { maxBytes: 1_000_000, idleMs: 60_000 });
      if (answer.status !== 200 || gathered.outcome !== 'whole') throw new Error('a call failed');
    }
  }
  await Promise.all(Array.from({ length: Number(lanes) }, lane));
}

const micros: Record<keyof typeof clients, number[]> = { sockets: [], fetch: [] };
const names = ['sockets', 'fetch'] as const;
for (const name of names) await run(clients[name], Number(calls));
for (let round = 0; round < Number(rounds); round += 1) {
  for (const name of names) {
    const before = process.cpuUsage();
    await run(clients[name], Number(calls));
    const { user, system } = process.cpuUsage(before);
    micros[name].push((user + system) / Number(calls));
  }
}
process.stdout.write(`${JSON.stringify(micros)}\n`);
process.exit(0);
