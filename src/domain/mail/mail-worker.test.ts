import { beforeAll, beforeEach, expect, test } from 'bun:test';
import { openMailUnderTest } from '../../../test/contracts/mail-outbox.contract.ts';
import { sampleMail } from '../../../test/doubles/mail-samples.ts';
import { until } from '../../../test/doubles/until.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import type { Database } from '../../ports/database.ts';
import type { MailOutcome } from '../../ports/mail.ts';
import { CLAIM_MS } from './outbox.ts';

const database = useDatabase({ beforeClose: () => under.close() });
let under: Awaited<ReturnType<typeof openMailUnderTest>>;
beforeAll(async () => {
  under = await openMailUnderTest(database);
});
beforeEach(async () => {
  await database.script('truncate mail_outbox');
  under.mail.sent.length = 0;
  under.entries.length = 0;
});

const failure = (work: Promise<unknown>) => work.then(() => null).catch((error: Error) => error.message);

/** The database of a process whose statements that settle a mail are `settle`. */
function settlingBy(settle: (query: Database['query']) => Database['query']): Database {
  return {
    ...database,
    query: (text, values) =>
      text.includes('settled_at = $4') ? settle(database.query)(text, values) : database.query(text, values),
  };
}

test('A-13 a mail is sent once, however often its job runs', async () => {
  const { newWorker, send, row, job, mail } = under;
  const mailId = await send(sampleMail('receipt'));
  const worker = newWorker();
  for (let n = 0; n < 3; n += 1) await worker.handle(job(mailId));
  expect(mail.sent).toHaveLength(1);
  expect(mail.sent[0]).toMatchObject({
    messageId: `${mailId}@mail.example`,
    to: 'ada@customer.example',
    from: { name: 'Turnpike', address: 'no-reply@mail.example' },
    headers: { 'Auto-Submitted': 'auto-generated' },
  });
  expect(await row(mailId)).toMatchObject({ state: 'SENT', data: {}, attempts: 1, error: null });
});

test('A-13 a process that dies between acceptance and mark repeats the mail, once, with the same bytes', async () => {
  const { newWorker, send, row, job, mail, clock } = under;
  const mailId = await send(sampleMail('invitation', { companyId: null }));
  const died = settlingBy(() => () => new Promise(() => {}));
  void newWorker({ database: died }).handle(job(mailId));
  await until(() => mail.sent.length === 1);
  const next = newWorker();
  await next.handle(job(mailId));
  expect(mail.sent).toHaveLength(1);
  await clock.advance(CLAIM_MS);
  await next.handle(job(mailId));
  await next.handle(job(mailId));
  expect(mail.sent).toHaveLength(2);
  expect(mail.sent[1]).toEqual(mail.sent[0] as (typeof mail.sent)[0]);
  expect(await row(mailId)).toMatchObject({ state: 'SENT', attempts: 2 });
});

test('A-13 a database that is unavailable at the mark is waited for: nothing is sent twice', async () => {
  const { newWorker, send, row, job, mail, clock } = under;
  const mailId = await send(sampleMail('receipt'));
  let away = true;
  const worker = newWorker({
    database: settlingBy((query) => (away ? () => Promise.reject(new Error('away')) : query)),
  });
  const first = worker.handle(job(mailId));
  await until(() => under.entries.some(({ message }) => message.includes('cannot be written down yet')));
  await clock.advance(60_000);
  away = false;
  await clock.advance(5_000);
  await first;
  expect(mail.sent).toHaveLength(1);
  expect(await row(mailId)).toMatchObject({ state: 'SENT' });
});

test('A-13 a run that ends before its mark leaves it to the next run of the process', async () => {
  const { newWorker, send, row, job, mail, clock } = under;
  const mailId = await send(sampleMail('receipt'));
  let away = true;
  const worker = newWorker({
    database: settlingBy((query) => (away ? () => Promise.reject(new Error('away')) : query)),
  });
  const controller = new AbortController();
  const first = failure(worker.handle(job(mailId, controller.signal)));
  await until(() => under.entries.length > 0);
  controller.abort();
  expect(await first).toBe('away');
  away = false;
  await clock.advance(CLAIM_MS);
  await worker.handle(job(mailId));
  expect(mail.sent).toHaveLength(1);
  expect(await row(mailId)).toMatchObject({ state: 'SENT' });
});

