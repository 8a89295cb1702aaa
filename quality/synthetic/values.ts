import type { Random } from './random.ts';
import { asListed, COMPANY_PATTERNS, schoolOf } from './wordings.ts';
import {
  BRAND_ENDS,
  BRAND_PARTS,
  COUNTRIES,
  COUNTRIES_OF,
  type Country,
  JARGON,
  JOBS,
  LANGUAGE_OF,
  type Language,
  NAMES,
  SECTORS,
  TRADES,
  type Trade,
} from './words.ts';

export interface PersonName {
  readonly given: string;
  readonly middle: string;
  readonly family: string;
}

/** Values of one CV: of its language, its country and its writer's trade. */
export interface Values {
  readonly language: Language;
  readonly country: Country;
  readonly trade: Trade;
  name(): PersonName;
  company(): string;
  school(): string;
  title(): string;
  degree(): string;
  field(): string;
  place(): readonly [city: string, region: string];
  skill(): string;
  phone(): string;
  street(): string;
  number(): string;
  percent(): string;
  money(): string;
  /** Neighbours in a list of the language: its lists go from trade to trade. */
  near(list: string, count: number): readonly string[];
}

/** Trades of the file, by their place in it: more software than anything else, as in real heaps of CVs. */
const TRADE_WEIGHTS: Readonly<Record<string, number>> = Object.fromEntries(
  TRADES.map((_, at) => [String(at), at === 0 ? 7 : at === 1 ? 2 : 1]),
);

const SYLLABLES =
  'ba be bo ca co da de di do fa fi fo ga go ha he ho ja ka ki ko la le li lo lu ma me mi mo na ne ni no nu pa pe pi po ra re ri ro sa se si so ta te ti to tu va ve vi vo xa ya yo za ze zi zo fle gra pla sta tri bri cle cro dra kno qui sho spi swe thri vel mar tal nor sen kel wid eru fin hal'.split(
    ' ',
  );
const CODAS = ['', '', '', 'n', 'x', 'r', 's', 'l', 'co', 'ta', 'do', 'ly', 'ia', 'go', 'za', 'ck'];
const COMMON_WORDS =
  'Alloy; Capsule; Monograph; Elastic; Square; Stripe; Slack; Notion; Segment; Harvest; Basecamp; Lattice; Compass; Beacon; Anchor; Lantern; Canvas; Ember; Forge; Glacier; Harbor; Juniper; Keystone; Ledger; Mosaic; Nimbus; Opal; Paragon; Quarry; Ripple; Saffron; Tandem; Umbrella; Velvet; Willow; Yonder; Zephyr; Acorn; Bamboo; Cobalt; Drift; Echo; Flint; Gravity; Hinge; Indigo; Jigsaw; Kindle; Lumen; Meridian; Oasis; Pivot; Quill; Relay; Spark; Thrive; Unity; Vista; Wander; Minority; Better; Instinct; Candor; Mirror; Signal; Bridge; Common; Circle; Origin; Plural; Bloom'.split(
    '; ',
  );
const TEAMS =
  'Delivery Team; Marketing Data & Analytics; Organic Product Performance; Customer Success; Platform; Growth; EMEA; APAC; North America; Payments; R&D; Operations; Special Projects; Data Science; Retail; Night Shift; Infrastructure; Mobile; Enterprise; Quality; Key Accounts; Core Services; Ward 4; Wholesale'.split(
    '; ',
  );

