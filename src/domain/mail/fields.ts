import { z } from 'zod';
import { creditsOfMicro } from '../credits/ledger/credit-account.ts';

/**
 * The fields of mail data. Each accepts its own output and returns it unchanged: data is parsed when the mail is queued
 * and again when it is written.
 */

const NAME_CHARACTERS = 120;
const LINE_CHARACTERS = 400;
const LINK_CHARACTERS = 2_048;
const WORD_JOINER = '\u2060';
/** Control characters, all line breaks, and characters that change the writing direction of the rest of a line. */
const NOT_IN_A_LINE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu;
const ADDRESS = /^[^\s<>()[\]\\,;:"@]{1,64}@[^\s<>()[\]\\,;:"@]{1,253}$/u;
const MAX_ADDRESS_CHARACTERS = 254;

/** Rejects addresses that could contain another header, another recipient or a display name. */
export const mailAddress = z
  .string()
  .max(MAX_ADDRESS_CHARACTERS)
  .regex(ADDRESS)
  .refine((text) => text.isWellFormed() && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text));

/** A name that people gave: of a company, a plan, a key or a person. */
export const name = line(NAME_CHARACTERS);
/** A short text of a third party, such as a provider's reason. */
export const remark = line(LINE_CHARACTERS);

/** An amount of money, as a decimal number in units of its currency. */
export const amount = z.strictObject({
  value: z.string().regex(/^-?\d{1,12}(?:\.\d{1,4})?$/),
  currency: z.string().regex(/^[A-Za-z]{3}$/),
});
type Amount = z.output<typeof amount>;

/** Micro-credits. JSON has no BigInt, so they are stored as digits. */
export const micro = z
  .union([z.bigint(), z.string().regex(/^-?\d{1,19}$/)])
  .transform(String)
  .refine((digits) => digits.length <= 20);

export const moment = z
  .union([z.date(), z.iso.datetime({ offset: true })])
  .transform((value) => (value instanceof Date ? value.toISOString() : value));

/** An external page, such as a provider's invoice. */
export const link = z
  .string()
  .max(LINK_CHARACTERS)
  .refine(isWebAddress)
  .transform((text) => new URL(text).href);

/** A token that gives access to an account or a company, once. */
export const token = z.string().regex(/^[A-Za-z0-9_-]{16,200}$/);

export const id = z.uuid();

/**
 * One line. Too long a text is cut rather than rejected: a payment must not fail because of a company's name. Mail
 * programs turn text that looks like a link into one, so an invisible joiner is inserted: a company's name cannot be
 * used to mail a link to strangers.
 */
function line(maxCharacters: number) {
  return z
    .string()
    .transform((text) => {
      const cleaned = text.toWellFormed().replaceAll(WORD_JOINER, '').replace(NOT_IN_A_LINE, ' ');
      const short = [...cleaned.replace(/\s+/g, ' ').trim()].slice(0, maxCharacters).join('').trim();
      return short.replace(/[.:@](?=\S)/gu, `$&${WORD_JOINER}`);
    })
    .refine((text) => text !== '');
}

function isWebAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return false;
  return url.username === '' && url.password === '' && url.href.length <= LINK_CHARACTERS;
}

const DAY = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', dateStyle: 'long' });
const TIME = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', timeStyle: 'short' });

/** `EUR 1,200.00`: with the code, because a sign such as `$` is ambiguous. */
export function inMoney({ value, currency }: Amount): string {
  return `${currency.toUpperCase()} ${grouped(value)}`;
}

/** `1,200.5 credits`, not rounded. */
export function inCredits(micro: string): string {
  const number = grouped(creditsOfMicro(BigInt(micro)));
  return `${number} ${number === '1' ? 'credit' : 'credits'}`;
}

export function onDay(moment: string): string {
  return DAY.format(new Date(moment));
}

export function atTime(moment: string): string {
  const date = new Date(moment);
  return `${DAY.format(date)}, ${TIME.format(date)} UTC`;
}

/** `1234.5678` as `1,234.5678`. */
function grouped(number: string): string {
  const [whole = '0', ...fraction] = number.split('.');
  return [whole.replace(/\B(?=(?:\d{3})+$)/g, ','), ...fraction].join('.');
}
