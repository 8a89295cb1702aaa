import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Ceilings } from '../../domain/accounts/ceilings.ts';
import type { LogLevel } from '../../ports/log.ts';
import type { UsesProxy } from '../../ports/outgoing-addresses.ts';
import { exceptOwnHosts, httpProxyOf } from './http-proxy.ts';
import { type ModelConfig, readModelConfig } from './model-config.ts';
import { type OidcConfiguration, oidcOf, refuseHalfOidc } from './oidc-settings.ts';
import {
  type PostgresConfiguration,
  postgresOf,
  type RedisConfiguration,
  redisOf,
  refuseWrongServers,
} from './servers.ts';
import { SETTINGS, type SettingName, type SettingValues } from './settings.ts';
import { type StoredContent, storedContentOf } from './stored-content.ts';
import { HOW_TO_MAKE_A_SECRET, refusePublicDemo, refuseUnsafeProduction } from './unsafe-settings.ts';
import {
  type AlertConfiguration,
  alertsOf,
  type CallHookConfiguration,
  callHooksOf,
  refuseHalfHooks,
} from './webhooks.ts';

/** The services that this process runs, which determine the required settings. */
export type Role = 'everything' | 'gateway' | 'backend' | 'ai-service' | 'command-line';

export interface Configuration extends StoredContent {
  readonly role: Role;
  readonly isProduction: boolean;
  readonly host: string;
  readonly ports: { gateway: number; backend: number; ai: number; sandbox: number };
  readonly gatewayProcesses: number;
  /** Whether the backend, the AI service and their jobs run in the gateway's process. */
  readonly oneProcess: boolean;
  readonly dataDir: string;
  /** Null selects the embedded database. */
  readonly postgres: PostgresConfiguration | null;
  readonly statementTimeoutMs: number;
  readonly databaseMaxWaiting: number;
  /** Stores finished calls while the database is unavailable. */
  readonly journal: { commitDeadlineMs: number; maxCalls: number };
  /** The limits of stored answers to calls with an idempotency key. */
  readonly idempotency: { maxAnswerBytes: number; keepMs: number };
  /** Responses that no provider stores, and how long any response can be continued. */
  readonly storedResponses: {
    isOn: boolean;
    keepMs: number;
    contentKeepMs: number;
    maxBytes: number;
    maxCompanyBytes: number;
  };
  /** How long individual calls are kept, in whole months (0: permanently), and how they are partitioned. */
  readonly calls: {
    keepMonths: number;
    keepNamesMonths: number;
    namesPerDay: number;
    span: 'month' | 'week' | 'day';
  };
  /** Null selects this process's memory. */
  readonly redis: RedisConfiguration | null;
  /** Null if not set. Outside production it is then generated and stored in the data folder, except for the metrics token. */
  readonly secrets: Readonly<Record<SecretName, string | null>>;
  /** Also accepted, while a secret is being rotated. */
  readonly secretsAlso: Readonly<Record<SecretName, string | null>>;
  /** Whether super admins have their rights only with two-factor authentication. */
  readonly requireSuperAdminTotp: boolean;
  /** If null, the backend's own address is used. */
  readonly consoleUrl: string | null;
  /** The address at which browsers reach the gateway. If null, the gateway's own address is used. */
  readonly gatewayUrl: string | null;
  readonly payments: {
    secretKey: string | null;
    account: string | null;
    url: string;
    eventsKeepDays: number;
    taxes: { isAutomatic: boolean; collectsTaxIds: boolean };
  };
  readonly mail: { smtpUrl: string | null; from: string; fromName: string };
  readonly signUpMode: 'open' | 'invited' | 'closed';
  /** Null if users sign in with a password only. */
  readonly oidc: OidcConfiguration | null;
  readonly demoWorld: boolean;
  readonly demoCredits: number;
  readonly trialCredits: number;
  /** 0 sends no notice. */
  readonly creditExpiryNoticeDays: number;
  readonly paymentSandbox: boolean;
  readonly models: ModelConfig;
  readonly aliasPrefix: string;
  /** 0 is unlimited. */
  readonly addressRequestsPerMinute: number;
  /** Per user, or per address without a session; 0 is unlimited. */
  readonly backendRequestsPerMinute: number;
  /** The ceilings of new companies. */
  readonly companyCeilings: Ceilings;
  /** The share of each limit that a process grants while it limits on its own. */
  readonly limitShareAlone: number;
  readonly trustedProxies: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly upstream: {
    readonly client: 'sockets' | 'fetch';
    readonly connectTimeoutMs: number;
    readonly firstByteTimeouts: { readonly wholeMs: number; readonly streamMs: number };
    readonly idleTimeoutMs: number;
    /** The private networks in which providers may be. */
    readonly privateNetworks: readonly string[] | 'all';
  };
  readonly alerts: AlertConfiguration;
  readonly callHooks: CallHookConfiguration;
  readonly breakers: { failures: number; cooldownMs: number };
  readonly streamUsageChunk: 'always' | 'asked';
  readonly unavailableTools: 'refuse' | 'drop';
  /** Fields that may cost more than the prices cover. */
  readonly unpriced: { fields: 'forward' | 'refuse'; callsPerDay: number };
  /** How streams are handled whose clients disconnect before the usage has arrived. */
  readonly holdWaitMs: number;
  readonly abandonedStreams: { mode: 'free' | 'drain'; freePerHour: number; drainMs: number };
  /** The price of a credit for a POSTPAID company, and the days until payment is due. */
  readonly postpaid: { currency: string; pricePerCredit: string; dueDays: number };
  readonly bodyTimeoutMs: number;
  /** Null if the environment names no proxy for the runtime's fetch. */
  readonly usesProxy: UsesProxy | null;
  readonly maxBodyBytes: number;
  readonly largeBytes: { bodies: number; answers: number };
  readonly answerTimeoutMs: number;
  readonly shutdownTimeoutMs: number;
  /** Without an endpoint, there are no traces. */
  readonly traces: {
    readonly endpoint: string | null;
    readonly headers: Readonly<Record<string, string>>;
    readonly sampledPart: number;
  };
  readonly log: { level: LogLevel; format: 'auto' | 'json' | 'text'; keepRows: number; keepMs: number };
}

