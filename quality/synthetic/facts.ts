import { type Fillings, fill, type Marked, marked, plain } from './marked-text.ts';
import type { Random } from './random.ts';
import { workSentence } from './sentences.ts';
import { createValues, type PersonName, type Values } from './values.ts';
import type { Language } from './words.ts';

/** Months since the year 0. */
export type Month = number;

/** The month in which all texts were written: jobs that go on end here. */
export const WRITTEN: Month = 2026 * 12 + 10;

export interface Job {
  readonly title: string;
  readonly company: string;
  readonly place: readonly [city: string, region: string] | null;
  readonly from: Month;
  /** The last month; null while it goes on. */
  readonly to: Month | null;
  readonly tasks: readonly Marked[];
  /** Further positions at the same company, the latest first. */
  readonly earlier: readonly { title: string; from: Month; to: Month }[];
}

export interface Study {
  readonly degree: string;
  readonly school: string;
  readonly place: readonly [city: string, region: string] | null;
  readonly from: Month;
  readonly to: Month;
  readonly grade: string | null;
}

/** What a CV says, before anything is laid out. */
export interface Facts {
  readonly values: Values;
  readonly name: PersonName;
  readonly shownName: string;
  readonly email: string;
  readonly phone: string;
  readonly home: readonly [city: string, region: string];
  readonly headline: string;
  readonly jobs: readonly Job[];
  readonly studies: readonly Study[];
  readonly skills: readonly string[];
  readonly soft: readonly string[];
  readonly spoken: readonly string[];
  /** Fillings for the sentences of the language's lists. */
  readonly fillings: Fillings;
  sentence(list: string): Marked;
  /** A line about work. */
  task(): Marked;
}

const HOSTS =
  'gmail.com; gmail.com; gmail.com; yahoo.com; hotmail.com; outlook.com; icloud.com; live.com; rediffmail.com; yahoo.co.in; yahoo.co.uk; gmx.de; web.de; t-online.de; orange.fr; free.fr; laposte.net; hotmail.fr; hotmail.es; libero.it; virgilio.it; uol.com.br; bol.com.br; sapo.pt; ziggo.nl; kpnmail.nl; wp.pl; o2.pl; onet.pl; telia.com; hotmail.se; mynet.com; proton.me; me.com; aol.com; msn.com; mail.com; ymail.com'.split(
    '; ',
  );

export function createFacts(random: Random, language: Language): Facts {
  const values = createValues(random, language);
  const name = values.name();
  const home = values.place();
  const jobs = jobsOf(random, values);
  const studies = studiesOf(random, values, jobs.at(-1)?.from ?? WRITTEN - 12);
  const skills = different(
    () => values.skill(),
    random.weighted({ '6': 2, '10': 4, '16': 4, '26': 3, '44': 1 }),
  );
  const soft = random.some(language.list('soft'), random.int(2, 7));
  const spoken = random.some(language.list('spoken'), random.int(1, 4));
  const headline = jobs[0]?.title ?? values.title();
  const fillings = fillingsOf(random, values, { headline, jobs, skills, studies, home });
  const withTasks = jobs.map((job) => ({ ...job, tasks: tasksOf(random, values, fillings) }));
  const sentence = (list: string) => fill(random.pick(language.list(list)), fillings);
  const shownName = shown(random, name);
  return {
    values,
    name,
    shownName,
    email: emailOf(random, name),
    phone: values.phone(),
    home,
    headline,
    jobs: withTasks,
    studies,
    skills,
    soft,
    spoken,
    fillings: { ...fillings, name: () => marked('name', shownName) },
    sentence,
    task: () =>
      language.code === 'en'
        ? random.chance(0.5)
          ? workSentence(random, fillings)
          : fill(random.pick(values.trade.tasks), fillings)
        : sentence('tasks'),
  };
}

/** Months of work, counted once where jobs overlap. */
export function monthsOfWork(jobs: readonly Pick<Job, 'from' | 'to'>[]): number {
  const sorted = jobs
    .map(({ from, to }) => [from, to ?? WRITTEN] as const)
    .sort((one, other) => one[0] - other[0]);
  let [months, until] = [0, Number.NEGATIVE_INFINITY];
  for (const [from, to] of sorted) {
    months += Math.max(0, to - Math.max(from - 1, until));
    until = Math.max(until, to);
  }
  return months;
}

