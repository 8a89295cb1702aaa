import type { Job } from './facts.ts';
import { address, contact, header, nameLine, personal } from './header.ts';
import { fill, join, linesOf, type Marked, marked, plain, textOf, wrapped } from './marked-text.ts';
import {
  type Block,
  education,
  heading,
  jobFillings,
  label,
  otherSection,
  studyFillings,
  summary,
  tasks,
  type Writing,
  work,
} from './sections.ts';
import { languages, skills } from './skills.ts';
import { companyMarked, placeMarked, rangeText, titleMarked } from './style.ts';
import type { Section } from './words.ts';

const EMPTY: Marked = [];

/** A section with its heading and the blank line before it. */
export function section(writing: Writing, name: Section, body: Block): Block {
  if (body.length === 0) return [];
  return [EMPTY, ...heading(writing, name), ...(writing.random.chance(0.25) ? [EMPTY] : []), ...body];
}

const OTHERS: readonly Section[] = [
  'certificates',
  'projects',
  'hobbies',
  'references',
  'awards',
  'publications',
  'volunteer',
];

/** What comes after the main sections, each with its own chance. */
export function others(writing: Writing, most = 4): Block[] {
  const { random } = writing;
  return random
    .some(OTHERS, random.int(0, most))
    .filter(
      (name) =>
        (name !== 'projects' && name !== 'publications' && name !== 'volunteer') || random.chance(0.5),
    )
    .map((name) => section(writing, name, otherSection(writing, name)));
}

export function ending(writing: Writing): Block {
  const { random, facts, language } = writing;
  if (!random.chance(0.14)) return [];
  return [EMPTY, ...linesOf(fill(random.pick(language.list('declaration')), facts.fillings))];
}

/** The sections in the order of one writer, below each other. */
export function inOneColumn(writing: Writing, body: (writing: Writing) => Block = work): Block {
  const { random, facts } = writing;
  const main: Block[] = [];
  const workPart = section(writing, 'work', body(writing));
  const educationPart = section(writing, 'education', education(writing));
  main.push(...(random.chance(0.62) ? [workPart, educationPart] : [educationPart, workPart]));
  if (random.chance(0.82))
    main.splice(random.int(0, main.length), 0, section(writing, 'skills', skills(writing)));
  if (random.chance(0.12))
    main.push(
      section(writing, 'skills', skills({ ...writing, facts: { ...facts, skills: facts.soft, soft: [] } })),
    );
  if (random.chance(0.45)) main.push(section(writing, 'languages', languages(writing)));
  main.push(...others(writing));
  if (facts.values.trade.things.length > 4 && random.chance(0.3))
    main.push(section(writing, 'projects', otherSection(writing, 'projects')));
  const asLabels = random.chance(0.08);
  const top = asLabels ? section(writing, 'personal', personal(writing, true)) : header(writing);
  if (random.chance(0.55)) main.unshift(section(writing, 'summary', summary(writing)));
  if (!asLabels && random.chance(0.15))
    main.push(section(writing, 'personal', personal(writing, random.chance(0.3))));
  return [...top, ...main.flat(), ...ending(writing)];
}

/** Dates in a column of their own, everything else beside it. */
export function withDatesLeft(writing: Writing): Block {
  const { random, facts, language, style } = writing;
  const column = random.int(16, 30);
  const gap = random.chance(0.3) ? '\t' : null;
  const beside = (dates: string, lines: Block): Block =>
    lines.map((one, at) => {
      const left = at === 0 ? dates : '';
      const space = gap ?? ' '.repeat(Math.max(2, column - left.length));
      return [...plain(gap !== null && at > 0 && random.chance(0.5) ? '' : left + space), ...one];
    });
  const jobPattern = random.pick([
    '{title}\n{company}',
    '{company}\n{title}',
    '{title}, {company}',
    '{company}, {place}\n{title}',
    '{title}\n{company}, {place}',
    '{company}\n{place}\n{title}',
    '{title} – {company}',
  ]);
  const jobs = facts.jobs.flatMap((job, at) => {
    const pattern = job.place === null ? jobPattern.replace(/(?:, |\n)\{place\}/, '') : jobPattern;
    const lines = [
      ...linesOf(fill(pattern, jobFillings(writing, job))),
      ...tasks(writing, job, style.width - column),
    ];
    return [
      ...(at > 0 && style.gap !== '' ? [EMPTY] : []),
      ...beside(rangeText(random, language, style, job.from, job.to), lines),
    ];
  });
  const studyPattern = random.pick([
    '{degree}\n{school}',
    '{school}\n{degree}',
    '{degree}, {school}',
    '{school}, {place}\n{degree}',
  ]);
  const studies = facts.studies.flatMap((study) =>
    beside(
      String(fill('{dates}', studyFillings(writing, study))[0]?.text ?? ''),
      linesOf(fill(studyPattern, studyFillings(writing, study))),
    ),
  );
  const top = random.chance(0.4) ? section(writing, 'personal', personal(writing, true)) : header(writing);
  return [
    ...top,
    ...(random.chance(0.3) ? section(writing, 'summary', summary(writing)) : []),
    ...section(writing, 'work', jobs),
    ...section(writing, 'education', studies),
    ...(random.chance(0.8) ? section(writing, 'skills', skills(writing)) : []),
    ...(random.chance(0.5) ? section(writing, 'languages', languages(writing)) : []),
    ...others(writing, 3).flat(),
    ...ending(writing),
  ];
}

