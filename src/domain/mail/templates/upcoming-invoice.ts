import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { amount, moment, name } from '../fields.ts';
import { inMoney, onDay } from '../wording.ts';

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
