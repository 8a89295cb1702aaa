import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { TestClock } from 'pg-boss';
import { openPglite } from '../../../src/adapters/database/pglite/pglite.ts';
import { openJobQueue } from '../../../src/adapters/job-queue/pg-boss.ts';
import { MAIL_QUEUES, mailWork } from '../../../src/domain/mail/mail-worker.ts';
import { CLAIM_MS } from '../../../src/domain/mail/outbox.ts';
import { migratedFolder } from '../../doubles/embedded-folder.ts';
import { createManualClock } from '../../doubles/manual-clock.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { startWork } from '../../doubles/start-work.ts';
import { until } from '../../doubles/until.ts';
import { mailTo, startMailServer } from './mail-server.ts';

const program = join(import.meta.dir, '../../doubles/killed-mail-worker.ts');

test('A-13 a mail whose process was killed between acceptance and mark is repeated by the next one, once, under its Message-ID', async () => {
  const server = await startMailServer();
  const address = `smtp://127.0.0.1:${server.port}`;
  const embedded = await migratedFolder();
  const folder = join(embedded.folder, 'database');
  const child = Bun.spawn([process.execPath, program, folder, address], {
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const { value } = await child.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toBe('accepted\n');
  child.kill('SIGKILL');
  await child.exited;
  expect(server.received).toHaveLength(1);

  const log = createSilentLog();
  const database = await openPglite({ folder, log, maxWaiting: 100, statementTimeoutMs: 100_000 });
  const queueClock = new TestClock();
  const jobQueue = await openJobQueue({ database, log, clock: queueClock });
  for (const queue of MAIL_QUEUES) await jobQueue.define(queue);
  const mail = mailTo(address);
  const clock = createManualClock(Date.now() + CLAIM_MS);
  const sender = { name: 'Turnpike', address: 'no-reply@mail.example' };
  const parts = { database, jobQueue, mail, clock, log, sender, consoleUrl: 'https://console.example' };
  await startWork(jobQueue, mailWork(parts));
  for (let minute = 0; minute < 3; minute += 1) await queueClock.tick(60_000);
  await until(
    async () => (await database.query("select 1 from mail_outbox where state = 'SENT'")).length === 1,
  );
  for (let minute = 0; minute < 4; minute += 1) await queueClock.tick(60_000);

  expect(server.received).toHaveLength(2);
  expect(server.received[1]?.eml).toBe(server.received[0]?.eml ?? '');
  expect(await database.query('select attempts from mail_outbox')).toEqual([{ attempts: 2 }]);
  await jobQueue.stop(0);
  await mail.close(0);
  await database.close();
  await server.close();
  await embedded.remove();
});
