import type Stripe from 'stripe';
import type { PaymentProvider, WantedInvoice } from '../../../ports/payment-provider.ts';
import type { Attempts } from './failures.ts';
import { wireObject } from './selling.ts';

type Billing = Pick<PaymentProvider, 'createInvoice' | 'markInvoicePaid' | 'refund' | 'cancelSubscription'>;

/** What the provider takes on one invoice. */
const MAX_LINES = 250;

/** Invoices for what was used, refunds, and the end of a subscription. */
export function createBilling(stripe: Stripe, { answer }: Attempts): Billing {
  /** Each step has a key of its own, made from the caller's: a repeat finds the steps that were done. */
  async function makeInvoice(wanted: WantedInvoice, key: string): Promise<Stripe.Invoice> {
    const { customerId, currency, daysUntilDue, description, metadata } = wanted;
    const draft = await stripe.invoices.create(
      {
        customer: customerId,
        currency,
        collection_method: 'send_invoice',
        days_until_due: daysUntilDue,
        description,
        metadata,
        auto_advance: false,
        // Only our lines: what else waits on the customer belongs to a subscription.
        pending_invoice_items_behavior: 'exclude',
      },
      { idempotencyKey: `${key}:invoice` },
    );
    for (const [at, { description, amountMinor, period }] of wanted.lines.entries()) {
      const line: Stripe.InvoiceItemCreateParams = {
        customer: customerId,
        invoice: draft.id,
        currency,
        amount: Number(amountMinor),
        description,
      };
      if (period !== undefined) {
        line.period = { start: inSeconds(period.startMs), end: inSeconds(period.endMs) };
      }
      await stripe.invoiceItems.create(line, { idempotencyKey: `${key}:line:${at}` });
    }
    return await stripe.invoices.finalizeInvoice(draft.id, {}, { idempotencyKey: `${key}:finalize` });
  }

  return {
    async createInvoice(wanted, idempotencyKey) {
      const count = wanted.lines.length;
      if (count === 0 || count > MAX_LINES) {
        throw new Error(`an invoice has 1 to ${MAX_LINES} lines, this one ${count}`);
      }
      return await answer('create invoice', async () =>
        wireObject(await makeInvoice(wanted, idempotencyKey)),
      );
    },

    markInvoicePaid: (invoiceId, idempotencyKey) =>
      answer('mark invoice paid', async () =>
        wireObject(await stripe.invoices.pay(invoiceId, { paid_out_of_band: true }, { idempotencyKey })),
      ),

    refund: ({ paymentId, amountMinor, reason, metadata }, idempotencyKey) =>
      answer('refund', async () => {
        const wanted: Stripe.RefundCreateParams = {
          ...(paymentId.startsWith('ch_') ? { charge: paymentId } : { payment_intent: paymentId }),
          ...(amountMinor === null ? {} : { amount: Number(amountMinor) }),
          ...(reason === undefined ? {} : { reason }),
          metadata,
        };
        const { id, amount, status } = await stripe.refunds.create(wanted, { idempotencyKey });
        return { id, amountMinor: BigInt(amount), status };
      }),

    cancelSubscription: (subscriptionId, when, idempotencyKey) =>
      answer('cancel subscription', async () => {
        const { subscriptions } = stripe;
        const canceled =
          when === 'now'
            ? await subscriptions.cancel(subscriptionId, {}, { idempotencyKey })
            : await subscriptions.update(subscriptionId, { cancel_at_period_end: true }, { idempotencyKey });
        return wireObject(canceled);
      }),
  };
}

function inSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
