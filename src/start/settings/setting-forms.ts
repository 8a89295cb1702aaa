import { isIP } from 'node:net';
import { z } from 'zod';
import {
  CEILING_NAMES,
  type CeilingName,
  type Ceilings,
  ceilingProblem,
  NO_CEILINGS,
} from '../../domain/accounts/ceilings.ts';
import { isKnownCurrency } from '../../domain/catalog/currency.ts';
import { readPrice } from '../../domain/credits/invoices/monthly-invoices.ts';
import { readNetwork } from '../../http/client-identity.ts';

/** The formats of settings. Each reports a violation in one sentence. An empty text counts as not set. */

export function text<Fallback extends string | null>(fallback: Fallback, meaning: string) {
  const schema = z.string().max(4_096).optional();
  return { schema: schema.transform((value) => value ?? fallback), fallback, meaning };
}

export function word(fallback: string, meaning: string) {
  const complaint = 'must be up to 32 letters, digits, dots, dashes and underscores';
  const schema = z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,31}$/i, complaint)
    .optional();
  return { schema: schema.transform((value) => value ?? fallback), fallback, meaning };
}

export function oneOf<const Names extends readonly [string, ...string[]]>(
  names: Names,
  fallback: Names[number],
  meaning: string,
) {
  const choices = names.map((name) => `\`${name}\``).join(', ');
  const schema = z.enum(names, `must be one of ${names.join(', ')}`).optional();
  return {
    schema: schema.transform((value): Names[number] => value ?? fallback),
    fallback,
    meaning: `${meaning} One of ${choices}.`,
  };
}

/** With null as its fallback, the setting may be absent. */
export function whole<Fallback extends number | null = number>(
  min: number,
  max: number,
  fallback: Fallback,
  meaning: string,
) {
  const complaint = `must be a whole number from ${min} to ${max}`;
  const schema = z
    .string()
    .regex(/^\d{1,15}$/, complaint)
    .transform(Number)
    .refine((value) => value >= min && value <= max, complaint)
    .optional();
  const shown = fallback === null ? null : String(fallback);
  return { schema: schema.transform((value) => value ?? fallback), fallback: shown, meaning };
}

export function port(fallback: number, meaning: string) {
  return whole(0, 65_535, fallback, meaning);
}

export const ENCODED_PASSWORD =
  'must have its user and password percent-encoded, as %2F for /, %23 for # and %25 for %, and an @ after the host as %40';

export function url(protocols: readonly string[], meaning: string) {
  const complaint = `must be an address that begins with ${protocols[0]}// and names a host`;
  const schema = z
    .string()
    .refine(hasEncodedPassword, ENCODED_PASSWORD)
    .refine((value) => {
      const parsed = URL.parse(value);
      return parsed !== null && protocols.includes(parsed.protocol) && parsed.hostname !== '';
    }, complaint)
    .optional();
  return {
    schema: schema.transform((value) => value ?? null),
    fallback: null,
    meaning,
    isSecret: true as const,
  };
}

/**
 * A password may contain the characters that end the host, such as the slashes of base64: the user would be taken for the host,
 * and the beginning of the password, which messages would then show, for its port.
 */