/** Dates or places at the right margin. */
export function withDatesRight(writing: Writing): Block {
  const { random, facts, language, style } = writing;
  const tab = random.chance(0.3);
  const right = (left: Marked, end: Marked): Marked => [
    ...left,
    ...plain(tab ? '\t' : ' '.repeat(Math.max(3, style.width - textOf(left).length - textOf(end).length))),
    ...end,
  ];
  const form = random.pick(['company', 'title', 'both', 'swapped'] as const);
  const jobs = facts.jobs.flatMap((job, at) => {
    const dates = plain(rangeText(random, language, style, job.from, job.to));
    const [title, company] = [titleMarked(style, job.title), companyMarked(style, job.company)];
    const place = placeMarked(random, job.place);
    const heads: Record<typeof form, Block> = {
      company: [
        right(company, place.length > 0 ? place : dates),
        place.length > 0 ? right(title, dates) : title,
      ],
      title: [right(title, dates), place.length > 0 ? [...company, ...plain(', '), ...place] : company],
      both: [right([...title, ...plain(', '), ...company], dates)],
      swapped: [right([...company, ...plain(random.pick([' – ', ', ', ' | '])), ...title], dates)],
    };
    return [...(at > 0 && style.gap !== '' ? [EMPTY] : []), ...heads[form], ...tasks(writing, job)];
  });
  const studies = facts.studies.flatMap((study) => {
    const { degree, school, dates } = studyFillings(writing, study);
    const [one, other] = random.chance(0.5) ? [school, degree] : [degree, school];
    return [right(one as Marked, plain(String(dates))), other as Marked];
  });
  const main = [
    section(writing, 'work', jobs),
    section(writing, 'education', studies),
    section(writing, 'skills', skills(writing)),
  ];
  return [
    ...header(writing),
    ...(random.chance(0.5) ? section(writing, 'summary', summary(writing)) : []),
    ...(random.chance(0.7) ? main : random.shuffled(main)).flat(),
    ...others(writing, 3).flat(),
  ];
}

/** Every fact behind a label. */
export function withLabels(writing: Writing): Block {
  const { random, facts, language, style } = writing;
  const between = random.pick([': ', ': ', ' : ', ':\t', ' - ', '\n', ':          ', ':\n']);
  const fields = random.pick([
    ['company', 'title', 'dates', 'duties'],
    ['title', 'company', 'dates', 'place', 'duties'],
    ['dates', 'company', 'title'],
    ['dates', 'title', 'duties', 'company'],
    ['company', 'place', 'dates', 'title', 'duties'],
  ]);
  const names: Record<string, string> = Object.fromEntries(
    [...fields, 'degree', 'school', 'year', 'grade'].map((field) => [field, label(writing, field)]),
  );
  const row = (field: string, value: Marked): Block =>
    linesOf([...plain(`${names[field]}${between}`), ...value]);
  const jobs = facts.jobs.flatMap((job, at) => {
    const fillings = jobFillings(writing, job);
    const lines = fields.flatMap((field): Block => {
      if (field === 'duties')
        return job.tasks.length === 0 ? [] : [plain(`${names[field]}:`), ...tasks(writing, job)];
      if (field === 'place' && job.place === null) return [];
      return row(field, fill(`{${field}}`, fillings));
    });
    return at > 0 && style.gap !== '' ? [EMPTY, ...lines] : lines;
  });
  const studyFields = random.pick([
    ['degree', 'school', 'year'],
    ['school', 'degree', 'year', 'grade'],
    ['year', 'degree', 'school'],
  ]);
  const studies = facts.studies.flatMap((study, at) => {
    const fillings = studyFillings(writing, study);
    const lines = studyFields.flatMap((field) => row(field, fill(`{${field}}`, fillings)));
    return at > 0 && style.gap !== '' ? [EMPTY, ...lines] : lines;
  });
  return [
    ...(random.chance(0.3) ? [plain(random.pick(language.list('titlesOfDocument')))] : []),
    ...section(writing, 'personal', personal(writing, true)),
    ...section(writing, 'work', jobs),
    ...section(writing, 'education', studies),
    ...section(writing, 'skills', skills(writing)),
    ...(random.chance(0.5) ? section(writing, 'languages', languages(writing)) : []),
    ...others(writing, 3).flat(),
    ...ending(writing),
  ];
}

