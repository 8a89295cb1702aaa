import type { Job, Month, Study } from './facts.ts';
import { contact, nameLine } from './header.ts';
import { join, linesOf, type Marked, marked, plain, wrapped } from './marked-text.ts';
import { type Block, otherSection, summary, tasks, type Writing } from './sections.ts';
import { placeMarked, rangeText } from './style.ts';

const EMPTY: Marked = [];
const GROUPS = [
  'Backend',
  'Frontend',
  'Web Development',
  'Cloud',
  'DevOps',
  'Databases',
  'Tools',
  'Mobile',
  'Languages',
  'Systems',
  'Project',
  'Data Science',
  'Design',
  'Management',
  'Other',
  'Infrastructure',
  'Office',
  'Communication',
  'Production',
];
const LEVELS = ['Master', 'Advanced', 'Intermediate', 'Beginner', 'Proficient', 'Expert'];
const NETWORKS = ['GitHub', 'LinkedIn', 'Twitter', 'Medium', 'Stack Overflow', 'Bluesky'];

/** Pages and PDF files that themes make of a structured CV: much space, dates with days, skills in named groups. */
export function asTheme(writing: Writing): Block {
  return writing.random.chance(0.12) ? asKeysAndValues(writing) : asPage(writing);
}

function asPage(writing: Writing): Block {
  const { random, facts } = writing;
  const wide = random.chance(0.6);
  const headline = marked('title', facts.headline);
  const icon = random.chance(0.08) ? random.pick(['👔 ', '🎓 ', '★ ', '# ', '» ']) : '';
  const names = random.chance(0.85) ? ['Work', 'Education', 'Skills'] : ['EMPLOYMENT', 'EDUCATION', 'SKILLS'];
  const [work = '', education = '', skills = ''] = random.chance(0.2)
    ? names.map((name) => name.toLowerCase())
    : names;
  const entries = (blocks: readonly Block[]) => blocks.flatMap((block) => [EMPTY, ...block]);
  const jobForm = random.int(0, 5);
  const parts: Block[] = [
    [
      ...nameLine(writing),
      EMPTY,
      ...(random.chance(0.7) ? [headline, EMPTY] : []),
      ...contact(writing),
      ...profiles(writing),
    ],
    random.chance(0.6)
      ? [plain(random.pick(['About', 'Summary', 'Profile'])), EMPTY, ...summary(writing)]
      : [],
    [plain(icon + work), ...entries(facts.jobs.map((job) => jobEntry(writing, job, jobForm)))],
    [plain(icon + education), ...entries(facts.studies.map((study) => studyEntry(writing, study)))],
    [plain(icon + skills), EMPTY, ...skillGroups(writing)],
    random.chance(0.3) ? [plain('Projects'), EMPTY, ...otherSection(writing, 'projects')] : [],
    random.chance(0.25) ? [plain('Awards'), EMPTY, ...otherSection(writing, 'awards')] : [],
  ];
  const [first = [], ...rest] = parts;
  const order = random.chance(0.7) ? rest : random.shuffled(rest);
  const lines = [first, ...order].flatMap((part) => (part.length === 0 ? [] : [...part, EMPTY]));
  return wide ? lines : lines.filter((line, at) => line.length > 0 || at % 3 === 0);
}

function profiles({ random, facts }: Writing): Block {
  if (!random.chance(0.5)) return [];
  const user = facts.email.split('@')[0] ?? '';
  return random
    .some(NETWORKS, random.int(1, 3))
    .flatMap((network) =>
      random.chance(0.5)
        ? [plain(`${network} ${random.chance(0.5) ? '@' : ''}${user}`)]
        : [
            plain(network),
            plain(
              random.chance(0.5) ? user : `https://${network.toLowerCase().replace(' ', '')}.com/${user}`,
            ),
          ],
    );
}

function themeRange({ random, language, style }: Writing, from: Month, to: Month | null): string {
  if (random.chance(0.5)) return rangeText(random, language, style, from, to);
  const day = (month: Month) =>
    `${Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, '0')}-${String((month % 28) + 1).padStart(2, '0')}`;
  return `${day(from)} ${random.pick(['—', '-', '–'])}${to === null ? random.pick(['', ' Present', ' Current']) : ` ${day(to)}`}`;
}