function hasEncodedPassword(address: string): boolean {
  const [, credentials = ''] = /^[^/]*:\/\/(.*)@/s.exec(address) ?? [];
  return !/[/?#\s]/.test(credentials);
}

/** The address that servers listen on, or a name for it. */
export function host(fallback: string, meaning: string) {
  const complaint = 'must be an address of this machine, or a name of one, such as 127.0.0.1, ::1 or 0.0.0.0';
  const schema = z
    .string()
    .refine((value) => isIP(value) !== 0 || /^(?![\d.]+$)[\w.-]{1,253}$/.test(value), complaint)
    .optional();
  return { schema: schema.transform((value) => value ?? fallback), fallback, meaning };
}

export function mailAddress(fallback: string, meaning: string) {
  const complaint = 'must be one mail address such as no-reply@example.org, without a name';
  const schema = z
    .string()
    .regex(/^[^\s<>()[\]\\,;:"@]{1,64}@[^\s<>()[\]\\,;:"@]{1,253}$/, complaint)
    .optional();
  return { schema: schema.transform((value) => value ?? fallback), fallback, meaning };
}

export function currency(fallback: string, meaning: string) {
  const schema = z
    .string()
    .refine((value) => /^[a-z]{3}$/.test(value) && isKnownCurrency(value), 'must be a currency such as usd')
    .optional();
  return { schema: schema.transform((value) => value ?? fallback), fallback, meaning };
}

export function price(fallback: string, meaning: string) {
  const complaint = 'must be a decimal above 0 such as 0.01, with at most 12 digits after the point';
  const schema = z
    .string()
    .refine((value) => readPrice(value) !== null, complaint)
    .optional();
  return { schema: schema.transform((value) => value ?? fallback), fallback, meaning };
}

/** A URL without a password, so that it may be shown; trailing slashes are removed. */
export function httpUrl<Fallback extends string | null>(fallback: Fallback, meaning: string) {
  const complaint = 'must be an address that begins with http:// or https://, without a user in it';
  const schema = z
    .string()
    .max(2_000)
    .refine((value) => {
      const parsed = URL.parse(value);
      return parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.username === '';
    }, complaint)
    .transform((value) => value.replace(/\/+$/, ''))
    .optional();
  return { schema: schema.transform((value) => value ?? fallback), fallback, meaning };
}

/** The address of the gateway's server, without the path of its routes. */
export function gatewayAddress(meaning: string) {
  const { schema, ...rest } = httpUrl(null, meaning);
  const complaint = 'must be the address without /llm/v1, such as https://gateway.example.org';
  return {
    schema: schema.refine((value) => value === null || !/\/llm(\/v1)?$/.test(value), complaint),
    ...rest,
  };
}

export function networks(meaning: string) {
  const complaint = 'must be addresses or networks such as 10.0.0.0/8, with commas between them';
  const schema = z
    .string()
    .transform((value) => value.split(',').map((part) => part.trim()))
    .refine((parts) => parts.every((part) => readNetwork(part) !== null), complaint)
    .optional();
  return { schema: schema.transform((value): readonly string[] => value ?? []), fallback: null, meaning };
}

/** Some of a list of words, all of them by default; `none` is an empty list. */
export function someOf<Word extends string>(words: readonly Word[], meaning: string) {
  const complaint = `must be some of ${words.join(', ')}, with commas between them, or none`;
  const isWord = (one: string): one is Word => words.some((word) => word === one);
  const schema = z
    .string()
    .transform((value) => (value.trim() === 'none' ? [] : value.split(',').map((one) => one.trim())))
    .refine((list) => list.every(isWord), complaint)
    .optional();
  return {
    schema: schema.transform((value): readonly Word[] => value?.filter(isWord) ?? words),
    fallback: words.join(','),
    meaning,
  };
}

/** Web origins, as browsers send them; `*` is all of them. */
export function origins(meaning: string) {
  const schema = z
    .string()
    .max(4_096)
    .transform((value) => value.split(',').map((one) => one.trim()))
    .superRefine((list, { addIssue }) => {
      const problem = list.map(problemWithOrigin).find((one) => one !== null);
      if (problem !== undefined) addIssue({ code: 'custom', message: problem });
    })
    .optional();
  return { schema: schema.transform((value): readonly string[] => value ?? []), fallback: null, meaning };
}

function problemWithOrigin(text: string): string | null {
  if (text === '*') return null;
  const parsed = URL.parse(text);
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    return 'must be * or origins that begin with https:// or http://, with commas between them';
  }
  if (parsed.hostname.includes('*'))
    return 'must name each host: * stands for all origins, not for a part of one';
  if (parsed.origin === text) return null;
  return `must be origins as browsers send them, without a path, such as ${parsed.origin}`;
}

export function hostPorts(meaning: string) {
  const complaint = 'must be addresses such as 10.0.0.5:6379 or [::1]:6379, with commas between them';
  const schema = z
    .string()
    .max(4_096)
    .transform((value) => value.split(',').map((one) => one.trim()))
    .refine((list) => list.every((one) => /^([\w.-]+|\[[0-9a-f:.]+\]):\d{1,5}$/i.test(one)), complaint)
    .optional();
  return { schema: schema.transform((value): readonly string[] => value ?? []), fallback: null, meaning };
}

export function part(fallback: string, meaning: string) {
  const schema = z
    .string()
    .regex(/^(0|1|0?\.\d{1,9}|1\.0{1,9}|0\.\d{1,9})$/, 'must be a number from 0 to 1')
    .optional();
  return { schema: schema.transform((value) => Number(value ?? fallback)), fallback, meaning };
}

