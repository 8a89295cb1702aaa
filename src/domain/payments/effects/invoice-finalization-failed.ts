import type { Effect } from '../effect.ts';
import { findEventInvoice, mirrorInvoice } from '../mirror-invoice.ts';
import { fieldsIn, textIn } from '../wire-fields.ts';

/** `invoice.finalization_failed`: it stays a draft that nobody is asked to pay, until an operator sees to it. */
export const invoiceFinalizationFailed: Effect = async (event, context) => {
  const found = await findEventInvoice(event, context);
  if (found.outcome === 'not-yet') return found.because;
  const mirrored = await mirrorInvoice(event, context, found, { otherwise: 'DRAFT' });
  if (mirrored.outcome === 'refused') return mirrored.because;
  const { companyId, providerInvoiceId } = found;
  const failure = fieldsIn(event.object.last_finalization_error);
  const reason = textIn(failure.message, 500) ?? textIn(failure.code, 500) ?? 'the provider gives no reason';
  context.log.error('an invoice could not be finalized: see to it at the payment provider', {
    companyId,
    invoiceId: providerInvoiceId,
    reason,
  });
  const did = `invoice ${providerInvoiceId} could not be finalized: ${reason}`.slice(0, 500);
  return { outcome: 'applied', did, companyId };
};
