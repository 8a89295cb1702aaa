import type { Facts, Job, Study } from './facts.ts';
import {
  type Fillings,
  fill,
  join,
  linesOf,
  type Marked,
  marked,
  plain,
  textOf,
  wrapped,
} from './marked-text.ts';
import type { Random } from './random.ts';
import { aboutEmployer } from './sentences.ts';
import {
  companyMarked,
  dateText,
  headingText,
  placeMarked,
  rangeText,
  type Style,
  titleMarked,
} from './style.ts';
import type { Language, Section } from './words.ts';

/** All that a section needs: one CV and the way its writer writes. */
export interface Writing {
  readonly random: Random;
  readonly language: Language;
  readonly facts: Facts;
  readonly style: Style;
}

/** Lines of text below each other. */
export type Block = readonly Marked[];

export const label = ({ random, language }: Writing, field: string): string =>
  random.pick(language.label(field));

export function heading(writing: Writing, section: Section): Block {
  return headingText(writing.random, writing.language, writing.style, section)
    .split('\n')
    .map((text) => plain(text));
}

const HEADERS_WITH_PLACE = [
  '{company} {place}\n{title} {dates}',
  '{title} {company} {place} {dates}',
  '{title}\n{company}  {dates}  {place}',
  '{dates}, {place}\n{title}, {company}',
  '{title}\n{company} - {place}\n{dates}',
  '{title}\n{company}, {place}\n{dates}',
  '{company}, {place}\n{title}\n{dates}',
  '{company}\t{place}\n{title}\t{dates}',
  '{company}          {dates}\n{title}, {place}',
  '{dates}\n{title}\n{company}, {place}',
  '{dates}  {title}, {company}, {place}',
  '{dates}: {title}, {company}, {place}',
  '{title} | {company} | {place} | {dates}',
  '{company} ({place}) — {title} ({dates})',
  '{dates}\t{company}, {place}\n\t{title}',
  '{title}, {company}\n{place} | {dates}',
  '{title}\n{company}\n{dates}\n{place}',
  '{company} – {place}    {dates}\n{title}',
  '{company} • {place} • {dates}\n{title}',
  '{dates}\n{company}\n{place}\n{title}',
  '{place} - {company}\n{dates} {title}',
  '{company}\n{title}, {place} ({dates})',
  '{title} ({dates})\n{company}, {place}',
  '{title} – {company} – {place} – {dates}',
  '{dates} {company} {place}\n{title}',
  '{company}, {place}, {dates}\n{title}',
];
const HEADERS = [
  '{title}\n{company}\n{dates}',
  '{company}\n{title}\n{dates}',
  '{title}, {company}\n{dates}',
  '{title} - {company}\n{dates}',
  '{company} - {title}\n{dates}',
  '{dates}\n{company}\n{title}',
  '{dates}\n{title}, {company}',
  '{dates} {title} {company}',
  '{dates}: {company}, {title}',
  '{company}, {title} ({dates})',
  '{title} | {company} | {dates}',
  '{company}\t{dates}\n{title}',
  '{title}\t{dates}\n{company}',
  '{company}    {title}    {dates}',
  '{title} @ {company}, {dates}',
  '{company}: {title}, {dates}',
  '{title}\n{company} | {dates}',
  '{company} ({dates})\n{title}',
  '{dates} - {title} - {company}',
  '{title} [{company}] {dates}',
  '{company} / {title} / {dates}',
  '{title}, {dates}\n{company}',
  '{dates}\t{title}\t{company}',
  '{company}\n\n{title} {dates}',
  '{title} {dates}\n{company}',
  '{company} {title} ({dates})',
  '{company} {title} {dates}',
  '{title}\n{company}  {dates}',
  '{title}, {company}, {dates}',
];
const ENGLISH_HEADERS = [
  '{title} at {company}\n{dates}',
  '{title} at {company}\n{dates}',
  '{title} at {company}, {dates}',
  '{title} for {company} ({dates})',
  'Working as {title} at {company}, {dates}',
  'Worked as a {title} in {company} from {dates}.',
  'Currently working with {company} as {title} since {start}.',
  '{company}, {dates}\nDesignation: {title}',
  '{dates}: Worked with {company} as {title}.',
  'Organization: {company}\nDesignation: {title}\nDuration: {dates}',
  'Employed by {company} ({dates}) in the position of {title}',
  '{company} as {title}\n{dates}',
];

