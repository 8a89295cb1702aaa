import { WRITTEN } from './facts.ts';
import { join, linesOf, type Marked, marked, plain, wrapped } from './marked-text.ts';
import { type Block, heading, otherSection, summary, tasks, type Writing } from './sections.ts';
import { dateText, placeMarked, rangeText } from './style.ts';
import type { LanguageCode } from './words.ts';

const EMPTY: Marked = [];

/** LinkedIn's own words: contact, top skills, experience, education, summary, years, months. */
const LINKEDIN: Readonly<Record<LanguageCode, string>> = {
  en: 'Contact; Top Skills; Experience; Education; Summary; years; months',
  de: 'Kontakt; Top-Kenntnisse; Berufserfahrung; Ausbildung; Zusammenfassung; Jahre; Monate',
  fr: 'Coordonnées; Principales compétences; Expérience; Formation; Résumé; ans; mois',
  es: 'Contactar; Aptitudes principales; Experiencia; Educación; Extracto; años; meses',
  it: 'Contatti; Competenze principali; Esperienza; Formazione; Riepilogo; anni; mesi',
  pt: 'Contato; Principais competências; Experiência; Formação acadêmica; Resumo; anos; meses',
  nl: 'Contact; Belangrijkste vaardigheden; Ervaring; Opleiding; Samenvatting; jaar; maanden',
  pl: 'Kontakt; Najważniejsze umiejętności; Doświadczenie; Wykształcenie; Podsumowanie; lata; mies.',
  sv: 'Kontakta; Bästa kunskaper; Erfarenhet; Utbildning; Sammanfattning; år; månader',
  tr: 'İletişim Bilgileri; En Önemli Yetenekler; Deneyim; Eğitim; Özet; yıl; ay',
};

/** The PDF that LinkedIn makes of a profile: contact and top skills first, the name after them. */
export function asLinkedIn(plainWriting: Writing): Block {
  const { random, facts, language } = plainWriting;
  const style = {
    ...plainWriting.style,
    dates: 'long' as const,
    range: '{from} - {to}',
    bullet: plainWriting.style.bullet,
  };
  const writing = { ...plainWriting, style };
  const [contact = '', top = '', experience = '', education = '', about = '', years = '', months = ''] =
    LINKEDIN[language.code].split('; ');
  const lines: Marked[] = [
    ...linkedInSide(writing, contact, top),
    marked('name', `${facts.name.given} ${facts.name.family}`),
  ];
  const first = facts.jobs[0];
  const headline = marked('title', facts.headline);
  const at = random.pick([' at ', language.code === 'de' ? ' bei ' : ' - ', ' | ', ' @ ', ' - ']);
  lines.push(
    first !== undefined && random.chance(0.55)
      ? [...headline, ...plain(at), ...marked('company', first.company)]
      : headline,
  );
  lines.push(placeMarked(random, facts.home), EMPTY);
  if (random.chance(0.6))
    lines.push(plain(about), ...summary({ ...writing, style: { ...style, bullet: '' } }), EMPTY);
  lines.push(plain(experience));
  facts.jobs.forEach((job, index) => {
    const length = lengthText((job.to ?? WRITTEN) - job.from + 1, years, months);
    lines.push(marked('company', job.company));
    if (job.earlier.length > 0) lines.push(plain(length));
    lines.push(
      marked('title', job.title),
      plain(`${rangeText(random, language, style, job.from, job.to)} (${length})`),
    );
    if (job.place !== null) lines.push(placeMarked(random, job.place));
    lines.push(...tasks(writing, job), EMPTY);
    for (const { title, from, to } of job.earlier)
      lines.push(marked('title', title), plain(rangeText(random, language, style, from, to)), EMPTY);
    if (index === 2) lines.push(plain('  Page 1 of 2'), EMPTY);
  });
  lines.push(plain(education));
  for (const study of facts.studies) {
    const dates = random.chance(0.7)
      ? ` · (${Math.floor(study.from / 12)} - ${Math.floor(study.to / 12)})`
      : '';
    lines.push(marked('school', study.school), [...marked('degree', study.degree), ...plain(dates)]);
  }
  return [...lines, plain('  Page 2 of 2')];
}

function linkedInSide(writing: Writing, contact: string, top: string): Marked[] {
  const { random, facts, language, style } = writing;
  const slug = (facts.email.split('@')[0] ?? '').replace(/[._]/g, '-');
  const lines: Marked[] = [plain(contact)];
  if (random.chance(0.4)) lines.push(plain(`${facts.phone} (Mobile)`));
  if (random.chance(0.6)) lines.push(plain(facts.email));
  lines.push(
    plain(`www.linkedin.com/in/${slug}-`),
    plain(`${random.int(100, 999)}b${random.int(10, 99)} (LinkedIn)`),
    EMPTY,
  );
  lines.push(plain(top), ...facts.skills.slice(0, 3).map((skill) => marked('skill', skill)), EMPTY);
  const level = () => (random.chance(0.6) ? ` (${random.pick(language.list('levels'))})` : '');
  if (random.chance(0.5))
    lines.push(
      ...heading({ ...writing, style: { ...style, headingForm: 'plain' } }, 'languages'),
      ...facts.spoken.map((one) => [...marked('skill', one), ...plain(level())]),
      EMPTY,
    );
  if (random.chance(0.3))
    lines.push(
      plain('Certifications'),
      ...otherSection({ ...writing, style: { ...style, bullet: '' } }, 'certificates'),
      EMPTY,
    );
  return lines;
}

