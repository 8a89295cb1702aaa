import type { Posting, SalaryUnit } from '../parsed-document.ts';
import type { Found } from '../text/tokens.ts';

type Pay = NonNullable<Posting['baseSalary']>;

/** The signs of a currency, before or after a figure. Longer signs are tried first. */
const CURRENCY_SIGNS: Readonly<Record<string, string>> = {
  CAD: 'CA$ C$ CAD CDN',
  AUD: 'AU$ A$ AUD',
  NZD: 'NZ$ NZD',
  HKD: 'HK$ HKD',
  SGD: 'S$ SGD',
  BRL: 'R$ BRL reais',
  USD: 'US$ $ USD dollars dollar',
  EUR: '€ TEUR EUR euros euro',
  GBP: '£ GBP pounds',
  INR: '₹ INR Rs. Rs rupees',
  CHF: 'CHF Fr. SFr.',
  JPY: '¥ JPY yen',
  SEK: 'SEK',
  NOK: 'NOK',
  DKK: 'DKK',
  PLN: 'PLN zł złotych',
  CZK: 'CZK Kč',
  HUF: 'HUF Ft',
  RON: 'RON lei',
  TRY: 'TRY ₺',
  ZAR: 'ZAR R',
  AED: 'AED',
  SAR: 'SAR',
  ILS: 'ILS ₪',
  MXN: 'MXN',
  KES: 'KES KSh',
  NGN: 'NGN ₦',
  PHP: 'PHP ₱',
};
const CURRENCY_OF = new Map(
  Object.entries(CURRENCY_SIGNS).flatMap(([code, signs]) =>
    signs.split(' ').map((sign) => [sign.toLowerCase(), code] as const),
  ),
);
/** Signs that are also words or names ("try", "PHP"): they need capitals, and a unit or a word for pay. */
const ALSO_WORDS = /^(?:try|php|ron|sar|ils|zar|r|lei|ft|yen|rs)$/i;
const escaped = (sign: string) => sign.replace(/[$.]/g, '\\$&');
/** A sign of letters must not be part of a word: "3 Ft" has one, "3 Ftx" does not. */
const MONEY = `(?:${[...CURRENCY_OF.keys()]
  .sort((one, other) => other.length - one.length)
  .map((sign) => (/^\p{L}/u.test(sign) ? `(?<!\\p{L})${escaped(sign)}` : escaped(sign)))
  .map((sign) => (/\p{L}$/u.test(sign) ? `${sign}(?!\\p{L})` : sign))
  .join('|')})`;

const FIGURE =
  "(?<![\\d.,])(?:\\d{1,2}(?:,\\d{2})+,\\d{3}(?!\\d)|\\d{1,3}(?:[.,\u00a0\u2009\u202f'’ ]\\d{3})+(?:[.,]\\d{1,2})?|\\d{1,7}(?:[.,]\\d{1,2})?)(?![\\d])(?:[.,][-–—]{1,2})?";
const SCALE =
  '(?:[ \\t\u00a0]?(?:k|t(?=[ \\t]?(?:€|eur))|tsd\\.?|thousand|mila|mil|lakhs?|lacs?|lpa)(?!\\p{L}))?';
/** Words between an amount and its unit: gross, net, before tax. */
const GROSS =
  '(?:[ /\\t]?[ \\t\u00a0]?\\(?(?:gross|net|brutto|netto|bruttó|brut|nets?|brutos?|brute|bruts|bruto|lord[oiae]|nett[oiae]|net[oa]s?|before tax|base|ote|doe|plus bonus)\\)?\\.?(?!\\p{L}))?';
const HOUR = 'hours?|hrs?|h|std|stunde|heures?|hora|ora|uur|godz|timme|tim|oră|óra|hod';
const DAY = 'days?|tag|jour|día|dia|giorno|dag';
const WEEK = 'weeks?|wk|woche|semaine|semana|settimana';
const MONTH =
  'months?|mo|mth|pcm|monat|mois|mes|mese|mês|maand|miesiąc|mies|mån|månad|måned|lună|hó|hónap|měsíc';
