import { personal } from './header.ts';
import { fill, join, linesOf, type Marked, marked, plain, wrapped } from './marked-text.ts';
import { type Block, heading, jobFillings, label, studyFillings, tasks, type Writing } from './sections.ts';
import { placeMarked, rangeText } from './style.ts';

const EMPTY: Marked = [];

/** The European form: labels in a left column, values in a right one. */
export function asEuropass(writing: Writing): Block {
  const { random, facts, language, style } = writing;
  const between = random.pick(['\t', '    ', '\n', '  ', ':\t']);
  const names = (field: string) => label(writing, field);
  const [dates, title, company, duties, degree, school] = [
    'dates',
    'title',
    'company',
    'duties',
    'degree',
    'school',
  ].map(names);
  const row = (name: string | undefined, value: Marked): Block =>
    linesOf([...plain(`${name}${between}`), ...value]);
  const lines: Marked[] = [
    plain(random.pick(['Europass', 'Curriculum Vitae', 'Europass Curriculum Vitae'])),
    ...heading(writing, 'personal'),
    ...personal(writing, true),
    EMPTY,
  ];
  lines.push(...heading(writing, 'work'));
  for (const job of facts.jobs) {
    const fillings = jobFillings(writing, job);
    lines.push(...row(dates, fill('{dates}', fillings)), ...row(title, fill('{title}', fillings)));
    if (job.tasks.length > 0)
      lines.push(
        ...row(duties, job.tasks[0] ?? []),
        ...tasks({ ...writing, style }, { ...job, tasks: job.tasks.slice(1) }),
      );
    lines.push(
      ...row(company, [
        ...(fill('{company}', fillings) as Marked),
        ...(job.place === null ? [] : [...plain(', '), ...(fillings.place as Marked)]),
      ]),
      EMPTY,
    );
  }
  lines.push(...heading(writing, 'education'));
  for (const study of facts.studies) {
    const fillings = studyFillings(writing, study);
    lines.push(
      ...row(dates, fill('{dates}', fillings)),
      ...row(degree, fill('{degree}', fillings)),
      ...row(school, fill('{school}', fillings)),
      EMPTY,
    );
  }
  lines.push(...heading(writing, 'languages'));
  for (const one of facts.spoken)
    lines.push([
      ...marked('skill', one),
      ...plain(
        `\t${random.pick(['C1\tB2\tB2\tB1\tB1', 'B1 B1 A2 A2 A2', random.pick(language.list('levels'))])}`,
      ),
    ]);
  lines.push(
    EMPTY,
    ...heading(writing, 'skills'),
    ...wrapped(
      join(
        facts.skills.map((skill) => marked('skill', skill)),
        ', ',
      ),
      80,
    ),
  );
  if (random.chance(0.5))
    lines.push(
      ...wrapped(
        join(
          facts.soft.map((skill) => marked('skill', skill)),
          random.pick([', ', '; ']),
        ),
        80,
      ),
    );
  return random.chance(0.5)
    ? lines
    : [...lines, plain(`Page 1 / 2  Curriculum vitae of ${facts.name.given} `)];
}

/** Naukri's form: the facts of the present job first, and a table of skills last. */
export function asNaukri(writing: Writing): Block {
  const { random, facts, language, style } = writing;
  const lines: Marked[] = [];
  const rangeOf = (from: number, to: number | null) => rangeText(random, language, style, from, to);
  const skill = (one: string) => marked('skill', one);
  lines.push(marked('name', facts.shownName), marked('title', facts.headline));
  const years = random.int(1, 14);
  lines.push(
    plain(`${years} Years ${random.int(0, 11)} Months | Rs ${random.int(2, 30)} lakhs | `),
    placeMarked(random, facts.home),
    plain(`${facts.phone} | ${facts.email}`),
    EMPTY,
  );
  lines.push(...mostRecent(writing));
  lines.push([...plain('Key Skills: '), ...join(facts.skills.map(skill), random.pick([', ', '|', ' | ']))]);
  lines.push(
    [
      ...plain('Pref. Location: '),
      ...join(
        [0, 1].map(() => marked('place', facts.values.place()[0])),
        ', ',
      ),
    ],
    EMPTY,
    plain('Work Experience'),
  );
  for (const job of facts.jobs)
    lines.push(
      [...marked('company', job.company), ...plain(' as '), ...marked('title', job.title)],
      plain(`${rangeOf(job.from, job.to)}`),
      ...tasks(writing, job),
    );
  lines.push(EMPTY, plain('Education'));
  for (const study of facts.studies)
    lines.push([
      ...plain(random.pick(['UG: ', 'PG: ', ''])),
      ...marked('degree', study.degree),
      ...plain(' from '),
      ...marked('school', study.school),
      ...plain(` in ${Math.floor(study.to / 12)}`),
    ]);
  lines.push(EMPTY, plain('IT Skills'), plain('Skill Name\tVersion\tLast Used\tExperience'));
  for (const one of facts.skills.slice(0, 8))
    lines.push([
      ...skill(one),
      ...plain(
        `\t${random.int(1, 12)}\t${random.int(2012, 2025)}\t${random.int(0, 9)} Year(s) ${random.int(0, 11)} Month(s)`,
      ),
    ]);
  return lines.flatMap((one) => wrapped(one, 110));
}

