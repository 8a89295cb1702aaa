import { type Fillings, fill, type Marked, plain } from './marked-text.ts';
import type { Random } from './random.ts';
import type { LanguageCode } from './words.ts';

const cut = (list: string): string[] => list.split('; ');

const VERBS = cut(
  'Developed; Designed; Implemented; Led; Managed; Maintained; Created; Built; Delivered; Coordinated; Supported; Improved; Established; Introduced; Organised; Reviewed; Prepared; Analysed; Monitored; Planned; Executed; Oversaw; Streamlined; Redesigned; Launched; Produced; Tested; Configured; Documented; Optimised; Migrated; Negotiated; Presented; Researched; Trained; Supervised; Handled; Conducted; Ran; Owned; Drove; Architected; Automated; Performed; Assisted with; Contributed to; Participated in; Worked on; Involved in; Responsible for; Experience in; Experienced with; Collaborated on; Took charge of; Helped with',
);
const ADJECTIVES = cut(
  'new; existing; internal; end-to-end; complex; daily; company-wide; cross-functional; customer-facing; large-scale; high-volume; legacy; monthly; critical; regional; web-based; automated; scalable; secure; manual; weekly; key; multiple; various; several',
);
const OBJECTS = cut(
  'processes; reports; systems; applications; procedures; projects; campaigns; training sessions; audits; budgets; contracts; dashboards; services; tools; workflows; databases; user interfaces; documentation; customer accounts; orders; schedules; events; test plans; inspections; invoices; presentations; policies; guidelines; pipelines; releases; prototypes; surveys; schedules and rotas; stock levels; supplier relationships; service requests; requirements; product lines; maintenance plans; patient records; learning materials; marketing materials; shipments; quality checks',
);
const WAYS = cut(
  'using {skill}; using {skill} and {skill}; with {skill}; based on {skill}, {skill} and {skill}; through {skill}; by introducing {skill}; in {skill}; with the help of {skill} and {skill}; via {skill}; applying {skill}; on {skill}',
);
const PURPOSES = cut(
  'for a leading {field} client; for {client}; for the {field} department; across {number} sites; in a team of {number}; for over {number} users; in cooperation with {client}; for internal and external customers; under tight deadlines; within budget; in line with company standards; across {region}; for senior management; on behalf of the {otherTitle}; from concept to launch; with {number} stakeholders; worth {money}',
);
const RESULTS = cut(
  'resulting in savings of {money}; reducing errors by {percent}; which increased revenue by {percent}; cutting lead times from {number} days to one; improving customer satisfaction; raising productivity by {percent}; which earned an award from {client}; with {percent} availability; leading to repeat business; and reported the outcome to the {otherTitle}; ensuring compliance with regulations; and trained {number} colleagues in {skill}; saving about {number} hours per month; achieving a score of {percent}',
);

/** A line about work that no list has: verb, object, way, purpose, result. */
export function workSentence(random: Random, fillings: Fillings): Marked {
  const parts = [random.pick(VERBS)];
  if (random.chance(0.5)) parts.push(random.pick(ADJECTIVES));
  parts.push(
    random.chance(0.2) ? `${random.pick(OBJECTS)} and ${random.pick(OBJECTS)}` : random.pick(OBJECTS),
  );
  if (random.chance(0.55)) parts.push(random.pick(WAYS));
  if (random.chance(0.5)) parts.push(random.pick(PURPOSES));
  const result = random.chance(0.35) ? `${random.pick([', ', ', ', ' '])}${random.pick(RESULTS)}` : '';
  return fill(parts.join(' ') + result, fillings);
}

const ABOUT: Readonly<Record<LanguageCode, readonly string[]>> = {
  en: [
    '{company} is a {field} company based in {otherCity}.',
    '{company} is a leading provider of {field} solutions with {number} employees.',
    'A {field} company with a turnover of {money}.',
    'Start-up in the {field} sector; clients include {client} and {client}.',
    '{company}, part of {client}, serves customers in {number} countries.',
    'Leading {field} brand with over {number} branches, see www.example.com',
  ],
  de: [
    '{company} ist ein Unternehmen der Branche {field} mit {number} Mitarbeitern.',
    'Mittelständisches Unternehmen ({field}), Tochter von {client}.',
  ],
  fr: [
    '{company} est une entreprise du secteur de {field}, basée à {otherCity}.',
    'PME de {number} salariés, filiale de {client}.',
  ],
  es: [
    '{company} es una empresa del sector de {field} con sede en {otherCity}.',
    'Empresa de {number} empleados, proveedora de {client}.',
  ],
  it: [
    '{company} è un’azienda del settore {field} con sede a {otherCity}.',
    'Azienda di {number} dipendenti, fornitore di {client}.',
  ],
  pt: [
    '{company} é uma empresa do setor {field}, com sede em {otherCity}.',
    'Empresa de {number} funcionários, fornecedora da {client}.',
  ],
  nl: [
    '{company} is een bedrijf in {field}, gevestigd in {otherCity}.',
    'Onderneming met {number} medewerkers, onderdeel van {client}.',
  ],
  pl: [
    '{company} to firma z branży {field} z siedzibą: {otherCity}.',
    'Firma zatrudniająca {number} osób, dostawca dla {client}.',
  ],
  sv: [
    '{company} är ett företag inom {field} i {otherCity}.',
    'Företag med {number} anställda, leverantör till {client}.',
  ],
  tr: [
    '{company}, {otherCity} merkezli bir {field} şirketidir.',
    '{number} çalışanı olan, {client} tedarikçisi bir firma.',
  ],
};

/** A line about the employer, as many CVs have one below its name. */
export function aboutEmployer(
  random: Random,
  language: LanguageCode,
  company: Marked,
  fillings: Fillings,
): Marked {
  return [...fill(random.pick(ABOUT[language]), { ...fillings, company }), ...plain('')];
}
