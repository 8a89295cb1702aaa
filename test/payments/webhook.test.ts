import { beforeAll, describe, expect, test } from 'bun:test';
import { EFFECTS } from '../../src/domain/payments/apply-event.ts';
import { createPaymentEvents } from '../../src/domain/payments/payment-events.ts';
import { requeueEvent } from '../../src/domain/payments/payment-jobs.ts';
import type { JobQueue } from '../../src/ports/job-queue.ts';
import type { ProviderEvent } from '../../src/ports/payment-provider.ts';
import { CREDIT, makeCompany, makePurchase, openPayments, openWebhook } from './payments-under-test.ts';
import { paidSession, refundOf } from './purchase-facts.ts';
import { RECORDED_AT } from './recorded-events.ts';
import { usePayments } from './use-payments.ts';

const SECRET = 'whsec_under_test';
const jobQueue = { enqueue: async () => 'job' } as unknown as JobQueue;
const { database, payments } = usePayments();
let post: ReturnType<typeof openWebhook>;
beforeAll(() => {
  post = openWebhook(payments, SECRET);
});

function sign(body: string): string {
  const hash = new Bun.CryptoHasher('sha256', SECRET).update(`${RECORDED_AT}.${body}`).digest('hex');
  return `t=${RECORDED_AT},v1=${hash}`;
}

async function deliver(event: ProviderEvent) {
  const body = JSON.stringify(event.payload);
  const answer = await post(body, sign(body));
  return { status: answer.status, text: await answer.text() };
}

async function newPurchase() {
  const company = await makeCompany(database);
  const purchase = await makePurchase(database, company.id);
  return { company, purchase, event: paidSession(company, purchase) };
}