function mostRecent({ random, facts }: Writing): Marked[] {
  const lines: Marked[] = [];
  const first = facts.jobs[0];
  if (first !== undefined && random.chance(0.4))
    lines.push(
      [...plain('Most Recent Job: '), ...marked('title', first.title)],
      [...plain('Most Recent Company: '), ...marked('company', first.company)],
      plain('Current Job Level: Experienced (Non-Manager)'),
      [...plain('Highest Degree: '), ...marked('degree', facts.studies[0]?.degree ?? facts.values.degree())],
      plain(`Total years of experience: ${random.int(1, 20)}`),
    );
  else if (first !== undefined)
    lines.push(
      [...plain('Current Employer: '), ...marked('company', first.company)],
      [...plain('Current Designation: '), ...marked('title', first.title)],
    );
  return lines;
}

/** Monster's form. */
export function asMonster(writing: Writing): Block {
  const { random, facts, language, style } = writing;
  const lines: Marked[] = [];
  const rangeOf = (from: number, to: number | null) => rangeText(random, language, style, from, to);
  const skill = (one: string) => marked('skill', one);
  lines.push(
    marked('name', facts.shownName),
    placeMarked(random, facts.home),
    plain(`${facts.phone}\n${facts.email}`),
    EMPTY,
    [...plain('RESUME HEADLINE: '), ...marked('title', facts.headline)],
    EMPTY,
    plain('EXPERIENCE'),
  );
  for (const job of facts.jobs)
    lines.push(
      plain(rangeOf(job.from, job.to)),
      [...marked('company', job.company), ...plain('  '), ...placeMarked(random, job.place)],
      plain('Industry: Other'),
      marked('title', job.title),
      ...tasks(writing, job),
      EMPTY,
    );
  lines.push(plain('EDUCATION'));
  for (const study of facts.studies)
    lines.push(
      plain(`${Math.floor(study.to / 12)}`),
      [...marked('school', study.school), ...plain('  '), ...placeMarked(random, study.place)],
      marked('degree', study.degree),
    );
  lines.push(EMPTY, plain('SKILLS'), plain('Skill Name\tSkill Level\tLast Used\tExperience'));
  for (const one of facts.skills)
    lines.push([
      ...skill(one),
      ...plain(`\t${random.pick(language.list('levels'))}\tCurrently used\t${random.int(1, 12)} years`),
    ]);
  return lines.flatMap(linesOf);
}

/** Xing's profile as text: skills first, then stations from the dates on. */
export function asXing(writing: Writing): Block {
  const { random, facts, language, style } = writing;
  const lines: Marked[] = [];
  const rangeOf = (from: number, to: number | null) => rangeText(random, language, style, from, to);
  const skill = (one: string) => marked('skill', one);
  lines.push(
    marked('name', facts.shownName),
    [
      ...marked('title', facts.headline),
      ...plain(', '),
      ...marked('company', facts.jobs[0]?.company ?? facts.values.company()),
    ],
    placeMarked(random, facts.home),
    EMPTY,
    ...heading(writing, 'skills'),
  );
  lines.push(...facts.skills.map(skill), EMPTY, ...heading(writing, 'work'));
  for (const job of facts.jobs)
    lines.push(
      plain(`${rangeOf(job.from, job.to)}`),
      marked('title', job.title),
      marked('company', job.company),
      ...tasks(writing, job),
      EMPTY,
    );
  lines.push(...heading(writing, 'education'));
  for (const study of facts.studies)
    lines.push(
      plain(`${Math.floor(study.from / 12)} - ${Math.floor(study.to / 12)}`),
      marked('degree', study.degree),
      marked('school', study.school),
      EMPTY,
    );
  return [
    ...lines,
    ...heading(writing, 'languages'),
    ...facts.spoken.map((one) => [
      ...marked('skill', one),
      ...plain(` - ${random.pick(language.list('levels'))}`),
    ]),
  ];
}
