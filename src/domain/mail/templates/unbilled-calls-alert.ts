import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { moment, name, remark } from '../fields.ts';
import { atTime, count } from '../wording.ts';

/** For operators: calls were answered and could not be charged. */
export const unbilledCallsAlert = template({
  data: z.strictObject({
    calls: z.int().min(0),
    since: moment,
    until: moment,
    companies: z.int().min(0).optional(),
    /** The alias or provider most of them went to. */
    mostly: name.optional(),
    reason: remark.optional(),
  }),
  write: ({ calls, since, until, companies, mostly, reason }, links) => ({
    subject: `${count(calls, 'call', 'calls')} could not be billed`,
    heading: `${count(calls, 'call was', 'calls were')} not billed`,
    blocks: [
      paragraph(
        'Calls were answered without being charged. Please look why: each one is money that was not taken.',
      ),
      facts(
        ['Calls', count(calls, 'call', 'calls')],
        ['From', atTime(since)],
        ['Up to', atTime(until)],
        companies === undefined ? null : ['Of', count(companies, 'company', 'companies')],
        mostly === undefined ? null : ['Mostly', mostly],
        reason === undefined ? null : ['Reason', reason],
      ),
      button('See the calls', links.calls),
    ],
    because: 'You get this because you operate this installation.',
  }),
});
