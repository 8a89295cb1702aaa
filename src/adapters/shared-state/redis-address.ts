import { sharedStateFailure } from './failure.ts';

const PROTOCOLS = [
  'redis:',
  'rediss:',
  'valkey:',
  'valkeys:',
  'redis+tls:',
  'redis+unix:',
  'redis+tls+unix:',
];

export interface RedisAddress {
  /** With its credentials: only for the client. */
  readonly url: string;
  /** Host and port, for messages. */
  readonly place: string;
  /** Takes the password out of a text: servers repeat the arguments of a command they do not know. */
  withoutPassword(text: string): string;
}

/** Rejects what the client could not use, without repeating it: a mistyped URL has a password in it too. */
export function readRedisAddress(url: string): RedisAddress {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (!parsed || !PROTOCOLS.includes(parsed.protocol)) {
    throw sharedStateFailure(
      'refused',
      'The URL of Redis cannot be read: write it as redis://user:password@host:6379 (rediss:// for TLS).',
    );
  }
  const secrets = [parsed.password, decoded(parsed.password)].filter((secret) => secret !== '');
  const isSocket = parsed.protocol.endsWith('unix:');
  return {
    url,
    place: isSocket ? parsed.pathname : `${parsed.hostname || 'localhost'}:${parsed.port || '6379'}`,
    withoutPassword: (text) => secrets.reduce((clean, secret) => clean.replaceAll(secret, '***'), text),
  };
}

function decoded(password: string): string {
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}
