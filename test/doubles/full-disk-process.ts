/**
 * A process of its own, whose files may not grow: tries everything on its journal and writes what came of it to standard
 * output, as JSON. Usage: full-disk-process FOLDER
 */
import { openSqliteJournal } from '../../src/adapters/journal/sqlite-journal.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createSilentLog } from './silent-log.ts';

const [folder = ''] = process.argv.slice(2);
const { newId } = createSystemSecrets();
const journal = openSqliteJournal({ folder, maxEntries: 100_000, newId, log: createSilentLog() });
const entries = (count: number) =>
  Array.from({ length: count }, () => ({ id: newId(), record: 'x'.repeat(600) }));
const letFilesGrowTo = (bytes: string) =>
  Bun.spawnSync(['prlimit', '--pid', `${process.pid}`, `--fsize=${bytes}:unlimited`]);

const before = entries(50);
await journal.append(before);
letFilesGrowTo('1024');
const full = {
  append: await journal.append(entries(3)),
  check: await journal.check(),
  waiting: journal.waiting(),
};
await journal.remove(before.slice(0, 20).map(({ id }) => id));
const removed = { waiting: journal.waiting(), oldest: (await journal.oldest(10))[0]?.id === before[20]?.id };
letFilesGrowTo('unlimited');
const check = await journal.check();
const again = { check, append: await journal.append(entries(3)), waiting: journal.waiting() };
const shown = (_: string, value: unknown) => (value instanceof Error ? value.message : value);
process.stdout.write(JSON.stringify({ full, removed, again }, shown));
process.kill(process.pid, 'SIGKILL');
