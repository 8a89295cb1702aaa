/** The embedded database alone, opened and asked once: what an embedded start is measured beside. */
import { PGlite } from '@electric-sql/pglite';

const pglite = await PGlite.create({ dataDir: `${process.env.DATA_DIR}/database` });
await pglite.query('select 1');
process.stdout.write('ready: PGlite\n');
process.on('SIGTERM', async () => {
  await pglite.close();
  process.exit(0);
});