describe('the payment webhook', () => {
  test('P-3 a correctly signed event is applied and acknowledged, a second time too', async () => {
    const { company, event } = await newPurchase();
    const received = { status: 200, text: '{"received":true}' };
    expect(await deliver(event)).toEqual(received);
    expect(await deliver(event)).toEqual(received);
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
  });

  test('P-3 an unsigned event is 400 in plain text that names the missing header, and is not stored', async () => {
    const { event } = await newPurchase();
    const answer = await post(JSON.stringify(event.payload), null);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toStartWith('text/plain');
    expect(await answer.text()).toBe('Webhook Error: No stripe-signature header value was provided.');
    expect(
      await database.query('select 1 from provider_events where provider_event_id = $1', [event.id]),
    ).toEqual([]);
  });

  test('P-3 more than a megabyte, and what is not JSON, is refused', async () => {
    const malformed = await post('not json', sign('not json'));
    expect(malformed.status).toBe(400);
    expect(await malformed.text()).toStartWith('Webhook Error: ');
    const body = JSON.stringify({ filler: 'x'.repeat(1024 * 1024) });
    const answer = await post(body, sign(body));
    expect(answer.status).toBe(400);
    expect(await answer.text()).toBe('Webhook Error: The payload is larger than 1048576 bytes.');
  });

  test('P-3 characters that the database cannot store, and times, are no internal error; in the id they are a 400', async () => {
    const { company, event } = await newPurchase();
    const { payload } = event;
    const object = {
      ...event.object,
      customer_details: { name: 'zero \u0000, half \ud800, written \\u0000' },
      metadata: { ...Object(event.object.metadata), 'a\u0000\ud800': '\u0000' },
    };
    const id = String(payload.id);
    const unusable = [
      { ...payload, id: `${id}\u0000` },
      { ...payload, type: 'charge.refunded\u0000' },
    ];
    for (const one of unusable) {
      const body = JSON.stringify(one);
      expect((await post(body, sign(body))).status).toBe(400);
    }
    const other = { ...payload, id: `${id}_version`, api_version: '2024\u0000' };
    expect(await deliver({ ...event, payload: other })).toMatchObject({ status: 200 });
    expect(await payments.balance(company.id)).toBe(0n);
    const odd = { ...payload, created: 1e300, data: { object } };
    expect(await deliver({ ...event, payload: odd })).toMatchObject({ status: 200 });
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
  });

  test('P-25 an event of another API version is stored and logged, and applied once it is delivered in ours, once', async () => {
    const { company, event } = await newPurchase();
    const other = { ...event, payload: { ...event.payload, api_version: '2024-06-20' } };
    expect(await deliver(other)).toMatchObject({ status: 200 });
    const kept = await payments.found(event);
    expect(kept).toMatchObject({ status: 'FAILED', error: expect.stringContaining('2024-06-20') });
    expect(
      payments.entries.some(({ level, context }) => level === 'error' && context.apiVersion === '2024-06-20'),
    ).toBe(true);
    expect(await payments.balance(company.id)).toBe(0n);
    expect(await payments.events.replay(kept.id)).toMatchObject({ outcome: 'other-version' });
    // Two endpoints with the same address, or one that was recreated.
    await Promise.all([deliver(event), deliver(other), deliver(event)]);
    expect(await payments.statusOf(event)).toBe('PROCESSED');
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
    expect(await deliver(other)).toMatchObject({ status: 200 });
    expect(await payments.statusOf(event)).toBe('PROCESSED');
  });

  test('P-25 with a key of live mode an event of test mode gives no credits, nor does one of another account', async () => {
    const { company, event } = await newPurchase();
    const origin = (isLive: boolean, account: string | null = null) =>
      createPaymentEvents({ ...payments.parts, eventOrigin: { isLive, account } });
    const named = { ...event.payload, account: 'acct_other' };
    const others = [
      [origin(true), { ...event.payload, livemode: false }, 'test mode'],
      [origin(false), named, 'acct_other'],
      [origin(true, 'acct_ours'), { ...named, livemode: true }, 'acct_other'],
    ] as const;
    for (const [at, [events, payload, words]] of others.entries()) {
      const other = { ...event, id: `${event.id}_${at}`, payload };
      expect(await events.receive(other)).toMatchObject({ outcome: 'other-origin' });
      expect(await events.receive(other)).toMatchObject({ outcome: 'duplicate' });
      const kept = await payments.found(other);
      expect(kept).toMatchObject({ status: 'FAILED', error: expect.stringContaining(words) });
      expect(await events.replay(kept.id)).toMatchObject({ outcome: 'other-origin' });
      await events.wake([]);
      await events.retryDue();
      // `turnpike replay-payment-event` leaves it to the timer.
      const requeued = await requeueEvent(
        { database, jobQueue, now: new Date(payments.clock.now()) },
        other.id,
      );
      expect(requeued.outcome).toBe('requeued');
      await events.retryDue();
      expect(await payments.found(other)).toMatchObject({
        status: 'FAILED',
        error: expect.stringContaining(words),
      });
    }
    expect(await payments.balance(company.id)).toBe(0n);
    // What is signed for our own account and mode is applied, and reconciliation names neither.
    const { livemode: _, ...silent } = event.payload;
    const own = { ...event, payload: { ...silent, account: 'acct_ours' } };
    expect(await origin(true).receive(own)).toMatchObject({ outcome: 'other-origin' });
    expect(await origin(true, 'acct_ours').receive(own)).toMatchObject({ outcome: 'processed' });
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
  });

  test('P-25 an event that waits since test mode gives no credits once the key is of live mode', async () => {
    const { company, purchase } = await newPurchase();
    const unknown = { ...purchase, id: company.id, sessionId: `${purchase.sessionId}_early` };
    const event = paidSession(company, unknown);
    const early = { ...event, payload: { ...event.payload, livemode: false } };
    expect(await payments.receive(early)).toMatchObject({ outcome: 'deferred' });
    const live = createPaymentEvents({ ...payments.parts, eventOrigin: { isLive: true, account: null } });
    await database.query('update credit_pack_purchases set provider_session_id = $2 where id = $1', [
      purchase.id,
      unknown.sessionId,
    ]);
    await live.wake([`session:${unknown.sessionId}`]);
    expect(await payments.found(early)).toMatchObject({
      status: 'FAILED',
      error: expect.stringContaining('test mode'),
    });
    expect(await payments.balance(company.id)).toBe(0n);
  });

  test('P-23 exactly these fourteen kinds are registered; one without an effect is acknowledged and stored', async () => {
    expect([...EFFECTS.keys()].sort()).toEqual(
      [
        'checkout.session.completed',
        ...[
          'paid',
          'payment_failed',
          'finalized',
          'finalization_failed',
          'payment_action_required',
          'upcoming',
        ].map((name) => `invoice.${name}`),
        ...['created', 'updated', 'deleted', 'trial_will_end', 'paused', 'resumed'].map(
          (name) => `customer.subscription.${name}`,
        ),
        'charge.refunded',
      ].sort(),
    );
    expect(EFFECTS.size).toBe(14);
    const { event } = await newPurchase();
    const other = { ...event, payload: { ...event.payload, type: 'customer.created' } };
    expect(await deliver(other)).toMatchObject({ status: 200 });
    expect(await payments.found(event)).toMatchObject({ status: 'IGNORED', type: 'customer.created' });
  });
});

