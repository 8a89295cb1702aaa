import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createSystemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createStripeProvider } from '../../../src/adapters/payment-provider/stripe.ts';
import type { PaymentProvider } from '../../../src/ports/payment-provider.ts';
import { done } from '../../contracts/payment-provider.contract.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';

/** Answers in the shape that the provider's reference shows for the pinned version; they are not the sandbox's. */
const LINES = {
  object: 'list',
  url: '/v1/invoices/in_1MtHbELkdIwHu7ixl4OzzPMv/lines',
  has_more: true,
  data: [
    {
      ...{ id: 'il_tmp_1Nzo1ZGgdF1VjufLzI1UUhsT', object: 'line_item', amount: 1_000, currency: 'usd' },
      ...{ amount_excluding_tax: 1_000, description: 'My First Invoice Item (created for API docs)' },
      ...{ discount_amounts: [], discountable: true, discounts: [], livemode: false, metadata: {} },
      ...{
        invoice_item: 'ii_1Nzo1ZGgdF1VjufLzI1UUhsT',
        period: { end: 1_696_975_413, start: 1_696_975_413 },
      },
      price: { id: 'price_1NzlYfGgdF1VjufL0cVjLJVI', object: 'price', type: 'one_time', unit_amount: 1_000 },
      ...{ proration: false, proration_details: { credited_items: null }, quantity: 1, subscription: null },
      ...{ tax_amounts: [], tax_rates: [], type: 'invoiceitem', unit_amount_excluding_tax: '1000' },
    },
  ],
};

const NOTES = {
  object: 'list',
  url: '/v1/credit_notes',
  has_more: false,
  data: [
    {
      ...{ id: 'cn_1MxvRqLkdIwHu7ixY0xbUcxk', object: 'credit_note', amount: 1_099, amount_shipping: 0 },
      ...{ created: 1_681_750_958, currency: 'usd', customer: 'cus_NjLgPhUokHubJC' },
      ...{ customer_balance_transaction: null, discount_amount: 0, discount_amounts: [] },
      ...{ invoice: 'in_1MxvRkLkdIwHu7ixABNtI99m', livemode: false, memo: null, metadata: {} },
      lines: {
        ...{ object: 'list', has_more: false, url: '/v1/credit_notes/cn_1MxvRqLkdIwHu7ixY0xbUcxk/lines' },
        data: [
          {
            ...{ id: 'cnli_1MxvRqLkdIwHu7ixFpdhBFQf', object: 'credit_note_line_item', amount: 1_099 },
            ...{ description: 'T-shirt', discount_amount: 0, discount_amounts: [], livemode: false },
            ...{
              invoice_line_item: 'il_1MxvRlLkdIwHu7ixnkbntxUV',
              quantity: 1,
              tax_amounts: [],
              tax_rates: [],
            },
            ...{ type: 'invoice_line_item', unit_amount: 1_099, unit_amount_decimal: '1099' },
          },
        ],
      },
      ...{
        number: 'C9E0C52C-0036-CN-01',
        out_of_band_amount: null,
        pdf: 'https://pay.example/pdf',
        reason: null,
      },
      refund: {
        ...{ id: 're_3MxvRlLkdIwHu7ix0YqZ5mBL', object: 'refund', amount: 600, currency: 'usd' },
        ...{ charge: 'ch_3MxvRlLkdIwHu7ix0kU1x9fP', status: 'succeeded', reason: null },
      },
      ...{ shipping_cost: null, status: 'issued', subtotal: 1_099, subtotal_excluding_tax: 1_099 },
      ...{ tax_amounts: [], total: 1_099, total_excluding_tax: 1_099, type: 'post_payment', voided_at: null },
    },
  ],
};

describe('lists in the provider’s documented format', () => {
  const asked: URL[] = [];
  let provider: PaymentProvider;
  let server: ReturnType<typeof Bun.serve>;
  beforeAll(() => {
    server = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch(request) {
        const url = new URL(request.url);
        asked.push(url);
        return Response.json(url.pathname === '/v1/credit_notes' ? NOTES : LINES);
      },
    });
    provider = createStripeProvider({
      ...{ secretKey: 'sk_test_x', webhookSecrets: ['whsec_x'], apiUrl: server.url.origin },
      ...{ clock: createSystemClock(), log: createSilentLog() },
    });
  });
  afterAll(() => server.stop(true));
  beforeEach(() => void asked.splice(0));

  test('P-22 lines of an invoice: one page as requested, every field unchanged', async () => {
    const invoiceId = 'in_1MtHbELkdIwHu7ixl4OzzPMv';
    const listed = done(await provider.listInvoiceLines(invoiceId, { limit: 1, after: 'il_before' }));
    expect(listed.hasMore).toBe(true);
    expect(listed.items.map((line) => ({ ...line }))).toEqual(LINES.data);
    expect(asked.map(({ pathname }) => pathname)).toEqual([`/v1/invoices/${invoiceId}/lines`]);
    expect(Object.fromEntries(asked[0]?.searchParams ?? [])).toEqual({
      limit: '1',
      starting_after: 'il_before',
    });
  });

  test('P-22 credit notes: since a second, with their refunds expanded, every field unchanged', async () => {
    const listed = done(await provider.listCreditNotes({ sinceMs: 1_681_000_000_999, limit: 100 }));
    expect(listed.hasMore).toBe(false);
    expect(listed.items.map((note) => ({ ...note }))).toEqual(NOTES.data);
    expect(asked.map(({ pathname }) => pathname)).toEqual(['/v1/credit_notes']);
    expect(Object.fromEntries(asked[0]?.searchParams ?? [])).toEqual({
      'created[gte]': '1681000000',
      'expand[0]': 'data.refund',
      limit: '100',
    });
  });
});
