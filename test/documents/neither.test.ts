import { describe, expect, test } from 'bun:test';
import { engine, TODAY } from './recorded-documents.ts';

/** Texts that share words with CVs or postings: people, dates, positions, pay, "requirements", "we are looking for". */
const NEITHER: Readonly<Record<string, string>> = {
  'a cover letter': `Laura Finch
12 Mill Lane, York
laura.finch@example.com, +44 7700 900123

Dear Ms Osborne,

I am applying for the position of Accountant that you advertised last week. From 2016 to 2021 I worked as an accountant at Dale Foods, where I was responsible for the month-end closing. My current employer is moving abroad. I would be glad to tell you more in an interview.

Yours sincerely,
Laura Finch`,
  'an employment contract': `Employment contract

between Greenfield Dairy Ltd (hereinafter "the Employer") and Mark Doyle (hereinafter "the Employee")

1. Position: The Employee is employed full-time as Production Manager from 1 May 2023.
2. Duties: The Employee shall carry out the duties assigned by the Employer.
3. Salary: EUR 3,900 a month. 4. Holiday: 25 days. 5. Notice: three months.`,
  "a freelancer's invoice": `Miriam Stone
Web developer
miriam@stone.example, +1 415 555 0134

Invoice No. 2024-031
Service period: 1 March 2024 - 31 March 2024
Developed the shop, 32 hours at 80.00
Managed the servers, 4 hours at 80.00
Amount due: 2,880.00 within 14 days`,
  'a news article': `Chief executive of Northern Rail steps down
Helen Marsh, who was chief executive from 2015 to 2023, told staff on Monday. She developed the night network, managed two strikes and led a merger. The company is looking for a successor; the board said that candidates with experience in freight are preferred.`,
  'a readme': `# Fast task manager

A command line manager for tasks.

## Requirements
- Node.js 20, Docker
- 2 GB of memory are required

## Installation
You will need git. Run npm install and you are done.

## Contributing
Join us on the forum. We are looking for maintainers.

## License
MIT`,
  'source code': `import { Engineer } from './engineer';

// You must call this first; the role is required.
export function hire(engineer: Engineer, salary: number) {
  const requirements = ['sql', 'python'];
  if (!engineer.skills.every((s) => requirements.includes(s))) {
    return null;
  }
  return { engineer, salary: salary * 12, since: 2015 };
}`,
  'a list of features': `Booking portal, release 2

Must have
- Login with e-mail
- Export to Excel
- PostgreSQL 15

Nice to have
- Dark mode
- Python client

You will find the drawings in the appendix.`,
  'minutes of a meeting': `Minutes of the staff meeting, 4 March 2024
Attendees: Anna Berg (manager), Jon Falk (engineer), Li Wen (analyst)
1. Hiring: we are looking for a second nurse, full-time; Anna writes the posting.
2. Budget 2024 - 2025: Jon presented the figures.
Action items: Anna sends the draft by Friday. You will get the slides by e-mail.`,
  'a rental advertisement': `Bright flat for rent, Leeds
We are looking for a quiet tenant from May. You have a steady salary and references. Two rooms, 64 square metres, garden. Essential: no smoking. Desirable: a long stay. Apply by e-mail to flat@example.com.`,
  'the description of a course': `Project management for beginners
In this course you will learn to plan, to lead and to report. Requirements: none. What you need: a laptop. Benefits: a certificate, 12 hours of video, access for a year. Join us today!`,
  'a German message to colleagues': `Betreff: Urlaub
Hallo zusammen,
ich bin vom 03.06.2024 bis 14.06.2024 im Urlaub. Vertretung macht Anna (Teamleiterin, anna@example.de). Wir suchen noch jemanden für den Telefondienst in Teilzeit.
Gruß, Tom`,
};

describe('what is neither a CV nor a posting is called neither', () => {
  for (const [name, text] of Object.entries(NEITHER))
    test(`G-7 G-8 ${name}`, () => {
      expect(engine.parseCv(text, TODAY).document.kind).toBe('other');
      expect(engine.parsePosting(text).posting).toBeNull();
    });
});
