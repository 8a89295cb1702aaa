import { type Effect, waitKeys } from '../effect.ts';
import { findEventInvoice, mirrorInvoice } from '../mirror-invoice.ts';
import { amountOf } from '../tell-admins.ts';
import { minorIn, wholeIn } from '../wire-fields.ts';

/** `invoice.payment_action_required`: the bank wants its customer to confirm. Told once an attempt; nothing is granted. */
export const invoicePaymentActionRequired: Effect = async (event, context) => {
  const found = await findEventInvoice(event, context);
  if (found.outcome === 'not-yet') return found.because;
  const mirrored = await mirrorInvoice(event, context, found, { otherwise: 'OPEN' });
  if (mirrored.outcome === 'refused') return mirrored.because;
  const { companyId, providerInvoiceId } = found;
  const { invoice } = mirrored;
  const attempt = wholeIn(event.object.attempt_count) ?? 0;
  if (invoice.status === 'OPEN' && invoice.hostedUrl !== null) {
    await context.tellAdmins({
      kind: 'payment-action-required',
      companyId,
      fact: `dunning:${providerInvoiceId}:${attempt}`,
      data: {
        amount: amountOf(minorIn(event.object.amount_due) ?? invoice.amountMinor, invoice.currency),
        payUrl: invoice.hostedUrl,
        ...(invoice.dueAt === null ? {} : { dueAt: invoice.dueAt }),
      },
    });
  }
  const did = `the payment of invoice ${providerInvoiceId} waits for its customer`;
  return { outcome: 'applied', did, companyId, arrived: waitKeys({ invoice: providerInvoiceId }) };
};
