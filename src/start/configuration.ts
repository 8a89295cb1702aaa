import { readFileSync } from 'node:fs';
import type { LogLevel } from '../ports/log.ts';
import { assemble } from './assemble-configuration.ts';
import { type ModelConfig, readModelConfig } from './model-config.ts';
import { SETTINGS, type SettingName, type SettingValues } from './settings.ts';

/** What this process runs; it decides which settings are needed. */
export type Role = 'everything' | 'gateway' | 'backend' | 'ai-service' | 'command-line';

export interface Configuration {
  readonly role: Role;
  readonly isProduction: boolean;
  readonly host: string;
  readonly ports: { gateway: number; backend: number; ai: number; sandbox: number };
  readonly gatewayProcesses: number;
  readonly dataDir: string;
  /** Null is the embedded database. */
  readonly postgres: {
    url: string;
    /** The server itself, where `url` is a pooler. */
    directUrl: string | null;
    poolSize: number;
    connectTimeoutMs: number;
  } | null;
  readonly statementTimeoutMs: number;
  readonly databaseMaxWaiting: number;
  /** Where finished calls go while the database is away. */
  readonly journal: { commitDeadlineMs: number; maxCalls: number };
  /** What is kept of calls with an idempotency key, and how long. */
  readonly idempotency: { maxAnswerBytes: number; keepMs: number };
  /** How long single calls are kept, in whole months (0: for good), and how they are parted. */
  readonly calls: { keepMonths: number; span: 'month' | 'week' | 'day' };
  /** Null is this process's memory. */
  readonly redis: { url: string; timeoutMs: number } | null;
  /** Null where none was given: outside of production one is made and kept in the data folder. */
  readonly secrets: Readonly<Record<SecretName, string | null>>;
  /** Accepted beside them, while a secret is changed. */
  readonly secretsAlso: Readonly<Record<SecretName, string | null>>;
  /** Null where none is set: then the backend's own address. */
  readonly consoleUrl: string | null;
  /** Where browsers reach the gateway. Null where none is set: then the gateway's own address. */
  readonly gatewayUrl: string | null;
  readonly payments: { secretKey: string | null; url: string; eventsKeepDays: number };
  readonly mail: { smtpUrl: string | null; from: string; fromName: string };
  readonly demoWorld: boolean;
  readonly demoCredits: number;
  readonly paymentSandbox: boolean;
  readonly models: ModelConfig;
  readonly aliasPrefix: string;
  /** 0 is no limit. */
  readonly addressRequestsPerMinute: number;
  /** What a process grants of each limit while it limits by itself. */
  readonly limitShareAlone: number;
  readonly trustedProxies: readonly string[];
  readonly upstream: {
    readonly connectTimeoutMs: number;
    readonly firstByteTimeoutMs: number;
    readonly idleTimeoutMs: number;
    /** Inside of which providers may stand. */
    readonly privateNetworks: readonly string[] | 'all';
  };
  readonly breakers: { failures: number; cooldownMs: number };
  /** What a POSTPAID company pays for a credit, and within how many days. */
  readonly postpaid: { currency: string; pricePerCredit: string; dueDays: number };
  readonly bodyTimeoutMs: number;
  /** The runtime's fetch goes through the proxy that these variables name. */
  readonly hasHttpProxy: boolean;
  readonly maxBodyBytes: number;
  readonly answerTimeoutMs: number;
  readonly shutdownTimeoutMs: number;
  /** No endpoint, no traces. */
  readonly traces: {
    readonly endpoint: string | null;
    readonly headers: Readonly<Record<string, string>>;
    readonly sampledPart: number;
  };
  readonly log: { level: LogLevel; format: 'auto' | 'json' | 'text'; keepRows: number; keepMs: number };
}

export type SecretName = 'jwtSecret' | 'internalToken' | 'masterKey' | 'webhookSecret';

const SECRET_SETTINGS: Record<SecretName, SettingName> = {
  jwtSecret: 'JWT_SECRET',
  internalToken: 'INTERNAL_TOKEN',
  masterKey: 'MASTER_KEY',
  webhookSecret: 'WEBHOOK_SECRET',
};

const SECRETS_ALSO: readonly SettingName[] = [
  'JWT_SECRET_ALSO',
  'INTERNAL_TOKEN_ALSO',
  'MASTER_KEY_ALSO',
  'WEBHOOK_SECRET_ALSO',
];

const SECRETS_NEEDED: Record<Role, readonly SecretName[]> = {
  everything: ['jwtSecret', 'internalToken', 'masterKey', 'webhookSecret'],
  gateway: ['masterKey'],
  backend: ['jwtSecret', 'masterKey', 'webhookSecret'],
  'ai-service': ['internalToken', 'masterKey'],
  'command-line': [],
};

