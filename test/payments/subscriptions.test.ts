import { describe, expect, test } from 'bun:test';
import { createPaymentEvents } from '../../src/domain/payments/payment-events.ts';
import { currentSubscription, findByProviderId } from '../../src/domain/subscriptions/subscription.ts';
import { GRACE_MS, makeCompany, makePlan, openPayments } from './payments-under-test.ts';
import { RECORDED_AT, secondId, wireItems } from './recorded-events.ts';
import {
  invoiceEvent,
  newSubscription,
  subscriptionEvent,
  subscriptionSession,
  wireSubscription,
} from './subscription-facts.ts';
import { usePayments } from './use-payments.ts';

const LATER = RECORDED_AT + 100;

const { database, payments } = usePayments();

async function world() {
  const company = await makeCompany(database);
  const plan = await makePlan(database);
  const subscription = newSubscription(company, plan.priceId);
  const kept = async () => await findByProviderId(database, subscription.id);
  return { company, plan, subscription, kept };
}

describe('a subscription that begins', () => {
  test('P-20 a paid checkout alone activates it, by our own plan; an unpaid one does not', async () => {
    for (const [payment_status, status] of [
      ['paid', 'ACTIVE'],
      ['unpaid', 'INCOMPLETE'],
    ] as const) {
      const { company, plan, subscription, kept } = await world();
      const session = subscriptionSession(subscription, { payment_status, metadata: { planId: plan.id } });
      await payments.receive(session);
      expect(await kept()).toMatchObject({ status, planId: plan.id, companyId: company.id });
      expect(await payments.balance(company.id)).toBe(0n);
    }
  });

  test('P-20 where the provider has newer data than the checkout, that is stored', async () => {
    const { subscription, kept } = await world();
    payments.known.set(
      subscription.id,
      wireSubscription(subscription, { status: 'trialing', trial_end: RECORDED_AT + 86_400 }),
    );
    await payments.receive(subscriptionSession(subscription, { payment_status: 'no_payment_required' }));
    expect(await kept()).toMatchObject({ status: 'TRIALING', isActive: true });
  });

  test('P-24 a subscription of an unknown customer or price waits, and is applied once they exist', async () => {
    const { plan } = await world();
    const stranger = newSubscription({ id: crypto.randomUUID(), customerId: 'cus_stranger' }, plan.priceId);
    const event = subscriptionEvent('created', stranger);
    expect(await payments.receive(event)).toMatchObject({ outcome: 'deferred' });
    const company = await makeCompany(database);
    await database.query(`update companies set provider_customer_id = 'cus_stranger' where id = $1`, [
      company.id,
    ]);
    await payments.events.wake(['customer:cus_stranger']);
    expect(await payments.statusOf(event)).toBe('PROCESSED');
    expect(await currentSubscription(database, company.id)).toMatchObject({
      providerSubscriptionId: stranger.id,
    });
  });

  test('P-23 a trial that ends is mailed once', async () => {
    const { company, subscription } = await world();
    const event = subscriptionEvent('trial_will_end', subscription);
    for (const one of [event, event, secondId(event)]) await payments.receive(one);
    expect(await payments.mails(company.id)).toEqual(['trial-ending']);
  });

  test('billing bug 22: two live subscriptions of one company are logged for the operator, and mailed once', async () => {
    const { company, subscription, plan } = await world();
    await database.query(
      `insert into users (id, company_id, email, password_hash, role, is_super_admin)
       values ($1, null, 'root@example.com', 'none', 'MEMBER', true)`,
      [crypto.randomUUID()],
    );
    const mails = () =>
      database.query(`select kind, data from mail_outbox where to_address = 'root@example.com'`);
    await payments.receive(subscriptionEvent('updated', subscription));
    expect(await mails()).toEqual([]);
    await payments.clock.advance(1_000);
    const second = newSubscription(company, plan.priceId);
    for (const one of [second, second, subscription])
      await payments.receive(subscriptionEvent('updated', one, {}, { created: LATER }));
    const data = { problem: 'second-subscription', reference: second.id, companyName: 'Acme' };
    const amount = { value: '29.00', currency: 'usd' };
    expect(await mails()).toEqual([{ kind: 'payment-problem', data: { ...data, amount } }]);
    expect(
      payments.entries.some(({ level, context }) => level === 'error' && context.companyId === company.id),
    ).toBe(true);
    expect(invoiceEvent('paid', subscription).object.subscription).toBe(subscription.id);
  });
});