function lengthText(months: number, years: string, monthsName: string): string {
  const parts = [];
  if (months >= 12) parts.push(`${Math.floor(months / 12)} ${years}`);
  if (months % 12 !== 0) parts.push(`${months % 12} ${monthsName}`);
  return parts.join(' ');
}

/** Indeed's own form. */
export function asIndeed(writing: Writing): Block {
  const { random, facts, language } = writing;
  const style = { ...writing.style, dates: 'long' as const, range: '{from} to {to}' };
  const first = facts.jobs[0];
  const slug = `${facts.name.given}-${facts.name.family}`.replace(/ /g, '-');
  const lines: Marked[] = [marked('name', `${facts.name.given} ${facts.name.family}`)];
  const headline = marked('title', facts.headline);
  if (random.chance(0.8))
    lines.push(
      first === undefined || random.chance(0.4)
        ? headline
        : [...headline, ...plain(' - '), ...marked('company', first.company)],
    );
  lines.push(
    EMPTY,
    [
      ...wholePlace(facts.home),
      ...plain(
        random.chance(0.6)
          ? ` - Email me on Indeed: indeed.com/r/${slug}/${random.int(100_000, 999_999)}f${random.int(10, 99)}`
          : `\n${facts.email}\n${facts.phone}`,
      ),
    ],
    EMPTY,
  );
  if (random.chance(0.6)) lines.push(...summary({ ...writing, style }), EMPTY);
  if (random.chance(0.25))
    lines.push(
      [...plain('Willing to relocate to: '), ...marked('place', facts.values.place().join(', '))],
      EMPTY,
    );
  lines.push(...indeedStations({ ...writing, style }));
  lines.push(...(language.code === 'en' ? [plain('SKILLS')] : heading(writing, 'skills')), EMPTY);
  const years = () =>
    random
      .pick(language.list('years').filter((one) => one.startsWith('(') || language.code !== 'en'))
      .replace('{n}', String(random.int(1, 10)));
  const withYears = random.chance(0.6);
  lines.push(
    ...wrapped(
      join(
        facts.skills.map((skill) => [...marked('skill', skill), ...plain(withYears ? ` ${years()}` : '')]),
        ', ',
      ),
      95,
    ),
  );
  if (random.chance(0.3)) lines.push(EMPTY, plain(`https://www.indeed.com/r/${slug}`), EMPTY);
  if (random.chance(0.3))
    lines.push(
      plain('ADDITIONAL INFORMATION'),
      EMPTY,
      ...Array.from({ length: 3 }, () => [...plain(style.bullet), ...facts.task()]),
    );
  return lines.flatMap(linesOf);
}

function indeedStations(writing: Writing): Marked[] {
  const { random, facts, language, style } = writing;
  const english = language.code === 'en';
  const lines: Marked[] = [];
  lines.push(...(english ? [plain('WORK EXPERIENCE')] : heading(writing, 'work')), EMPTY);
  for (const job of facts.jobs) {
    const where = wholePlace(job.place);
    lines.push(
      marked('title', job.title),
      EMPTY,
      [
        ...marked('company', job.company),
        ...(where.length > 0 ? [...plain(' -  '), ...where] : []),
        ...plain(' -'),
      ],
      EMPTY,
    );
    lines.push(
      plain(rangeText(random, language, style, job.from, job.to)),
      EMPTY,
      ...tasks(writing, job),
      EMPTY,
    );
  }
  lines.push(...(english ? [plain('EDUCATION')] : heading(writing, 'education')), EMPTY);
  for (const study of facts.studies) {
    const where = random.chance(0.5) ? wholePlace(study.place) : EMPTY;
    lines.push(
      marked('degree', study.degree),
      EMPTY,
      [...marked('school', study.school), ...(where.length > 0 ? [...plain(' -  '), ...where] : [])],
      EMPTY,
    );
    if (random.chance(0.7))
      lines.push(
        plain(
          random.chance(0.6)
            ? String(Math.floor(study.to / 12))
            : `${dateText(language, style, study.from)} to ${dateText(language, style, study.to)}`,
        ),
        EMPTY,
      );
  }
  return lines;
}

const wholePlace = (place: readonly [string, string] | null): Marked => {
  if (place === null) return [];
  return marked('place', place[0] === place[1] ? place[0] : place.join(', '));
};
