import type { EmploymentType, Posting, SalaryUnit } from '../parsed-document.ts';
import type { Found } from '../text/tokens.ts';

const EMPLOYMENT_TYPE_PATTERNS: readonly (readonly [RegExp, EmploymentType])[] = [
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
  for (const [pattern, value] of EMPLOYMENT_TYPE_PATTERNS) {
    const match = pattern.exec(text);
    if (match === null) continue;
    // An internship is named in the title; elsewhere "intern" may be a word of another job.
    if (value === 'INTERN' && match.index > 200) continue;
    if (value === 'INTERN') return foundAt(match, value);
    if (first === null || match.index < first.start) first = foundAt(match, value);
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
  return foundAt(match, 'TELECOMMUTE');
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
const YEARS_OF_EXPERIENCE = new RegExp(
  `(?<![\\p{L}\\d])${COUNT}\\s?(?:\\(\\d{1,2}\\)\\s?)?\\+?\\s?(?:(?:-|–|to|or|bis|à|a)\\s?\\d{1,2}\\s?\\+?\\s?)?(?:or more |oder mehr )?(?<unit>years?|yrs?|months?|jahren?|jahre|monate?n?|ans|années|mois|años|meses|anni|mesi|anos|jaar|maanden)(?:['’]s?)?(?=[^.;\\n]{0,60}(?:experience|background|track record|working|berufserfahrung|erfahrung|expérience|experiencia|esperienza|experiência|ervaring)|\\s+(?:in|with|as|of)\\b)`,
  'giu',
);

/** The least experience that the text asks for, in months; of several figures the largest that is asked for overall. */
export function findExperience(text: string): Found<number> | null {
  let best: Found<number> | null = null;
  for (const match of text.matchAll(YEARS_OF_EXPERIENCE)) {
    const raw = (match.groups?.low ?? '').toLowerCase();
    const count = NUMBER_WORDS[raw] ?? Number(raw);
    const isMonths = /^(?:month|monat|mois|mes|maand)/i.test(match.groups?.unit ?? '');
    const value = isMonths ? count : count * 12;
    if (value === 0 || value > 300) continue;
    const before = text.slice(Math.max(0, match.index - 40), match.index);
    if (/\b(?:our|company|founded|over the (?:last|past)|for more than|since|seit über)\s*$/i.test(before))
      continue;
    if (best === null || value > best.value) best = foundAt(match, value);
  }
  return best;
}

const CURRENCIES: readonly (readonly [RegExp, string])[] = [
  [/CA\$|C\$|CAD/i, 'CAD'],
  [/AU\$|A\$|AUD/i, 'AUD'],
  [/US\$|USD|\$|dollars?/i, 'USD'],
  [/€|EUR|euros?/i, 'EUR'],
  [/£|GBP|pounds?/i, 'GBP'],
  [/₹|INR|Rs\.?|lakhs?|LPA/i, 'INR'],
  [/CHF|Fr\./i, 'CHF'],
  [/¥|JPY/i, 'JPY'],
  [/SEK/i, 'SEK'],
  [/NOK/i, 'NOK'],
  [/DKK/i, 'DKK'],
  [/PLN|zł/i, 'PLN'],
  [/R\$|BRL/i, 'BRL'],
  [/AED/i, 'AED'],
  [/SGD|S\$/i, 'SGD'],
  [/KES|KSh/i, 'KES'],
  [/NGN|₦/i, 'NGN'],
];

const MONEY =
  '(?:CA\\$|AU\\$|US\\$|C\\$|A\\$|R\\$|S\\$|\\$|€|£|₹|¥|₦|USD|EUR|GBP|INR|Rs\\.?|CHF|CAD|AUD|SEK|NOK|DKK|PLN|BRL|AED|SGD|KES|NGN|JPY)';
const FIGURE = "\\d{1,3}(?:[.,\u00a0\u2009' ]\\d{3})+(?:[.,]\\d{1,2})?|\\d{1,7}(?:[.,]\\d{1,2})?";
const SCALE = '(?: ?(?:k|K|tsd\\.?|thousand|lakhs?|lacs?|LPA|m))?\\b';
const UNIT =
  "(?:\\s?(?:/|per|an?|pro|par|por|all['’]?|per il|p\\.? ?)\\s?(?:hour|hr|h|day|week|wk|month|mo|year|yr|annum|a\\.|stunde|tag|woche|monat|jahr|heure|jour|semaine|mois|an|hora|día|semana|mes|año|ora|giorno|settimana|mese|anno|ano|mês|uur|maand|jaar)|\\s?(?:hourly|daily|weekly|monthly|yearly|annually|annual|p\\.a\\.|pa|p\\.m\\.|jährlich|monatlich|brutto/jahr|brut annuel|bruto))?";
const AMOUNT = new RegExp(
  `(?<c1>${MONEY})?\\s?(?<low>${FIGURE})(?<k1>${SCALE})(?:\\s?(?<c2>${MONEY}))?(?<u1>${UNIT})(?:\\s?(?:-|–|—|to|bis|à|a|y|and|até|tot)\\s?(?<c3>${MONEY})?\\s?(?<high>${FIGURE})(?<k2>${SCALE})(?:\\s?(?<c4>${MONEY}))?)?(?<u2>${UNIT})`,
  'giu',
);
const SALARY_WORDS =
  /\b(?:salary|compensation|pay|wage|remuneration|rate|ctc|package|gehalt|vergütung|lohn|salaire|rémunération|salario|sueldo|retribuzione|stipendio|ral|salário|remuneração|salaris|loon|earn)\b/i;
const NO_SALARY =
  /\b(?:revenue|funding|raised|turnover|customers|budget|sales of|million|billion|bonus of|sign-on|referral|stipend for|allowance)\b/i;

const SALARY_UNIT_WORDS: readonly (readonly [RegExp, SalaryUnit])[] = [
  [/hour|hr|\/\s?h\b|stunde|heure|hora|\bora\b|uur/i, 'HOUR'],
  [/day|tag|jour|día|giorno|daily/i, 'DAY'],
  [/week|wk|woche|semaine|semana|settimana/i, 'WEEK'],
  [/month|\bmo\b|monat|mois|\bmes\b|mese|mês|maand|p\.m\./i, 'MONTH'],
  [/year|yr|annu|jahr|jähr|\ban\b|año|anno|\bano\b|jaar|p\.a|\bpa\b|a\./i, 'YEAR'],
];

/** The first sum of money that is a pay: with a currency and a unit, a word for pay before it, or the size of one. */
export function findSalary(text: string): Found<NonNullable<Posting['baseSalary']>> | null {
  for (const match of text.matchAll(AMOUNT)) {
    const groups = match.groups ?? {};
    const money = groups.c1 ?? groups.c2 ?? groups.c3 ?? groups.c4;
    const lakh = /lakh|lac|lpa/i.test(`${groups.k1}${groups.k2}`);
    const before = text.slice(Math.max(0, match.index - 80), match.index);
    const around = `${before.slice(-40)}${text.slice(match.index, match.index + match[0].length + 25)}`;
    const unitText = `${groups.u1 ?? ''} ${groups.u2 ?? ''}`;
    const unit = SALARY_UNIT_WORDS.find(([pattern]) => pattern.test(unitText))?.[1] ?? null;
    const isNamed = SALARY_WORDS.test(before);
    if ((money === undefined && !lakh && !isNamed) || NO_SALARY.test(around)) continue;
    const low = amountOf(groups.low ?? '', `${groups.k1 ?? ''}` || (groups.k2 ?? ''));
    const high = groups.high === undefined ? null : amountOf(groups.high, groups.k2 ?? '');
    if (low === null || low <= 0 || (high !== null && high < low)) continue;
    if (unit === null && !isNamed && (high ?? low) < 10_000) continue;
    if (money === undefined && !lakh && (unit === null || (high ?? low) < 100)) continue;
    const currency = CURRENCIES.find(([pattern]) => pattern.test(money ?? (lakh ? 'INR' : '')))?.[1] ?? null;
    const isFrom = /\b(?:from|starting at|ab|à partir de|desde|a partire da|vanaf)\s*$/i.test(before);
    const isUpTo = /\b(?:up to|bis zu|jusqu['’]à|hasta|fino a|até|tot)\s*$/i.test(before);
    const top = high ?? (isFrom ? null : low);
    const value = {
      currency,
      minValue: isUpTo ? null : low,
      maxValue: top,
      unitText: unit ?? unitBySize(top ?? low),
    };
    const lead = match[0].length - match[0].trimStart().length;
    return { value, start: match.index + lead, end: match.index + match[0].trimEnd().length };
  }
  return null;
}

function amountOf(figure: string, scale: string): number | null {
  const plain = figure.replace(/[\u00a0\u2009' ]/g, '');
  const isGrouped = /[.,]\d{3}(?:[.,]|$)/.test(plain);
  const digits = isGrouped
    ? plain.replace(/[.,](?=\d{3}(?:\D|$))/g, '').replace(',', '.')
    : plain.replace(',', '.');
  const value = Number(digits);
  if (!Number.isFinite(value)) return null;
  if (/lakh|lac|lpa/i.test(scale)) return Math.round(value * 100_000);
  if (/k|tsd|thousand/i.test(scale)) return Math.round(value * 1000);
  return value;
}

function unitBySize(value: number): SalaryUnit | null {
  if (value >= 12_000) return 'YEAR';
  if (value >= 1200) return 'MONTH';
  return value <= 300 ? 'HOUR' : null;
}

function foundAt<Value>(match: RegExpExecArray, value: Value): Found<Value> {
  return { start: match.index, end: match.index + match[0].length, value };
}
