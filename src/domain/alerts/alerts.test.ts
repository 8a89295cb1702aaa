import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import type { Transaction } from '../../ports/database.ts';
import type { JobData } from '../../ports/job-queue.ts';
import type { Webhook, WebhookAnswer } from '../../ports/webhooks/webhook-sender.ts';
import { addCompany } from '../accounts/company.ts';
import { createCipher } from '../models/cipher.ts';
import { type AlertEvent, slackBody } from './alert-events.ts';
import {
  type AlertChannel,
  type AlertChannelKind,
  createChannel,
  deleteChannel,
  findChannel,
  listChannels,
  MOST_CHANNELS,
  rotateSecret,
  updateChannel,
} from './channels.ts';
import { createDeliveryHandler, listDeliveries, purgeDeliveries } from './deliveries.ts';
import { ALERT_DELIVERY_QUEUE, type ChannelMail, createAlertDispatch } from './dispatch.ts';

const DAY_MS = 24 * 60 * 60_000;
const secrets = createSystemSecrets();
const clock = createManualClock(Date.UTC(2030, 0, 1));
const log = createSilentLog();
const database = useDatabase();
const cipher = createCipher({ masterKeys: ['a master key of sufficient length'], secrets });
const webhooks = { addressProblem: async () => null };
const channelParts = { secrets, clock, cipher, rules: { webhooks, allowsHttp: false } };

const answered = (status: number, body = ''): WebhookAnswer => {
  return { outcome: 'answered', status, body: new TextEncoder().encode(body), isWhole: true, durationMs: 7 };
};

/** A company with nothing, whose deliveries are worked off by hand. */
async function opened() {
  const companyId = secrets.newId();
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  const jobs: JobData[] = [];
  const mails: ChannelMail[] = [];
  const sent: Webhook[] = [];
  let answer: (webhook: Webhook) => WebhookAnswer = () => answered(200);
  const enqueue = async (_: string, data: JobData, { within }: { within?: Transaction } = {}) => {
    if (within !== undefined) expect(within.isTransaction).toBe(true);
    return String(jobs.push(data));
  };
  const jobQueue = { enqueue };
  const mail = { send: async (one: ChannelMail) => mails.push(one) };
  const { dispatch } = createAlertDispatch({ jobQueue, secrets, clock, mail });
  const send = async (webhook: Webhook) => {
    sent.push(webhook);
    return answer(webhook);
  };
  const parts = { database, clock, log, cipher, jobQueue, webhooks: { send }, keepDays: 30 };
  const handler = createDeliveryHandler(parts);
  const { signal } = new AbortController();
  return {
    ...{ companyId, jobs, mails, sent, parts },
    answers: (next: typeof answer) => {
      answer = next;
    },
    raise: (changes: Partial<AlertEvent> = {}) =>
      database.transaction((within) => dispatch({ ...lowBalance(companyId), ...changes }, within)),
    work: (data: JobData, attempt = 1) => handler({ id: 'job', data, attempt, signal }),
    async add(kind: AlertChannelKind, changes: { address?: string; eventKinds?: string[] | null } = {}) {
      const wanted = { kind, name: kind, isOn: true, eventKinds: null, address: 'https://hooks.example/in' };
      const made = await database.transaction((transaction) =>
        createChannel(channelParts, transaction, companyId, { ...wanted, ...changes }),
      );
      if (made.outcome !== 'saved') throw new Error(JSON.stringify(made));
      return made;
    },
    deliveries: async (channel: AlertChannel) =>
      await listDeliveries(database, channel, { limit: 10, after: null }),
  };
}

function lowBalance(companyId: string): AlertEvent {
  return {
    ...{
      kind: 'LOW_BALANCE',
      companyId,
      companyName: 'Acme',
      fact: ':20:1',
      raisedAt: new Date(clock.now()),
    },
    ...{ title: 'Acme has 5 credits left', message: 'When nothing is left, calls are refused.' },
    data: { balance_credits: 5 },
  };
}

