import type { Random } from './random.ts';

/** How companies are named, and how often. Names are made of parts, so that none can be learnt by heart. */
export const COMPANY_PATTERNS: readonly (readonly [weight: number, pattern: string])[] = [
  [14, '{brand} {sector} {legal}'],
  [14, '{brand} {sector}'],
  [10, '{brand} {legal}'],
  [6, '{brand}'],
  [8, '{family} {sector} {legal}'],
  [6, '{family} {sector}'],
  [4, '{family} & {family}'],
  [3, '{family} & {family} {legal}'],
  [3, '{family}, {family} & {family}'],
  [3, '{family} & Sons'],
  [3, '{family} {legal}'],
  [4, '{city} {sector}'],
  [3, '{city} {sector} {legal}'],
  [5, '{acronym} {sector}'],
  [4, '{acronym} {legal}'],
  [3, '{acronym}'],
  [3, 'The {brand} {sector}'],
  [2, '{brand} {brand} {sector} {legal}'],
  [2, "{family}'s {sector}"],
  [2, '{sector} {brand}'],
  [2, '{sector} {family}'],
  [2, '{given} {family} {sector}'],
  [1, '{brand}.com'],
  [1, '{brand}.io'],
  [1, '{brand}.ai'],
  [1, '{brand} (acquired by {brand})'],
  [1, '{brand}, a {brand} company'],
  [1, '{brand}&{brand}'],
  [1, '{brand} {country}'],
  [1, '{brand} / {brand}'],
  [1, '{sector} Department, {city} University'],
  [1, '{family} School of {subject}, University of {region}'],
  [1, '{brand} Laboratory, {city} University'],
  [1, '{brand} {sector} ({acronym})'],
  [1, '{given} {brand}'],
  [1, '{brand} Labs'],
  [4, '{brand}'],
  [2, '{country} {sector} {legal}'],
  [2, '{brand} {city}'],
  [2, '{brand} {brand}'],
  [1, '{brand} and {brand} {legal}'],
  [1, '{brand} {sector} and {sector} {legal}'],
  [1, '{brand}.me'],
  [1, 'Museum of {subject}, {city}'],
  [1, '{city} Center for {subject}'],
  [1, '{brand} - {city} University'],
  [1, '{given}{brand}'],
];

/** A school's name that stands in no list: a coined word in the place of a family or a town, or an acronym behind it. */
export function schoolOf(random: Random, name: string, coined: () => string): string {
  const words = name.split(' ');
  if (
    words.length > 1 &&
    random.chance(0.25) &&
    /^\p{Lu}\p{Ll}+$/u.test(words[0] ?? '') &&
    !/^(?:University|College|Department|Government|Federal|Kendriya)$/.test(words[0] ?? '')
  )
    words[0] = coined();
  const whole = words.join(' ');
  if (words.length < 3 || !random.chance(0.06)) return whole;
  const acronym = words
    .filter((word) => /^\p{Lu}/u.test(word))
    .map((word) => word.slice(0, 1))
    .join('');
  return random.chance(0.5) ? `${whole} (${acronym})` : `${whole} ${acronym}`;
}

const VERSIONS = ['2012', '2016', '2008 R2', '10g', '11', '12c', '5', '6.x', 'v3', '8', '2.0', '365'];

/** As people list skills: with a version, as a tool, as basics. */
export function asListed(random: Random, skill: string): string {
  const kind = random.weighted({ plain: 91, version: 5, tools: 2, basics: 2 });
  if (kind === 'version' && /^\p{Lu}/u.test(skill)) return `${skill} ${random.pick(VERSIONS)}`;
  if (kind === 'tools') return `${skill} ${random.pick(['Tools', 'tool', 'Suite', 'Framework', 'Server'])}`;
  if (kind === 'basics')
    return `${skill} ${random.pick(['basics', 'fundamentals', 'development', 'administration'])}`;
  return skill;
}
