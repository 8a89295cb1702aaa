import type { Posting, SalaryUnit } from '../parsed-posting.ts';

export interface FoundSalary {
  readonly value: NonNullable<Posting['baseSalary']>;
  readonly start: number;
  readonly end: number;
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
const WORDS =
  /\b(?:salary|compensation|pay|wage|remuneration|rate|ctc|package|gehalt|vergütung|lohn|salaire|rémunération|salario|sueldo|retribuzione|stipendio|ral|salário|remuneração|salaris|loon|earn)\b/i;
const NO_SALARY =
  /\b(?:revenue|funding|raised|turnover|customers|budget|sales of|million|billion|bonus of|sign-on|referral|stipend for|allowance)\b/i;

const UNITS: readonly (readonly [RegExp, SalaryUnit])[] = [
  [/hour|hr|\/\s?h\b|stunde|heure|hora|\bora\b|uur/i, 'HOUR'],
  [/day|tag|jour|día|giorno|daily/i, 'DAY'],
  [/week|wk|woche|semaine|semana|settimana/i, 'WEEK'],
  [/month|\bmo\b|monat|mois|\bmes\b|mese|mês|maand|p\.m\./i, 'MONTH'],
  [/year|yr|annu|jahr|jähr|\ban\b|año|anno|\bano\b|jaar|p\.a|\bpa\b|a\./i, 'YEAR'],
];

/** The first sum of money that is a pay: with a currency and a unit, a word for pay before it, or the size of one. */
export function findSalary(text: string): FoundSalary | null {
  for (const match of text.matchAll(AMOUNT)) {
    const groups = match.groups ?? {};
    const money = groups.c1 ?? groups.c2 ?? groups.c3 ?? groups.c4;
    const lakh = /lakh|lac|lpa/i.test(`${groups.k1}${groups.k2}`);
    const before = text.slice(Math.max(0, match.index - 80), match.index);
    const around = `${before.slice(-40)}${text.slice(match.index, match.index + match[0].length + 25)}`;
    const unitText = `${groups.u1 ?? ''} ${groups.u2 ?? ''}`;
    const unit = UNITS.find(([pattern]) => pattern.test(unitText))?.[1] ?? null;
    const isNamed = WORDS.test(before);
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
