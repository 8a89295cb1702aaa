import { z } from 'zod';
import { button, facts, paragraph, template } from '../content.ts';
import { id, moment, name } from '../fields.ts';
import { atTime } from '../wording.ts';

/** An interview is over, and nobody has written down yet how it went. */
export const scorecardReminder = template({
  data: z.strictObject({
    companyName: name,
    meetingId: id,
    talentName: name,
    jobTitle: name,
    endedAt: moment,
  }),
  write: ({ companyName, meetingId, talentName, jobTitle, endedAt }, links) => ({
    subject: `How was the interview with ${talentName}?`,
    heading: 'Please fill in the scorecard',
    blocks: [
      paragraph(
        `The interview with ${talentName} for ${jobTitle} has ended. Write down what you saw while you remember it.`,
      ),
      facts(['Candidate', talentName], ['Position', jobTitle], ['Interview ended', atTime(endedAt)]),
      button('Fill in the scorecard', links.meeting(meetingId)),
    ],
    because: `You get this because you took part in an interview of ${companyName}.`,
  }),
});
