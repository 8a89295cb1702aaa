/** A process of its own for a test to kill: starts a reading process, keeps it busy, and writes that one's id. */
import { readFileSync } from 'node:fs';
import { startReadingChild } from '../../../src/adapters/document-reader/reader-pool.ts';
import { DOCUMENT_LIMITS } from '../../../src/ports/document-reader.ts';
import { until } from '../../doubles/until.ts';

const child = startReadingChild();
await child.ready;
const hanging = `<html>${'<b>'.repeat(800_000)}${'</i>'.repeat(900_000)}`;
const limits = { ...DOCUMENT_LIMITS, timeoutMs: 3_600_000 };
const begunAt = cpuTicks(child.pid);
void child.read({ bytes: new TextEncoder().encode(hanging), limits });
// Much more than it takes to receive the document: it is reading.
await until(() => cpuTicks(child.pid) > begunAt + 50);
process.stdout.write(`${child.pid}\n`);
setInterval(() => {}, 60_000);

/** Processor time in hundredths of a second, as Linux counts it. */
function cpuTicks(pid: number): number {
  const [, text = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const [userTicks, systemTicks] = text.split(' ').slice(11);
  return Number(userTicks) + Number(systemTicks);
}
