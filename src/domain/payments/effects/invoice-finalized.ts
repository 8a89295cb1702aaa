import { type Effect, waitKeys } from '../effect.ts';
import { findEventInvoice, mirrorInvoice } from '../mirror-invoice.ts';

/**
 * `invoice.finalized`: it is asked for, with its number, page and due date. From that date on an open one blocks a
 * POSTPAID company (P-29). Told late, it takes nothing back from one that is paid.
 */
export const invoiceFinalized: Effect = async (event, context) => {
  const found = await findEventInvoice(event, context);
  if (found.outcome === 'not-yet') return found.because;
  const mirrored = await mirrorInvoice(event, context, found, { otherwise: 'OPEN' });
  if (mirrored.outcome === 'refused') return mirrored.because;
  const { companyId, providerInvoiceId } = found;
  const did = `invoice ${providerInvoiceId} is ${mirrored.invoice.status}`;
  return { outcome: 'applied', did, companyId, arrived: waitKeys({ invoice: providerInvoiceId }) };
};
