import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { moment, token } from '../fields.ts';
import { atTime } from '../wording.ts';

export const passwordReset = template({
  data: z.strictObject({ token, expiresAt: moment }),
  expiresAt: ({ expiresAt }) => expiresAt,
  write: ({ token, expiresAt }, links) => ({
    subject: 'Set a new password',
    heading: 'Set a new password',
    blocks: [
      paragraph('Somebody, probably you, asked for a new password of your account.'),
      facts(['Open until', atTime(expiresAt)]),
      button('Set a new password', links.passwordReset(token)),
      paragraph(
        'The link works once. If it was not you, leave this mail alone: your password stays as it is.',
      ),
    ],
    because: 'You get this because a new password was asked for with your address.',
  }),
});
