import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { micro, name } from '../fields.ts';
import { inCredits } from '../wording.ts';

export const lowBalance = template({
  data: z.strictObject({ companyName: name, balanceMicro: micro, thresholdMicro: micro }),
  write: ({ companyName, balanceMicro, thresholdMicro }, links) => ({
    subject: `${companyName} has ${inCredits(balanceMicro)} left`,
    heading: 'Your credits are running low',
    blocks: [
      paragraph(
        BigInt(balanceMicro) > 0n
          ? `The balance of ${companyName} is below ${inCredits(thresholdMicro)}. When nothing is left, calls are refused.`
          : `The balance of ${companyName} is used up. Calls are refused until credits are bought.`,
      ),
      facts(['Balance', inCredits(balanceMicro)]),
      button('Buy credits', links.billing),
    ],
    because: `You get this because you look after the billing of ${companyName}.`,
  }),
});
