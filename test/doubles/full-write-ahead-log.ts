/**
 * A process of its own, whose files may not grow for a while: appends to a write-ahead log and writes what came of it to standard
 * output, as JSON. Usage: full-write-ahead-log FOLDER
 */
import { openWriteAheadLog } from '../../src/adapters/journal/write-ahead-log.ts';
import { createSilentLog } from './silent-log.ts';

const [folder = ''] = process.argv.slice(2);
const writeAheadLog = openWriteAheadLog({ folder, log: createSilentLog() });
const letFilesGrowTo = (bytes: string) =>
  Bun.spawnSync(['prlimit', '--pid', `${process.pid}`, `--fsize=${bytes}:unlimited`]);
const append = (id: string) =>
  writeAheadLog.append({ id, record: JSON.stringify({ id, text: 'x'.repeat(600) }) });

const before = append('before');
letFilesGrowTo('1000');
const full = append('full');
letFilesGrowTo('unlimited');
const after = append('after');
process.stdout.write(JSON.stringify({ before, full, after }));
process.kill(process.pid, 'SIGKILL');
