import type { Amount } from './fields.ts';

const MICRO = 1_000_000n;
const DAY = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', dateStyle: 'long' });
const TIME = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', timeStyle: 'short' });

/** `EUR 1,200.00`: the code, because a sign alone does not say whose dollar it is. */
export function inMoney({ value, currency }: Amount): string {
  const [whole = '0', fraction] = value.split('.');
  const rest = fraction === undefined ? '' : `.${fraction}`;
  return `${currency.toUpperCase()} ${grouped(whole)}${rest}`;
}

/** `1,200.5 credits`, exactly. */
export function inCredits(micro: string): string {
  const all = BigInt(micro);
  const size = all < 0n ? -all : all;
  const fraction = String(size % MICRO)
    .padStart(6, '0')
    .replace(/0+$/, '');
  const number = `${all < 0n ? '-' : ''}${grouped(String(size / MICRO))}${fraction === '' ? '' : `.${fraction}`}`;
  return `${number} ${number === '1' ? 'credit' : 'credits'}`;
}

export function onDay(moment: string): string {
  return DAY.format(new Date(moment));
}

export function atTime(moment: string): string {
  const date = new Date(moment);
  return `${DAY.format(date)}, ${TIME.format(date)} UTC`;
}

export function count(number: number, one: string, many: string): string {
  return `${grouped(String(number))} ${number === 1 ? one : many}`;
}

function grouped(digits: string): string {
  return digits.replace(/\B(?=(?:\d{3})+$)/g, ',');
}