export type SecretName = 'jwtSecret' | 'internalToken' | 'masterKey' | 'webhookSecret' | 'metricsToken';

const SECRET_SETTINGS: Record<SecretName, SettingName> = {
  jwtSecret: 'JWT_SECRET',
  internalToken: 'INTERNAL_TOKEN',
  masterKey: 'MASTER_KEY',
  webhookSecret: 'WEBHOOK_SECRET',
  metricsToken: 'METRICS_TOKEN',
};

const SECRETS_NEEDED: Record<Role, readonly SecretName[]> = {
  everything: ['jwtSecret', 'internalToken', 'masterKey', 'webhookSecret'],
  gateway: ['masterKey'],
  backend: ['jwtSecret', 'masterKey', 'webhookSecret'],
  'ai-service': ['internalToken', 'masterKey'],
  'command-line': [],
};

/** Bun's fetch queues more than 256 concurrent requests unless this is set before the process starts. */
const FETCH_LIMIT = 'BUN_CONFIG_MAX_HTTP_REQUESTS';
const FETCH_LIMIT_NEEDED = 1_024;

export type Environment = Readonly<Record<string, string | undefined>>;
type ReadConfiguration =
  | { outcome: 'read'; configuration: Configuration }
  | { outcome: 'refused'; problems: readonly string[] };

/** The environment of this process. Only this function reads it. */
export function ownEnvironment(): Environment {
  return exceptOwnHosts(process.env);
}

/** Reports all problems at once, each with what to do. */
export function readConfiguration(role: Role, environment: Environment): ReadConfiguration {
  const problems: string[] = [];
  const values = readSettings(environment, problems);
  if (values === null) return { outcome: 'refused', problems };
  const isProduction = values.NODE_ENV === 'production';

  if (isProduction) {
    refuseMissingSecrets(role, values, problems);
    refuseUnsafeProduction(values, problems);
  } else if (role !== 'command-line') {
    refusePublicDemo(values, problems);
  }
  refuseMissingParts(role, values, problems);
  refuseHalfOidc(values, problems);
  refuseHalfHooks(values, problems);
  refuseWrongServers(values, problems);
  refuseFewFetches(role, environment, problems);
  const models =
    values.MODEL_CONFIG === null
      ? {}
      : readModelConfig(values.MODEL_CONFIG, { readText, environment }, problems);
  if (problems.length > 0) return { outcome: 'refused', problems };
  const usesProxy = httpProxyOf(environment);
  return {
    outcome: 'read',
    configuration: { ...assemble(role, isProduction, values, models), usesProxy },
  };
}

/** What Kubernetes sets in each container for the Services of its namespace, as Docker did for linked containers. */
const SERVICE_LINK = /^(?:tcp|udp|sctp):\/\/[\w.:[\]-]+$/i;

function serviceLinkProblem(name: string, given: string): string {
  const service = name
    .replace(/_PORT(?:_.*)?$/, '')
    .toLowerCase()
    .replaceAll('_', '-');
  return (
    `is ${JSON.stringify(given.slice(0, 80))}, which Kubernetes sets for a Service named ${service}: ` +
    'set enableServiceLinks: false in the spec of the pod, or give the Service another name'
  );
}