function different(make: () => string, count: string): string[] {
  const found = new Set<string>();
  for (let tries = 0; found.size < Number(count) && tries < 200; tries++) found.add(make());
  return [...found];
}

function jobsOf(random: Random, values: Values): Job[] {
  const count = Number(
    random.weighted({ '0': 3, '1': 14, '2': 24, '3': 26, '4': 17, '5': 9, '7': 5, '10': 2 }),
  );
  const jobs: Job[] = [];
  let before = WRITTEN - (random.chance(0.3) ? random.int(0, 120) : 0);
  const usual = values.place();
  for (let at = 0; at < count; at++) {
    const goesOn = at === 0 && random.chance(0.6);
    const to = goesOn ? WRITTEN : before - random.int(0, random.chance(0.8) ? 3 : 20);
    const from = to - random.int(2, random.chance(0.75) ? 48 : 150);
    const split = random.chance(0.08) && to - from > 20 ? random.int(from + 6, to - 6) : null;
    jobs.push({
      title: values.title(),
      company: values.company(),
      place: random.chance(0.75) ? (random.chance(0.5) ? usual : values.place()) : null,
      from: split ?? from,
      to: goesOn ? null : to,
      tasks: [],
      earlier: split === null ? [] : [{ title: values.title(), from, to: split - 1 }],
    });
    // Some jobs run beside the one before.
    before = random.chance(0.12) ? to - random.int(0, Math.max(1, to - from)) : from - 1;
  }
  return jobs.sort(
    (one, other) => (other.to ?? WRITTEN + 1) - (one.to ?? WRITTEN + 1) || other.from - one.from,
  );
}

function studiesOf(random: Random, values: Values, firstJob: Month): Study[] {
  const count = Number(random.weighted({ '0': 3, '1': 30, '2': 34, '3': 22, '4': 9, '5': 2 }));
  let before = firstJob + random.int(-8, 20);
  return Array.from({ length: count }, () => {
    const to = before;
    const from = to - random.int(8, 60);
    before = from - random.int(0, 14);
    return {
      degree: values.degree(),
      school: values.school(),
      place: random.chance(0.4) ? values.place() : null,
      from,
      to,
      grade: random.chance(0.3)
        ? numbered(random, random.pick(values.language.list('grades')), values)
        : null,
    };
  });
}

const numbered = (random: Random, pattern: string, values: Values): string =>
  pattern
    .replace(/\{digit\}/g, () => String(random.int(0, 9)))
    .replace(/\{percent\}/g, () => values.percent());

function shown(random: Random, { given, middle, family }: PersonName): string {
  const first = middle === '' ? given : `${given} ${middle}`;
  const whole = `${first} ${family}`;
  const kind = random.weighted({
    plain: 60,
    caps: 18,
    capsFamily: 5,
    swapped: 3,
    lower: 3,
    initial: 7,
    commaCaps: 2,
    mixed: 2,
  });
  if (kind === 'caps') return whole.toLocaleUpperCase();
  if (kind === 'capsFamily') return `${first} ${family.toLocaleUpperCase()}`;
  if (kind === 'swapped') return `${family}, ${first}`;
  if (kind === 'commaCaps') return `${family.toLocaleUpperCase()}, ${first}`;
  if (kind === 'lower') return whole.toLowerCase();
  if (kind === 'initial') {
    const initials = random.pick([
      family.slice(0, 1),
      `${family.slice(0, 1)}.`,
      `${family.slice(0, 1)}.${given.slice(0, 1)}.`,
      `${family.slice(0, 1)} ${given.slice(0, 1)}`,
    ]);
    return random.chance(0.6) ? `${first} ${initials}` : `${initials} ${first}`;
  }
  if (kind === 'mixed') return `${first.toLowerCase()} ${family}`;
  return whole;
}