const SAINTS = [
  'Mary',
  'Xavier',
  'Joseph',
  'Thomas',
  'John',
  'Paul',
  'Anne',
  'Francis',
  'Aloysius',
  'Peter',
  'Teresa',
];
const ROMAN = ['I', 'II', 'III', 'IV', 'V', 'VI', 'VIII', 'XI'];
const OF_OFFICE: Readonly<Record<string, readonly string[]>> = {
  en: [
    '{city} City Council',
    'Department of Health, {city}',
    '{city} General Hospital',
    '{city} Police Department',
    '{city} School District',
    'Ministry of Education',
    'University of {city}',
    '{city} Public Library',
    'St. {saint} Hospital',
    '{city} County Sheriff',
    'Office of Admissions',
    '{city} Municipal Corporation',
    '{city} High School',
    'Government of {region}',
  ],
  de: [
    'Stadt {city}',
    'Klinikum {city}',
    'Universität {city}',
    'Landratsamt {city}',
    'Stadtwerke {city}',
    'Gemeinde {city}',
    'St. {saint}-Krankenhaus',
    'Grundschule {city}',
    'Kita {family}',
    'Finanzamt {city}',
  ],
  fr: [
    'Mairie de {city}',
    'CHU de {city}',
    'Université de {city}',
    'Clinique {family}',
    'Lycée {family}',
    'Préfecture de {city}',
    'EHPAD {family}',
  ],
  es: [
    'Ayuntamiento de {city}',
    'Hospital de {city}',
    'Universidad de {city}',
    'Colegio {family}',
    'Clínica {family}',
    'Gobierno de {region}',
  ],
  it: [
    'Comune di {city}',
    'Ospedale di {city}',
    'Università di {city}',
    'ASL {city}',
    'Casa di riposo {family}',
    'Istituto {family}',
  ],
  pt: [
    'Prefeitura de {city}',
    'Hospital {family}',
    'Câmara Municipal de {city}',
    'Colégio {family}',
    'Governo de {region}',
    'Santa Casa de {city}',
  ],
  nl: [
    'Gemeente {city}',
    'Ziekenhuis {city}',
    'Universiteit {city}',
    'Basisschool {family}',
    'Zorggroep {family}',
    'Provincie {region}',
  ],
  pl: [
    'Urząd Miasta {city}',
    'Szpital Miejski, {city}',
    'Szkoła Podstawowa nr {n}',
    'Przychodnia {family}',
    'Urząd Skarbowy, {city}',
    'Starostwo Powiatowe, {city}',
  ],
  sv: [
    '{city} kommun',
    '{city} lasarett',
    'Region {region}',
    '{family}skolan',
    '{city} universitet',
    'Förskolan {family}',
  ],
  tr: [
    '{city} Belediyesi',
    '{city} Devlet Hastanesi',
    '{city} Üniversitesi',
    '{family} İlkokulu',
    '{city} Valiliği',
    'Özel {family} Hastanesi',
  ],
};
export function createValues(random: Random, language: Language): Values {
  const country = COUNTRIES[random.weighted(COUNTRIES_OF[language.code])] as Country;
  const trade = TRADES[Number(random.weighted(TRADE_WEIGHTS))] ?? random.pick(TRADES);
  const centre = random.next();
  const near = (name: string, count: number): readonly string[] => {
    const all = language.list(name);
    const from = Math.max(0, Math.round(centre * all.length - count / 2));
    return random.chance(0.25) ? all : all.slice(from, from + count);
  };
  const isTechnical = trade === TRADES[0] || trade === TRADES[1];
  const jargonShare = language.code === 'en' ? (isTechnical ? 0.3 : 0.07) : 0.04;
  const jargon = random.some(JARGON, random.int(1, 3)).flat();
  // A CV in German may have a writer with a Turkish name, with employers of one country.
  const culture = random.weighted(country.cultures);
  const list = (name: string) => random.pick(language.list(name));
  const family = () => random.pick(NAMES[culture]?.family ?? []);
  const given = () => random.pick(NAMES[culture]?.given ?? []);
  const number = () => String(random.chance(0.7) ? random.int(2, 40) : random.int(41, 900));
  const otherFamily = () => random.pick(NAMES[random.weighted(country.cultures)]?.family ?? []);
  const city = () => random.pick(country.cities);
  const coined = (): string => {
    const syllables = Array.from({ length: random.int(2, 3) }, () => random.pick(SYLLABLES)).join('');
    return syllables.slice(0, 1).toUpperCase() + syllables.slice(1) + random.pick(CODAS);
  };
  const brand = (): string => {
    const kind = random.weighted({ parts: 42, coined: 42, word: 12, numbered: 4 });
    if (kind === 'coined') return coined();
    if (kind === 'word') return random.pick(COMMON_WORDS);
    if (kind === 'numbered')
      return random.pick([
        `${random.int(1, 9)}${coined().toUpperCase().slice(0, 3)}`,
        `Studio ${random.int(2, 99)}`,
        `${random.int(2, 9)}x${random.int(2, 9)}`,
        `${coined()} ${random.int(24, 365)}`,
      ]);
    const part = random.pick(BRAND_PARTS);
    const end = random.chance(0.55)
      ? random.pick(BRAND_ENDS)
      : random.chance(0.5)
        ? random.pick(BRAND_PARTS)
        : '';
    const whole = part + (random.chance(0.6) ? end.toLowerCase() : end);
    return random.chance(0.06) ? whole.toLowerCase() : whole;
  };
  const words: Readonly<Record<string, () => string>> = {
    brand,
    sector: () => random.pick(SECTORS[language.code] ?? []),
    legal: () => random.pick(country.legalForms),
    family: otherFamily,
    given: () => random.pick(NAMES[random.weighted(country.cultures)]?.given ?? []),
    city: () => city()[0],
    cityIn: () => city()[0],
    region: () => city()[1],
    country: () => country.name,
    saint: () => random.pick(SAINTS),
    roman: () => random.pick(ROMAN),
    n: () => String(random.int(1, random.chance(0.7) ? 60 : 400)),
    acronym: () =>
      Array.from({ length: random.int(2, 4) }, () => String.fromCharCode(65 + random.int(0, 25))).join(''),
    field: () => list('fields'),
    subject: () => list('subjects'),
    trade: () => list('titles').toLowerCase(),
    digit: () => String(random.int(0, 9)),
  };
  const filled = (pattern: string): string =>
    pattern.replace(/\{(\w+)\}/g, (whole, key: string) => words[key]?.() ?? whole).replace(/ ,/g, ',');
  const weights = Object.fromEntries(COMPANY_PATTERNS.map(([weight, pattern]) => [pattern, weight]));
  const company = (): string => {
    const kind = random.weighted({ known: 10, made: 77, office: 10, own: 3 });
    if (kind === 'known') {
      const name = random.pick(country.companies);
      const plain =
        random.chance(0.72) || /[.]$/.test(name) ? name : `${name} ${random.pick(country.legalForms)}`;
      return plain.replace(/ ,/g, ',');
    }
    if (kind === 'office') return filled(random.pick(OF_OFFICE[language.code] ?? []));
    if (kind === 'own') return list('freelance');
    return filled(random.weighted(weights));
  };
  return {
    language,
    country,
    trade,
    name: () => ({
      given: given(),
      middle: random.chance(0.12)
        ? given()
        : random.chance(0.1)
          ? `${String.fromCharCode(65 + random.int(0, 22))}.`
          : '',
      family: random.chance(0.08) ? `${family()}${random.chance(0.5) ? '-' : ' '}${family()}` : family(),
    }),
    company,
    school: () =>
      random.chance(0.1) ? list('schools') : schoolOf(random, filled(list('schoolPatterns')), coined),
    title: () => titleOf(random, language, trade, near),
    degree: () => {
      const degree = filled(list('degrees'));
      const form = random.weighted({ plain: 90, lower: 4, upper: 6 });
      if (form === 'lower') return degree.toLowerCase();
      return form === 'upper' ? degree.toLocaleUpperCase(language.code) : degree;
    },
    field: () => list('fields'),
    place: city,
    skill: () => (random.chance(jargonShare) ? random.pick(jargon) : skillOf(random, language, trade, near)),
    phone: () => random.pick(country.phones).replace(/#/g, () => String(random.int(0, 9))),
    street: () => filled(list('streets')),
    number,
    percent: () =>
      `${random.int(3, 98)}${random.chance(0.15) ? `.${random.int(1, 9)}` : ''}${random.chance(0.9) ? '%' : ' %'}`,
    near,
    money: () =>
      random.pick(['$', '€', '£', 'Rs. ', 'EUR ', 'USD ']) +
      random.pick(['1.2M', '50k', '250,000', '3 million', '12 Cr', '800.000', '75,000', '2,5 Mio.', '500 K']),
  };
}

type Near = (list: string, count: number) => readonly string[];

function titleOf(random: Random, language: Language, trade: Trade, near: Near): string {
  const list = (name: string) => random.pick(language.list(name));
  if (language.code !== 'en') {
    const jobs = JOBS[language.code];
    const own =
      jobs !== undefined && random.chance(0.35)
        ? random.pick(jobs)
        : pickNear(random, near('titles', 16), list);
    if (random.chance(0.08)) return `${titleOf(random, english(), trade, near)}`;
    if (random.chance(0.12))
      return `${own} ${random.pick(['(m/w/d)', '/ Teamleiter', 'II', 'Junior', 'Senior', '/ Consultant'].slice(language.code === 'de' ? 0 : 2))}`;
    return random.chance(0.14) ? `${list('seniority')} ${lowerFirst(own)}` : upperFirst(own);
  }
  const kind = random.weighted({ grammar: 60, esco: 14, list: 8, other: 6, headOnly: 12 });
  if (kind === 'esco') return titled(random.pick(JOBS.esco ?? []));
  if (kind === 'other')
    return random.chance(0.7) ? titled(random.pick(JOBS.en ?? [])) : random.pick(JOBS.en ?? []);
  if (kind === 'list') return list('titles');
  const head = random.pick(trade.heads);
  if (kind === 'headOnly') return random.chance(0.3) ? `${list('seniority')} ${head}` : head;
  const domain = random.pick(trade.domains);
  const base = random.pick([
    `${domain} ${head}`,
    `${domain} ${head}`,
    `${domain} ${head}`,
    `${domain} ${head}`,
    `${head} - ${domain}`,
    `${head}, ${domain}`,
    `${head} (${domain})`,
    `${domain} ${head}/${random.pick(trade.heads)}`,
    `${domain} & ${random.pick(trade.domains)} ${head}`,
    `${domain} ${head}, ${random.pick(TEAMS)}`,
    `${head}, ${random.pick(TEAMS)}`,
    `${domain} ${head} ${random.pick(['I', 'II', 'III', 'I, II', '2', 'L3'])}`,
    `${domain} ${head} (${random.pick(['Part-time', 'Contract', 'Remote', 'Intern', 'Volunteer', 'Consultant', 'Freelance'])})`,
    `${domain} ${head}${random.pick(['/', ' / ', ' & ', ' and ', ' - '])}${random.pick(['Co-founder', 'Owner', 'Team Lead', 'Scrum Master', 'Product Owner', 'Trainer', 'Partner'])}`,
  ]);
  return random.chance(0.22) ? `${list('seniority')} ${base}` : base;
}

const pickNear = (random: Random, some: readonly string[], list: (name: string) => string): string =>
  some.length === 0 ? list('titles') : random.pick(some);

function skillOf(random: Random, language: Language, trade: Trade, near: Near): string {
  if (language.code === 'en') {
    const kind = random.weighted({ trade: 88, office: 6, other: 6 });
    const skill =
      kind === 'trade'
        ? random.pick(trade.skills)
        : kind === 'office'
          ? random.pick(language.list('office'))
          : random.pick(random.pick(TRADES).skills);
    return asListed(random, skill);
  }
  // Tools have English names in every language.
  return random.chance(0.1)
    ? random.pick(trade.skills)
    : random.pick(near('skills', 40).length > 0 ? near('skills', 40) : language.list('skills'));
}

export const upperFirst = (text: string): string => text.slice(0, 1).toLocaleUpperCase() + text.slice(1);
const lowerFirst = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);
const titled = (text: string): string =>
  text.replace(
    /(^|[\s/-])(?!(?:of|and|in|the|for)\b)(\p{L})/gu,
    (_, gap: string, letter: string) => gap + letter.toUpperCase(),
  );
const english = (): Language => LANGUAGE_OF.en as Language;
