import type { WireObject } from '../../ports/payment-provider.ts';

/**
 * Reads single fields of the provider's objects. What is missing, of another type or longer than anything of the
 * provider's is null: an event stands on what it tells.
 */
type Fields = Readonly<Record<string, unknown>>;

const LONGEST_TEXT = 2_000;
const LONGEST_ID = 200;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function fieldsIn(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

export function textIn(value: unknown, longest = LONGEST_TEXT): string | null {
  if (typeof value !== 'string' || value === '' || value.length > longest) return null;
  return value.includes('\u0000') ? null : value.toWellFormed();
}

/** A reference: the id, or the object itself where it was expanded. */
export function idIn(value: unknown): string | null {
  const id = textIn(value, LONGEST_ID);
  return id ?? textIn(fieldsIn(value).id, LONGEST_ID);
}

export function wholeIn(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : null;
}

/** Minor units; the provider never tells fractions of them in the fields that are read here. */
export function minorIn(value: unknown): bigint | null {
  const whole = wholeIn(value);
  return whole === null ? null : BigInt(whole);
}

export function currencyIn(value: unknown): string | null {
  const text = textIn(value, 3)?.toLowerCase() ?? null;
  return text !== null && /^[a-z]{3}$/.test(text) ? text : null;
}

/** Seconds since the epoch. */
export function momentIn(value: unknown): Date | null {
  const seconds = wholeIn(value);
  // Past the year 9999 no date can be written down.
  return seconds === null || seconds < 0 || seconds > 253_402_300_799 ? null : new Date(seconds * 1000);
}

export function listIn(value: unknown): readonly Fields[] {
  const data = fieldsIn(value).data;
  return Array.isArray(data) ? data.slice(0, 250).map(fieldsIn) : [];
}

/** A hint that we wrote on the object ourselves, an id of ours. It is believed only as far as our own rows agree. */
export function ourIdIn(object: WireObject | Fields, name: OurIdName): string | null {
  const places = [object.metadata, fieldsIn(object.subscription_details).metadata];
  for (const place of places) {
    const id = textIn(fieldsIn(place)[name], 36);
    if (id !== null && UUID.test(id)) return id.toLowerCase();
  }
  return null;
}

export type OurIdName = 'companyId' | 'purchaseId' | 'planId' | 'checkoutId' | 'invoiceId';

export function uuidIn(value: unknown): string | null {
  const text = textIn(value, 36);
  return text !== null && UUID.test(text) ? text.toLowerCase() : null;
}