const YEAR = 'years?|yr|annum|jahr|an|año|anno|ano|jaar|rok|år';
const UNIT_BEHIND = `(?:[ \\t\u00a0]?(?:/|per|an?|pro|par|por|each|im|al|die|de|la|pe|na|za|i|à l['’]|all['’]|l['’]|p)[ \\t\u00a0]?\\.?/?[ \\t\u00a0]?(?:${[HOUR, DAY, WEEK, MONTH, YEAR].join('|')})(?!\\p{L})|[ \\t\u00a0]?(?:hourly|daily|weekly|monthly|yearly|annually|annual|p\\.[ \\t\u00a0]?a\\.?|pa|p\\.[ \\t\u00a0]?m\\.?|pcm|ph|p/h|p\\.[ \\t\u00a0]?h\\.?|pd|jährlich|monatlich|stündlich|stundenlohn|täglich|annuels?|mensuels?|anuales|anual|mensuales|mensual|annui|annuo|mensili|mensile|annue|miesięcznie|rocznie|měsíčně|ročně|lpa)(?!\\p{L}))?`;
/** An amount from its first figure on. The currency before it is searched separately, so that only figures take time. */
const AMOUNT = new RegExp(
  `(?<low>${FIGURE})(?<k1>${SCALE})(?<plus>\\+)?(?:[ \\t\u00a0]?(?<c2>${MONEY}))?(?<gross>${GROSS})(?<u1>${UNIT_BEHIND})(?:[ \\t\u00a0]?(?:-|–|—|(?:(?:rising|increasing|up) )?to|bis|à|a|al|y|and|und|et|en|e|até|tot|do)[ \\t\u00a0]?(?:(?<c3>${MONEY})(?:[ \\t\u00a0]?${MONEY})?)?[ \\t\u00a0]?(?<high>${FIGURE})(?<k2>${SCALE})(?:[ \\t\u00a0]?(?<c4>${MONEY}))?)?(?<gross2>${GROSS})(?<u2>${UNIT_BEHIND})`,
  'iuy',
);

const FIGURES = new RegExp(FIGURE, 'gu');
const MONEY_BEFORE = new RegExp(`(?<c1>${MONEY})[ \\t\u00a0]?(?:${MONEY}[ \\t\u00a0]?)?$`, 'iu');
const LONGEST_MONEY = 16;

/** The unit of an amount, by the words after it, and by words for pay before it ("hourly rate: £20"). */
const UNITS_BEHIND: readonly (readonly [RegExp, SalaryUnit])[] = [
  [
    new RegExp(`(?:^|[^\\p{L}])(?:${HOUR}|hourly|ph|p/h|stündlich|stundenlohn)(?!\\p{L})|p\\.\\s?h`, 'iu'),
    'HOUR',
  ],
  [new RegExp(`(?:^|[^\\p{L}])(?:${DAY}|daily|pd|täglich)(?!\\p{L})`, 'iu'), 'DAY'],
  [new RegExp(`(?:^|[^\\p{L}])(?:${WEEK}|weekly)(?!\\p{L})`, 'iu'), 'WEEK'],
  [
    new RegExp(
      `(?:^|[^\\p{L}])(?:${MONTH}|monthly|monatlich|mensuels?|mensuale?s?|mensil[ie]|miesięcznie|měsíčně)(?!\\p{L})|p\\.\\s?m`,
      'iu',
    ),
    'MONTH',
  ],
  [
    /year|yr|annu|anual|jahr|jähr|(?:^|[^\p{L}])an(?!\p{L})|año|anno|ano|jaar|rok|rocznie|ročně|(?:^|[^\p{L}])år(?!\p{L})|p\.\s?a|pa|lpa/iu,
    'YEAR',
  ],
];
const UNITS_BEFORE: readonly (readonly [RegExp, SalaryUnit])[] = [
  [/hourly|stundenlohn|taux horaire|por hora|uurloon|per hour|an hour/iu, 'HOUR'],
  [/daily rate|day rate|tagessatz|tjm\b|dagtarief|per day/iu, 'DAY'],
  [/weekly (?:pay|rate|wage)/iu, 'WEEK'],
  [
    /monthly|monatlich|monatsgehalt|mensuel|mensual|mensile|maandsalaris|per month|miesięczn\p{L}+/iu,
    'MONTH',
  ],
  [
    /annual|yearly|per year|jahresgehalt|jahreslohn|jährlich|annuelle?|anual|annua|\bRAL\b|\bCTC\b|\bOTE\b|jaarsalaris/iu,
    'YEAR',
  ],
];

