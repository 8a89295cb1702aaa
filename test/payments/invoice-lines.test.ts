import { describe, expect, test } from 'bun:test';
import { postMissingCash } from '../../src/domain/payments/cash/cash.ts';
import { createSeededRandom, type SeededRandom } from '../doubles/seeded-random.ts';
import { CREDIT, makeCompany, makePlan } from './payments-under-test.ts';
import { type MadeLine, madeEvent, RECORDED_AT, secondId, wireLines } from './recorded-events.ts';
import { invoiceEvent, newSubscription } from './subscription-facts.ts';
import { usePayments } from './use-payments.ts';

const { database, payments } = usePayments();

type Fields = Record<string, unknown>;
type Line = Omit<MadeLine, 'start'> & { readonly start?: number };

/** A company that subscribes to Basic (29 usd, 3,200 credits) or Pro (99 usd, 12,000 credits). */
async function world({ trialCredits = 0n } = {}) {
  const company = await makeCompany(database);
  const basic = await makePlan(database, { credits: 3_200n, priceMinor: 2_900n });
  const pro = await makePlan(database, { credits: 12_000n, priceMinor: 9_900n, trialCredits });
  const subscription = newSubscription(company, basic.priceId);
  let count = 0;
  /** A paid invoice whose total is the sum of its lines, less their discounts. */
  const paid = (lines: readonly Line[], changes: Fields = {}) => {
    count += 1;
    const start = RECORDED_AT + count * 31 * 86_400;
    const total = lines.reduce((sum, { amount, discount = 0 }) => sum + amount - discount, 0);
    const due = Math.max(0, total);
    const made = {
      id: `in_${subscription.id}_${count}`,
      charge: `ch_${subscription.id}_${count}`,
      payment_intent: `pi_${subscription.id}_${count}`,
      billing_reason: 'subscription_cycle',
      lines: wireLines(lines.map((line) => ({ start, ...line }))),
      ...{
        total,
        amount_due: due,
        amount_paid: due,
        starting_balance: 0,
        ending_balance: Math.min(0, total),
      },
    };
    return invoiceEvent('paid', subscription, { ...made, ...changes }, { month: count });
  };
  const refund = (of: number, amount: number, refunded: number) =>
    madeEvent({
      type: 'charge.refunded',
      object: {
        id: `ch_${subscription.id}_${of}`,
        customer: company.customerId,
        payment_intent: `pi_${subscription.id}_${of}`,
        invoice: `in_${subscription.id}_${of}`,
        ...{ amount, amount_refunded: refunded, refunded: refunded === amount },
      },
    });
  const credits = async () => (await payments.balance(company.id)) / CREDIT;
  const carried = async () => (await payments.carried(company.id)) / CREDIT;
  return { company, basic, pro, subscription, paid, refund, credits, carried };
}

function lineOf(priceId: string | null, amount: number, more: Partial<Line> = {}): Line {
  return { priceId, amount, ...more };
}
const part = { proration: true };

describe('P-22 credits are granted for money, line by line', () => {
  test('attack: upgrading before each renewal and downgrading after it grants only what was paid for', async () => {
    const { basic, pro, paid, credits } = await world();
    await payments.receive(paid([lineOf(pro.priceId, 9_900)]));
    for (let month = 0; month < 4; month += 1) {
      const back = [lineOf(pro.priceId, -9_900, part), lineOf(basic.priceId, 2_900, part)];
      await payments.receive(paid([...back, lineOf(pro.priceId, 9_900)]));
    }
    // 99 + 4 × 29 usd, and no 60,000 credits.
    expect(await credits()).toBe(12_000n + 4n * 3_200n);
  });

  test('attack: lines that an event does not include are fetched, page by page; without them nothing is granted', async () => {
    const { pro, paid, credits } = await world();
    const zeros = Array.from({ length: 10 }, () => lineOf(pro.priceId, 0, part));
    const all = wireLines(
      [...zeros, lineOf(pro.priceId, 9_900)].map((line) => ({ start: RECORDED_AT, ...line })),
    ) as { data: { id: string }[] };
    const shown = { object: 'list', data: all.data.slice(0, 10), has_more: true, total_count: 11 };
    const event = paid([lineOf(pro.priceId, 9_900)], { lines: shown });
    expect(await payments.receive(event)).toMatchObject({ outcome: 'deferred' });
    expect(await credits()).toBe(0n);
    payments.invoiceLines.set(String(event.object.id), all.data);
    await payments.receive(secondId(event));
    expect(await credits()).toBe(12_000n);
  });

  test('attack: a payment of one cent, or a fee next to a free trial, grants no plan', async () => {
    const cent = await world();
    const { pro, paid } = cent;
    await payments.receive(paid([lineOf(pro.priceId, 9_900, { discount: 9_899 })]));
    expect(await payments.balance(cent.company.id)).toBe((12_000n * CREDIT) / 9_900n);
    const fee = await world();
    const lines = [lineOf(fee.pro.priceId, 0), lineOf(null, 100, { description: 'Set-up fee' })];
    const event = fee.paid(lines, { billing_reason: 'subscription_create' });
    await payments.receive(event);
    expect(await fee.credits()).toBe(0n);
    expect((await payments.found(event)).effect).toContain('lines of no plan: "Set-up fee" 100 usd');
  });
});