/** Jobs as rows of a table, with or without the names of the columns. */
export function withTables(writing: Writing): Block {
  const { random } = writing;
  const between = random.pick(['\t', '\t', ' | ', '     ', '\n']);
  const columns = random.pick([
    ['company', 'title', 'dates'],
    ['dates', 'company', 'title'],
    ['dates', 'title', 'company', 'place'],
    ['title', 'company', 'place', 'dates'],
    ['company', 'place', 'title', 'dates'],
  ]);
  const numbered = random.chance(0.25);
  const rowOf = (job: Job, at: number): Marked => {
    const fillings = jobFillings(writing, job);
    const cells = columns.filter((column) => column !== 'place' || job.place !== null || between !== '\n');
    const row = join(
      cells.map((column) => fill(`{${column}}`, fillings)),
      between,
    );
    return numbered ? [...plain(`${at + 1}${random.chance(0.5) ? '.' : ''}${between}`), ...row] : row;
  };
  const table = ({ facts }: Writing): Block => {
    if (facts.jobs.length === 0) return [];
    const head = random.chance(0.75)
      ? [
          plain(
            [...(numbered ? ['S.No'] : []), ...columns.map((column) => label(writing, column))].join(between),
          ),
        ]
      : [];
    return [...head, ...facts.jobs.map(rowOf)].flatMap(linesOf);
  };
  return inOneColumn(writing, table);
}

/** Two columns: beside each other line by line, or one after the other as a good reader would give them. */
export function inTwoColumns(writing: Writing, interleaved: boolean): Block {
  const { random, facts } = writing;
  const narrow = random.int(24, 34);
  const side: Marked[] = [
    ...(random.chance(0.5) ? nameLine(writing) : []),
    ...heading(writing, 'personal'),
    ...contact(writing).flatMap((one) => wrapped(one, narrow)),
    ...section(writing, 'skills', skills(writing, narrow)),
    ...(random.chance(0.6) ? section(writing, 'languages', languages(writing)) : []),
    ...(random.chance(0.4) ? section(writing, 'hobbies', otherSection(writing, 'hobbies')) : []),
    ...(random.chance(0.2) ? section(writing, 'education', education(writing)) : []),
  ].flatMap((one) => wrapped(one, narrow));
  const width = random.int(48, 70);
  const narrowWriting = { ...writing, style: { ...writing.style, width } };
  const main: Marked[] = [
    ...nameLine(writing),
    ...(random.chance(0.6) ? [marked('title', facts.headline)] : []),
    ...(random.chance(0.6) ? section(writing, 'summary', summary(narrowWriting)) : []),
    ...section(writing, 'work', work(narrowWriting)),
    ...section(writing, 'education', education(narrowWriting)),
    ...others(narrowWriting, 2).flat(),
  ].flatMap((one) => (textOf(one).includes('\t') ? [one] : wrapped(one, width + 10)));
  if (!interleaved) return random.chance(0.5) ? [...side, EMPTY, ...main] : [...main, EMPTY, ...side];
  const [left, right, column] = random.chance(0.65) ? [side, main, narrow + 4] : [main, side, width + 12];
  return Array.from({ length: Math.max(left.length, right.length) }, (_, at) => {
    const [one, other] = [left[at] ?? EMPTY, right[at] ?? EMPTY];
    if (other.length === 0) return one;
    return [
      ...one,
      ...plain(' '.repeat(Math.max(one.length === 0 ? 0 : 3, column - textOf(one).length))),
      ...other,
    ];
  });
}