describe('an alert', () => {
  test('goes to each channel that is subscribed to its kind, once however often it is raised', async () => {
    const { add, raise, jobs, work, sent, deliveries } = await opened();
    const all = await add('WEBHOOK');
    await add('SLACK', { eventKinds: ['LOW_BALANCE', 'KEY_SPENDING'] });
    const other = await add('SLACK', { eventKinds: ['KEY_SPENDING'] });
    expect(await raise()).toBe(2);
    expect(await raise()).toBe(0);
    expect(await raise({ fact: ':5:1' })).toBe(2);
    expect(jobs).toHaveLength(4);
    for (const job of jobs) await work(job);
    const body = JSON.parse(sent[0]?.body ?? '');
    expect(body).toMatchObject({
      ...{ object: 'alert', type: 'alert.low_balance', is_test: false, data: { balance_credits: 5 } },
      ...{ id: expect.stringMatching(/^evt_[0-9a-f]{32}$/), company: { name: 'Acme' } },
    });
    expect(sent[0]?.secrets).toEqual([all.secret as string]);
    expect(sent[1]).toMatchObject({
      ...{ url: 'https://hooks.example/in', secrets: [] },
      body: slackBody({
        title: 'Acme has 5 credits left',
        message: 'When nothing is left, calls are refused.',
      }),
    });
    expect((await deliveries(all.channel)).map(({ state, attempts }) => [state, attempts])).toEqual([
      ['DELIVERED', 1],
      ['DELIVERED', 1],
    ]);
    expect(await deliveries(other.channel)).toEqual([]);
    // A job that comes again finds the end.
    await work(jobs[0] as JobData);
    expect(sent).toHaveLength(4);
  });

  test('is delivered if and only if the transaction that raised it commits', async () => {
    const { add, deliveries, companyId, parts } = await opened();
    const { channel } = await add('WEBHOOK');
    const { dispatch } = createAlertDispatch({ ...parts, secrets, mail: { send: async () => null } });
    const failing = database.transaction(async (within) => {
      await dispatch(lowBalance(companyId), within);
      throw new Error('rolled back');
    });
    await expect(failing).rejects.toThrow('rolled back');
    expect(await deliveries(channel)).toEqual([]);
  });

  test('of the operators goes to their channels, and to no company', async () => {
    const { add, raise, jobs } = await opened();
    await add('WEBHOOK');
    const event = { kind: 'WITHHELD_USAGE', companyId: null, companyName: null } as const;
    expect(await raise(event)).toBe(0);
    const wanted = { kind: 'SLACK', name: 'ops', isOn: true, eventKinds: null } as const;
    const made = await database.transaction((transaction) =>
      createChannel(channelParts, transaction, null, { ...wanted, address: 'https://ops.example' }),
    );
    expect(await raise(event)).toBe(1);
    expect(jobs).toHaveLength(1);
    if (made.outcome === 'saved') await database.transaction((t) => deleteChannel(t, made.channel));
  });

  test('is mailed to one person once, with the dedupe key of the mails to chosen receivers', async () => {
    const { add, raise, mails, companyId, deliveries } = await opened();
    const values = [secrets.newId(), companyId, 'ada@acme.example'];
    await database.query(
      "insert into users (id, company_id, email, password_hash, role) values ($1, $2, $3, 'x', 'MEMBER')",
      values,
    );
    const { channel } = await add('EMAIL', { address: 'ada@acme.example' });
    await raise();
    expect(mails).toMatchObject([
      {
        ...{ kind: 'alert', to: 'ada@acme.example', companyId },
        dedupeKey: `alert:${companyId}:LOW_BALANCE::20:1:ada@acme.example`,
      },
    ]);
    expect(await deliveries(channel)).toMatchObject([{ state: 'DELIVERED' }]);
    await database.query('update users set removed_at = now() where id = $1', [values[0] ?? '']);
    await raise({ fact: 'later' });
    expect(mails).toHaveLength(1);
    expect((await deliveries(channel))[0]).toMatchObject({ state: 'FAILED' });
  });
});