describe('what counts as paid', () => {
  test('attack: the unpaid part of an invoice is not granted either where another was paid at a better rate', async () => {
    const { basic, pro, paid, credits } = await world();
    await payments.receive(paid([lineOf(pro.priceId, 9_900)]));
    const half = { amount_paid: 1_450, amount_due: 1_450, pre_payment_credit_notes_amount: 1_450 };
    await payments.receive(paid([lineOf(basic.priceId, 2_900)], half));
    expect(await credits()).toBe(12_000n + 1_600n);
  });

  test('a rate is fixed with its price: a new price of a plan changes no line of the old one', async () => {
    const { pro, paid, credits } = await world();
    await database.query(
      `update plans set provider_price_id = $2, credits_micro = 1, price_minor = 990000 where id = $1`,
      [pro.id, `${pro.priceId}_new`],
    );
    await payments.receive(paid([lineOf(pro.priceId, 9_900)]));
    expect(await credits()).toBe(12_000n);
    await expect(database.query('update plan_rates set credits_micro = 1')).rejects.toThrow('append-only');
  });

  test('an invoice in a currency without a rate waits, with an alert, and is granted once the rate exists', async () => {
    const { company, subscription, pro, paid, credits } = await world();
    const fromBalance = { amount_due: 0, amount_paid: 0, starting_balance: -8_900, ending_balance: 0 };
    const event = paid([lineOf(pro.priceId, 8_900)], { currency: 'eur', ...fromBalance });
    expect(await payments.receive(event)).toMatchObject({ outcome: 'deferred' });
    // It has said that the invoice is paid, but not how. The audit waits, too.
    await payments.receive(invoiceEvent('finalized', subscription, { ...event.object, status: 'paid' }));
    await postMissingCash(database);
    expect(payments.entries.some(({ message }) => message.includes('currency without a rate'))).toBe(true);
    await database.query(
      `insert into plan_rates (provider_price_id, currency, plan_id, price_minor, credits_micro)
       values ($1, 'eur', $2, 8900, $3)`,
      [pro.priceId, pro.id, 12_000n * CREDIT],
    );
    await payments.events.wake([`price:${pro.priceId}`]);
    expect(await credits()).toBe(12_000n);
    const cash = `select account, amount_minor as minor from cash_entries where company_id = $1`;
    expect(await database.query(cash, [company.id])).toEqual([{ account: 'balance', minor: 8_900n }]);
  });
});

describe('carried amounts', () => {
  test('an invoice below zero takes nothing and reduces later grants, also of a new subscription', async () => {
    const { company, basic, pro, paid, credits, carried } = await world();
    await payments.receive(paid([lineOf(pro.priceId, 9_900)]));
    const back = [lineOf(pro.priceId, -9_900, part), lineOf(basic.priceId, 2_900, part)];
    await payments.receive(paid(back));
    expect([await credits(), await carried()]).toEqual([12_000n, 8_800n]);
    const other = newSubscription(company, basic.priceId);
    for (let month = 1; month <= 3; month += 1) {
      await payments.receive(invoiceEvent('paid', other, {}, { month: 10 + month }));
    }
    // 9,600 of the new subscription made up for 8,800.
    expect([await credits(), await carried()]).toEqual([12_800n, 0n]);
  });

  test('P-24 with invoices and refunds in any order, twice or under a second id, a company ends the same', async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const random = createSeededRandom(seed);
      const { company, basic, pro, paid, refund } = await world();
      const back = [lineOf(pro.priceId, -9_900, part), lineOf(basic.priceId, 2_900, part)];
      const fromBalance = { amount_paid: 0, starting_balance: -7_000, ending_balance: -4_100 };
      const partly = { amount_paid: 5_800, starting_balance: -4_100, ending_balance: 0 };
      const events = [
        paid([lineOf(pro.priceId, 9_900)]),
        paid(back),
        paid([lineOf(basic.priceId, 2_900)], fromBalance),
        paid([lineOf(pro.priceId, 9_900)], partly),
        refund(4, 5_800, 1_450),
        refund(4, 5_800, 2_900),
      ];
      const sent = events.flatMap((event) => (random.below(5) < 2 ? [event, secondId(event)] : [event]));
      for (const event of shuffled(sent, random)) await payments.receive(event);
      // 12,000 − 8,800 + 3,200 + 12,000, less the share of the last that was given back, rounded up.
      const taken = (12_000n * CREDIT * 2_900n + 9_899n) / 9_900n;
      expect([seed, await payments.balance(company.id)]).toEqual([seed, 18_400n * CREDIT - taken]);
    }
  });
});

