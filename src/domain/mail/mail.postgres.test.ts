import { expect, test } from 'bun:test';
import { mailOutboxContract, openMailUnderTest } from '../../../test/contracts/mail-outbox.contract.ts';
import { sampleMail } from '../../../test/doubles/mail-samples.ts';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { describePostgres, usePostgres } from '../../../test/setup/use-postgres.ts';
import { purgeMail } from './mail-retention.ts';

describePostgres('mail with a server', () => {
  const database = usePostgres();

  mailOutboxContract('PostgreSQL', () => database);

  test('a second mail of a key waits until the first is certain, and takes its place if that comes to nothing', async () => {
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

  test('processes that tidy up at once neither block each other nor do it twice', async () => {
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
