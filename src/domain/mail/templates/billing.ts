import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { amount, atTime, inCredits, inMoney, link, micro, moment, name, onDay, remark } from '../fields.ts';

/** A payment has arrived: for a credit pack, a period of a plan, or an invoice. */
export const receipt = template({
  data: z.strictObject({
    companyName: name,
    /** What was bought, such as `Credit pack Starter`. */
    item: name,
    amount,
    paidAt: moment,
    /** Set if the payment added credits. */
    creditsMicro: micro.optional(),
    /** Set if they expire. */
    creditsExpireAt: moment.optional(),
    invoiceNumber: name.optional(),
    invoiceUrl: link.optional(),
  }),
  write: (
    { companyName, item, amount, paidAt, creditsMicro, creditsExpireAt, invoiceNumber, invoiceUrl },
    links,
  ) => ({
    subject: `Receipt for ${item}`,
    heading: 'Thank you for your payment',
    blocks: [
      paragraph(`We have received your payment for ${companyName}.`),
      facts(
        ['For', item],
        ['Amount', inMoney(amount)],
        ['Paid on', atTime(paidAt)],
        creditsMicro === undefined ? null : ['Credits added', inCredits(creditsMicro)],
        creditsExpireAt === undefined ? null : ['Credits expire on', onDay(creditsExpireAt)],
        invoiceNumber === undefined ? null : ['Invoice', invoiceNumber],
      ),
      invoiceUrl === undefined
        ? button('See your billing', links.billing)
        : button('See the invoice', invoiceUrl),
    ],
    because: `You get this because you manage the billing of ${companyName}.`,
  }),
});

export const paymentFailed = template({
  data: z.strictObject({
    companyName: name,
    amount,
    /** The provider's wording. */
    reason: remark.optional(),
    /** When the provider retries automatically; omitted if it does not. */
    nextAttemptAt: moment.optional(),
    payUrl: link.optional(),
  }),
  write: ({ companyName, amount, reason, nextAttemptAt, payUrl }, links) => ({
    subject: `A payment of ${companyName} failed`,
    heading: 'A payment failed',
    blocks: [
      paragraph(`A payment of ${inMoney(amount)} for ${companyName} failed.`),
      facts(
        ['Amount', inMoney(amount)],
        reason === undefined ? null : ['Reason given', reason],
        nextAttemptAt === undefined ? null : ['Next attempt', atTime(nextAttemptAt)],
      ),
      paragraph(
        nextAttemptAt === undefined
          ? 'It will not be retried. Pay now, or add another payment method, to keep your calls running.'
          : 'It will be retried automatically. Make sure your payment method is valid by then.',
      ),
      payUrl === undefined ? button('See your billing', links.billing) : button('Pay now', payUrl),
    ],
    because: `You get this because you manage the billing of ${companyName}.`,
  }),
});

/** The bank requires the customer's confirmation. */
export const paymentActionRequired = template({
  data: z.strictObject({ companyName: name, amount, payUrl: link, dueAt: moment.optional() }),
  write: ({ companyName, amount, payUrl, dueAt }) => ({
    subject: `Please confirm a payment of ${companyName}`,
    heading: 'Your bank asks you to confirm a payment',
    blocks: [
      paragraph(
        `A payment of ${inMoney(amount)} for ${companyName} needs your confirmation at the bank. Until then it is not paid.`,
      ),
      facts(['Amount', inMoney(amount)], dueAt === undefined ? null : ['Due on', onDay(dueAt)]),
      button('Confirm the payment', payUrl),
    ],
    because: `You get this because you manage the billing of ${companyName}.`,
  }),
});

