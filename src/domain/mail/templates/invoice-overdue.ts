import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { amount, link, moment, name } from '../fields.ts';
import { inMoney, onDay } from '../wording.ts';

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
