/** The embedded database alone, opened and asked once: what embedded starts and memory are measured beside. */
import { mkdirSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';

const folder = `${process.env.DATA_DIR}/database`;
mkdirSync(folder, { recursive: true });
const pglite = await PGlite.create({ dataDir: folder });
await pglite.query('select 1');
process.stdout.write('ready: PGlite\n');
// It opens nothing that would keep the process alive.
setInterval(() => {}, 60_000);
process.on('SIGTERM', async () => {
  await pglite.close();
  process.exit(0);
});