export const trialEnding = template({
  data: z.strictObject({
    companyName: name,
    planName: name,
    endsAt: moment,
    /** What the first paid period will cost. */
    amount: amount.optional(),
    /** The credits of the first paid period. */
    creditsMicro: micro.optional(),
    /** The credits of the trial, if any: the rest expires with the trial. */
    trialCreditsMicro: micro.optional(),
    /** True if the plan was canceled: nothing is charged. */
    isCanceled: z.boolean().optional(),
  }),
  write: (data, links) => {
    const { companyName, planName, endsAt, amount, creditsMicro, trialCreditsMicro, isCanceled } = data;
    const day = onDay(endsAt);
    const charged = amount === undefined ? 'your card is charged' : `your card is charged ${inMoney(amount)}`;
    return {
      subject: `Your trial of ${planName} ends on ${day}`,
      heading: 'Your trial ends soon',
      blocks: [
        paragraph(
          isCanceled === true
            ? `The trial of ${planName} for ${companyName} ends on ${day}. You have canceled the plan, so nothing is charged. To continue, renew it before that day.`
            : `The trial of ${planName} for ${companyName} ends on ${day}. On that day ${charged} and the plan begins. To avoid the charge, cancel the plan before then.`,
        ),
        facts(
          ['Plan', planName],
          ['Trial ends on', day],
          amount === undefined || isCanceled === true ? null : ['First payment', inMoney(amount)],
          creditsMicro === undefined || isCanceled === true
            ? null
            : ['Credits with it', inCredits(creditsMicro)],
        ),
        ...(trialCreditsMicro === undefined
          ? []
          : [
              paragraph(
                `The trial came with ${inCredits(trialCreditsMicro)} credits. What is left of them expires with the trial.`,
              ),
            ]),
        button(isCanceled === true ? 'Renew the plan' : 'Manage your plan', links.billing),
      ],
      because: `You get this because you manage the billing of ${companyName}.`,
    };
  },
});

export const upcomingInvoice = template({
  data: z.strictObject({
    companyName: name,
    amount,
    dueAt: moment,
    planName: name.optional(),
    /** The credits that the payment adds, if it is for a plan. */
    creditsMicro: micro.optional(),
  }),
  write: ({ companyName, amount, dueAt, planName, creditsMicro }, links) => ({
    subject: `Your next payment is due on ${onDay(dueAt)}`,
    heading: 'Your next payment',
    blocks: [
      paragraph(
        `On ${onDay(dueAt)} your card is charged ${inMoney(amount)} for ${companyName}. Make sure that it is valid by then. To change the card, or to change or cancel the plan, open your billing page before that day.`,
      ),
      facts(
        planName === undefined ? null : ['Plan', planName],
        ['Amount', inMoney(amount)],
        ['Due on', onDay(dueAt)],
        creditsMicro === undefined ? null : ['Credits with it', inCredits(creditsMicro)],
      ),
      button('Manage your plan', links.billing),
    ],
    because: `You get this because you manage the billing of ${companyName}.`,
  }),
});

/** The invoice of a POSTPAID company. */
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
    because: `You get this because you manage the billing of ${companyName}.`,
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
    because: `You get this because you manage the billing of ${companyName}.`,
  }),
});

/** A payment was disputed at the customer's bank, or a dispute was decided. */
export const paymentDispute = template({
  data: z.strictObject({
    companyName: name,
    state: z.enum(['opened', 'lost', 'closed', 'reversed']),
    amount,
    /** The credits taken back, or given back if the dispute was reversed. */
    creditsMicro: micro.optional(),
  }),
  write: ({ companyName, state, amount, creditsMicro }, links) => ({
    subject: `${DISPUTE_SUBJECTS[state]} ${companyName}`,
    heading: DISPUTE_HEADINGS[state],
    blocks: [
      paragraph(DISPUTE_TEXTS[state](inMoney(amount), companyName)),
      facts(
        ['Amount', inMoney(amount)],
        creditsMicro === undefined
          ? null
          : [state === 'reversed' ? 'Credits given back' : 'Credits taken back', inCredits(creditsMicro)],
      ),
      button('See your billing', links.billing),
    ],
    because: `You get this because you manage the billing of ${companyName}.`,
  }),
});

const DISPUTE_TEXTS: Record<
  'opened' | 'lost' | 'closed' | 'reversed',
  (amount: string, company: string) => string