export function emailOf(random: Random, { given, family }: PersonName): string {
  const ascii = (text: string) =>
    text
      .normalize('NFD')
      .replace(/ß/g, 'ss')
      .replace(/ł/gi, 'l')
      .replace(/ı/g, 'i')
      .replace(/[^a-zA-Z]/g, '')
      .toLowerCase();
  const [first, last] = [ascii(given), ascii(family)];
  const digits = String(random.int(1, random.chance(0.5) ? 99 : 1999));
  const local = random.pick([
    `${first}.${last}`,
    `${first}${last}`,
    `${first}_${last}`,
    `${first.slice(0, 1)}${last}`,
    `${first.slice(0, 1)}.${last}`,
    `${last}.${first}`,
    `${first}${digits}`,
    `${first}.${last}${digits}`,
    `${last}${first.slice(0, 1)}${digits}`,
    `${first}-${last}`,
  ]);
  const shaped = random.chance(0.12) ? local.replace(/\b\w/g, (letter) => letter.toUpperCase()) : local;
  return `${shaped}@${random.pick(HOSTS)}`;
}

interface Known {
  readonly headline: string;
  readonly jobs: readonly Job[];
  readonly skills: readonly string[];
  readonly studies: readonly Study[];
  readonly home: readonly [string, string];
}

function fillingsOf(
  random: Random,
  values: Values,
  { headline, jobs, skills, studies, home }: Known,
): Fillings {
  const { language } = values;
  const list = (name: string) => random.pick(language.list(name));
  const otherName = () => {
    const { given, family } = values.name();
    return `${given} ${family}`;
  };
  const years = Math.max(1, Math.round(monthsOfWork(jobs) / 12));
  return {
    title: () => marked('title', random.chance(0.7) ? inSentence(random, headline) : values.title()),
    company: () => marked('company', jobs.length > 0 ? random.pick(jobs).company : values.company()),
    degree: () => marked('degree', studies.length > 0 ? random.pick(studies).degree : values.degree()),
    skill: () =>
      marked('skill', random.chance(0.7) && skills.length > 0 ? random.pick(skills) : values.skill()),
    place: () => marked('place', random.chance(0.6) ? home[0] : home.join(', ')),
    years: () => String(years),
    year: () => String(random.int(2004, 2025)),
    number: () => values.number(),
    percent: () => values.percent(),
    money: () => values.money(),
    digit: () => String(random.int(0, 9)),
    n: () => String(random.int(1, 99)),
    date: () => `${random.int(1, 28)}.${random.int(1, 12)}.${random.int(2015, 2026)}`,
    client: () => values.company(),
    otherCompany: () => values.company(),
    otherTitle: () => inSentence(random, values.title()),
    otherSchool: () => values.school(),
    otherCity: () => values.place()[0],
    otherName,
    field: () => list('ofField'),
    subject: () => list('subjects'),
    thing: () => random.pick(values.trade.things),
    region: () => list('regions'),
    Topic: () => list('topics'),
    phone: () => values.phone(),
    email: () => emailOf(random, values.name()),
  };
}

/** Titles inside a sentence are often written in lower case. */
const inSentence = (random: Random, title: string): string =>
  random.chance(0.4) && !/\b[A-Z]{2,}\b/.test(title) ? title.toLowerCase() : title;

function tasksOf(random: Random, values: Values, fillings: Fillings): Marked[] {
  const { language, trade } = values;
  const count = Number(random.weighted({ '0': 12, '1': 10, '2': 12, '4': 26, '7': 22, '11': 12, '16': 6 }));
  const isEnglish = language.code === 'en';
  const lists = isEnglish
    ? [...trade.tasks, ...random.some(language.list('tasks'), 5)]
    : values.near('tasks', 12);
  const own = isEnglish ? Math.round(count * random.next()) : 0;
  const patterns = random.some(lists, count - own);
  if (random.chance(0.1)) patterns.push(random.pick(language.list('negatives')));
  const end = random.chance(0.4) ? '.' : '';
  const lines = patterns.map((pattern): Marked => {
    const filled = fill(pattern, fillings);
    if (/[.:]$/.test(pattern)) return filled;
    const more = random.chance(0.2)
      ? [...plain(random.pick([', ', '. ', ' / '])), ...fill(random.pick(lists), fillings)]
      : [];
    return [...filled, ...more, ...plain(end)];
  });
  for (let at = 0; at < own; at++) lines.push([...workSentence(random, fillings), ...plain(end)]);
  return random.shuffled(lines);
}