function jobEntry(writing: Writing, job: Job, form: number): Block {
  const { random, facts } = writing;
  const dates = plain(themeRange(writing, job.from, job.to));
  const [title, company] = [marked('title', job.title), marked('company', job.company)];
  const place = job.place === null ? EMPTY : placeMarked(random, job.place);
  const withPlace =
    place.length === 0 ? company : [...company, ...plain(random.pick([' · ', ', ', ' | ', ' – '])), ...place];
  const heads: readonly Block[] = [
    [[...company, ...plain(' '), ...dates], EMPTY, title],
    [company, EMPTY, [...title, ...plain(' '), ...dates]],
    [[...title, ...plain('\t'), ...dates], withPlace],
    [dates, title, withPlace],
    [[...title, ...plain(', '), ...company], EMPTY, dates],
    [company, EMPTY, title, dates],
  ];
  const lines: Marked[] = [...(heads[form] ?? [])];
  if (random.chance(0.3))
    lines.push(plain(`http://www.${job.company.toLowerCase().replace(/[^a-z]/g, '')}.com`));
  const about = random.chance(0.5) ? wrapped(facts.task(), 90) : [];
  if (job.tasks.length > 0 && random.chance(0.4))
    lines.push(...about, EMPTY, plain(random.pick(['Highlights', 'Highlights', 'Key achievements'])));
  return [...lines, ...tasks(writing, job)];
}

function studyEntry(writing: Writing, study: Study): Block {
  const { random, facts } = writing;
  const dates = plain(themeRange(writing, study.from, study.to));
  const school = marked('school', study.school);
  const degree = marked('degree', study.degree);
  // Some themes write the field and the kind of degree on lines of their own.
  const apart: Block = random.chance(0.3)
    ? [
        marked('degree', facts.values.field()),
        marked('degree', random.pick(['Bachelor', 'Master', 'BSc', 'PhD', 'Diploma', 'Associate'])),
      ]
    : [degree];
  return random.pick<Block>([
    [[...school, ...plain(' '), ...dates], EMPTY, ...apart],
    [[...school, ...plain('\t'), ...dates], ...apart],
    [...apart, school, dates],
    [school, dates, ...apart],
    [[...degree, ...plain(', '), ...school], dates],
  ]);
}

function skillGroups({ random, facts }: Writing): Block {
  const groups = random.some(GROUPS, random.int(2, 5));
  const share = Math.ceil(facts.skills.length / groups.length);
  const form = random.int(0, 4);
  return groups.flatMap((group, at): Block => {
    const part = facts.skills.slice(at * share, (at + 1) * share).map((skill) => marked('skill', skill));
    if (part.length === 0) return [];
    const level = random.pick(LEVELS);
    if (form === 0) return [plain(group), EMPTY, ...part.map((skill) => [...plain('• '), ...skill]), EMPTY];
    if (form === 1) return wrapped([...plain(`${group} (${level}): `), ...join(part, ', ')], 100);
    if (form === 2) return [plain(group), join(part, ', ')];
    if (form === 3) return [[...plain(`${group}\t`), ...join(part, ' ')]];
    return [
      plain(group),
      join(
        part.map((skill) => [...skill, ...plain(` ${random.pick(['☆', '☆☆', '☆☆☆'])}`)]),
        ' ',
      ),
    ];
  });
}

/** The structure itself, written out as a list of keys and values. */
function asKeysAndValues(writing: Writing): Block {
  const { random, facts } = writing;
  const bullet = random.pick(['• ', '- ', '']);
  const row = (key: string, value: Marked): Marked => [...plain(`${bullet}${key}: `), ...value];
  const day = (month: Month | null) =>
    plain(month === null ? '' : `${Math.floor(month / 12)}-${String((month % 12) + 1).padStart(2, '0')}-01`);
  const lines: Marked[] = [
    marked('name', facts.shownName),
    EMPTY,
    plain('Basics'),
    row('Name', marked('name', facts.shownName)),
    row('Label', marked('title', facts.headline)),
    row('Email', plain(facts.email)),
    row('Phone', plain(facts.phone)),
    row('City', marked('place', facts.home[0])),
    EMPTY,
    plain('Work'),
  ];
  for (const job of facts.jobs)
    lines.push(
      row('Company', marked('company', job.company)),
      row('Position', marked('title', job.title)),
      row('StartDate', day(job.from)),
      row('EndDate', day(job.to)),
      row('Summary', facts.task()),
      EMPTY,
    );
  lines.push(plain('Education'));
  for (const study of facts.studies)
    lines.push(
      row('Institution', marked('school', study.school)),
      row('Area', marked('degree', facts.values.field())),
      row('StudyType', marked('degree', random.pick(['Bachelor', 'Master', 'Diploma']))),
      row('EndDate', day(study.to)),
      EMPTY,
    );
  lines.push(plain('Skills'), ...facts.skills.map((skill) => row('Name', marked('skill', skill))));
  return lines.flatMap(linesOf);
}
