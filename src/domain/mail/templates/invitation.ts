import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { moment, name, token } from '../fields.ts';
import { atTime } from '../wording.ts';

export const invitation = template({
  data: z.strictObject({
    companyName: name,
    /** A name or an address, so that the invited person knows whom to ask. */
    invitedBy: name,
    role: name.optional(),
    token,
    expiresAt: moment,
  }),
  expiresAt: ({ expiresAt }) => expiresAt,
  write: ({ companyName, invitedBy, role, token, expiresAt }, links) => ({
    subject: `You are invited to ${companyName}`,
    heading: `Join ${companyName}`,
    blocks: [
      paragraph(`${invitedBy} invites you to ${companyName}.`),
      facts(role === undefined ? null : ['Your role', role], ['Open until', atTime(expiresAt)]),
      button('Accept the invitation', links.invitation(token)),
      paragraph(
        'The link works once. If you do not know the sender, leave this mail alone: nothing will happen.',
      ),
    ],
    because: `You get this because ${invitedBy} entered your address.`,
  }),
});