describe('a delivery', () => {
  test('that fails is retried with the same bytes, its last attempt is in the log, and then it is given up', async () => {
    const { add, raise, jobs, work, sent, answers, deliveries } = await opened();
    const { channel } = await add('WEBHOOK');
    await raise();
    const [job = {}] = jobs;
    answers(() => answered(500, 'be\0sorry'));
    await expect(work(job)).rejects.toThrow('was not accepted');
    expect(await deliveries(channel)).toMatchObject([
      { state: 'WAITING', attempts: 1, httpStatus: 500, error: 'be sorry', durationMs: 7 },
    ]);
    answers(() => ({ outcome: 'failed', reason: 'timed-out', problem: 'no answer', durationMs: 10_000 }));
    await expect(work(job, 2)).rejects.toThrow('no answer');
    answers(() => answered(302));
    await work(job, ALERT_DELIVERY_QUEUE.retries + 1);
    expect(await deliveries(channel)).toMatchObject([
      { state: 'FAILED', attempts: 3, httpStatus: 302, error: expect.stringContaining('redirects') },
    ]);
    expect(new Set(sent.map(({ body }) => body)).size).toBe(1);
    await work(job);
    expect(sent).toHaveLength(3);
  });

  test('is claimed by one worker at a time; one that stopped in the middle is retried', async () => {
    const { add, raise, jobs, work, sent, parts } = await opened();
    await add('WEBHOOK');
    await raise();
    const [job = {}] = jobs;
    const send = () => new Promise<WebhookAnswer>(() => undefined);
    const stuck = createDeliveryHandler({ ...parts, webhooks: { send } });
    void stuck({ id: 'job', data: job, attempt: 1, signal: new AbortController().signal });
    while (
      (await database.query('select 1 from alert_deliveries where claimed_until is not null')).length === 0
    );
    await work(job, 2);
    expect([sent.length, jobs.length]).toEqual([0, 2]);
    await clock.advance(61_000);
    await work(jobs[1] as JobData);
    expect(sent).toHaveLength(1);
  });

  test('of a channel that is switched off or deleted is not sent', async () => {
    const { add, raise, jobs, work, sent, deliveries } = await opened();
    const off = await add('WEBHOOK');
    const gone = await add('WEBHOOK');
    await raise();
    const { name, version } = off.channel;
    const wanted = { name, version, isOn: false, eventKinds: null, address: null };
    await database.transaction((within) => updateChannel(channelParts, within, off.channel, wanted));
    await database.transaction((within) => deleteChannel(within, gone.channel));
    for (const job of jobs) await work(job);
    expect(sent).toEqual([]);
    expect(await deliveries(off.channel)).toMatchObject([
      { state: 'FAILED', error: 'the channel is switched off' },
    ]);
  });

  test('is removed from the log after its retention; one that waits past its last retry is given up', async () => {
    const { add, raise, deliveries, parts, jobs, work } = await opened();
    const { channel } = await add('WEBHOOK');
    await raise();
    await work(jobs[0] as JobData);
    await raise({ fact: 'stuck' });
    await clock.advance(4 * DAY_MS);
    await purgeDeliveries(parts);
    expect((await deliveries(channel)).map(({ state }) => state)).toEqual(['FAILED', 'DELIVERED']);
    await clock.advance(27 * DAY_MS);
    await purgeDeliveries(parts);
    expect(await deliveries(channel)).toEqual([]);
  });
});

describe('a channel', () => {
  test('is saved from its newest version only', async () => {
    const { add, companyId } = await opened();
    const { channel } = await add('WEBHOOK');
    const save = (name: string) =>
      database.transaction((transaction) =>
        updateChannel(channelParts, transaction, channel, {
          ...{ name, version: 1, isOn: true, eventKinds: null, address: null },
        }),
      );
    expect(await save('first')).toMatchObject({ outcome: 'saved', channel: { name: 'first', version: 2 } });
    expect(await save('second')).toMatchObject({ outcome: 'outdated', channel: { name: 'first' } });
    expect(await findChannel(database, [companyId], channel.id)).toMatchObject({ name: 'first' });
  });

  test('signs with the old secret too for a day after a rotation', async () => {
    const { add, raise, jobs, work, sent } = await opened();
    const { channel, secret } = await add('WEBHOOK');
    const rotated = await database.transaction((within) => rotateSecret(channelParts, within, channel));
    if (rotated.outcome !== 'saved') throw new Error(rotated.outcome);
    expect(rotated.secret).not.toBe(secret);
    await raise();
    await work(jobs[0] as JobData);
    expect(sent[0]?.secrets).toEqual([rotated.secret as string, secret as string]);
    await clock.advance(DAY_MS);
    await raise({ fact: 'next day' });
    await work(jobs[1] as JobData);
    expect(sent[1]?.secrets).toEqual([rotated.secret as string]);
  });

  test('is one of at most ten, also where two are created at once', async () => {
    const { add, companyId } = await opened();
    for (let count = 1; count < MOST_CHANNELS; count += 1) await add('SLACK');
    const both = await Promise.allSettled([add('SLACK'), add('SLACK')]);
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await listChannels(database, companyId)).toHaveLength(MOST_CHANNELS);
  });

  test('has a valid address', async () => {
    const { companyId } = await opened();
    const wrong = [
      '',
      'hooks',
      'ftp://a.example',
      'http://a.example',
      'https://u:p@a.example',
      `https://a.example/${'x'.repeat(2_048)}`,
    ];
    for (const address of wrong) {
      const wanted = { kind: 'WEBHOOK', name: 'x', isOn: true, eventKinds: null, address } as const;
      const made = await database.transaction((t) => createChannel(channelParts, t, companyId, wanted));
      expect([address.slice(0, 30), made]).toMatchObject([address.slice(0, 30), { field: 'address' }]);
    }
  });
});