/** The pattern of a CV's jobs, for those with a place and for those without. */
export interface JobForm {
  readonly withPlace: string;
  readonly without: string;
}

export function jobForm({ random, language }: Writing): JobForm {
  const without =
    language.code === 'en' && random.chance(0.12) ? random.pick(ENGLISH_HEADERS) : random.pick(HEADERS);
  return { withPlace: random.pick(HEADERS_WITH_PLACE), without };
}

export function jobFillings(writing: Writing, job: Job): Fillings {
  const { random, language, style } = writing;
  return {
    title: titleMarked(style, job.title),
    company: companyMarked(style, job.company),
    place: placeMarked(random, job.place),
    dates: rangeText(random, language, style, job.from, job.to),
    start: dateText(language, style, job.from),
  };
}

export function tasks(writing: Writing, job: Job, width: number | null = null): Block {
  const { random, style, facts } = writing;
  if (job.tasks.length === 0) return [];
  const lines: Marked[] = [];
  if (random.chance(0.08))
    lines.push(aboutEmployer(random, writing.language.code, marked('company', job.company), facts.fillings));
  if (random.chance(0.15)) lines.push(plain(`${label(writing, 'duties')}:`));
  if (random.chance(0.07)) lines.push([...plain(`${label(writing, 'client')}: ${facts.values.company()}`)]);
  const asProse = random.chance(0.12);
  if (asProse) lines.push(join(job.tasks, /[.]$/.test(textOf(job.tasks[0] ?? [])) ? ' ' : '. '));
  else lines.push(...job.tasks.map((task) => [...plain(style.bullet), ...task]));
  if (random.chance(0.08)) {
    const used = random.some(facts.skills, random.int(2, 6)).map((skill) => marked('skill', skill));
    lines.push([...plain(`${label(writing, 'environment')}: `), ...join(used, ', ')]);
  }
  return lines.flatMap((one) =>
    wrapped(one, width ?? style.width, asProse || random.chance(0.5) ? '' : '  '),
  );
}

function jobBlock(writing: Writing, job: Job, form: JobForm): Block {
  const pattern = job.place === null ? form.without : form.withPlace;
  const head = linesOf(fill(pattern, jobFillings(writing, job)));
  const earlier = job.earlier.flatMap(({ title, from, to }) => {
    const dates = rangeText(writing.random, writing.language, writing.style, from, to);
    return linesOf(
      fill(writing.random.pick(['{title}\n{dates}', '{title}, {dates}', '{dates} {title}']), {
        title: titleMarked(writing.style, title),
        dates,
      }),
    );
  });
  return [...head, ...tasks(writing, job), ...earlier];
}

const STUDIES = [
  '{degree}\n{school}\n{dates}',
  '{degree}\n{school} - {place}\n{dates}',
  '{degree}, {school}, {dates}',
  '{school}\n{degree}\n{dates}',
  '{school}, {place}\n{degree}, {dates}',
  '{dates}\n{degree}\n{school}',
  '{dates} {degree}, {school}',
  '{dates}: {school}, {degree}',
  '{dates}\t{school}\n\t{degree}',
  '{degree} | {school} | {dates}',
  '{degree} - {school} ({dates})',
  '{school} — {degree}          {dates}',
  '{degree} ({dates})\n{school}, {place}',
  '{school}    {dates}\n{degree}',
  '{year}  {degree}  {school}',
  '{degree}, {year}\n{school}, {place}',
  '{school}, {place}\t{year}\n{degree}',
  '{school} ({dates}), {degree}',
  '{degree}\n{school}\t{year}',
];
const ENGLISH_STUDIES = [
  '{degree} from {school} in {year}',
  '{degree} from {school}, {year}.',
  'Completed {degree} from {school} in {year} with {grade}.',
  '{degree} at {school}, {place}',
  '{degree} passed from {school} in {year}',
  'Passed {degree} from {school} with {grade}',
  '{degree} under {school}, {year}',
];

