import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { amount, moment, name } from '../fields.ts';
import { inMoney, onDay } from '../wording.ts';

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
