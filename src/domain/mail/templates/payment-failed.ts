import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { amount, link, moment, name, remark } from '../fields.ts';
import { atTime, inMoney } from '../wording.ts';

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
