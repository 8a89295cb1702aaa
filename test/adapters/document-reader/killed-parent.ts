/** A process of its own for a test to kill: starts a reading process, keeps it busy, and writes that one's id. */
import { startReadingChild } from '../../../src/adapters/document-reader/reader-pool.ts';
import { DOCUMENT_LIMITS } from '../../../src/ports/document-reader.ts';

const child = startReadingChild();
await child.ready;
const hanging = `<html>${'<b>'.repeat(800_000)}${'</i>'.repeat(900_000)}`;
const limits = { ...DOCUMENT_LIMITS, timeoutMs: 3_600_000 };
void child.read({ bytes: new TextEncoder().encode(hanging), limits });
// What was sent is on its way after this turn.
setTimeout(() => process.stdout.write(`${child.pid}\n`), 100);
setInterval(() => {}, 60_000);
