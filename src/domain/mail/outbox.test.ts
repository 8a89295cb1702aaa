import { beforeAll, beforeEach, expect, test } from 'bun:test';
import { openMailUnderTest } from '../../../test/contracts/mail-outbox.contract.ts';
import { sampleMail } from '../../../test/doubles/mail-samples.ts';
import { until } from '../../../test/doubles/until.ts';
import { useMemoryDatabase } from '../../../test/setup/use-memory-database.ts';
import { addCompany } from '../accounts/company.ts';
import { createMailOutbox, MAIL_QUEUE, type MailToSend } from './outbox.ts';

const database = useMemoryDatabase({ beforeClose: () => under.close() });
let under: Awaited<ReturnType<typeof openMailUnderTest>>;
beforeAll(async () => {
  under = await openMailUnderTest(database);
});
beforeEach(async () => {
  await database.script('truncate mail_outbox; delete from pgboss.job');
  under.entries.length = 0;
});

const HOSTILE_ADDRESSES = [
  ...['', 'ada', 'ada@customer.example\r\nBcc: eve@evil.example', 'ada@customer.example, eve@evil.example'],
  ...[
    'Ada <ada@customer.example>',
    'ada@customer.example\u0000',
    `${'a'.repeat(300)}@customer.example`,
    'a\u2028@b.example',
  ],
];

test('an address that could carry more than one is refused, and the transaction goes on', async () => {
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

test('data, company and dedupe key that are not right are outcomes, and the log has nothing of what they hold', async () => {
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

test('a row keeps the company, the time and when the mail is of no use any more', async () => {
  const { clock, secrets, send } = under;
  const companyId = secrets.newId();
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  const expiresAt = new Date(clock.now() + 60_000);
  const data = { token: 'abcdefghijklmnopqrstuvwxyz', companyName: 'Acme', invitedBy: 'Ada', expiresAt };
  await send({ kind: 'invitation', to: 'ada@customer.example', data, companyId, dedupeKey: 'invitation:1' });
  const [row] = await database.query(
    'select company_id, to_address, expires_at, created_at, dedupe_sha256, data from mail_outbox',
  );
  expect(row).toEqual({
    company_id: companyId,
    to_address: 'ada@customer.example',
    expires_at: expiresAt,
    created_at: new Date(clock.now()),
    dedupe_sha256: secrets.sha256('invitation:1'),
    data: { ...data, expiresAt: expiresAt.toISOString() },
  });
});

test('a domain that would make no Message-ID is refused when the process starts', () => {
  const { jobQueue, secrets, clock, log } = under;
  for (const messageIdDomain of [
    '',
    'a b',
    'x>\r\nBcc: y',
    '-a.example',
    'a..b',
    'a.example.',
    'a'.repeat(200),
  ]) {
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
