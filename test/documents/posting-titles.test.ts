import { describe, expect, test } from 'bun:test';
import { postingOf } from './recorded-documents.ts';

const BODY = `

We offer a permanent position in a friendly team. Send your application by e-mail.

Your responsibilities
- Work with the team every day

Requirements
- Two years of experience
- Good references`;

const read = (top: string) => {
  const { title, hiringOrganization } = postingOf(`${top}${BODY}`);
  return [title, hiringOrganization?.name ?? null];
};

describe('G-7 the employer in the line of the title', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    [
      'Warehouse Supervisor - Brightloom Logistics\nNorthampton',
      'Warehouse Supervisor',
      'Brightloom Logistics',
    ],
    [
      'Registered Nurse - Lakeshore Medical Center - Duluth, MN',
      'Registered Nurse',
      'Lakeshore Medical Center',
    ],
    ['Tidewell Analytics: Senior Data Engineer', 'Senior Data Engineer', 'Tidewell Analytics'],
    [
      'Hadley & Voss Solicitors: Legal Secretary (part-time), Exeter',
      'Legal Secretary',
      'Hadley & Voss Solicitors',
    ],
    ['Glenmore Hotels - Night Porter\nInverness, part-time', 'Night Porter', 'Glenmore Hotels'],
    [
      'Mechanical Design Engineer (Harrier Pumps Ltd), Derby',
      'Mechanical Design Engineer',
      'Harrier Pumps Ltd',
    ],
    [
      'Pflegefachkraft (w/m/d) - Seniorenzentrum Am Park - Teilzeit',
      'Pflegefachkraft',
      'Seniorenzentrum Am Park',
    ],
  ];
  for (const [top, title, company] of cases) {
    test(top.replace('\n', ' / '), () => expect(read(top)).toEqual([title, company]));
  }

  test('a specialisation behind a dash is a part of the title, and a call before a colon is no employer', () => {
    expect(read('Software Engineer - Payments\nFernhill Bank')).toEqual([
      'Software Engineer - Payments',
      'Fernhill Bank',
    ]);
    expect(read('Registered Nurse - Medical Surgical Unit')[0]).toBe(
      'Registered Nurse - Medical Surgical Unit',
    );
    expect(read('Exciting Opportunity: Night Porter')[1]).toBeNull();
  });
});