/** Headings in a column left of their text; a heading of two words goes over two lines. */
export function withHeadingsLeft(writing: Writing): Block {
  const { random } = writing;
  const space = random.pick(['\t', ' ', '   ', ' ']);
  const beside = (name: Section, body: Block): Block => {
    const words = textOf(heading(writing, name)[0] ?? []).split(' ');
    const parts = random.chance(0.5) ? [words.join(' ')] : words;
    return body.map((one, at) => (parts[at] === undefined ? one : [...plain(parts[at] + space), ...one]));
  };
  return [
    ...header(writing),
    ...(random.chance(0.5) ? beside('summary', summary(writing)) : []),
    ...beside('work', work(writing)),
    ...beside('education', education(writing)),
    ...beside('skills', skills(writing)),
    ...(random.chance(0.5) ? beside('languages', languages(writing)) : []),
    ...(random.chance(0.3) ? beside('certificates', otherSection(writing, 'certificates')) : []),
  ];
}

/** Lines without any headings: a short CV, a mail, a profile that was copied. */
export function withoutHeadings(writing: Writing): Block {
  const { random, facts } = writing;
  const blocks: Block[] = [work(writing), education(writing)];
  if (random.chance(0.7)) blocks.push(skills(writing));
  if (random.chance(0.5)) blocks.unshift(summary(writing));
  return [
    ...header(writing),
    ...(random.chance(0.5) ? blocks : random.shuffled(blocks)).flatMap((block) => [EMPTY, ...block]),
    ...(facts.spoken.length > 2 ? languages(writing) : []),
  ];
}

/** A profile written as sentences. */
export function asProse(writing: Writing): Block {
  const { random, facts, language, style } = writing;
  const patterns = PROSE[language.code] ?? PROSE.en ?? [];
  const sentences = facts.jobs.map((job) =>
    fill(random.pick(patterns), {
      ...jobFillings(writing, job),
      place: job.place === null ? address(writing) : placeMarked(random, job.place),
    }),
  );
  const text = join([facts.sentence('summaries'), ...sentences, facts.sentence('summaries')], ' ');
  return [
    ...header(writing),
    EMPTY,
    ...wrapped(text, style.width),
    ...section(writing, 'education', education(writing)),
    ...(random.chance(0.6) ? section(writing, 'skills', skills(writing)) : []),
  ];
}

const PROSE: Readonly<Record<string, readonly string[]>> = {
  en: [
    'From {dates} I worked as {title} for {company} in {place}.',
    'I was employed by {company} as a {title} ({dates}).',
    'At {company} ({dates}) I held the position of {title}.',
    'My next role was {title} with {company}, {place}, {dates}.',
  ],
  de: [
    'Von {dates} war ich als {title} bei {company} in {place} tätig.',
    'Bei {company} arbeitete ich als {title} ({dates}).',
  ],
  fr: [
    'De {dates}, j’ai été {title} chez {company} à {place}.',
    'J’ai travaillé pour {company} en tant que {title} ({dates}).',
  ],
  es: [
    'Trabajé como {title} en {company}, {place} ({dates}).',
    'En {company} desempeñé el cargo de {title}, {dates}.',
  ],
  it: [
    'Ho lavorato come {title} presso {company} a {place} ({dates}).',
    'In {company} ho ricoperto il ruolo di {title}, {dates}.',
  ],
  pt: [
    'Trabalhei como {title} na {company}, {place} ({dates}).',
    'Na {company} atuei como {title}, {dates}.',
  ],
  nl: [
    'Van {dates} werkte ik als {title} bij {company} in {place}.',
    'Bij {company} was ik {title} ({dates}).',
  ],
  pl: [
    'W firmie {company}, {place}, pracowałem jako {title} ({dates}).',
    'Stanowisko: {title}, {company}, {dates}.',
  ],
  sv: [
    'Jag arbetade som {title} på {company} i {place} ({dates}).',
    'Hos {company} var jag {title}, {dates}.',
  ],
  tr: [
    '{dates} arasında {company} firmasında {title} olarak çalıştım.',
    '{company} bünyesinde, {place}, {title} olarak görev yaptım ({dates}).',
  ],
};
