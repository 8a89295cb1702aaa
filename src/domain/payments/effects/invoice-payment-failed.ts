import { type Effect, waitKeys } from '../effect.ts';
import { findEventInvoice, mirrorInvoice } from '../mirror-invoice.ts';
import { amountOf } from '../tell-admins.ts';
import { fieldsIn, minorIn, momentIn, textIn, wholeIn } from '../wire-fields.ts';

/**
 * `invoice.payment_failed`: noted and told, once an attempt. No credits change, and whether the subscription goes on
 * is for its own status to say.
 */
export const invoicePaymentFailed: Effect = async (event, context) => {
  const found = await findEventInvoice(event, context);
  if (found.outcome === 'not-yet') return found.because;
  const mirrored = await mirrorInvoice(event, context, found, { otherwise: 'OPEN' });
  if (mirrored.outcome === 'refused') return mirrored.because;
  const { companyId, providerInvoiceId } = found;
  const { invoice } = mirrored;
  const attempt = Math.min(Math.max(0, wholeIn(event.object.attempt_count) ?? 0), 1_000);
  const nextAttemptAt = momentIn(event.object.next_payment_attempt);
  const failure = fieldsIn(event.object.last_finalization_error);
  const reason = textIn(failure.message, 400);
  await context.transaction.query(
    `insert into failed_payments (provider_invoice_id, attempt, company_id, failed_at, next_attempt_at, reason)
     values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
    [providerInvoiceId, attempt, companyId, event.happenedAt, nextAttemptAt, reason],
  );
  if (invoice.status === 'OPEN') {
    await context.tellAdmins({
      kind: 'payment-failed',
      companyId,
      // The same key as of a payment that wants confirming: one of the two is enough.
      fact: `dunning:${providerInvoiceId}:${attempt}`,
      data: {
        amount: amountOf(minorIn(event.object.amount_due) ?? invoice.amountMinor, invoice.currency),
        ...(reason === null ? {} : { reason }),
        ...(nextAttemptAt === null ? {} : { nextAttemptAt }),
        ...(invoice.hostedUrl === null ? {} : { payUrl: invoice.hostedUrl }),
      },
    });
  }
  const did = `attempt ${attempt} to take the money of invoice ${providerInvoiceId} failed`;
  return { outcome: 'applied', did, companyId, arrived: waitKeys({ invoice: providerInvoiceId }) };
};