test('A-13 while one worker sends, another does not: it retries when the claim has expired, without using up a try', async () => {
  const { newWorker, send, job, mail, row, jobQueue } = under;
  const mailId = await send(sampleMail('receipt'));
  const slow = Promise.withResolvers<MailOutcome>();
  mail.answer(slow.promise);
  const first = newWorker().handle(job(mailId));
  await until(() => mail.sent.length === 1);
  const waiting = (await jobQueue.counts('mail')).waiting;
  await newWorker().handle(job(mailId));
  await newWorker().handle(job(mailId));
  expect((await jobQueue.counts('mail')).waiting).toBe(waiting + 1);
  slow.resolve({ outcome: 'accepted' });
  await first;
  expect(mail.sent).toHaveLength(1);
  expect(await row(mailId)).toMatchObject({ state: 'SENT', attempts: 1 });
});

test('A-13 a temporary failure is retried, and the claim does not block it', async () => {
  const { newWorker, send, job, mail, row } = under;
  const mailId = await send(sampleMail('receipt'));
  mail.answer({ outcome: 'failed', reason: 'RCPT TO: 450 later' }, new TypeError('https://x/#token=abc'));
  const worker = newWorker();
  expect(await failure(worker.handle(job(mailId)))).toBe(
    `mail ${mailId} was not accepted: RCPT TO: 450 later`,
  );
  expect(await row(mailId)).toMatchObject({ state: 'WAITING', attempts: 1, error: 'RCPT TO: 450 later' });
  expect(await failure(worker.handle(job(mailId)))).toBe(
    `mail ${mailId} was not accepted: unforeseen: TypeError`,
  );
  await worker.handle(job(mailId));
  expect(await row(mailId)).toMatchObject({ state: 'SENT', attempts: 3, error: null });
});

test('A-13 a permanent rejection is given up at once, its data is erased, and the log has no address', async () => {
  const { newWorker, send, job, mail, row, entries } = under;
  const mailId = await send(sampleMail('invitation'));
  mail.answer({ outcome: 'refused', reason: 'RCPT TO: 550 unknown' });
  const worker = newWorker();
  for (let n = 0; n < 2; n += 1) await worker.handle(job(mailId));
  expect(mail.sent).toHaveLength(1);
  expect(await row(mailId)).toMatchObject({ state: 'FAILED', data: {}, error: 'RCPT TO: 550 unknown' });
  const given = { mailId, kind: 'invitation', attempts: 1, reason: 'RCPT TO: 550 unknown' };
  expect(entries).toEqual([{ level: 'warn', message: 'a mail was given up', context: given }]);
});

test('a mail with a token is not sent past the token’s expiry', async () => {
  const { newWorker, send, job, mail, row, clock } = under;
  const data = { token: 'abcdefghijklmnopqrstuvwxyz', expiresAt: new Date(clock.now() + 1_000) };
  const mailId = await send({ kind: 'password-reset', to: 'ada@customer.example', data });
  await clock.advance(1_000);
  await newWorker().handle(job(mailId));
  expect(mail.sent).toEqual([]);
  expect(await row(mailId)).toMatchObject({ state: 'FAILED', data: {} });
});

test('a kind that this version does not know is left for one that does', async () => {
  const { newWorker, send, job, mail, row } = under;
  const mailId = await send(sampleMail('receipt'));
  await database.query("update mail_outbox set kind = 'of-tomorrow' where id = $1", [mailId]);
  expect(await failure(newWorker().handle(job(mailId)))).toContain('no mail of this kind is known');
  expect(mail.sent).toEqual([]);
  expect(await row(mailId)).toMatchObject({ state: 'WAITING' });
});

test('a run that is aborted before it began sends nothing; a missing mail is no failure', async () => {
  const { newWorker, send, job, mail, row, secrets } = under;
  const mailId = await send(sampleMail('receipt'));
  expect(await failure(newWorker().handle(job(mailId, AbortSignal.abort())))).not.toBeNull();
  expect(await row(mailId)).toMatchObject({ state: 'WAITING', attempts: 0 });
  await newWorker().handle(job(secrets.newId()));
  expect(mail.sent).toEqual([]);
});
