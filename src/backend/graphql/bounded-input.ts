import { z } from 'zod';
import { isId } from '../../domain/keys/api-key.ts';
import { badInput, notFound } from './refusals.ts';

/**
 * Every bound on what people type, in one place. A resolver reads each text that came from outside through one of
 * these before anything else happens; SQL and script in a text are then no more than letters.
 */
const LONGEST_LINE = 200;
const LONGEST_SECRET = 512;
const LONGEST_EMAIL = 254;
const MOST_WORDS = 50;
/** PostgreSQL keeps no NUL, a lone surrogate is no character, and in tables a control character misleads. */
const PRINTABLE = /^[^\p{C}\u2028\u2029]*$/u;
const STORABLE = /^[^\0\p{Cs}]*$/u;

const CONTROL = 'no control characters are allowed';

export const bounds = {
  /** A name or a title: one line that people read. */
  line: z.string().trim().min(1, 'it must not be empty').max(LONGEST_LINE).regex(PRINTABLE, CONTROL),
  email: z.string().trim().min(3).max(LONGEST_EMAIL).regex(PRINTABLE, CONTROL),
  /** Passwords and one-time tokens: any characters, as they were typed. */
  secret: z.string().max(LONGEST_SECRET).regex(STORABLE, CONTROL),
  /** A sentence with line breaks, such as a reason. */
  paragraph: z.string().trim().min(1, 'it must not be empty').max(2_000).regex(STORABLE, CONTROL),
  /** A list of short words: scopes, aliases. */
  words: z.array(z.string().max(LONGEST_LINE).regex(PRINTABLE, CONTROL)).max(MOST_WORDS),
  /** Ids of the payment provider, as many as are worked off at once. */
  providerIds: z.array(z.string().min(1).max(255).regex(PRINTABLE, CONTROL)).max(1_000),
  /** An address or a key of a provider; the domain says what is a good one. */
  technical: z.string().max(4_096).regex(PRINTABLE, CONTROL),
} as const;

/** The value in its bounds, or BAD_USER_INPUT that names the field. What was sent is never thrown back. */
export function bounded<Kind extends keyof typeof bounds>(
  kind: Kind,
  field: string,
  value: unknown,
): z.output<(typeof bounds)[Kind]> {
  const read = bounds[kind].safeParse(value);
  if (read.success) return read.data as z.output<(typeof bounds)[Kind]>;
  throw badInput(field, read.error.issues[0]?.message ?? 'it cannot be read');
}

/** Null and left out stay null. */
export function boundedOrNull<Kind extends keyof typeof bounds>(
  kind: Kind,
  field: string,
  value: unknown,
): z.output<(typeof bounds)[Kind]> | null {
  return value === null || value === undefined ? null : bounded(kind, field, value);
}

/** An id that cannot be one names nothing; the database would call it an error. */
export function idOf(what: string, value: string | number): string {
  const id = String(value);
  if (!isId(id)) throw notFound(what);
  return id;
}
