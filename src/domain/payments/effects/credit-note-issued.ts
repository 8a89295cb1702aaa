import { postCash } from '../cash/cash.ts';
import type { Effect } from '../effect.ts';
import {
  currencyIn,
  fieldsIn,
  idIn,
  isUnreadable,
  lockCompany,
  minorIn,
  momentIn,
} from '../provider-objects.ts';
import { findCharge } from './charge-refunded.ts';
import { take } from './returned-money.ts';

/**
 * A credit note of a paid invoice, found by reconciliation. The part that was credited to the customer's balance, or
 * returned outside the provider, lowers the grant of that invoice as a refund does. The part that was refunded to the
 * card is reported by `charge.refunded` and not counted here. A note before payment lowered the amount due, which the
 * paid invoice already shows.
 */
export const creditNoteIssued: Effect = async (event, context) => {
  const { object } = event;
  const [noteId, invoiceId] = [idIn(object.id), idIn(object.invoice)];
  const totalMinor = minorIn(object.total) ?? minorIn(object.amount);
  if (noteId === null || invoiceId === null || totalMinor === null) {
    return { outcome: 'failed', reason: 'the credit note has no id, invoice or amount' };
  }
  const nothing = (did: string) => ({ outcome: 'applied', did, companyId: null }) as const;
  if (object.status === 'void') return nothing(`credit note ${noteId} is void`);
  if (object.type !== 'post_payment') return nothing(`credit note ${noteId} was issued before payment`);
  if (typeof object.refund === 'string') return nothing('reconciliation reads it from the provider');
  if (isUnreadable(fieldsIn(object.refund).amount) || isUnreadable(object.out_of_band_amount)) {
    const reason = `the parts of credit note ${noteId} cannot be read as money: compare it with the payment provider, and take its credits with "turnpike adjust-credits"`;
    return { outcome: 'failed', reason };
  }
  const creditedMinor = totalMinor - (minorIn(fieldsIn(object.refund).amount) ?? 0n);
  if (creditedMinor <= 0n) return nothing(`credit note ${noteId} was refunded, which counts by itself`);

  const found = await findCharge({ ...event, object: { invoice: invoiceId } }, context);
  if (found.outcome === 'not-yet') return found.because;
  const { companyId, currency, amountMinor } = found.refunded;
  if (currencyIn(object.currency) !== currency) {
    const reason = `credit note ${noteId} is in ${object.currency}, its invoice in ${currency}`;
    return { outcome: 'failed', reason, companyId };
  }
  if (amountMinor <= 0n) {
    return { outcome: 'applied', did: `nothing was paid for invoice ${invoiceId}`, companyId };
  }
  await lockCompany(context.transaction, companyId);
  const reportedMinor = creditedMinor > amountMinor ? amountMinor : creditedMinor;
  const outsideMinor = minorIn(object.out_of_band_amount) ?? 0n;
  const leftMinor = outsideMinor < reportedMinor ? outsideMinor : reportedMinor;
  const source = { companyId, currency, sourceKind: 'credit-note', sourceId: noteId } as const;
  const happenedAt = momentIn(object.created) ?? event.happenedAt;
  await postCash(context.transaction, {
    ...{ ...source, account: 'refunded', amountMinor: leftMinor, outside: true, happenedAt },
  });
  // The rest is on the customer's balance and pays for later invoices.
  await postCash(context.transaction, {
    ...{ ...source, account: 'balance', amountMinor: leftMinor - reportedMinor, happenedAt },
  });
  return await take(context, noteId, found.refunded, { amountMinor, reportedMinor });
};