describe('an internal error', () => {
  /** Whoever reads a purchase gets an error that is a fault of the statement, not of the server. */
  async function breakPurchases(): Promise<void> {
    await database.query('alter table credit_pack_purchases rename to hidden_purchases');
    await database.query(
      `create view credit_pack_purchases as
         select * from hidden_purchases where ('credit_pack_purchases ' || id)::integer = 0`,
    );
  }
  async function mendPurchases(): Promise<void> {
    await database.query('drop view credit_pack_purchases');
    await database.query('alter table hidden_purchases rename to credit_pack_purchases');
  }

  test('billing bug 12, 13: returns 500, keeps the event unprocessed, and the next delivery applies it once', async () => {
    const { company, purchase, event } = await newPurchase();
    await breakPurchases();
    expect(await deliver(event)).toMatchObject({ status: 500 });
    await mendPurchases();
    expect(await payments.found(event)).toMatchObject({
      status: 'RECEIVED',
      attempts: 1,
      error: expect.stringContaining('credit_pack_purchases'),
    });
    expect(await deliver(event)).toMatchObject({ status: 200 });
    expect(await payments.found(event)).toMatchObject({ status: 'PROCESSED', error: null });
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
    expect(await payments.postings(company.id)).toHaveLength(1);
    expect(purchase.id).toBeString();
  });

  test('billing bug 13: a failed event that is not sent again is retried by the timer', async () => {
    const { company, event } = await newPurchase();
    await breakPurchases();
    expect(await deliver(event)).toMatchObject({ status: 500 });
    await mendPurchases();
    await payments.events.retryDue();
    expect(await payments.balance(company.id)).toBe(0n);
    await payments.clock.advance(61_000);
    await payments.events.retryDue();
    expect(await payments.statusOf(event)).toBe('PROCESSED');
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
  });

  test('P-24 an event that has waited for a day waits on after one internal error', async () => {
    const { company, purchase, event } = await newPurchase();
    const refund = refundOf(company, purchase, 400);
    expect(await payments.receive(refund)).toMatchObject({ outcome: 'deferred' });
    await database.query(
      'update provider_events set attempts = 20, next_attempt_at = $2 where provider_event_id = $1',
      [refund.id, new Date(payments.clock.now())],
    );
    await breakPurchases();
    await payments.events.retryDue();
    await mendPurchases();
    expect(await payments.found(refund)).toMatchObject({
      status: 'DEFERRED',
      error: expect.stringContaining('credit_pack_purchases'),
      nextAttemptAt: new Date(payments.clock.now() + 6 * 60 * 60_000),
    });
    await payments.receive(event);
    expect(await payments.balance(company.id)).toBe(600n * CREDIT);
  });

  test('P-24 an event that waits is looked at again after the clock was ahead for a while', async () => {
    const { company, purchase } = await newPurchase();
    const refund = refundOf(company, purchase, 400);
    await payments.receive(refund);
    const { attempts } = await payments.found(refund);
    const day = 24 * 60 * 60_000;
    for (const stepMs of [20 * day, -20 * day]) {
      payments.clock.step(stepMs);
      await payments.events.retryDue();
    }
    const looked = await payments.found(refund);
    expect(looked.attempts).toBe(attempts + 4);
    expect(looked.nextAttemptAt?.getTime()).toBeLessThan(payments.clock.now() + day);
  });

  test('P-24 killed between the commit and the response: the repeated event changes nothing', async () => {
    const { company, event } = await newPurchase();
    const dying = openPayments({
      ...database,
      transaction: async (work, options) => {
        await database.transaction(work, options);
        throw new Error('the process ends here');
      },
    });
    const error = await dying.receive(event).catch((reason) => reason);
    expect(error).toMatchObject({ message: 'the process ends here' });
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
    expect(await deliver(event)).toMatchObject({ status: 200 });
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
    expect(await payments.mails(company.id)).toEqual(['receipt']);
  });

  test('a super admin replays failed events, and not processed ones', async () => {
    const { company, purchase } = await newPurchase();
    const event = paidSession(company, purchase, { amount_total: 1_234 });
    await payments.receive(event);
    const { id } = await payments.found(event);
    await database.query('update credit_pack_purchases set amount_minor = 1234 where id = $1', [purchase.id]);
    expect(await payments.events.replay(id)).toMatchObject({
      outcome: 'replayed',
      event: { status: 'PROCESSED' },
    });
    expect(await payments.events.replay(id)).toMatchObject({ outcome: 'done-before' });
    expect(await payments.events.replay('nonsense')).toEqual({ outcome: 'no-such-event' });
    expect(await payments.balance(company.id)).toBe(1_000n * CREDIT);
  });
});
