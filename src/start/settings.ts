import { z } from 'zod';
import { readNetwork } from '../http/client-address.ts';

/**
 * Every setting, with its form, its default and its meaning: the environment is read by this table, and
 * docs/configuration.md is written from it. Values come as text; an empty one counts as not set.
 */
export interface Setting<T> {
  readonly schema: z.ZodType<T, string | undefined>;
  /** As it is shown in the table; null where there is none. */
  readonly fallback: string | null;
  readonly meaning: string;
  /** Its value is never shown, not even in a complaint about it. */
  readonly isSecret?: true;
}

const DAY_MS = 24 * 60 * 60 * 1000;

export const SETTINGS = {
  NODE_ENV: oneOf(
    ['development', 'test', 'production'],
    'development',
    'In `production` nothing is made up: secrets must be given, and there is no demo world and no payment sandbox.',
  ),
  HOST: text('127.0.0.1', 'The address all services listen on. In a container `0.0.0.0`.'),
  GATEWAY_PORT: port(8080, 'Port of the gateway.'),
  BACKEND_PORT: port(8081, 'Port of the backend and the console.'),
  AI_PORT: port(8082, 'Port of the AI service.'),
  SANDBOX_PORT: port(8083, 'Port of the payment sandbox.'),
  GATEWAY_PROCESSES: whole(1, 64, 1, 'Gateway processes on one port. Above 1 needs PostgreSQL and Redis.'),
  DATA_DIR: text(
    '.data',
    'Folder of the embedded database, the secrets made at the first start, and demo.json.',
  ),
  DATABASE_URL: url(
    ['postgres:', 'postgresql:'],
    'PostgreSQL 15 or newer, as `postgres://user:password@host:5432/name`. Without it, the embedded database.',
  ),
  DATABASE_POOL_SIZE: whole(1, 500, 10, 'Connections to PostgreSQL of each process.'),
  DATABASE_MAX_WAITING: whole(
    1,
    100_000,
    2_000,
    'Statements that may wait for a connection; the next is refused.',
  ),
  DATABASE_CONNECT_TIMEOUT_MS: whole(100, 60_000, 5_000, 'How long connecting to PostgreSQL may take.'),
  DATABASE_STATEMENT_TIMEOUT_MS: whole(
    100,
    600_000,
    10_000,
    'How long a statement or a transaction may take.',
  ),
  REDIS_URL: url(
    ['redis:', 'rediss:'],
    "Redis 6.2 or newer, as `redis://user:password@host:6379`. Without it, this process's memory.",
  ),
  REDIS_TIMEOUT_MS: whole(50, 60_000, 2_000, 'How long connecting to Redis or one command may take.'),
  JWT_SECRET: secret('Signs the access tokens. Needed by the backend.'),
  INTERNAL_TOKEN: secret('Opens the internal routes of the AI service. Needed by it.'),
  MASTER_KEY: secret('Encrypts provider keys in the database. Needed by the gateway and the backend.'),
  WEBHOOK_SECRET: secret("The payment provider's signing secret of the webhook. Needed by the backend."),
  DEMO_WORLD: flag('Makes a demo company with users and keys on an empty database. Off in production.'),
  PAYMENT_SANDBOX: flag('Runs the payment sandbox. Off in production.'),
  MODEL_CONFIG: text(null, 'A JSON file that maps model aliases to providers.'),
  ALIAS_PREFIX: word('svc', 'What stands before the slash in the names of models.'),
  IP_REQUESTS_PER_MINUTE: whole(
    0,
    10_000_000,
    600,
    'Requests a minute of one client address; 0 is no limit.',
  ),
  TRUSTED_PROXIES: networks(
    'Proxies whose forwarded-for header is believed: addresses or networks, with commas.',
  ),
  UPSTREAM_CONNECT_TIMEOUT_MS: whole(10, 600_000, 5_000, 'How long connecting to a provider may take.'),
  UPSTREAM_FIRST_BYTE_TIMEOUT_MS: whole(10, 3_600_000, 120_000, "How long a provider's first byte may take."),
  UPSTREAM_IDLE_TIMEOUT_MS: whole(
    10,
    3_600_000,
    60_000,
    'How long may pass between two chunks of an answer.',
  ),
  MAX_BODY_BYTES: whole(1_024, 1_073_741_824, 20 * 1024 * 1024, 'The largest request body; past it 413.'),
  BODY_TIMEOUT_MS: whole(100, 600_000, 30_000, 'How long a request body may take to arrive; past it 408.'),
  ANSWER_TIMEOUT_MS: whole(
    1_000,
    600_000,
    30_000,
    'How long the backend and the AI service may take to begin an answer.',
  ),
  SHUTDOWN_TIMEOUT_MS: whole(0, 600_000, 15_000, 'How long running calls may take to finish after SIGTERM.'),
  LOG_LEVEL: oneOf(['debug', 'info', 'warn', 'error'], 'info', 'The least level that is logged.'),
  LOG_FORMAT: oneOf(
    ['auto', 'json', 'text'],
    'auto',
    '`auto` is `text` in a terminal, else `json`, a line an entry.',
  ),
  LOG_KEEP_ROWS: whole(0, 100_000_000, 200_000, 'Log entries kept in the database for the log viewer.'),
  LOG_KEEP_MS: whole(60_000, 365 * DAY_MS, 14 * DAY_MS, 'How long log entries are kept.'),
} as const satisfies Record<string, Setting<unknown>>;

