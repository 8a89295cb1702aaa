import { resolve } from 'node:path';
import type { Configuration, Role } from './configuration.ts';
import type { ModelConfig } from './model-config.ts';
import type { SettingValues } from './settings.ts';

/** The settings, by what they are for. */
export function assemble(
  role: Role,
  isProduction: boolean,
  values: SettingValues,
  models: ModelConfig,
): Omit<Configuration, 'hasHttpProxy'> {
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
    gatewayProcesses: values.GATEWAY_PROCESSES,
    dataDir: resolve(values.DATA_DIR),
    postgres:
      values.DATABASE_URL === null
        ? null
        : {
            url: values.DATABASE_URL,
            directUrl: values.DATABASE_DIRECT_URL,
            poolSize: values.DATABASE_POOL_SIZE,
            connectTimeoutMs: values.DATABASE_CONNECT_TIMEOUT_MS,
          },
    statementTimeoutMs: values.DATABASE_STATEMENT_TIMEOUT_MS,
    databaseMaxWaiting: values.DATABASE_MAX_WAITING,
    journal: { commitDeadlineMs: values.COMMIT_DEADLINE_MS, maxCalls: values.JOURNAL_MAX_CALLS },
    idempotency: { maxAnswerBytes: values.IDEMPOTENT_ANSWER_MAX_BYTES, keepMs: values.IDEMPOTENCY_KEEP_MS },
    calls: { keepMonths: values.CALLS_KEEP_MONTHS, span: values.CALLS_PARTITION },
    redis: values.REDIS_URL === null ? null : { url: values.REDIS_URL, timeoutMs: values.REDIS_TIMEOUT_MS },
    ...secretsOf(values),
    consoleUrl: values.CONSOLE_URL,
    gatewayUrl: values.GATEWAY_URL,
    payments: {
      secretKey: values.PAYMENT_PROVIDER_KEY,
      url: values.PAYMENT_PROVIDER_URL,
      eventsKeepDays: values.PAYMENT_EVENTS_KEEP_DAYS,
    },
    mail: { smtpUrl: values.SMTP_URL, from: values.MAIL_FROM, fromName: values.MAIL_FROM_NAME },
    demoWorld: values.DEMO_WORLD ?? !isProduction,
    demoCredits: values.CREDITS_GRANTED_TO_DEMO,
    paymentSandbox: values.PAYMENT_SANDBOX ?? !isProduction,
    models,
    aliasPrefix: values.ALIAS_PREFIX,
    addressRequestsPerMinute: values.IP_REQUESTS_PER_MINUTE,
    limitShareAlone: (values.LIMIT_SHARE_WITHOUT_REDIS || 100 / values.GATEWAY_PROCESSES) / 100,
    trustedProxies: values.TRUSTED_PROXIES,
    upstream: upstreamOf(values, isProduction),
    breakers: {
      failures: values.BREAKER_FAILURES,
      cooldownMs: values.BREAKER_COOLDOWN_SECONDS * 1_000,
    },
    postpaid: {
      currency: values.POSTPAID_CURRENCY,
      pricePerCredit: values.POSTPAID_PRICE_PER_CREDIT,
      dueDays: values.POSTPAID_DUE_DAYS,
    },
    bodyTimeoutMs: values.BODY_TIMEOUT_MS,
    maxBodyBytes: values.MAX_BODY_BYTES,
    answerTimeoutMs: values.ANSWER_TIMEOUT_MS,
    shutdownTimeoutMs: values.SHUTDOWN_TIMEOUT_MS,
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
    },
    secretsAlso: {
      jwtSecret: values.JWT_SECRET_ALSO,
      internalToken: values.INTERNAL_TOKEN_ALSO,
      masterKey: values.MASTER_KEY_ALSO,
      webhookSecret: values.WEBHOOK_SECRET_ALSO,
    },
  };
}

function upstreamOf(values: SettingValues, isProduction: boolean): Configuration['upstream'] {
  return {
    connectTimeoutMs: values.UPSTREAM_CONNECT_TIMEOUT_MS,
    firstByteTimeoutMs: values.UPSTREAM_FIRST_BYTE_TIMEOUT_MS,
    idleTimeoutMs: values.UPSTREAM_IDLE_TIMEOUT_MS,
    // Developers have their models at hand.
    privateNetworks:
      isProduction || values.UPSTREAM_PRIVATE_NETWORKS.length > 0 ? values.UPSTREAM_PRIVATE_NETWORKS : 'all',
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