> = {
  opened: (amount, company) =>
    `A payment of ${amount} for ${company} was disputed at the bank. If the bank returns the money, the credits that it paid for are taken back.`,
  lost: (amount, company) =>
    `The bank has returned a disputed payment of ${amount} for ${company}. The credits that it paid for were taken back.`,
  closed: (amount, company) =>
    `The dispute of a payment of ${amount} for ${company} is closed. Your credits are unchanged.`,
  reversed: (amount, company) =>
    `The bank has decided a dispute of ${amount} for ${company} again: the payment stands. The credits that were taken back are given back.`,
};

const DISPUTE_SUBJECTS = {
  opened: 'A payment was disputed:',
  lost: 'A disputed payment was returned:',
  closed: 'A dispute is closed:',
  reversed: 'A lost dispute was reversed:',
};
const DISPUTE_HEADINGS = {
  opened: 'A payment was disputed',
  lost: 'A disputed payment was returned',
  closed: 'A dispute is closed',
  reversed: 'A lost dispute was reversed',
};

/** The bank did not accept a refund: we have the money again. */
export const refundFailed = template({
  data: z.strictObject({ companyName: name, amount, creditsMicro: micro.optional() }),
  write: ({ companyName, amount, creditsMicro }, links) => ({
    subject: `A refund to ${companyName} failed`,
    heading: 'A refund failed',
    blocks: [
      paragraph(
        `A refund of ${inMoney(amount)} to ${companyName} could not be paid out: your bank did not accept it. The credits that it had taken are back on your account. We will contact you about another way.`,
      ),
      facts(
        ['Amount', inMoney(amount)],
        creditsMicro === undefined ? null : ['Credits given back', inCredits(creditsMicro)],
      ),
      button('See your billing', links.billing),
    ],
    because: `You get this because you manage the billing of ${companyName}.`,
  }),
});

/** For operators: a payment that needs attention at the payment provider. */
export const paymentProblem = template({
  data: z.strictObject({
    companyName: name,
    problem: z.enum([
      'dispute-opened',
      'dispute-lost',
      'dispute-closed',
      'dispute-reversed',
      'refund-failed',
      'second-subscription',
    ]),
    /** The provider's id of the dispute, refund or subscription. */
    reference: name,
    amount,
    creditsMicro: micro.optional(),
    respondBy: moment.optional(),
  }),
  write: ({ companyName, problem, reference, amount, creditsMicro, respondBy }, links) => ({
    subject: `${PROBLEMS[problem].title}: ${companyName}`,
    heading: PROBLEMS[problem].title,
    blocks: [
      paragraph(PROBLEMS[problem].text),
      facts(
        ['Company', companyName],
        ['At the provider', reference],
        ['Amount', inMoney(amount)],
        creditsMicro === undefined ? null : ['Credits', inCredits(creditsMicro)],
        respondBy === undefined ? null : ['Respond by', atTime(respondBy)],
      ),
      button('See the console', links.billing),
    ],
    because: 'You get this because you are a super admin.',
  }),
});

const PROBLEMS = {
  'dispute-opened': {
    title: 'A payment was disputed',
    text: 'Respond with evidence at the payment provider. If the dispute is lost, the credits are taken back.',
  },
  'dispute-lost': {
    title: 'A dispute was lost',
    text: 'The provider has returned the money, and the credits that it had paid for were taken back.',
  },
  'dispute-closed': {
    title: 'A dispute is closed',
    text: 'You keep the money, and no credits were removed.',
  },
  'dispute-reversed': {
    title: 'A lost dispute was reversed',
    text: 'The money was returned to you, and the credits were restored.',
  },
  'refund-failed': {
    title: 'A refund failed',
    text: 'The money was returned to you, and the credits that the refund had removed were restored. Refund it another way, then adjust the credits.',
  },
  'second-subscription': {
    title: 'A company pays for two subscriptions',
    text: 'This is the newer one. Each is charged and brings credits until you cancel one at the payment provider.',
  },
};