const PAY_WORDS =
  /(?<!\p{L})(?:salary|salaries|compensation|pay|paid|pays|wages?|remuneration|rate|ctc|ote|package|gehalt|vergütung|lohn|stundenlohn|bezahlung|salaire|rémunération|salario|sueldo|retribuzione|stipendio|ral|compenso|salário|remuneração|vencimento|salaris|loon|uurloon|earn|earnings|jahreslohn|monatslohn|wynagrodzenie|stawka)(?!\p{L})/iu;
/** Amounts that are not pay, by the words before and right after them. */
const NO_PAY_BEFORE =
  /(?<!\p{L})(?:revenue|funding|raised|raise|turnover|customers|users|budget|sales of|million|millionen|billion|bonus of|sign-?on|referral|stipend for|allowance|contribution|contribute|reimburse\p{L}*|relocation|worth|invest\p{L}*|grant|donat\p{L}*|portfolio of|assets of|prize|fee)(?!\p{L})(?:[^.,;\n]|[.,](?=\d)){0,40}$/iu;
const NO_PAY_BEHIND =
  /^[^.,;\n]{0,3}(?:(?:a|per) (?:user|customer)|in (?:revenue|funding|sales|assets|seed)|(?:of |total )?(?:revenue|funding|budget|turnover|customers|users|followers|students|employees|mitarbeiter)|sign-?on|referral|for our|last year|seed|series [a-e]|million|billion)(?!\p{L})/iu;
/** A price per piece: a translated word, a driven mile. */
const PIECE =
  /^\s?(?:\/|per|a|each|pro|par|por)\s?(?:word|piece|unit|mile|km|page|item|delivery|drop|lesson|call|user|wort|stück|seite|mot|palabra|parola|m²|employee|person)(?!\p{L})/iu;