export type SettingName = keyof typeof SETTINGS;
export type SettingValues = { [Name in SettingName]: z.output<(typeof SETTINGS)[Name]['schema']> };

function text<Fallback extends string | null>(fallback: Fallback, meaning: string) {
  const schema = z.string().max(4_096).optional();
  return { schema: schema.transform((value) => value ?? fallback), fallback, meaning };
}

function word(fallback: string, meaning: string) {
  const complaint = 'must be up to 32 letters, digits, dots, dashes and underscores';
  const schema = z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,31}$/i, complaint)
    .optional();
  return { schema: schema.transform((value) => value ?? fallback), fallback, meaning };
}

function oneOf<const Names extends readonly [string, ...string[]]>(
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

function whole(min: number, max: number, fallback: number, meaning: string) {
  const complaint = `must be a whole number from ${min} to ${max}`;
  const schema = z
    .string()
    .regex(/^\d{1,15}$/, complaint)
    .transform(Number)
    .refine((value) => value >= min && value <= max, complaint)
    .optional();
  return { schema: schema.transform((value) => value ?? fallback), fallback: String(fallback), meaning };
}

function port(fallback: number, meaning: string) {
  return whole(0, 65_535, fallback, meaning);
}

function url(protocols: readonly string[], meaning: string) {
  const complaint = `must be an address that begins with ${protocols[0]}// and names a host`;
  const schema = z
    .string()
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

function networks(meaning: string) {
  const complaint = 'must be addresses or networks such as 10.0.0.0/8, with commas between them';
  const schema = z
    .string()
    .transform((value) => value.split(',').map((part) => part.trim()))
    .refine((parts) => parts.every((part) => readNetwork(part) !== null), complaint)
    .optional();
  return { schema: schema.transform((value): readonly string[] => value ?? []), fallback: null, meaning };
}

function secret(meaning: string) {
  const schema = z.string().optional();
  return {
    schema: schema.transform((value) => value ?? null),
    fallback: null,
    meaning,
    isSecret: true as const,
  };
}

function flag(meaning: string) {
  const schema = z.enum(['on', 'off'], 'must be on or off').optional();
  const transformed = schema.transform((value) => (value === undefined ? null : value === 'on'));
  return { schema: transformed, fallback: 'on, in production off', meaning: `${meaning} \`on\` or \`off\`.` };
}
