import { isIPv4 } from 'node:net';
import type { SettingName, SettingValues } from './settings.ts';

/**
 * Settings that are refused in production or on a public port, so that a mistake prevents the start instead of exposing
 * the system.
 */

/** Our own secrets, each with the second one for a rotation. */
const SECRET_PAIRS: readonly (readonly [SettingName, SettingName])[] = [
  ['JWT_SECRET', 'JWT_SECRET_ALSO'],
  ['INTERNAL_TOKEN', 'INTERNAL_TOKEN_ALSO'],
  ['MASTER_KEY', 'MASTER_KEY_ALSO'],
  ['WEBHOOK_SECRET', 'WEBHOOK_SECRET_ALSO'],
  ['METRICS_TOKEN', 'METRICS_TOKEN_ALSO'],
];

/** Issued by others, so that we do not check their format. */
const FOREIGN_SECRETS: readonly SettingName[] = ['PAYMENT_PROVIDER_KEY', 'OIDC_CLIENT_SECRET'];
const ADDRESSES_WITH_PASSWORD: readonly SettingName[] = [
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'REDIS_URL',
  'SMTP_URL',
];
/** These URLs carry passwords, sessions, keys and payments. */
const PUBLIC_URLS: readonly SettingName[] = [
  'CONSOLE_URL',
  'GATEWAY_URL',
  'PAYMENT_PROVIDER_URL',
  'OIDC_ISSUER',
];

export const HOW_TO_MAKE_A_SECRET =
  'at least 32 random characters, for example the output of: openssl rand -base64 48';

export function refuseUnsafeProduction(values: SettingValues, problems: string[]): void {
  refuseWeakSecrets(values, problems);
  refuseEqualSecrets(values, problems);
  refuseExamplePasswords(values, problems);
  refusePlainHttp(values, problems);
  if (values.DEMO_WORLD === true) {
    problems.push('DEMO_WORLD is on in production: its passwords are in a file; leave it out');
  }
  if (values.PAYMENT_SANDBOX === true) {
    problems.push('PAYMENT_SANDBOX is on in production: it sells credits for nothing; leave it out');
  }
}

/** Outside production. The demo world's accounts, and a sandbox that accepts any key, are for this machine only. */
export function refusePublicDemo(values: SettingValues, problems: string[]): void {
  if (isLoopbackHost(values.HOST) || values.ALLOW_PUBLIC_DEMO) return;
  const open = [
    ...(values.DEMO_WORLD === false ? [] : ['DEMO_WORLD']),
    ...(values.PAYMENT_SANDBOX === false ? [] : ['PAYMENT_SANDBOX']),
  ];
  if (open.length === 0) return;
  const off = open.map((name) => `${name}=off`).join(' and ');
  problems.push(
    `HOST ${values.HOST} is reachable from other machines while ${open.join(' and ')} ` +
      `${open.length > 1 ? 'are' : 'is'} on: set ${off}, or ALLOW_PUBLIC_DEMO=on if others may use the demo`,
  );
}

const LEAST_LENGTH = 32;
const LEAST_VARIETY = 10;

function refuseWeakSecrets(values: SettingValues, problems: string[]): void {
  for (const setting of SECRET_PAIRS.flat()) {
    const value = values[setting];
    if (typeof value !== 'string') continue;
    const isShort = value.length < LEAST_LENGTH || new Set(value).size < LEAST_VARIETY;
    if (isShort || isRepetition(value) || hasSequence(value)) {
      problems.push(`${setting} is too weak: set it to ${HOW_TO_MAKE_A_SECRET}`);
    } else if (isExample(value)) {
      problems.push(
        `${setting} is a value of an example, which others know: set it to ${HOW_TO_MAKE_A_SECRET}`,
      );
    }
  }
}