const MILLIONS = /^\s?(?:m|mn|mio|bn|million|billion|milliarden|millionen)(?!\p{L})/iu;
/** The American pension plan of that name. */
const PENSION = /^40[13]\s?\(?k/i;
/** "60–75 (USD, in thousands)" and "Salary (£000s): 60–75". */
const IN_THOUSANDS = new RegExp(
  `^\\s*\\(?(?:(?:in )?(?<money>${MONEY}),?\\s*)?in (?:thousands?|tausend|milliers|miles|migliaia)(?!\\p{L})(?: of (?<unit>${MONEY}))?`,
  'iu',
);
const IN_THOUSANDS_BEFORE = new RegExp(
  `(?:(?<money>${MONEY})(?:[ '’]?000s?|,? in thousands?)|in thousands?)\\)?\\s*[:–-]?\\s*$`,
  'iu',
);
const FROM_BEFORE =
  /(?:from|starting (?:at|from)|start at|at least|minimum(?: of)?|min\.?|ab|mindestens|à partir de|dès|desde|a partir de|a partire da|da|vanaf|od)\s*(?:c\.|ca\.)?\s*$|(?<!\p{L})(?:minimum|kv-?minimum|(?:kv-?)?mindest\p{L}+)(?:\s\p{L}+){1,4}:?\s*$/iu;
const UP_TO_BEFORE =
  /(?:up to|upto|max(?:imum)?\.?(?: of)?|bis zu|jusqu['’]à|hasta|fino a|até|tot|do)\s*(?:c\.|ca\.)?\s*$/iu;
const FROM_BEHIND = /^(?:\+|\s?(?:and (?:up|above)|or more|aufwärts))/iu;

/** The country of a bare dollar sign, if the text names only one. */
const DOLLARS: readonly (readonly [RegExp, string])[] = [
  [/(?<!\p{L})Australia(?!\p{L})|,\s(?:NSW|QLD|VIC|TAS|ACT)(?!\p{L})/u, 'AUD'],
  [/(?<!\p{L})Canada(?!\p{L})|,\s(?:ON|BC|AB|QC|MB|SK|NS|NB)(?!\p{L})/u, 'CAD'],
  [/(?<!\p{L})New Zealand(?!\p{L})/u, 'NZD'],
  [/(?<!\p{L})Singapore(?!\p{L})/u, 'SGD'],
  [/(?<!\p{L})Hong Kong(?!\p{L})/u, 'HKD'],
];
const OF_USA =
  /(?<!\p{L})(?:USA?|U\.S\.A?|United States|America)(?!\p{L})|,\s(?:AL|AK|AZ|AR|CA|CO|CT|DE|DC|FL|GA|HI|ID|IL|IN|IA|KS|KY|LA|ME|MD|MA|MI|MN|MS|MO|MT|NE|NV|NH|NJ|NM|NY|NC|ND|OH|OK|OR|PA|RI|SC|SD|TN|TX|UT|VT|VA|WV|WI|WY)(?!\p{L})/u;
const PLUS_SUPER = /^\s*(?:\+|plus|and)\s*super(?:annuation)?(?!\p{L})/iu;
const COUNTRY_REACH = 20_000;

/** The currencies in which the size of an amount indicates its unit. */
const SIZED: ReadonlySet<string | null> = new Set(['USD', 'EUR', 'GBP', 'CHF', 'CAD', 'AUD', null]);
/** A higher annual pay is a mistake or something else. */
const MOST_PAY = 2_000_000;
const BEFORE = 80;

/** The first amount of money that is pay: with a currency and a unit, a word for pay before it, or a plausible size. */
export function findSalary(text: string): Found<Pay> | null {
  for (const { index } of text.matchAll(FIGURES)) {
    AMOUNT.lastIndex = index;
    const match = AMOUNT.exec(text);
    if (match === null) continue;
    const sign = MONEY_BEFORE.exec(text.slice(Math.max(0, index - LONGEST_MONEY), index));
    const start = index - (sign?.[0].length ?? 0);
    const value = payOf(text, { match, start, sign: sign?.groups?.c1 });
    if (value === null) continue;
    const end = index + match[0].trimEnd().length;
    const isBare = value.currency === 'USD' && !/USD|US\$|dollar/i.test(text.slice(start, end));
    const dollar = isBare ? dollarOf(text, text.slice(end, end + 30)) : undefined;
    return { value: dollar === undefined ? value : { ...value, currency: dollar }, start, end };
  }
  return null;
}

interface Sum {
  readonly match: RegExpExecArray;
  /** Including the currency before the figure. */
  readonly start: number;
  readonly sign: string | undefined;
}

function payOf(text: string, { match, start, sign: c1 }: Sum): Pay | null {
  const {
    c2,
    c3,
    c4,
    low: lowText = '',
    high: highText,
    k1 = '',
    k2 = '',
    u1 = '',
    u2 = '',
    plus,
    gross,
    gross2,
  } = match.groups ?? {};
  const end = match.index + match[0].length;
  const before = lineBefore(text, start);
  const behind = text.slice(end, end + 30).split('\n')[0] ?? '';
  const thousands = IN_THOUSANDS.exec(behind) ?? IN_THOUSANDS_BEFORE.exec(before);
  if (NO_PAY_BEFORE.test(before.slice(-60)) || NO_PAY_BEHIND.test(behind)) return null;
  if (PIECE.test(behind) || MILLIONS.test(behind) || PENSION.test(match[0])) return null;
  const isLakh = /lakh|lac|lpa/i.test(`${k1}${k2}${u1}${u2}`);
  // "$120,000 CAD": the letters name the dollar's country.
  const code = [c2, c4].find((one) => one !== undefined && /^\p{L}{3}$/u.test(one));
  const sign =
    (c1 === '$' ? code : undefined) ??
    c1 ??
    c2 ??
    c3 ??
    c4 ??
    thousands?.groups?.money ??
    thousands?.groups?.unit;
  const currency =
    sign === undefined ? (isLakh ? 'INR' : null) : (CURRENCY_OF.get(sign.toLowerCase()) ?? null);
  const scale = isLakh ? 'lpa' : thousands === null && !/^teur$/i.test(sign ?? '') ? '' : 'k';
  const sides = rangeOf(
    amountOf(lowText, k1 || (highText === undefined ? '' : k2) || scale),
    highText === undefined ? null : amountOf(highText, k2 || scale),
  );
  if (sides === null) return null;
  const { low, high } = sides;
  const said =
    unitIn(`${u1} ${u2}`, UNITS_BEHIND) ?? (isLakh ? 'YEAR' : unitIn(before.slice(-40), UNITS_BEFORE));
  const isNamed = PAY_WORDS.test(before) || `${gross ?? ''}${gross2 ?? ''}` !== '';
  const top = high ?? low;
  const isThousands = /k/i.test(`${k1}${k2}${scale}`) && top >= 12_000 && top < 1_000_000;
  if (
    sign !== undefined &&
    ALSO_WORDS.test(sign) &&
    ((sign === sign.toLowerCase() && !/^(?:lei|rs)$/.test(sign)) || (said === null && !isNamed))
  )
    return null;
  if (currency === null && !isPayWithoutCurrency({ said, isNamed, isThousands, top, behind })) return null;
  if (said === null && !isNamed && top < 10_000) return null;
  if (SIZED.has(currency) && top > MOST_PAY) return null;
  const isOpenAbove =
    high === null && (plus !== undefined || FROM_BEFORE.test(before) || FROM_BEHIND.test(behind));
  const isOpenBelow = high === null && UP_TO_BEFORE.test(before);
  return {
    currency,
    minValue: isOpenBelow ? null : low,
    maxValue: isOpenAbove && !isOpenBelow ? null : top,
    unitText: said ?? (SIZED.has(currency) ? unitBySize(top) : null),
  };
}

function dollarOf(text: string, behind: string): string | undefined {
  if (PLUS_SUPER.test(behind)) return 'AUD';
  const sample = text.slice(0, COUNTRY_REACH);
  const named = DOLLARS.filter(([pattern]) => pattern.test(sample));
  return named.length === 1 && !OF_USA.test(sample) ? named[0]?.[1] : undefined;
}

function rangeOf(first: number | null, second: number | null): { low: number; high: number | null } | null {
  if (first === null || first <= 0) return null;
  if (second === null) return { low: first, high: null };
  // "$120-180,000" is in thousands on both sides.
  const low = first < 1000 && second >= 10_000 && first * 1000 <= second ? first * 1000 : first;
  // "£20 - 3 shifts": a smaller figure after a dash is something else.
  return { low, high: second >= low ? second : null };
}

/** "50-60k" at the end of a clause, "Salary: 45,000", "Pay: 20 per hour": figures that are clear without a currency. */
function isPayWithoutCurrency(sum: {
  readonly said: SalaryUnit | null;
  readonly isNamed: boolean;
  readonly isThousands: boolean;
  readonly top: number;
  readonly behind: string;
}): boolean {
  const { said, isNamed, isThousands, top, behind } = sum;
  if (isThousands) return isNamed || said !== null || /^\s*(?:$|[.,;)|!/–-]|doe\b|ote\b)/i.test(behind);
  return isNamed && ((said !== null && top >= 5) || top >= 10_000);
}

/** The words before an amount on its line; a label may be on the line above. */
function lineBefore(text: string, at: number): string {
  const before = text.slice(Math.max(0, at - BEFORE), at);
  const lines = before.split('\n');
  const own = lines.at(-1) ?? '';
  return own.trim() === '' ? (lines.at(-2) ?? '') : own;
}

function unitIn(words: string, units: typeof UNITS_BEHIND): SalaryUnit | null {
  return units.find(([pattern]) => pattern.test(words))?.[1] ?? null;
}

function amountOf(figure: string, scale: string): number | null {
  const spaced = figure.replace(/[.,][-–—]{1,2}$/, '').replace(/[\u00a0\u2009\u202f'’ ]/g, '');
  // "6,00,000", as written in India.
  const plain = /^\d{1,2}(?:,\d{2})+,\d{3}$/.test(spaced) ? spaced.replace(/,/g, '') : spaced;
  const isGrouped = /[.,]\d{3}(?:[.,]|$)/.test(plain);
  const digits = isGrouped
    ? plain.replace(/[.,](?=\d{3}(?:\D|$))/g, '').replace(',', '.')
    : plain.replace(',', '.');
  const value = Number(digits);
  if (!Number.isFinite(value)) return null;
  if (/lakh|lac|lpa/i.test(scale)) return Math.round(value * 100_000);
  // "€60-75k" is in thousands on both sides; "60,000-75k" only on one.
  if (/k|t|mila?/i.test(scale)) return value >= 1000 ? value : Math.round(value * 1000);
  return value;
}

function unitBySize(value: number): SalaryUnit | null {
  if (value >= 12_000) return 'YEAR';
  if (value >= 1200) return 'MONTH';
  return value <= 300 ? 'HOUR' : null;
}