function studyForm({ random, language }: Writing): string {
  return language.code === 'en' && random.chance(0.2) ? random.pick(ENGLISH_STUDIES) : random.pick(STUDIES);
}

export function studyFillings(writing: Writing, study: Study): Fillings {
  const { random, language, style } = writing;
  const year = String(Math.floor(study.to / 12));
  const form = style.dates === 'year' || random.chance(0.5) ? 'years' : 'months';
  const years = `${Math.floor(study.from / 12)}${random.pick([' - ', '-', ' – ', ' to '])}${year}`;
  return {
    degree: marked('degree', style.titleForm === 'upper' ? study.degree.toLocaleUpperCase() : study.degree),
    school: marked('school', style.companyForm === 'upper' ? study.school.toLocaleUpperCase() : study.school),
    place: study.place === null ? marked('place', writing.facts.home[0]) : placeMarked(random, study.place),
    dates: random.chance(0.3)
      ? year
      : form === 'years'
        ? years
        : rangeText(random, language, style, study.from, study.to),
    year,
    grade: study.grade ?? writing.facts.values.percent(),
  };
}

function studyBlock(writing: Writing, study: Study, form: string): Block {
  const { random } = writing;
  const lines = linesOf(fill(form, studyFillings(writing, study)));
  if (study.grade === null || form.includes('{grade}')) return lines;
  if (random.chance(0.5)) return [...lines, plain(study.grade)];
  const last = lines.at(-1) ?? [];
  return [
    ...lines.slice(0, -1),
    [
      ...last,
      ...plain(
        random.pick([`, ${study.grade}`, ` - ${study.grade}`, ` (${study.grade})`, `  ${study.grade}`]),
      ),
    ],
  ];
}

/** A table of degrees, as Indian CVs have it; in some the cells lie below each other. */
function studyTable(writing: Writing): Block {
  const { random, facts } = writing;
  const between = random.pick(['\t', '\t', '    ', ' | ', '\n']);
  const columns = random.pick([
    ['degree', 'school', 'year', 'grade'],
    ['degree', 'school', 'year'],
    ['year', 'degree', 'school', 'grade'],
    ['school', 'degree', 'grade', 'year'],
  ]);
  const rows: Marked[] = random.chance(0.7)
    ? [
        join(
          columns.map((column) => plain(label(writing, column))),
          between,
        ),
      ]
    : [];
  for (const study of facts.studies) {
    const fillings = studyFillings(writing, study);
    rows.push(
      join(
        columns.map((column) => fill(`{${column}}`, fillings)),
        between,
      ),
    );
  }
  return rows.flatMap(linesOf);
}

export function education(writing: Writing): Block {
  const { random, facts, style } = writing;
  if (facts.studies.length === 0) return [];
  if (random.chance(0.14)) return studyTable(writing);
  const form = studyForm(writing);
  const bullet = random.chance(0.2) ? style.bullet : '';
  return facts.studies.flatMap((study, at) => {
    const block = studyBlock(writing, study, random.chance(0.93) ? form : studyForm(writing));
    const lines = block.map((one, index) =>
      index === 0 && bullet !== '' ? [...plain(bullet), ...one] : one,
    );
    return at > 0 && style.gap !== '' ? [[], ...lines] : lines;
  });
}

