/**
 * A process of its own for a test to kill: appends entries to a journal without end, one group after the other, and
 * writes the last id of each to standard output once the journal has called it written.
 * Usage: appending-process FOLDER GROUP
 */

import { writeSync } from 'node:fs';
import { openSqliteJournal } from '../../src/adapters/journal/sqlite-journal.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createSilentLog } from './silent-log.ts';

const [folder = '', group = '1'] = process.argv.slice(2);
const { newId } = createSystemSecrets();
const journal = openSqliteJournal({ folder, maxEntries: 1_000_000, newId, log: createSilentLog() });
for (;;) {
  const ids = Array.from({ length: Number(group) }, newId);
  const appended = await journal.append(ids.map((id) => ({ id, record: 'x'.repeat(600) })));
  if (appended.outcome === 'not-written') throw appended.error;
  // Not by process.stdout, whose buffer is lost with the process while its reader is busy.
  writeSync(1, ids.map((id) => `${id}\n`).join(''));
  await new Promise((resolve) => setImmediate(resolve));
}