/** A secret that is used for two purposes would compromise both if it leaked. */
function refuseEqualSecrets(values: SettingValues, problems: string[]): void {
  const seen = new Map<string, { readonly setting: SettingName; readonly group: number }>();
  const groups = [...SECRET_PAIRS, ...FOREIGN_SECRETS.map((setting) => [setting])];
  for (const [group, settings] of groups.entries()) {
    for (const setting of settings) {
      const value = values[setting];
      if (typeof value !== 'string') continue;
      const bare = value.replace(/^whsec_/, '');
      const other = seen.get(bare);
      if (other === undefined) seen.set(bare, { setting, group });
      else if (other.group !== group) {
        problems.push(
          `${other.setting} and ${setting} are equal: give each its own, ${HOW_TO_MAKE_A_SECRET}`,
        );
      }
    }
  }
}

function refuseExamplePasswords(values: SettingValues, problems: string[]): void {
  for (const setting of ADDRESSES_WITH_PASSWORD) {
    const password = URL.parse(String(values[setting] ?? ''))?.password ?? '';
    if (isExamplePassword(decoded(password))) {
      problems.push(`${setting} has the password of an example, which others know: change it there and here`);
    }
  }
  for (const setting of FOREIGN_SECRETS) {
    if (isExamplePassword(String(values[setting] ?? ''))) {
      problems.push(`${setting} is a value of an example: set it to the one that was given to you`);
    }
  }
}

function refusePlainHttp(values: SettingValues, problems: string[]): void {
  if (values.ALLOW_PLAIN_HTTP) return;
  for (const setting of PUBLIC_URLS) {
    const url = URL.parse(String(values[setting] ?? ''));
    if (url === null || url.protocol !== 'http:' || isLoopbackHost(url.hostname)) continue;
    problems.push(
      `${setting} begins with http://, so that others on the way can read it: use https://, or set ` +
        'ALLOW_PLAIN_HTTP=on if that network is trusted',
    );
  }
}

/** Words that example values consist of. */
const EXAMPLE_WORDS =
  /change[-_ ]?me|change|replace|example|placeholder|sample|dummy|default|insecure|unsafe|passwords?|passw0rd|secrets?|tokens?|keys?|internal|master|webhook|whsec|metrics|string|random|characters?|output|openssl|rand|base64|least|long|bits?|your|this|with|here|from|test(?:ing)?|demo|sandbox|dev(?:elopment)?|local(?:host)?|turnpike|jwt|sk_|the|for|and|256|[\W_]+/gi;
/** A value with this many characters besides these words counts as random. */
const RANDOM_CHARACTERS = 20;
const RANDOM_CHARACTERS_OF_PASSWORDS = 6;
const COMMON_PASSWORDS = new Set(['postgres', 'redis', 'admin', 'root', 'user', '1234', '12345', '123456']);

/** Values known from documentation, samples or tutorials: words with few or no random characters. */
function isExample(value: string, random = RANDOM_CHARACTERS): boolean {
  if (value === '') return false;
  const rest = value.replace(EXAMPLE_WORDS, '');
  const hasWords = rest === '' || rest !== value.replace(/[\W_]+/g, '');
  return hasWords && rest.length < random;
}

function isExamplePassword(value: string): boolean {
  return isExample(value, RANDOM_CHARACTERS_OF_PASSWORDS) || COMMON_PASSWORDS.has(value.toLowerCase());
}

/** A repeated block is only as strong as the block itself. */
function isRepetition(value: string): boolean {
  return value.length > 1 && (value + value).indexOf(value, 1) < value.length;
}

const LONGEST_SEQUENCE = 10;

/** For example 0123456789 or abcdefghij. */
function hasSequence(value: string): boolean {
  let run = 1;
  for (let at = 1; at < value.length; at += 1) {
    run = value.charCodeAt(at) === value.charCodeAt(at - 1) + 1 ? run + 1 : 1;
    if (run >= LONGEST_SEQUENCE) return true;
  }
  return false;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Whether the host of a setting or a URL is reachable from this machine only. */
function isLoopbackHost(host: string): boolean {
  const name = host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1') return true;
  return isIPv4(name) && name.startsWith('127.');
}