export function work(writing: Writing): Block {
  const { random, facts, style } = writing;
  const form = jobForm(writing);
  return facts.jobs.flatMap((job, at) => {
    const block = jobBlock(writing, job, random.chance(0.95) ? form : jobForm(writing));
    return at > 0 && style.gap !== '' ? [[], ...block] : block;
  });
}

export function summary(writing: Writing): Block {
  const { random, facts, language, style } = writing;
  const count = random.int(1, 5);
  const sentences = random.some(language.list('summaries'), count).map((one) => fill(one, facts.fillings));
  if (random.chance(0.12)) sentences.push(facts.sentence('negatives'));
  if (random.chance(0.3))
    return sentences.flatMap((one) => wrapped([...plain(style.bullet), ...one], style.width));
  return wrapped(join(sentences, ' '), style.width);
}

/** Sections of which nothing is to be marked, or little. */
export function otherSection(writing: Writing, section: Section): Block {
  const { random, facts, language, style } = writing;
  const list = (name: string) => language.list(name);
  if (section === 'hobbies')
    return random.chance(0.5)
      ? [plain(random.some(list('hobbies'), random.int(2, 6)).join(', '))]
      : random.some(list('hobbies'), random.int(2, 5)).map((one) => plain(style.bullet + one));
  if (section === 'certificates')
    return random
      .some(list('certificates'), random.int(1, 5))
      .map((one) =>
        plain(
          `${style.bullet}${one}${random.chance(0.3) ? `${random.pick([', ', ' - ', ' '])}${random.int(2008, 2025)}` : ''}${random.chance(0.15) ? `, ${facts.values.company()}` : ''}`,
        ),
      );
  if (section === 'references') return linesOf(facts.sentence('references'));
  if (section === 'awards')
    return Array.from({ length: random.int(1, 3) }, () => [
      ...plain(style.bullet),
      ...facts.sentence('awards'),
    ]);
  if (section === 'publications')
    return Array.from({ length: random.int(1, 3) }, () => facts.sentence('publications')).flatMap((one) =>
      wrapped(one, style.width),
    );
  if (section === 'projects') return projects(writing);
  if (section === 'volunteer') {
    const dates = rangeText(
      random,
      language,
      style,
      2015 * 12 + random.int(0, 60),
      2021 * 12 + random.int(0, 40),
    );
    return linesOf(
      fill('{title}\n{company}, {dates}', {
        title: titleMarked(style, random.pick([facts.values.title(), ...list('titles')])),
        company: companyMarked(style, facts.values.company()),
        dates,
      }),
    );
  }
  return [];
}

function projects(writing: Writing): Block {
  const { random, facts, language, style } = writing;
  return Array.from({ length: random.int(1, 3) }, (_, at) => {
    const name = random.chance(0.5) ? random.pick(language.list('topics')) : facts.values.company();
    const used = join(
      random.some(facts.skills, random.int(2, 5)).map((skill) => marked('skill', skill)),
      ', ',
    );
    const lines: Marked[] = [
      plain(
        random.pick([
          name,
          `${name} (${random.int(2010, 2025)})`,
          `${label(writing, 'client')} ${at + 1}: ${name}`,
        ]),
      ),
    ];
    if (random.chance(0.5)) lines.push(plain(`${label(writing, 'client')}: ${facts.values.company()}`));
    if (random.chance(0.4))
      lines.push([...plain(`${label(writing, 'title')}: `), ...marked('title', facts.values.title())]);
    if (random.chance(0.6)) lines.push([...plain(`${label(writing, 'environment')}: `), ...used]);
    if (random.chance(0.25) && language.code === 'en')
      lines.push(plain(`${random.pick(['Team Size', 'Team size', 'No. of members'])}: ${random.int(2, 20)}`));
    lines.push(...Array.from({ length: random.int(0, 5) }, () => [...plain(style.bullet), ...facts.task()]));
    return lines.flatMap((one) => wrapped(one, style.width));
  }).flatMap((block, at) => (at > 0 && style.gap !== '' ? [[], ...block] : block));
}
