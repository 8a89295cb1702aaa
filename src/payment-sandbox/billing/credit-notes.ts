import type Stripe from 'stripe';
import { invalid } from '../api-errors.ts';
import { creditNoteShape } from '../objects/billing.ts';
import type { Params } from '../request-params.ts';
import { idIn, need, storeUpdate, type Turn } from '../state/transaction.ts';
import { refundCharge, settlePaid } from './payments.ts';

/**
 * For an open invoice, a credit note reduces the amount due and does not change the total. For a paid one, the money is
 * added to the customer's balance (`credit_amount`), refunded to the card (`refund_amount`), or returned outside the
 * provider (`out_of_band_amount`); these must add up to the note's amount.
 */
export async function createCreditNote(turn: Turn, params: Params): Promise<Stripe.CreditNote> {
  const { body: invoice } = await need(turn, 'invoice', params.needed('invoice', 255), 'invoice');
  const amount = params.whole('amount', { min: 1 });
  if (amount === undefined) throw invalid('Missing required param: amount.', 'amount', 'parameter_missing');
  switch (invoice.status) {
    case 'open':
      return await noteBeforePayment(turn, invoice, amount, params);
    case 'paid':
      return await noteAfterPayment(turn, invoice, amount, params);
    default:
      throw invalid('Credit notes can only be created for open or paid invoices.', 'invoice');
  }
}

async function noteBeforePayment(
  turn: Turn,
  invoice: Stripe.Invoice,
  amount: number,
  params: Params,
): Promise<Stripe.CreditNote> {
  if (amount > invoice.amount_remaining) {
    throw invalid('The amount of a credit note is 1 up to what is due.', 'amount');
  }
  const noted: Stripe.Invoice = {
    ...invoice,
    amount_due: invoice.amount_due - amount,
    amount_remaining: invoice.amount_remaining - amount,
    pre_payment_credit_notes_amount: invoice.pre_payment_credit_notes_amount + amount,
  };
  const note = creditNoteShape(turn.newId('cn_1'), turn.now, {
    ...EMPTY,
    ...namesIn(params),
    invoice,
    amount,
    type: 'pre_payment',
  });
  await turn.objects.put('invoice', noted, { hidden: {}, dueAt: noted.next_payment_attempt });
  await storeNote(turn, note);
  if (noted.amount_remaining === 0) await settlePaid(turn, noted, { amountPaid: 0 });
  return note;
}

function namesIn(params: Params) {
  return { memo: params.text('memo', 5_000) ?? null, metadata: params.metadata() ?? {} };
}

const EMPTY = { refund: null, balanceTransaction: null, outOfBand: null } as const;

async function noteAfterPayment(
  turn: Turn,
  invoice: Stripe.Invoice,
  amount: number,
  params: Params,
): Promise<Stripe.CreditNote> {
  const noted = invoice.pre_payment_credit_notes_amount + invoice.post_payment_credit_notes_amount;
  if (amount > invoice.total - noted) {
    throw invalid('The amount of a credit note is at most what was not credited before.', 'amount');
  }
  const [credit = 0, refunded = 0, outOfBand = 0] = [
    'credit_amount',
    'refund_amount',
    'out_of_band_amount',
  ].map((name) => params.whole(name, { min: 0 }));
  const sum = credit + refunded + outOfBand;
  if (sum !== amount) {
    throw invalid(
      `The sum of credit amount, refund amount and out of band amount (${sum}) must equal the credit note amount (${amount}).`,
    );
  }
  const refund = refunded === 0 ? null : await refundOf(turn, invoice, refunded);
  const balanceTransaction = credit === 0 ? null : await creditCustomer(turn, invoice, credit);
  const note = creditNoteShape(turn.newId('cn_1'), turn.now, {
    ...{ invoice, amount, type: 'post_payment', refund, balanceTransaction, ...namesIn(params) },
    outOfBand: outOfBand === 0 ? null : outOfBand,
  });
  const after = {
    ...invoice,
    post_payment_credit_notes_amount: invoice.post_payment_credit_notes_amount + amount,
  };
  await turn.objects.put('invoice', after, { hidden: {} });
  await storeNote(turn, note);
  return note;
}

async function refundOf(turn: Turn, invoice: Stripe.Invoice, amount: number): Promise<string> {
  const chargeId = idIn(invoice.charge);
  if (chargeId === null) throw invalid(`Invoice ${invoice.id} has no charge to refund.`, 'refund_amount');
  const { body: charge } = await need(turn, 'charge', chargeId, 'charge');
  return (await refundCharge(turn, charge, { amount, reason: null, metadata: {} })).id;
}

async function creditCustomer(turn: Turn, invoice: Stripe.Invoice, amount: number): Promise<string> {
  const { body: customer, hidden } = await need(turn, 'customer', String(invoice.customer), 'customer');
  const after = { ...customer, balance: customer.balance - amount };
  await storeUpdate(turn, 'customer', customer, after, { hidden, event: 'customer.updated' });
  return turn.newId('cbtxn_1');
}

async function storeNote(turn: Turn, note: Stripe.CreditNote): Promise<void> {
  await turn.objects.put('credit_note', note, { hidden: {} });
  await turn.emit('credit_note.created', note);
}
