/** How numbers, times, names and recorded values are formatted on all pages. */
const creditForm = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 6 });
const countForm = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });
const msForm = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
/** In the browser's time zone, with its name. */
const exactForm = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long' });
const dayForm = new Intl.DateTimeFormat('en', { dateStyle: 'medium' });
const utcDayForm = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' });
const clockForm = new Intl.DateTimeFormat('en', {
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3, hourCycle: 'h23' },
});
/** “In 1 day”, not “tomorrow”: 30 hours from now may be two days ahead. */
const relativeForm = new Intl.RelativeTimeFormat('en', { numeric: 'always' });
const UNITS = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;
const DURATION_UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const;

export function credits(amount: number): string {
  return creditForm.format(amount);
}

const roundedForm = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** For figures that are read at a glance. Amounts below one credit keep every digit. */
export function roundedCredits(amount: number): string {
  return Math.abs(amount) < 1 ? credits(amount) : roundedForm.format(amount);
}

/**
 * A sentence from a log in readable form: amounts in credits, times in the browser's time zone, ids shortened to their
 * end.
 */
export function readable(sentence: string): string {
  return sentence
    .replaceAll(
      /(-?\d+) micro-credits/g,
      (_, micro: string) => `${credits(Number(micro) / 1_000_000)} credits`,
    )
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (at) => exact(at))
    .replaceAll(/[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{6}([\da-f]{6})/g, '…$1');
}

export function count(amount: number): string {
  return countForm.format(amount);
}

/** “1 day”, “1,000 days”. */
export function counted(amount: number, one: string, several = `${one}s`): string {
  return `${count(amount)} ${amount === 1 ? one : several}`;
}

export interface PriceFactor {
  readonly field: string;
  readonly value: string;
  readonly factor: number;
}

/** What tiers of a provider cost: “service_tier priority × 2”. */
export function factorWords(factors: readonly PriceFactor[]): string {
  return factors.map(({ field, value, factor }) => `${field} ${value} × ${factor}`).join(', ');
}

interface Price {
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
  readonly cacheWrite: number | null;
}

/** In credits for a million tokens. */
export function priceWords({ prompt, cached, completion, cacheWrite }: Price): string {
  const words = `${credits(prompt)} in, ${credits(cached)} cached, ${credits(completion)} out`;
  return cacheWrite === null ? words : `${words}, ${credits(cacheWrite)} written to the cache`;
}

export function money(amount: number, currency: string): string {
  return new Intl.NumberFormat('en', { style: 'currency', currency: currency.toUpperCase() }).format(amount);
}

export function relative(moment: string, nowMs: number): string {
  const seconds = (Date.parse(moment) - nowMs) / 1_000;
  for (const [at, [unit, length]] of UNITS.entries()) {
    // 59 minutes and 40 seconds are rounded to an hour, not to 60 minutes.
    const [, lesserLength] = UNITS[at + 1] ?? ['second', 1];
    if (Math.abs(seconds) < length - lesserLength / 2) continue;
    return relativeForm.format(Math.round(seconds / length), unit);
  }
  return seconds > 0 ? 'in a moment' : 'just now';
}

/** Negative for times in the past. */
export function secondsUntil(moment: string): number {
  return (Date.parse(moment) - Date.now()) / 1_000;
}

/** A duration in its two largest units: 42 s, 3 min 5 s, 2 d 4 h. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  for (const [at, [unit, length]] of DURATION_UNITS.entries()) {
    if (whole < length) continue;
    const [lesser, lesserLength] = DURATION_UNITS[at + 1] ?? ['s', 1];
    const rest = Math.floor((whole % length) / lesserLength);
    return `${Math.floor(whole / length)} ${unit}${rest === 0 ? '' : ` ${rest} ${lesser}`}`;
  }
  return `${whole} s`;
}

/** A latency: 850 ms, 2.4 s. */
export function latency(ms: number): string {
  return ms < 1_000 ? `${msForm.format(ms)} ms` : `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

export function exact(at: string): string {
  return exactForm.format(new Date(at));
}

/** The day alone, for documents such as invoices. */
export function day(at: string): string {
  return dayForm.format(new Date(at));
}

/** For what begins and ends at midnight UTC, such as the month of a budget. */
export function utcDay(at: string): string {
  return utcDayForm.format(new Date(at));
}

/** The time of day with milliseconds, in the browser's time zone. */
export function clockTime(at: string): string {
  return clockForm.format(new Date(at));
}

/** SUBSCRIPTION_GRANT becomes “Subscription grant”, and creditLimit “Credit limit”. */
export function spoken(name: string): string {
  const words = name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
    .replaceAll(/\b(?:api|cv|ip|totp|url)\b/g, (one) => one.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const ID = '[\\da-f]{8}-(?:[\\da-f]{4}-){3}[\\da-f]{12}';
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;

export const isUuid = (text: string) => new RegExp(`^${ID}$`).test(text);

/** Splits a text at its ids; every second part is an id. */
export const partsByIds = (text: string) => text.split(new RegExp(`(${ID})`));

/** The label of a recorded field: `talentId` is “Talent”, and `excessMicro`, which is shown in credits, is “Excess”. */
export function fieldLabel(name: string): string {
  return spoken(name.replace(/(Id|Micro)$/, ''));
}

/** A recorded value in words: lists are separated by commas, and objects are listed as names and values. */
export function fieldWords(name: string, value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (name.endsWith('Micro') && /^-?\d+$/.test(String(value))) {
    return `${credits(Number(value) / 1_000_000)} credits`;
  }
  if (typeof value === 'string' && TIME.test(value)) return exact(value);
  if (typeof value !== 'object') return readable(String(value));
  if (Array.isArray(value)) return value.map((one) => fieldWords('', one)).join(', ');
  return Object.entries(value)
    .map(([inner, inside]) => `${fieldLabel(inner)}: ${fieldWords(inner, inside)}`)
    .join('; ');
}
