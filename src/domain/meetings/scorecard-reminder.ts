import type { Transaction } from '../../ports/database.ts';
import type { MeetingInsight } from './insight.ts';
import type { Meeting } from './meeting.ts';

/** A mail to who interviewed. The same key is sent once. */
export interface ScorecardMail {
  readonly to: string;
  readonly companyId: string;
  readonly dedupeKey: string;
  readonly data: {
    readonly companyName: string;
    readonly meetingId: string;
    readonly talentName: string;
    readonly jobTitle: string;
    readonly endedAt: Date;
  };
}

export type RemindScorecard = (mail: ScorecardMail, within: Transaction) => Promise<void>;

const MOST_PEOPLE = 50;

interface Recipient {
  readonly email: string;
  readonly companyName: string;
  readonly talentName: string | null;
  readonly jobTitle: string;
}

/** To those of the company who were there, and to who announced the meeting: each once. */
export async function remindOfScorecard(
  transaction: Transaction,
  remind: RemindScorecard,
  { id: meetingId, companyId, jobId, talentId, createdBy, endedAt }: Meeting,
  { attendees }: MeetingInsight,
): Promise<void> {
  if (companyId === null || endedAt === null) return;
  const emails = attendees.flatMap(({ email }) => (email === null ? [] : [email.toLowerCase()]));
  const recipients = await transaction.query<Recipient>(
    `select person.email, company.name as "companyName", talent.name as "talentName", job.title as "jobTitle"
     from users as person join companies as company on company.id = person.company_id
       join jobs as job on job.id = $3 and job.company_id = company.id
       join talents as talent on talent.id = $4 and talent.company_id = company.id
     where person.company_id = $1 and person.removed_at is null
       and (person.id = $2 or lower(person.email) = any($5::text[]))
     order by person.id limit ${MOST_PEOPLE}`,
    [companyId, createdBy, jobId, talentId, emails],
  );
  for (const { email, companyName, talentName, jobTitle } of recipients) {
    await remind(
      {
        to: email,
        companyId,
        dedupeKey: `scorecard:${meetingId}:${email}`,
        data: { companyName, meetingId, talentName: talentName ?? 'the candidate', jobTitle, endedAt },
      },
      transaction,
    );
  }
}