/** The values may contain a token, so they are never shown. */
export function headerPairs(meaning: string) {
  const complaint = 'must be pairs such as name=value, with commas between them';
  const schema = z
    .string()
    .max(4_096)
    .transform((value) => value.split(',').map((pair) => pair.trim()))
    .refine((pairs) => pairs.every((pair) => /^[\w!#$%&'*+.^`|~-]+=/.test(pair)), complaint)
    .transform((pairs) => Object.fromEntries(pairs.map(pairOf)))
    .refine((headers) => Object.values(headers).every((value) => /^[\x20-\x7e]+$/.test(value)), complaint)
    .optional();
  return {
    schema: schema.transform((value): Readonly<Record<string, string>> => value ?? {}),
    fallback: null,
    meaning,
    isSecret: true as const,
  };
}

/** Values are percent-encoded, as specified by OpenTelemetry. */
function pairOf(pair: string): [string, string] {
  const at = pair.indexOf('=');
  const value = pair.slice(at + 1);
  try {
    return [pair.slice(0, at).toLowerCase(), decodeURIComponent(value)];
  } catch {
    return [pair.slice(0, at).toLowerCase(), value];
  }
}

export function secret(meaning: string) {
  const schema = z.string().optional();
  return {
    schema: schema.transform((value) => value ?? null),
    fallback: null,
    meaning,
    isSecret: true as const,
  };
}

/** `true` or `false`; null if not set, because the default depends on NODE_ENV. */
export function truth(fallback: string, meaning: string) {
  const schema = z.enum(['true', 'false'], 'must be true or false').optional();
  return {
    schema: schema.transform((value) => (value === undefined ? null : value === 'true')),
    fallback,
    meaning,
  };
}

export function flag(meaning: string) {
  const schema = z.enum(['on', 'off'], 'must be on or off').optional();
  const transformed = schema.transform((value) => (value === undefined ? null : value === 'on'));
  return { schema: transformed, fallback: 'on, in production off', meaning: `${meaning} \`on\` or \`off\`.` };
}

/** Off by default. */
export function permission(meaning: string) {
  const schema = z.enum(['on', 'off'], 'must be on or off').optional();
  return {
    schema: schema.transform((value) => value === 'on'),
    fallback: 'off',
    meaning: `${meaning} \`on\` or \`off\`.`,
  };
}

/** `name=value` pairs separated by commas; each pair must match the form. */
export function pairs(form: RegExp, example: string, meaning: string) {
  const complaint = `must be pairs such as ${example}, with commas between them`;
  const schema = z
    .string()
    .max(20_000)
    .transform((value) => value.split(',').map((pair) => pair.trim()))
    .refine((list) => list.every((pair) => form.test(pair)), complaint)
    .transform((list) => Object.fromEntries(list.map((pair) => splitAtLastEquals(pair))))
    .optional();
  return {
    schema: schema.transform((value): Readonly<Record<string, string>> => value ?? {}),
    fallback: null,
    meaning,
  };
}

function splitAtLastEquals(pair: string): [string, string] {
  const at = pair.lastIndexOf('=');
  return [pair.slice(0, at), pair.slice(at + 1)];
}

export function ceilings(meaning: string) {
  const complaint = `must be pairs such as requestsPerMinute=600, with commas between them, of ${CEILING_NAMES.join(', ')}`;
  const schema = z
    .string()
    .max(1_000)
    .transform((value, context): Ceilings => {
      const chosen: Partial<Record<CeilingName, number>> = {};
      for (const pair of value.split(',')) {
        const [, name = '', number = ''] = /^\s*(\w+)=(\d{1,10})\s*$/.exec(pair) ?? [];
        const known = CEILING_NAMES.find((one) => one === name);
        const problem = known === undefined ? complaint : ceilingProblem(known, Number(number));
        if (known !== undefined && problem === null && chosen[known] === undefined) {
          chosen[known] = Number(number);
          continue;
        }
        const message = problem === null ? `names ${name} twice` : problem;
        context.addIssue({ code: 'custom', message: known === undefined ? message : `${name}: ${message}` });
        return z.NEVER;
      }
      return { ...NO_CEILINGS, ...chosen };
    })
    .optional();
  return { schema: schema.transform((value): Ceilings => value ?? NO_CEILINGS), fallback: null, meaning };
}
