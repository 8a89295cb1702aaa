import { describe, expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { addTestCompany, addTestUser, postTo } from '../../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import type { Transaction } from '../../../ports/database.ts';
import type { JobData } from '../../../ports/job-queue.ts';
import { chargeCalls } from '../../calls/settlement/charge-calls.ts';
import { transferToUser } from '../ledger/user-account.ts';
import {
  type AlertMail,
  type AlertNotice,
  createAlertHandler,
  createAlertMails,
  dispatchAlerts,
} from './dispatch-alerts.ts';

const { newId } = createSystemSecrets();
const clock = createManualClock();
const signal = new AbortController().signal;
const database = useDatabase();
let companyId = '';

async function addOwners(...emails: string[]): Promise<void> {
  companyId = await addTestCompany(database);
  for (const email of emails) {
    const role = email.startsWith('admin') ? 'COMPANY_ADMIN' : 'MEMBER';
    await addTestUser(database, companyId, email, role);
  }
}

const post = (amountMicro: bigint) => postTo(database, companyId, amountMicro);

/** Jobs that exist only where their transaction commits, as the real ones. */
function recordingQueue(fails: () => boolean = () => false) {
  const jobs: JobData[] = [];
  const enqueue = async (_: string, data: JobData, { within }: { within?: Transaction } = {}) => {
    expect(within?.isTransaction).toBe(true);
    if (fails()) throw new Error('away');
    jobs.push(data);
    return 'job';
  };
  return { jobs, jobQueue: { enqueue } };
}

/** The jobs of the alerts that wait. */
async function dispatched(): Promise<readonly JobData[]> {
  const { jobs, jobQueue } = recordingQueue();
  await dispatchAlerts({ database, jobQueue, clock });
  return jobs;
}

describe('alerts', () => {
  test('each threshold that was passed is handed on once', async () => {
    await addOwners();
    await post(1_000n);
    await post(-990n);
    const { jobs, jobQueue } = recordingQueue();
    expect(await dispatchAlerts({ database, jobQueue, clock })).toBe(2);
    expect(await dispatchAlerts({ database, jobQueue, clock })).toBe(0);
    const named = { companyId, kind: 'LOW_BALANCE', subject: '', episode: '1' };
    expect(
      jobs.toSorted((one, other) => Number(other.thresholdPercent) - Number(one.thresholdPercent)),
    ).toEqual([
      { ...named, thresholdPercent: 20 },
      { ...named, thresholdPercent: 5 },
    ]);
  });

  test('one that could not be enqueued is not marked, and is handed on later', async () => {
    await addOwners();
    await post(1_000n);
    await post(-900n);
    let isUnavailable = true;
    const { jobs, jobQueue } = recordingQueue(() => isUnavailable);
    const error = await dispatchAlerts({ database, jobQueue, clock }).catch((thrown: Error) => thrown);
    expect(error).toBeInstanceOf(Error);
    isUnavailable = false;
    expect(await dispatchAlerts({ database, jobQueue, clock })).toBe(1);
    expect(jobs).toHaveLength(1);
  });

  async function noticesOf(
    jobs: readonly JobData[],
  ): Promise<{ notices: AlertNotice[]; mails: AlertMail[] }> {
    const notices: AlertNotice[] = [];
    const mails: AlertMail[] = [];
    const toMails = createAlertMails({ send: async (mail) => void mails.push(mail) });
    const handler = createAlertHandler({
      database,
      async receive(notice, within) {
        expect(within.isTransaction).toBe(true);
        notices.push(notice);
        await toMails(notice, within);
      },
    });
    for (const data of jobs) await handler({ id: 'job', data, attempt: 1, signal });
    return { notices, mails };
  }

  test('only the company’s admins are notified', async () => {
    await addOwners('admin1@a.example', 'member@a.example', 'admin2@a.example');
    await post(1_000n);
    await post(-850n);
    const jobs = await dispatched();
    const { mails } = await noticesOf(jobs);
    expect(mails.map(({ to }) => to)).toEqual(['admin1@a.example', 'admin2@a.example']);
    expect(mails[0]).toEqual({
      kind: 'low-balance',
      to: 'admin1@a.example',
      companyId,
      dedupeKey: `alert:${companyId}:LOW_BALANCE::20:1:admin1@a.example`,
      data: { companyName: 'Acme', balanceMicro: 150n, thresholdMicro: 200n, at: expect.any(Date) },
    });
    expect(new Set((await noticesOf([...jobs, ...jobs])).mails.map(({ dedupeKey }) => dedupeKey)).size).toBe(
      2,
    );
  });

  test('a user with a low balance is mailed, and no other user; not after they have left', async () => {
    await addOwners('admin9@a.example', 'member9@a.example');
    await post(1_000n);
    const [member] = await database.query<{ id: string }>(
      "select id from users where email = 'member9@a.example'",
    );
    const userId = member?.id ?? '';
    const wanted = { companyId, userId, idempotencyKey: newId(), reason: 'budget', heldMicro: 0n };
    await database.transaction((transaction) =>
      transferToUser(transaction, { ...wanted, amountMicro: 100n }),
    );
    // 76 micro-credits: 24 are left.
    await chargeCalls(database, [finishedCall(companyId, { payerId: userId })]);
    expect((await noticesOf(await dispatched())).mails).toEqual([]);
    await chargeCalls(database, [finishedCall(companyId, { payerId: userId })]);
    const jobs = await dispatched();
    expect((await noticesOf(jobs)).mails).toMatchObject([
      {
        ...{ kind: 'low-balance', to: 'member9@a.example', companyId },
        data: { companyName: 'Acme', balanceMicro: -52n, thresholdMicro: 0n, isOfUser: true },
      },
    ]);
    await database.query('update users set removed_at = now() where id = $1', [userId]);
    expect((await noticesOf(jobs)).mails).toEqual([]);
  });

  test('a fall past several thresholds is one mail, each later fall one more, and a rise starts over', async () => {
    await addOwners('admin6@a.example');
    await post(1_000n);
    await post(-960n);
    await post(-40n);
    await post(300n);
    await post(-250n);
    const jobs = await dispatched();
    expect(jobs).toHaveLength(4);
    const { mails } = await noticesOf(jobs);
    const said = mails.map(({ data }) =>
      'balanceMicro' in data ? [data.balanceMicro, data.thresholdMicro] : [],
    );
    expect(said.toSorted()).toEqual([
      [0n, 0n],
      [40n, 50n],
      [50n, 60n],
    ]);
  });

  test('a notice about a key’s limit has the key’s name and its spending', async () => {
    await addOwners('admin3@a.example');
    const keyId = newId();
    await database.query(
      `insert into api_keys (id, company_id, name, sha256, prefix, last_four, scopes, requests_per_minute,
         tokens_per_minute, monthly_spending_limit_micro)
       values ($1, $2, 'Nightly', sha256($1::uuid::text::bytea), 'p', 'l', '{usage:read}', 1, 1, 100)`,
      [keyId, companyId],
    );
    await database.query(
      "insert into key_months (key_id, month, charge_micro) values ($1, '2030-12-01', 81)",
      [keyId],
    );
    const alert = {
      companyId,
      kind: 'KEY_SPENDING',
      subject: keyId,
      thresholdPercent: 80,
      episode: '2030-12',
    };
    const { mails } = await noticesOf([alert]);
    const resetsAt = new Date('2031-01-01T00:00:00Z');
    expect(mails).toMatchObject([
      {
        kind: 'spending-limit',
        data: { keyName: 'Nightly', limitMicro: 100n, spentMicro: 81n, percent: 80, resetsAt },
      },
    ]);
    // As the commits that crossed the thresholds left it, whatever was spent and changed since.
    const raise = (spentMicro: number, ...percents: number[]) =>
      database.query(
        `with spent as (update key_months set charge_micro = $2 where key_id = $1 returning key_id)
         insert into credit_alerts (company_id, kind, subject, threshold_percent, episode)
         select $3::uuid, 'KEY_SPENDING', key_id::text, percent, '2030-12' from spent, unnest($4::integer[]) as share (percent)`,
        [keyId, spentMicro, companyId, percents],
      );
    await raise(85, 80);
    await raise(120, 90, 100);
    await database.query('update api_keys set monthly_spending_limit_micro = 1000 where id = $1', [keyId]);
    const { mails: both } = await noticesOf(
      [80, 90, 100].map((thresholdPercent) => ({ ...alert, thresholdPercent })),
    );
    expect(both).toMatchObject([
      { data: { limitMicro: 100n, spentMicro: 85n, percent: 80 } },
      { data: { limitMicro: 100n, spentMicro: 120n, percent: 100 } },
    ]);
    const gone = await noticesOf([{ ...alert, subject: newId() }]);
    expect(gone.notices).toMatchObject([{ key: null }]);
    expect(gone.mails).toEqual([]);
  });

  test('a notice about a credit line has the remaining amount', async () => {
    await addOwners('admin4@a.example');
    await database.query('update credit_accounts set line_micro = 500, balance_micro = -450 where id = $1', [
      companyId,
    ]);
    const alert = { companyId, kind: 'CREDIT_LINE', subject: '', thresholdPercent: 80, episode: '2030-12' };
    const { mails } = await noticesOf([alert]);
    expect(mails).toMatchObject([{ kind: 'low-balance', data: { balanceMicro: 50n, thresholdMicro: 100n } }]);
  });
});
