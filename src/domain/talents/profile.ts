import { z } from 'zod';
import { isObject } from '../../ports/json-object.ts';
import type { Profile, Talent } from './talent.ts';

/** Profile values that are also stored separately, for lists and for recognising the person. */
type ProfileFields = Pick<Talent, 'name' | 'email' | 'phone' | 'headline'>;

type CheckedProfile =
  | { readonly outcome: 'checked'; readonly profile: Profile }
  | { readonly outcome: 'invalid'; readonly message: string };

const LONGEST_LINE = 300;
export const LONGEST_PROFILE = 200_000;
const MOST_ENTRIES = 500;

const text = z.string().max(100_000).nullish();
const entries = z.array(z.unknown()).max(MOST_ENTRIES).nullish();
/** Only fields that this program uses are validated; other fields of JSON Resume are stored as given. */
const givenProfile = z.looseObject({
  basics: z.looseObject({ name: text, label: text, email: text, phone: text, summary: text }).nullish(),
  work: entries,
  education: entries,
  skills: entries,
  languages: entries,
  certificates: entries,
  projects: entries,
  current_title: text,
});

/** Checks a profile from a client: it must follow the outline of JSON Resume and be no larger than a long CV. */
export function checkProfile(value: unknown): CheckedProfile {
  const read = givenProfile.safeParse(value);
  if (!read.success) {
    const [issue] = read.error.issues;
    const where = issue?.path.join('.') ?? '';
    const message = `${where === '' ? 'it' : where} ${where === '' ? 'must be an object of JSON Resume' : (issue?.message ?? 'is wrong')}`;
    return { outcome: 'invalid', message };
  }
  const json = JSON.stringify(read.data);
  if (json.length > LONGEST_PROFILE) {
    return { outcome: 'invalid', message: `at most ${LONGEST_PROFILE} characters of JSON are taken` };
  }
  // A JSON column cannot store NUL or lone surrogates.
  return { outcome: 'checked', profile: storable(JSON.parse(json)) as Profile };
}

export function fieldsOfProfile(profile: Profile): ProfileFields {
  const basics = objectOf(profile.basics);
  return {
    name: lineOf(basics.name),
    email: emailOf(basics.email),
    phone: phoneOf(basics.phone),
    headline: lineOf(basics.label) ?? lineOf(profile.current_title),
  };
}

/**
 * The evidence that is still valid after a manual edit: that of values which are unchanged at the same path. Other
 * values were entered by a person and do not occur in the text. Null if none is left.
 */
export function remainingEvidence(
  evidence: readonly unknown[] | null,
  before: Profile | null,
  after: Profile,
): readonly unknown[] | null {
  if (evidence === null || before === null) return null;
  const kept = evidence.filter((one) => {
    const path = pathOf(one);
    if (path === null) return false;
    const value = valueAt(before, path);
    return value !== undefined && value !== null && value === valueAt(after, path);
  });
  return kept.length === 0 ? null : kept;
}

function emailOf(value: unknown): string | null {
  const email = lineOf(value)?.toLowerCase() ?? null;
  return email !== null && /^[^\s@]+@[^\s@]+$/.test(email) && email.length <= 254 ? email : null;
}

/** Digits only, without a leading `00`, which replaces a plus sign. */
function phoneOf(value: unknown): string | null {
  const digits = lineOf(value)?.replaceAll(/\D/g, '').replace(/^00/, '') ?? '';
  return digits.length >= 5 && digits.length <= 20 ? digits : null;
}

function lineOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const line = value
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Z}]+/gu, ' ')
    .trim()
    .slice(0, LONGEST_LINE);
  return line.toWellFormed().trim() || null;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

/**
 * Cleans each string separately: in serialized JSON, the escape of a NUL could also be six characters that a person
 * typed.
 */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('\0', '').toWellFormed();
  if (Array.isArray(value)) return value.map(storable);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [storable(name), storable(part)]));
}

function pathOf(evidence: unknown): string | null {
  if (typeof evidence !== 'object' || evidence === null || !('path' in evidence)) return null;
  return typeof evidence.path === 'string' ? evidence.path : null;
}

/** Resolves a path such as `work[0].position`; undefined if there is no value. */
function valueAt(profile: Profile, path: string): unknown {
  let value: unknown = profile;
  for (const step of path.split(/[.[\]]+/).filter((one) => one !== '')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[step];
  }
  return value;
}
