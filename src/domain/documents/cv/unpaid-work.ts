import type { DateSpan } from '../text/dates.ts';
import type { LaidOutText } from '../text/layout.ts';
import type { Entry } from './entries.ts';

/** What CVs list like jobs although it is no paid work: voluntary work, projects, and breaks. */

const VOLUNTARY =
  'volunt|bénévol|benevol|volontar|ehrenamt|freiwillig|vrijwillig|wolontar|gönüllü|frivillig|ideell|önkéntes|dobrovol';
const UNPAID = new RegExp(
  `${VOLUNTARY}|^(?:community |professional |academic |university )?service$|community (?:service|involvement)|extra-?curricular|awards?\\b|hono[u]?rs`,
  'i',
);

/** 1 for segments under a heading for unpaid work, or for something that is not work. */
export function unpaidSegments({ headings, segments }: LaidOutText): Uint8Array {
  const found = new Uint8Array(segments.length);
  let isUnpaid = false;
  segments.forEach(({ text }, at) => {
    const heading = headings[at];
    if (heading != null) isUnpaid = UNPAID.test(text.slice(0, heading.length).trim());
    if (isUnpaid) found[at] = 1;
  });
  return found;
}

/** "Volunteer Coordinator" and "Volunteer Services Manager" are paid. */
const VOLUNTEER =
  /^(?:volunteer(?! (?:co-?ordinat|manag|direct|recruit|services|program|engagement|administrat|specialist|officer|supervis|lead\b|liaison))|voluntary |bénévole|volontari[oa](?!\p{L})|voluntári[oa](?!\p{L})|voluntari[oa](?!\p{L})|voluntar(?:ă)?(?!\p{L})|ehrenamtliche?r?(?!\p{L})|freiwillige?r?(?!\p{L})|vrijwilliger|wolontariusz|gönüllü|frivillig|önkéntes|dobrovoln)/iu;
const IN_BRACKETS =
  /\((?:unpaid|voluntary|volunteer|bénévole|bénévolat|ehrenamtlich|voluntari[oa]|volontari[oa]|voluntariat)\)/iu;

/** A position that says itself that it is unpaid: "Volunteer, Red Cross", "Treasurer (voluntary)". */
export function isUnpaidPosition({ text, segments }: LaidOutText, { part }: Entry): boolean {
  if (part === null) return false;
  return (
    VOLUNTEER.test(text.slice(part.start, part.end)) || IN_BRACKETS.test(segments[part.segment]?.text ?? '')
  );
}

const PROJECTS =
  /projects|projekte|projets|proyectos|progetti|projetos|projecten|projekty|projektek|proiecte|prosjekter|projeler|open source/i;

/** 1 for segments under a heading that is a line of its own: "Project:" within a job is no section. */
function projectSegments({ headings, segments }: LaidOutText): Uint8Array {
  const found = new Uint8Array(segments.length);
  let isProjects = false;
  segments.forEach(({ text, beginsBlock }, at) => {
    const heading = headings[at];
    if (heading != null)
      isProjects =
        heading.kind === 'projects' && heading.length === text.length && beginsBlock && PROJECTS.test(text);
    if (isProjects) found[at] = 1;
  });
  return found;
}

/**
 * Without the positions of projects and of voluntary work, if the CV has other dated jobs. If it has none, they are what
 * it says about work: freelancers list projects, students voluntary work. Texts without lines have no sure sections.
 */
export function jobsAside(laidOut: LaidOutText, entries: readonly Entry[], unpaid: Uint8Array): Entry[] {
  if (laidOut.isFlat) return [...entries];
  const projects = projectSegments(laidOut);
  const isAside = ({ firstSegment }: Entry) => unpaid[firstSegment] === 1 || projects[firstSegment] === 1;
  const others = entries.filter((entry) => !isAside(entry));
  return others.some(({ date, head, part }) => date?.isRange === true && (head ?? part) !== null)
    ? others
    : [...entries];
}

/** A period without work, as named in CVs. */
const BREAK_WORDS =
  'career (?:break|gap)|(?:maternity|paternity|parental|family|medical|sick) leave|sabbatical|gap year|full[- ]time (?:parent|mother|father|carer)|stay[- ]at[- ]home|unemployed|elternzeit|mutterschutz|familienpause|arbeits(?:suchend|los)|congé (?:de )?(?:maternité|parental|sabbatique)|année sabbatique|excedencia|baja (?:por )?maternal|congedo (?:di maternità|parentale)|anno sabbatico|licença (?:de )?(?:maternidade|parental)|ouderschapsverlof|zwangerschapsverlof|urlop (?:macierzyński|wychowawczy)|concediu (?:de maternitate|(?:pentru|de) creșterea? (?:a )?copilului)|mateřská dovolená|rodičovská dovolená|materská dovolenka|gyes|gyed|föräldraledig(?:het)?|barselsorlov|foreldrepermisjon|doğum izni';
const BREAK = new RegExp(`(?<!\\p{L})(?:${BREAK_WORDS})(?!\\p{L})`, 'iu');
const ONLY_BREAK = new RegExp(`^(?:${BREAK_WORDS})$`, 'iu');

/** Whether a text is the name of a break and nothing else; a "maternity leave cover" is a job. */
export function isBreak(text: string): boolean {
  return ONLY_BREAK.test(text.trim());
}

/** Whether a break is named on the line of a segment or the one above. */
export function namesBreak({ segments }: LaidOutText, at: number): boolean {
  const line = segments[at];
  const above = line?.beginsBlock === false ? segments[at - 1] : undefined;
  return [line, above].some((segment) => BREAK.test(segment?.text ?? ''));
}

/**
 * "2021 - 2023" followed by a break, in the next cell or on the line below; a "maternity leave cover" with a position
 * is a job.
 */
export function isBreakSpan(
  { segments }: LaidOutText,
  { isRange }: DateSpan,
  at: number,
  named: ReadonlySet<number>,
): boolean {
  const next = segments[at + 1];
  return (
    isRange && next?.beginsBlock === false && BREAK.test(next.text) && !named.has(at) && !named.has(at + 1)
  );
}
