/**
 * A process of its own for a test to kill: writes a mail, sends it by SMTP, and at the mark writes `accepted` and
 * waits for ever. Usage: killed-mail-worker FOLDER SMTP-ADDRESS; the folder has a migrated database.
 */

import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { openPglite } from '../../src/adapters/database/pglite/pglite.ts';
import { openJobQueue } from '../../src/adapters/job-queue/pg-boss.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { MAIL_QUEUES, mailWork } from '../../src/domain/mail/mail-worker.ts';
import { createMailOutbox } from '../../src/domain/mail/outbox.ts';
import type { Database } from '../../src/ports/database.ts';
import { mailTo } from '../adapters/mail/mail-server.ts';
import { sampleMail } from './mail-samples.ts';
import { createSilentLog } from './silent-log.ts';
import { startWork } from './start-work.ts';

const [folder = '', address = ''] = process.argv.slice(2);
const [log, clock, secrets] = [createSilentLog(), createSystemClock(), createSystemSecrets()];
const database = await openPglite({ folder, log, maxWaiting: 100, statementTimeoutMs: 100_000 });
const jobQueue = await openJobQueue({ database, log });
for (const queue of MAIL_QUEUES) await jobQueue.define(queue);
const outbox = createMailOutbox({ jobQueue, secrets, clock, log, messageIdDomain: 'mail.example' });
await database.transaction((within) => outbox.send(sampleMail('receipt'), within));

const stoppingAtTheMark: Database = {
  ...database,
  query: (text, values) => {
    if (!text.includes('settled_at = $4')) return database.query(text, values);
    process.stdout.write('accepted\n');
    return new Promise(() => {});
  },
};
const sender = { name: 'Turnpike', address: 'no-reply@mail.example' };
const mail = mailTo(address);
const parts = { database: stoppingAtTheMark, jobQueue, mail, clock, log, sender };
await startWork(jobQueue, mailWork({ ...parts, consoleUrl: 'https://console.example' }));
