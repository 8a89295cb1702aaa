import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { amount, atTime, inCredits, inMoney, link, micro, moment, name, onDay, remark } from '../fields.ts';

/** A payment has arrived: for a credit pack, a period of a plan, or an invoice. */
export const receipt = template({
  data: z.strictObject({
    companyName: name,
    /** What was bought, as `Credit pack Starter`. */
    item: name,
    amount,
    paidAt: moment,
    /** Where the payment brought credits. */
    creditsMicro: micro.optional(),
    invoiceNumber: name.optional(),
    invoiceUrl: link.optional(),
  }),
  write: ({ companyName, item, amount, paidAt, creditsMicro, invoiceNumber, invoiceUrl }, links) => ({
    subject: `Receipt for ${item}`,
    heading: 'Thank you for your payment',
    blocks: [
      paragraph(`We have received your payment for ${companyName}.`),
      facts(
        ['For', item],
        ['Amount', inMoney(amount)],
        ['Paid on', atTime(paidAt)],
        creditsMicro === undefined ? null : ['Credits added', inCredits(creditsMicro)],
        invoiceNumber === undefined ? null : ['Invoice', invoiceNumber],
      ),
      invoiceUrl === undefined
        ? button('See your billing', links.billing)
        : button('See the invoice', invoiceUrl),
    ],
    because: `You get this because you look after the billing of ${companyName}.`,
  }),
});

export const paymentFailed = template({
  data: z.strictObject({
    companyName: name,
    amount,
    /** The provider's words. */
    reason: remark.optional(),
    /** When the provider tries again by itself; left out where it does not. */
    nextAttemptAt: moment.optional(),
    payUrl: link.optional(),
  }),
  write: ({ companyName, amount, reason, nextAttemptAt, payUrl }, links) => ({
    subject: `A payment of ${companyName} failed`,
    heading: 'A payment failed',
    blocks: [
      paragraph(`A payment of ${inMoney(amount)} for ${companyName} could not be taken.`),
      facts(
        ['Amount', inMoney(amount)],
        reason === undefined ? null : ['Reason given', reason],
        nextAttemptAt === undefined ? null : ['Next attempt', atTime(nextAttemptAt)],
      ),
      paragraph(
        nextAttemptAt === undefined
          ? 'It will not be tried again by itself. Please pay, or give another way to pay, so that your calls go on.'
          : 'It will be tried again by itself. Please see that your way to pay works by then.',
      ),
      payUrl === undefined ? button('See your billing', links.billing) : button('Pay now', payUrl),
    ],
    because: `You get this because you look after the billing of ${companyName}.`,
  }),
});

/** The bank wants its customer to confirm. */
export const paymentActionRequired = template({
  data: z.strictObject({ companyName: name, amount, payUrl: link, dueAt: moment.optional() }),
  write: ({ companyName, amount, payUrl, dueAt }) => ({
    subject: `Please confirm a payment of ${companyName}`,
    heading: 'Your bank asks you to confirm a payment',
    blocks: [
      paragraph(
        `A payment of ${inMoney(amount)} for ${companyName} waits for you: the bank wants you to confirm it. Until then it has not been made.`,
      ),
      facts(['Amount', inMoney(amount)], dueAt === undefined ? null : ['Due on', onDay(dueAt)]),
      button('Confirm the payment', payUrl),
    ],
    because: `You get this because you look after the billing of ${companyName}.`,
  }),
});

export const trialEnding = template({
  data: z.strictObject({
    companyName: name,
    planName: name,
    endsAt: moment,
    /** What the first paid period will cost. */
    amount: amount.optional(),
  }),
  write: ({ companyName, planName, endsAt, amount }, links) => ({
    subject: `Your trial of ${planName} ends on ${onDay(endsAt)}`,
    heading: 'Your trial ends soon',
    blocks: [
      paragraph(
        `The trial of ${planName} for ${companyName} ends on ${onDay(endsAt)}. Then the plan goes on as a paid one. If you do not want that, cancel it before.`,
      ),
      facts(
        ['Plan', planName],
        ['Trial ends on', onDay(endsAt)],
        amount === undefined ? null : ['First payment', inMoney(amount)],
      ),
      button('See your plan', links.billing),
    ],
    because: `You get this because you look after the billing of ${companyName}.`,
  }),
});

export const upcomingInvoice = template({
  data: z.strictObject({ companyName: name, amount, dueAt: moment, planName: name.optional() }),
  write: ({ companyName, amount, dueAt, planName }, links) => ({
    subject: `Your next payment is due on ${onDay(dueAt)}`,
    heading: 'Your next payment',
    blocks: [
      paragraph(
        `On ${onDay(dueAt)} we will take ${inMoney(amount)} for ${companyName}. There is nothing for you to do.`,
      ),
      facts(
        planName === undefined ? null : ['Plan', planName],
        ['Amount', inMoney(amount)],
        ['Due on', onDay(dueAt)],
      ),
      button('See your billing', links.billing),
    ],
    because: `You get this because you look after the billing of ${companyName}.`,
  }),
});

/** The invoice of a company that pays afterwards. */
export const invoiceIssued = template({
  data: z.strictObject({
    companyName: name,
    invoiceNumber: name,
    amount,
    periodStart: moment,
    periodEnd: moment,
    dueAt: moment,
    invoiceUrl: link.optional(),
  }),
  write: ({ companyName, invoiceNumber, amount, periodStart, periodEnd, dueAt, invoiceUrl }, links) => ({
    subject: `Invoice ${invoiceNumber} for ${companyName}`,
    heading: `Invoice ${invoiceNumber}`,
    blocks: [
      paragraph(`Here is the invoice for what ${companyName} used. Please pay it by ${onDay(dueAt)}.`),
      facts(
        ['Invoice', invoiceNumber],
        ['Used from', onDay(periodStart)],
        ['Up to', onDay(periodEnd)],
        ['Amount', inMoney(amount)],
        ['Due on', onDay(dueAt)],
      ),
      invoiceUrl === undefined
        ? button('See your billing', links.billing)
        : button('See and pay', invoiceUrl),
    ],
    because: `You get this because you look after the billing of ${companyName}.`,
  }),
});

/** An invoice is past its due date, and the company's keys are blocked until it is paid. */
export const invoiceOverdue = template({
  data: z.strictObject({
    companyName: name,
    invoiceNumber: name,
    amount,
    dueAt: moment,
    invoiceUrl: link.optional(),
  }),
  write: ({ companyName, invoiceNumber, amount, dueAt, invoiceUrl }, links) => ({
    subject: `Invoice ${invoiceNumber} is overdue: calls are blocked`,
    heading: `Invoice ${invoiceNumber} is overdue`,
    blocks: [
      paragraph(
        `Invoice ${invoiceNumber} of ${companyName} was due on ${onDay(dueAt)} and has not been paid. Until it is, calls with the keys of ${companyName} are refused. They work again as soon as the payment has arrived.`,
      ),
      facts(['Invoice', invoiceNumber], ['Amount', inMoney(amount)], ['Was due on', onDay(dueAt)]),
      invoiceUrl === undefined ? button('See your billing', links.billing) : button('Pay now', invoiceUrl),
    ],
    because: `You get this because you look after the billing of ${companyName}.`,
  }),
});
