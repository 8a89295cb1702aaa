import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { amount, link, moment, name } from '../fields.ts';
import { inMoney, onDay } from '../wording.ts';

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
