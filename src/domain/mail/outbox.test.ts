import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { mailOutboxContract, openMailUnderTest } from '../../../test/contracts/mail-outbox.contract.ts';
import { sampleMail } from '../../../test/doubles/mail-samples.ts';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../test/setup/use-postgres.ts';
import { purgeMail } from './mail-retention.ts';
import { createMailOutbox, MAIL_QUEUE, type MailToSend } from './outbox.ts';

const HOSTILE_ADDRESSES = [
  '',
  'ada@customer.example\r\nBcc: eve@evil.example',
  'ada@customer.example, eve@evil.example',
  'Ada <ada@customer.example>',
];

describe('the outbox', () => {
  const database = useDatabase({ beforeClose: () => under.close() });
  let under: Awaited<ReturnType<typeof openMailUnderTest>>;
  beforeAll(async () => {
    under = await openMailUnderTest(database);
  });
  beforeEach(async () => {
    await database.script('truncate mail_outbox; delete from pgboss.job');
    under.entries.length = 0;
  });

  test('an address that could contain more than one is refused, and the transaction continues', async () => {
    for (const to of HOSTILE_ADDRESSES) {
      const outcome = await database.transaction(async (within) => {
        const sent = await under.outbox.send(sampleMail('receipt', { to }), within);
        await within.query('select 1');
        return sent;
      });
      expect(outcome).toEqual({ outcome: 'invalid', reason: 'the recipient is no mail address' });
    }
    expect(await database.query('select id from mail_outbox')).toEqual([]);
    expect(under.entries).toHaveLength(HOSTILE_ADDRESSES.length);
    expect(under.entries[0]).toEqual({
      level: 'error',
      message: 'a mail was not written, because what it should say is not right',
      context: { kind: 'receipt', reason: 'the recipient is no mail address' },
    });
  });

  test('invalid data, company and dedupe key are outcomes, and the log has none of their values', async () => {
    const wrong: readonly Partial<MailToSend>[] = [
      { data: { token: 'hunter2', expiresAt: new Date(Number.NaN) } } as Partial<MailToSend>,
      { companyId: 'hunter2' },
      { dedupeKey: '' },
      { dedupeKey: 'hunter2'.repeat(200) },
      { dedupeKey: 'a\ud800' },
    ];
    for (const changes of wrong) {
      const mail = sampleMail('password-reset', changes);
      const outcome = await database.transaction((within) => under.outbox.send(mail, within));
      expect(outcome.outcome).toBe('invalid');
      expect(JSON.stringify(outcome)).not.toContain('hunter2');
    }
    expect(JSON.stringify(under.entries)).not.toContain('hunter2');
  });

  test('a domain that gives no valid Message-ID is refused at the start', () => {
    const { jobQueue, secrets, clock, log } = under;
    for (const messageIdDomain of ['', 'x>\r\nBcc: y', '-a.example', 'a..b', 'a'.repeat(200)]) {
      expect(() => createMailOutbox({ jobQueue, secrets, clock, log, messageIdDomain })).toThrow(TypeError);
    }
    expect(createMailOutbox({ jobQueue, secrets, clock, log, messageIdDomain: 'localhost' })).toBeDefined();
  });

  test('A-13 past the last retry the job is a dead letter, and a redrive sends the mail', async () => {
    const { jobQueue, newWorker, send, row, mail } = under;
    await jobQueue.define({ ...MAIL_QUEUE, retries: 1, retryDelaySeconds: 0, retryDelayMaxSeconds: 0 });
    const away = { outcome: 'failed', reason: 'CONN: connect ECONNREFUSED' } as const;
    mail.answer(away, away);
    const mailId = await send(sampleMail('invitation'));
    const workers = await newWorker().start();
    await until(async () => (await jobQueue.counts('mail')).dead === 1);
    expect(await row(mailId)).toMatchObject({ state: 'WAITING', attempts: 2, error: away.reason });
    expect(await jobQueue.deadLetters('mail', 10)).toMatchObject([
      { data: { mailId }, error: `mail ${mailId} was not accepted: ${away.reason}` },
    ]);
    expect(await jobQueue.redrive('mail')).toBe(1);
    await until(async () => (await row(mailId))?.state === 'SENT');
    expect(mail.sent).toHaveLength(3);
    await Promise.all(workers.map((worker) => worker.stop()));
  });
});

describe('on PGlite', () => {
  const database = useDatabase();

  mailOutboxContract('the embedded database', () => database);
});

describePostgres('mail with a server', () => {
  const database = usePostgres();

  mailOutboxContract('PostgreSQL', () => database);

  test('a second mail of a key waits until the first commits, and replaces it if that is rolled back', async () => {
    const { outbox, close } = await openMailUnderTest(database);
    const mail = sampleMail('low-balance', { dedupeKey: 'low-balance:acme:10:3' });
    const inserted = Promise.withResolvers<void>();
    const mayEnd = Promise.withResolvers<void>();
    const first = database
      .transaction(async (within) => {
        await outbox.send(mail, within);
        inserted.resolve();
        await mayEnd.promise;
        throw new Error('rolled back');
      })
      .catch(() => 'rolled back');
    await inserted.promise;
    const second = database.transaction((within) => outbox.send(mail, within));
    mayEnd.resolve();
    expect(await first).toBe('rolled back');
    expect(await second).toMatchObject({ outcome: 'queued' });
    await close();
  });

  test('A-13 many workers at once on the same mails send each once', async () => {
    const under = await openMailUnderTest(database);
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) ids.push(await under.send(sampleMail('receipt')));
    const workers = Array.from({ length: 4 }, () => under.newWorker());
    await Promise.all(ids.flatMap((id) => workers.map((worker) => worker.handle(under.job(id)))));
    expect(under.mail.sent.map(({ messageId }) => messageId).sort()).toEqual(
      ids.map((id) => `${id}@mail.example`).sort(),
    );
    await until(async () => (await under.row(ids[0] ?? ''))?.state === 'SENT');
    await under.close();
  });

  test('concurrent retention runs neither block each other nor do it twice', async () => {
    await database.query(
      `insert into mail_outbox (id, kind, to_address, data, message_id, created_at)
       select gen_random_uuid(), 'x', 'a@b.example', '{"token":"t"}', n::text || '@tidy', $1
       from generate_series(1, 3000) as series (n)`,
      [new Date(Date.UTC(2029, 0, 1))],
    );
    const parts = { database, clock: createManualClock(), log: createSilentLog() };
    const done = await Promise.all(Array.from({ length: 5 }, () => purgeMail(parts)));
    const last = await purgeMail(parts);
    expect([...done, last].reduce((sum, { givenUp }) => sum + givenUp, 0)).toBe(3_000);
  });
});
