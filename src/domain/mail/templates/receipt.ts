import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { amount, link, micro, moment, name } from '../fields.ts';
import { atTime, inCredits, inMoney } from '../wording.ts';

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