function readSettings(environment: Environment, problems: string[]): SettingValues | null {
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(SETTINGS)) {
    const given = environment[name]?.trim();
    if (given !== undefined && SERVICE_LINK.test(given)) {
      problems.push(`${name} ${serviceLinkProblem(name, given)}`);
      continue;
    }
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

function refuseMissingSecrets(role: Role, values: SettingValues, problems: string[]): void {
  for (const name of SECRETS_NEEDED[role]) {
    const setting = SECRET_SETTINGS[name];
    if (values[setting] !== null) continue;
    problems.push(`${setting} is missing: set it to ${HOW_TO_MAKE_A_SECRET}`);
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

function requestLimitsIn(values: SettingValues) {
  return {
    addressRequestsPerMinute: values.IP_REQUESTS_PER_MINUTE,
    backendRequestsPerMinute: values.BACKEND_REQUESTS_PER_MINUTE,
  };
}

function storedResponsesIn(values: SettingValues): Configuration['storedResponses'] {
  const dayMs = 24 * 60 * 60_000;
  return {
    isOn: values.STORED_RESPONSES === 'on',
    keepMs: (values.STORED_RESPONSES_KEEP_DAYS ?? 30) * dayMs,
    contentKeepMs: (values.STORED_RESPONSES_KEEP_DAYS ?? 1) * dayMs,
    maxBytes: values.STORED_RESPONSE_MAX_BYTES,
    maxCompanyBytes: values.STORED_RESPONSES_COMPANY_MB * 1_000_000,
  };
}

function abandonedStreamsIn(values: SettingValues): Configuration['abandonedStreams'] {
  return {
    mode: values.ABANDONED_STREAMS,
    freePerHour: values.ABANDONED_STREAMS_FREE_PER_HOUR,
    drainMs: values.ABANDONED_STREAMS_DRAIN_SECONDS * 1_000,
  };
}

/** Groups the settings by purpose. */
function assemble(
  role: Role,
  isProduction: boolean,
  values: SettingValues,
  models: ModelConfig,
): Omit<Configuration, 'usesProxy'> {
  return {
    role,
    isProduction,
    host: values.HOST,
    ports: {
      gateway: values.GATEWAY_PORT,
      backend: values.BACKEND_PORT,
      ai: values.AI_PORT,
      sandbox: values.SANDBOX_PORT,
    },
    ...{ gatewayProcesses: values.GATEWAY_PROCESSES, oneProcess: values.ONE_PROCESS },
    dataDir: resolve(values.DATA_DIR),
    ...{ postgres: postgresOf(values), redis: redisOf(values) },
    statementTimeoutMs: values.DATABASE_STATEMENT_TIMEOUT_MS,
    databaseMaxWaiting: values.DATABASE_MAX_WAITING,
    journal: { commitDeadlineMs: values.COMMIT_DEADLINE_MS, maxCalls: values.JOURNAL_MAX_CALLS },
    idempotency: { maxAnswerBytes: values.IDEMPOTENT_ANSWER_MAX_BYTES, keepMs: values.IDEMPOTENCY_KEEP_MS },
    storedResponses: storedResponsesIn(values),
    ...storedContentOf(values),
    calls: {
      keepMonths: values.CALLS_KEEP_MONTHS,
      keepNamesMonths: values.USAGE_NAMES_KEEP_MONTHS,
      namesPerDay: values.USAGE_NAMES_PER_DAY,
      span: values.CALLS_PARTITION,
    },
    ...secretsOf(values),
    ...accountsOf(values, isProduction),
    ...{ consoleUrl: values.CONSOLE_URL, gatewayUrl: values.GATEWAY_URL },
    payments: {
      ...{ secretKey: values.PAYMENT_PROVIDER_KEY, account: values.PAYMENT_PROVIDER_ACCOUNT },
      url: values.PAYMENT_PROVIDER_URL,
      eventsKeepDays: values.PAYMENT_EVENTS_KEEP_DAYS,
      taxes: { isAutomatic: values.CHECKOUT_AUTOMATIC_TAX, collectsTaxIds: values.CHECKOUT_TAX_IDS },
    },
    mail: { smtpUrl: values.SMTP_URL, from: values.MAIL_FROM, fromName: values.MAIL_FROM_NAME },
    ...{ signUpMode: values.SIGN_UP, oidc: oidcOf(values) },
    ...{ demoWorld: values.DEMO_WORLD ?? !isProduction, demoCredits: values.CREDITS_GRANTED_TO_DEMO },
    paymentSandbox: values.PAYMENT_SANDBOX ?? !isProduction,
    models,
    aliasPrefix: values.ALIAS_PREFIX,
    ...requestLimitsIn(values),
    companyCeilings: values.COMPANY_CEILINGS,
    limitShareAlone: (values.LIMIT_SHARE_WITHOUT_REDIS || 100 / values.GATEWAY_PROCESSES) / 100,
    ...{ trustedProxies: values.TRUSTED_PROXIES, corsOrigins: values.CORS_ORIGINS },
    upstream: upstreamOf(values, isProduction),
    ...{ alerts: alertsOf(values, isProduction), callHooks: callHooksOf(values) },
    ...{ streamUsageChunk: values.STREAM_USAGE_CHUNK, unavailableTools: values.UNAVAILABLE_TOOLS },
    unpriced: { fields: values.UNPRICED_FIELDS, callsPerDay: values.UNPRICED_CALLS_PER_DAY },
    holdWaitMs: values.HOLD_WAIT_MS,
    abandonedStreams: abandonedStreamsIn(values),
    breakers: {
      failures: values.BREAKER_FAILURES,
      cooldownMs: values.BREAKER_COOLDOWN_SECONDS * 1_000,
    },
    postpaid: postpaidOf(values),
    ...{ bodyTimeoutMs: values.BODY_TIMEOUT_MS, maxBodyBytes: values.MAX_BODY_BYTES },
    largeBytes: { bodies: values.LARGE_BODIES_MB * 1e6, answers: values.LARGE_ANSWERS_MB * 1e6 },
    ...{ answerTimeoutMs: values.ANSWER_TIMEOUT_MS, shutdownTimeoutMs: values.SHUTDOWN_TIMEOUT_MS },
    traces: tracesOf(values),
    log: logOf(values),
  };
}

function secretsOf(values: SettingValues): Pick<Configuration, 'secrets' | 'secretsAlso'> {
  return {
    secrets: {
      jwtSecret: values.JWT_SECRET,
      internalToken: values.INTERNAL_TOKEN,
      masterKey: values.MASTER_KEY,
      webhookSecret: values.WEBHOOK_SECRET,
      metricsToken: values.METRICS_TOKEN,
    },
    secretsAlso: {
      jwtSecret: values.JWT_SECRET_ALSO,
      internalToken: values.INTERNAL_TOKEN_ALSO,
      masterKey: values.MASTER_KEY_ALSO,
      webhookSecret: values.WEBHOOK_SECRET_ALSO,
      metricsToken: values.METRICS_TOKEN_ALSO,
    },
  };
}

function accountsOf(
  values: SettingValues,
  isProduction: boolean,
): Pick<Configuration, 'requireSuperAdminTotp' | 'trialCredits' | 'creditExpiryNoticeDays'> {
  return {
    requireSuperAdminTotp: values.REQUIRE_SUPER_ADMIN_TOTP ?? isProduction,
    trialCredits: values.TRIAL_CREDITS,
    creditExpiryNoticeDays: values.CREDIT_EXPIRY_NOTICE_DAYS,
  };
}

function upstreamOf(values: SettingValues, isProduction: boolean): Configuration['upstream'] {
  return {
    client: values.UPSTREAM_CLIENT,
    connectTimeoutMs: values.UPSTREAM_CONNECT_TIMEOUT_MS,
    firstByteTimeouts: {
      wholeMs: values.UPSTREAM_FIRST_BYTE_TIMEOUT_MS ?? 600_000,
      streamMs: values.UPSTREAM_FIRST_BYTE_TIMEOUT_MS ?? 120_000,
    },
    idleTimeoutMs: values.UPSTREAM_IDLE_TIMEOUT_MS,
    // Outside production, models often run on the developer's own machine.
    privateNetworks:
      isProduction || values.UPSTREAM_PRIVATE_NETWORKS.length > 0 ? values.UPSTREAM_PRIVATE_NETWORKS : 'all',
  };
}

function postpaidOf(values: SettingValues): Configuration['postpaid'] {
  return {
    currency: values.POSTPAID_CURRENCY,
    pricePerCredit: values.POSTPAID_PRICE_PER_CREDIT,
    dueDays: values.POSTPAID_DUE_DAYS,
  };
}

function tracesOf(values: SettingValues): Configuration['traces'] {
  return {
    endpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT,
    headers: values.OTEL_EXPORTER_OTLP_HEADERS,
    sampledPart: values.OTEL_TRACES_SAMPLER_ARG,
  };
}

function logOf(values: SettingValues): Configuration['log'] {
  return {
    level: values.LOG_LEVEL,
    format: values.LOG_FORMAT,
    keepRows: values.LOG_KEEP_ROWS,
    keepMs: values.LOG_KEEP_MS,
  };
}
