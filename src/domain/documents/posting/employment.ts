import type { EmploymentType } from '../parsed-posting.ts';
import type { Found } from '../text/found.ts';

const TYPES: readonly (readonly [RegExp, EmploymentType])[] = [
  [
    /\b(?:internship|intern\b|praktikum|praktikant(?:in)?|werkstudent(?:in)?|stage\b|stagiaire|prácticas|becari[oa]|tirocinio|estágio)/i,
    'INTERN',
  ],
  [
    /\b(?:full[ -]?time|permanent(?: position| contract)?|vollzeit|festanstellung|unbefristet|temps plein|cdi|tiempo completo|jornada completa|indefinido|tempo pieno|tempo indeterminato|tempo integral|clt|fulltime|voltijd)\b/i,
    'FULL_TIME',
  ],
  [
    /\b(?:part[ -]?time|teilzeit|minijob|temps partiel|tiempo parcial|media jornada|tempo parziale|meio período|parttime|deeltijd)\b/i,
    'PART_TIME',
  ],
  [
    /\b(?:freelance|contractor|contract (?:position|role|job|basis|to hire)|independent contractor|freiberuflich|freie mitarbeit|indépendant|autónomo|partita iva|zzp)\b/i,
    'CONTRACTOR',
  ],
  [
    /\b(?:temporary|fixed[ -]term|seasonal|befristet|cdd|intérim|temporal|tempo determinato|temporário|tijdelijk)\b/i,
    'TEMPORARY',
  ],
  [/\b(?:volunteer|voluntary|ehrenamtlich|bénévole|voluntariado|volontariato)\b/i, 'VOLUNTEER'],
  [/\bper diem\b/i, 'PER_DIEM'],
];

/** The kind of employment that the text names first; in "full-time or part-time" that is full time. */
export function findEmploymentType(text: string): Found<EmploymentType> | null {
  let first: Found<EmploymentType> | null = null;
  for (const [pattern, value] of TYPES) {
    const match = pattern.exec(text);
    if (match === null) continue;
    // An internship is named in the title; elsewhere "intern" may be a word of another job.
    if (value === 'INTERN' && match.index > 200) continue;
    if (value === 'INTERN') return { start: match.index, end: match.index + match[0].length, value };
    if (first === null || match.index < first.start)
      first = { start: match.index, end: match.index + match[0].length, value };
  }
  return first;
}

const REMOTE =
  /\b(?:(?:fully |100 ?% |fully-)?remote(?:ly|-first|-friendly)?(?! (?:sensing|control|access|support|monitoring|server|site|location|desktop|hands|user|team))|work(?:ing)? from home|wfh|telecommut\w*|telework\w*|home[ -]?office|homeoffice|mobiles arbeiten|ortsunabhängig|télétravail|teletrabajo|trabajo remoto|en remoto|smart working|da remoto|trabalho remoto|home office|thuiswerk\w*|anywhere in the world)\b/i;
const NOT_REMOTE = /\b(?:not|no|non|kein(?:e|en)?|pas de|nicht|isn['’]t|cannot be)\s+(?:\w+\s+){0,3}$/i;
const HYBRID_ONLY = /\b(?:on-?site only|in[- ]office only|no remote)\b/i;

export function findRemote(text: string): Found<'TELECOMMUTE'> | null {
  const match = REMOTE.exec(text);
  if (match === null || HYBRID_ONLY.test(text)) return null;
  if (NOT_REMOTE.test(text.slice(Math.max(0, match.index - 30), match.index))) return null;
  return { start: match.index, end: match.index + match[0].length, value: 'TELECOMMUTE' };
}

const NUMBER_WORDS: Readonly<Record<string, number>> = {
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
  seven: 7,
  eight: 8,
  nine: 9,
  ten: 10,
  ein: 1,
  zwei: 2,
  drei: 3,
  vier: 4,
  fünf: 5,
  sechs: 6,
  deux: 2,
  trois: 3,
  quatre: 4,
  cinq: 5,
  dos: 2,
  tres: 3,
  cuatro: 4,
  cinco: 5,
  due: 2,
  tre: 3,
  quattro: 4,
  cinque: 5,
  dois: 2,
  três: 3,
  twee: 2,
  drie: 3,
  vijf: 5,
};
const COUNT = `(?<low>\\d{1,2}|${Object.keys(NUMBER_WORDS).join('|')})`;
const YEARS = new RegExp(
  `(?<![\\p{L}\\d])${COUNT}\\s?(?:\\(\\d{1,2}\\)\\s?)?\\+?\\s?(?:(?:-|–|to|or|bis|à|a)\\s?\\d{1,2}\\s?\\+?\\s?)?(?:or more |oder mehr )?(?<unit>years?|yrs?|months?|jahren?|jahre|monate?n?|ans|années|mois|años|meses|anni|mesi|anos|jaar|maanden)(?:['’]s?)?(?=[^.;\\n]{0,60}(?:experience|background|track record|working|berufserfahrung|erfahrung|expérience|experiencia|esperienza|experiência|ervaring)|\\s+(?:in|with|as|of)\\b)`,
  'giu',
);

/** The least experience that the text asks for, in months; of several figures the largest that is asked for overall. */
export function findExperience(text: string): Found<number> | null {
  let best: Found<number> | null = null;
  for (const match of text.matchAll(YEARS)) {
    const raw = (match.groups?.low ?? '').toLowerCase();
    const count = NUMBER_WORDS[raw] ?? Number(raw);
    const isMonths = /^(?:month|monat|mois|mes|maand)/i.test(match.groups?.unit ?? '');
    const value = isMonths ? count : count * 12;
    if (value === 0 || value > 300) continue;
    const before = text.slice(Math.max(0, match.index - 40), match.index);
    if (/\b(?:our|company|founded|over the (?:last|past)|for more than|since|seit über)\s*$/i.test(before))
      continue;
    if (best === null || value > best.value)
      best = { start: match.index, end: match.index + match[0].length, value };
  }
  return best;
}