/** Bun's fetch queues past 256 requests at once unless this is set before the process starts. */
const FETCH_LIMIT = 'BUN_CONFIG_MAX_HTTP_REQUESTS';
const FETCH_LIMIT_NEEDED = 1_024;

const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];

export type Environment = Readonly<Record<string, string | undefined>>;
export type ReadConfiguration =
  | { outcome: 'read'; configuration: Configuration }
  | { outcome: 'refused'; problems: readonly string[] };

/** The environment of this process: nobody else reads it. */
export function ownEnvironment(): Environment {
  return process.env;
}

/** All problems at once, each with what to do. */
export function readConfiguration(role: Role, environment: Environment): ReadConfiguration {
  const problems: string[] = [];
  const values = readSettings(environment, problems);
  if (values === null) return { outcome: 'refused', problems };
  const isProduction = values.NODE_ENV === 'production';

  if (isProduction) refuseUnsafe(role, values, problems);
  refuseMissingParts(role, values, problems);
  refuseFewFetches(role, environment, problems);
  const models = values.MODEL_CONFIG === null ? {} : readModelConfig(values.MODEL_CONFIG, readText, problems);
  if (problems.length > 0) return { outcome: 'refused', problems };
  const hasHttpProxy = PROXY_VARIABLES.some((name) => environment[name] || environment[name.toLowerCase()]);
  return {
    outcome: 'read',
    configuration: { ...assemble(role, isProduction, values, models), hasHttpProxy },
  };
}

function readSettings(environment: Environment, problems: string[]): SettingValues | null {
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(SETTINGS)) {
    const given = environment[name]?.trim();
    const read = setting.schema.safeParse(given === '' ? undefined : given);
    if (read.success) {
      values[name] = read.data;
      continue;
    }
    const shown = 'isSecret' in setting ? 'what is set' : JSON.stringify(given?.slice(0, 80));
    problems.push(`${name} ${read.error.issues[0]?.message ?? 'is wrong'}; ${shown} is not`);
  }
  return problems.length > 0 ? null : (values as SettingValues);
}

function refuseUnsafe(role: Role, values: SettingValues, problems: string[]): void {
  for (const name of SECRETS_NEEDED[role]) {
    const setting = SECRET_SETTINGS[name];
    if (values[setting] !== null) continue;
    problems.push(`${setting} is missing: set it to ${HOW_TO_MAKE_A_SECRET}`);
  }
  refuseWeakSecrets(values, problems);
  if (values.DEMO_WORLD === true) {
    problems.push('DEMO_WORLD is on in production: its passwords lie in a file; leave it out');
  }
  if (values.PAYMENT_SANDBOX === true) {
    problems.push('PAYMENT_SANDBOX is on in production: it sells credits for nothing; leave it out');
  }
}

const HOW_TO_MAKE_A_SECRET =
  'at least 32 random characters, for example the output of: openssl rand -base64 48';
const LEAST_LENGTH = 32;
const LEAST_VARIETY = 10;

function refuseWeakSecrets(values: SettingValues, problems: string[]): void {
  for (const setting of [...Object.values(SECRET_SETTINGS), ...SECRETS_ALSO]) {
    const value = values[setting];
    if (typeof value !== 'string') continue;
    if (value.length >= LEAST_LENGTH && new Set(value).size >= LEAST_VARIETY) continue;
    problems.push(`${setting} is too weak: set it to ${HOW_TO_MAKE_A_SECRET}`);
  }
}

function refuseMissingParts(role: Role, values: SettingValues, problems: string[]): void {
  if (values.DATABASE_DIRECT_URL !== null && values.DATABASE_URL === null) {
    problems.push('DATABASE_DIRECT_URL stands beside DATABASE_URL, the address of a pooler: set that too');
  }
  const single = role === 'gateway' || role === 'backend' || role === 'ai-service';
  const several = role === 'everything' && values.GATEWAY_PROCESSES > 1;
  if (!single && !several) return;
  const why = single ? 'a single service' : 'GATEWAY_PROCESSES above 1';
  for (const name of ['DATABASE_URL', 'REDIS_URL'] as const) {
    if (values[name] !== null) continue;
    problems.push(
      `${name} is missing: ${why} shares its state with other processes and cannot use embedded parts`,
    );
  }
}

function refuseFewFetches(role: Role, environment: Environment, problems: string[]): void {
  if (role !== 'everything' && role !== 'gateway') return;
  if (Number(environment[FETCH_LIMIT] ?? 0) >= FETCH_LIMIT_NEEDED) return;
  problems.push(
    `${FETCH_LIMIT} must be at least ${FETCH_LIMIT_NEEDED} before the process starts, or calls past 256 at once ` +
      'would queue: start with npm start, or set it to 65336',
  );
}

function readText(path: string): string {
  return readFileSync(path, 'utf8');
}