describe('refunds, trials and free plans', () => {
  test('P-21 a refund takes back its share of what was paid for the invoice', async () => {
    const { pro, paid, refund, credits } = await world();
    await payments.receive(paid([lineOf(pro.priceId, 9_900)]));
    await payments.receive(refund(1, 9_900, 3_300));
    expect(await credits()).toBe(8_000n);
    const half = { amount_paid: 4_950, starting_balance: -4_950, ending_balance: 0 };
    await payments.receive(paid([lineOf(pro.priceId, 9_900)], half));
    await payments.receive(refund(2, 4_950, 4_950));
    expect(await credits()).toBe(8_000n + 6_000n);
  });

  test('a trial grants the plan’s trial credits, once per company', async () => {
    const { company, pro, paid, credits } = await world({ trialCredits: 500n });
    const trial = paid([lineOf(pro.priceId, 0)], { billing_reason: 'subscription_create' });
    for (const event of [trial, secondId(trial), paid([lineOf(pro.priceId, 0)])])
      await payments.receive(event);
    expect(await credits()).toBe(500n);
    expect(await payments.postings(company.id)).toEqual([['SUBSCRIPTION_GRANT', 500n * CREDIT]]);
  });

  test('a plan of price 0 grants its credits once per company and period, not once per subscription', async () => {
    const { company, credits } = await world();
    const free = await makePlan(database, { credits: 100n, priceMinor: 0n });
    const period = (start: number) => {
      const subscription = newSubscription(company, free.priceId);
      const lines = wireLines([{ priceId: free.priceId, amount: 0, start, end: start + 30 * 86_400 }]);
      return invoiceEvent('paid', subscription, { lines, total: 0, amount_due: 0, amount_paid: 0 });
    };
    for (const start of [RECORDED_AT, RECORDED_AT + 86_400, RECORDED_AT + 30 * 86_400]) {
      await payments.receive(period(start));
    }
    expect(await credits()).toBe(200n);
  });

  test('an invoice of fees alone, and a metered line, grant nothing and are listed', async () => {
    const { company, pro, paid, credits } = await world();
    const metered = { ...wireLines([{ priceId: 'price_metered', amount: 500, start: RECORDED_AT }]) };
    const [line] = (metered as { data: Fields[] }).data;
    const price = { id: 'price_metered', type: 'recurring', recurring: { usage_type: 'metered' } };
    const [whole] = (
      wireLines([{ priceId: pro.priceId, amount: 9_900, start: RECORDED_AT }]) as { data: Fields[] }
    ).data;
    const lines = {
      data: [
        { ...line, price, description: 'Storage' },
        { ...whole, id: 'il_whole' },
      ],
    };
    await payments.receive(paid([], { lines, total: 10_400, amount_paid: 10_400, ending_balance: 0 }));
    expect(await credits()).toBe(12_000n);
    await payments.receive(paid([lineOf(null, 700, { description: 'Support' })]));
    expect(await credits()).toBe(12_000n);
    const listed = await database.query<{ description: string }>(
      `select description from plan_grant_lines where company_id = $1 and kind = 'OTHER' order by amount_minor`,
      [company.id],
    );
    expect(listed.map(({ description }) => description)).toEqual(['Storage', 'Support']);
  });
});

function shuffled<T>(items: readonly T[], random: SeededRandom): T[] {
  const left = [...items];
  return items.map(() => left.splice(random.below(left.length), 1)[0] as T);
}