describe('a subscription', () => {
  test('P-18 P-22 follows the provider’s states, and which of them are active', async () => {
    const states: [string, string, boolean][] = [
      ['incomplete', 'INCOMPLETE', false],
      ['trialing', 'TRIALING', true],
      ['active', 'ACTIVE', true],
      ['past_due', 'PAST_DUE', true],
      ['unpaid', 'UNPAID', false],
      ['paused', 'PAUSED', false],
      ['canceled', 'CANCELED', false],
      ['incomplete_expired', 'INCOMPLETE_EXPIRED', false],
    ];
    for (const [wire, status, isActive] of states) {
      const { subscription, kept, plan } = await world();
      await payments.receive(subscriptionEvent('created', subscription, { status: 'incomplete' }));
      await payments.receive(
        subscriptionEvent('updated', subscription, { status: wire }, { created: LATER }),
      );
      expect(await kept()).toMatchObject({ status, isActive, planId: plan.id });
    }
  });

  test('billing bug 7: created after updated keeps the data of updated', async () => {
    const { subscription, kept } = await world();
    await payments.receive(
      subscriptionEvent('updated', subscription, { status: 'active' }, { created: LATER }),
    );
    await payments.receive(subscriptionEvent('created', subscription, { status: 'incomplete' }));
    expect(await kept()).toMatchObject({ status: 'ACTIVE', isActive: true });
    // In the same second too.
    const other = await world();
    await payments.receive(subscriptionEvent('updated', other.subscription, { status: 'active' }));
    await payments.receive(subscriptionEvent('created', other.subscription, { status: 'incomplete' }));
    expect(await other.kept()).toMatchObject({ status: 'ACTIVE' });
  });

  test('billing bug 8: an ended subscription stays ended, whatever event follows', async () => {
    const { subscription, kept } = await world();
    await payments.receive(subscriptionEvent('created', subscription));
    await payments.receive(subscriptionEvent('deleted', subscription, {}, { created: LATER }));
    const ended = await kept();
    expect(ended).toMatchObject({
      status: 'CANCELED',
      isActive: false,
      endDate: new Date((RECORDED_AT + 5 * 86_400) * 1000),
    });
    payments.known.set(subscription.id, wireSubscription(subscription));
    for (const created of [RECORDED_AT, LATER, LATER + 100]) {
      await payments.receive(subscriptionEvent('updated', subscription, { status: 'active' }, { created }));
      await payments.receive(subscriptionEvent('resumed', subscription, {}, { created }));
    }
    expect(await kept()).toEqual(ended);
  });

  test('P-22 the end counts even where the provider’s copy is older, and before any other event', async () => {
    const { subscription, kept } = await world();
    await payments.receive(subscriptionEvent('updated', subscription, {}, { created: LATER }));
    await payments.receive(subscriptionEvent('deleted', subscription));
    expect(await kept()).toMatchObject({ status: 'CANCELED' });
    const other = await world();
    await payments.receive(subscriptionEvent('deleted', other.subscription));
    await payments.receive(subscriptionEvent('created', other.subscription));
    expect(await other.kept()).toMatchObject({ status: 'CANCELED', isActive: false });
  });

  test('P-22 a change of its price is a change of its plan; an unknown price leaves the plan and is logged', async () => {
    const { subscription, kept } = await world();
    const better = await makePlan(database);
    await payments.receive(subscriptionEvent('created', subscription));
    await payments.receive(
      subscriptionEvent('updated', subscription, { items: wireItems(better.priceId) }, { created: LATER }),
    );
    expect(await kept()).toMatchObject({ planId: better.id });
    await payments.receive(
      subscriptionEvent(
        'updated',
        subscription,
        { items: wireItems('price_unknown') },
        { created: LATER + 1 },
      ),
    );
    expect(await kept()).toMatchObject({ planId: better.id, status: 'ACTIVE' });
    expect(
      payments.entries.some(({ level, context }) => level === 'error' && context.priceId === 'price_unknown'),
    ).toBe(true);
  });

  test('P-18 a subscription that ends with its period is active until then', async () => {
    const { subscription, kept } = await world();
    await payments.receive(subscriptionEvent('updated', subscription, { cancel_at_period_end: true }));
    const end = new Date((RECORDED_AT + 31 * 86_400) * 1000);
    expect(await kept()).toMatchObject({ isActive: true, cancelAtPeriodEnd: true, endDate: end });
  });

  test('P-23 paused is not active and not the end; resumed continues', async () => {
    const { subscription, kept } = await world();
    await payments.receive(subscriptionEvent('created', subscription, { status: 'trialing' }));
    await payments.receive(subscriptionEvent('paused', subscription, {}, { created: LATER }));
    expect(await kept()).toMatchObject({ status: 'PAUSED', isActive: false });
    await payments.receive(subscriptionEvent('resumed', subscription, {}, { created: LATER + 1 }));
    expect(await kept()).toMatchObject({ status: 'ACTIVE', isActive: true });
  });

  test('P-24 two changes in the same second: the provider is queried, and its state counts', async () => {
    const { subscription, kept } = await world();
    await payments.receive(subscriptionEvent('updated', subscription, { status: 'active' }));
    payments.known.set(subscription.id, wireSubscription(subscription, { status: 'past_due' }));
    await payments.receive(
      subscriptionEvent('updated', subscription, { status: 'unpaid' }, { previous: null }),
    );
    expect(payments.asked.at(-1)).toBe(subscription.id);
    expect(await kept()).toMatchObject({ status: 'PAST_DUE' });
  });

  test('P-24 a state that the provider returned before a newer event was applied does not replace it', async () => {
    for (const newer of ['same second', 'later'] as const) {
      const { subscription, kept } = await world();
      await payments.receive(subscriptionEvent('updated', subscription, { status: 'active' }));
      const state = (cancel_at_period_end: boolean) =>
        wireSubscription(subscription, { status: 'active', cancel_at_period_end });
      const { provider } = payments.parts;
      let requests = 0;
      /** Its first answer arrives after the customer has canceled, and after the event of that was applied. */
      const slow: typeof provider = {
        ...provider,
        async retrieveSubscription() {
          requests += 1;
          if (requests > 1) return { outcome: 'done', value: state(true) };
          payments.known.set(subscription.id, state(true));
          const created = newer === 'later' ? { created: LATER } : {};
          await payments.receive(
            subscriptionEvent('updated', subscription, { ...state(true) }, { ...created, previous: null }),
          );
          expect(await kept()).toMatchObject({ cancelAtPeriodEnd: true });
          return { outcome: 'done', value: state(false) };
        },
      };
      await createPaymentEvents({ ...payments.parts, provider: slow }).receive(
        subscriptionEvent('updated', subscription, { ...state(false) }, { previous: null }),
      );
      expect(await kept()).toMatchObject({ status: 'ACTIVE', cancelAtPeriodEnd: true });
      expect(requests).toBe(newer === 'later' ? 1 : 2);
    }
  });

  test('P-20 a checkout whose subscription arrives while the provider is queried does not replace its state', async () => {
    const { plan, subscription, kept } = await world();
    const { provider } = payments.parts;
    const slow: typeof provider = {
      ...provider,
      async retrieveSubscription() {
        await payments.receive(subscriptionEvent('created', subscription, { status: 'incomplete' }));
        return { outcome: 'done', value: wireSubscription(subscription, { status: 'incomplete' }) };
      },
    };
    await createPaymentEvents({ ...payments.parts, provider: slow }).receive(
      subscriptionSession(subscription, { payment_status: 'paid', metadata: { planId: plan.id } }),
    );
    expect(await kept()).toMatchObject({ status: 'ACTIVE', planId: plan.id });
  });

  test('P-24 where the provider does not have it, the changes are ordered by their previous attributes', async () => {
    for (const isReversed of [false, true]) {
      const { subscription, kept } = await world();
      const first = subscriptionEvent(
        'updated',
        subscription,
        { status: 'past_due' },
        { previous: { status: 'active' } },
      );
      const second = subscriptionEvent(
        'updated',
        subscription,
        { status: 'unpaid' },
        { previous: { status: 'past_due' } },
      );
      const order = isReversed ? [second, first] : [first, second];
      for (const event of order)
        expect(await payments.receive(event)).toMatchObject({ outcome: 'processed' });
      expect(await kept()).toMatchObject({ status: 'UNPAID' });
    }
  });

  test('P-18 a past due payment leaves it active for the grace period, counted from the first event', async () => {
    const { subscription, kept } = await world();
    await payments.receive(subscriptionEvent('updated', subscription, { status: 'past_due' }));
    expect(await kept()).toMatchObject({ status: 'PAST_DUE', isActive: true });
    const dayMs = 24 * 60 * 60_000;
    const later = openPayments(database);
    await later.clock.advance(GRACE_MS + dayMs);
    const again = { created: RECORDED_AT + (GRACE_MS + dayMs) / 1000 };
    await later.receive(subscriptionEvent('updated', subscription, { status: 'past_due' }, again));
    expect(await kept()).toMatchObject({ status: 'PAST_DUE', isActive: false });
    await later.receive(
      subscriptionEvent('updated', subscription, { status: 'active' }, { created: again.created + 1 }),
    );
    expect(await kept()).toMatchObject({ status: 'ACTIVE', isActive: true, pastDueSince: null });
  });
});
