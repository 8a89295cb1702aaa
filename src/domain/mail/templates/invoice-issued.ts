import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { amount, link, moment, name } from '../fields.ts';
import { inMoney, onDay } from '../wording.ts';

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
