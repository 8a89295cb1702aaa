import type { z } from 'zod';
import { DATABASE_SETTINGS, REDIS_SETTINGS } from './server-rows.ts';
import {
  ceilings,
  currency,
  flag,
  gatewayAddress,
  headerPairs,
  host,
  httpUrl,
  mailAddress,
  networks,
  oneOf,
  origins,
  pairs,
  part,
  permission,
  port,
  price,
  secret,
  text,
  truth,
  url,
  whole,
  word,
} from './setting-forms.ts';
import { STORED_CONTENT_SETTINGS } from './stored-content.ts';
import { ALERT_SETTINGS, CALL_HOOK_SETTINGS } from './webhook-rows.ts';

/**
 * All settings, with their format, default and meaning. The environment is read with this table, and
 * docs/configuration.md is generated from it. Values are text; an empty one counts as not set.
 */
interface Setting<T> {
  readonly schema: z.ZodType<T, string | undefined>;
  /** As shown in the table; null if there is none. */
  readonly fallback: string | null;
  readonly meaning: string;
  /** The value is never shown, not even in an error message about it. */
  readonly isSecret?: true;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const WHILE_CHANGED = 'Used during a rotation of the secret: docs/operations.md.';

export const SETTINGS = {
  NODE_ENV: oneOf(
    ['development', 'test', 'production'],
    'development',
    'In `production` no secret is generated: all must be set. There is no demo world and no payment sandbox.',
  ),
  HOST: host(
    '127.0.0.1',
    'The address all services listen on. In a container `0.0.0.0`. Outside of production one that is not loopback needs the demo world and the sandbox off, or ALLOW_PUBLIC_DEMO.',
  ),
  GATEWAY_PORT: port(8080, 'Port of the gateway.'),
  BACKEND_PORT: port(8081, 'Port of the backend and the console.'),
  AI_PORT: port(8082, 'Port of the AI service.'),
  SANDBOX_PORT: port(8083, 'Port of the payment sandbox.'),
  GATEWAY_PROCESSES: whole(1, 64, 1, 'Gateway processes on one port. Above 1 needs PostgreSQL and Redis.'),
  ONE_PROCESS: permission(
    'Runs the backend, the AI service and their jobs in the gateway’s process with `npm start`. It takes less memory, and what keeps them busy then delays model calls.',
  ),
  DATA_DIR: text(
    '.data',
    'Folder of the embedded database, the secrets made at the first start, demo.json, and the journal of calls that wait for the database or, embedded, to be charged with others: it must outlive the process. On PostgreSQL and Redis, in production and with SMTP_URL, only a gateway writes to it.',
  ),
  ...DATABASE_SETTINGS,
  COMMIT_DEADLINE_MS: whole(
    50,
    60_000,
    2_000,
    'How long the commit of finished calls may take before they go to the journal in DATA_DIR.',
  ),
  JOURNAL_MAX_CALLS: whole(
    10,
    10_000_000,
    100_000,
    'Calls that the journal of each gateway process holds while the database is unavailable, about 1 KB each; at nine tenths of it new calls get 503.',
  ),
  IDEMPOTENT_ANSWER_MAX_BYTES: whole(
    0,
    16 * 1024 * 1024,
    1024 * 1024,
    'The largest answer that is stored for repeats with the same Idempotency-Key; repeats of a larger one get 409.',
  ),
  IDEMPOTENCY_KEEP_MS: whole(
    60_000,
    30 * DAY_MS,
    DAY_MS,
    'Minimum time for which an Idempotency-Key and its response are stored.',
  ),
  STORED_RESPONSES: oneOf(
    ['on', 'off'],
    'on',
    'Whether responses of the Responses API that no provider stores (of targets without that API) are stored, encrypted, so that previous_response_id, references to items and GET work with them; those with `store: false` never are. Off, every such response says `store: false`.',
  ),
  STORED_RESPONSES_KEEP_DAYS: whole(
    1,
    400,
    null,
    'How long a response can be read and continued, wherever it is stored. Not set: 1 day if it is stored here, 30 days if its provider stores it.',
  ),
  STORED_RESPONSE_MAX_BYTES: whole(
    1_024,
    16 * 1024 * 1024,
    4 * 1024 * 1024,
    'The largest response that is stored with STORED_RESPONSES, together with its whole input.',
  ),
  STORED_RESPONSES_COMPANY_MB: whole(
    1,
    1_000_000,
    1_000,
    'Maximum size of a company’s stored responses with STORED_RESPONSES, in megabytes. Further responses are not stored.',
  ),
  ...STORED_CONTENT_SETTINGS,
  CALLS_KEEP_MONTHS: whole(
    0,
    1_200,
    0,
    'Complete months, in addition to the current one, for which individual calls are stored. 0 stores all. Their totals and all charges are stored permanently.',
  ),
  USAGE_NAMES_PER_DAY: whole(
    0,
    100_000,
    1_000,
    'How many projects, how many end users and how many tags the usage of a company and day lists by name. Further ones are added up as `(other)`. Budgets are exact for every name.',
  ),
  USAGE_NAMES_KEEP_MONTHS: whole(
    0,
    1_200,
    13,
    'Complete months, in addition to the current one, for which usage by project, end user and tag is stored. 0 stores it permanently.',
  ),
  CALLS_PARTITION: oneOf(
    ['month', 'week', 'day'],
    'month',
    'Time range of a partition of the calls table, starting with the next partition. Use smaller partitions from about a hundred million calls a month.',
  ),
  PAYMENT_EVENTS_KEEP_DAYS: whole(
    60,
    36_500,
    400,
    "How long the payment provider's events are stored once they are processed.",
  ),
  ...REDIS_SETTINGS,
  JWT_SECRET: secret('Signs the access tokens. Needed by the backend.'),
  JWT_SECRET_ALSO: secret(
    `A second secret: tokens that are signed with it are accepted too. ${WHILE_CHANGED}`,
  ),
  REQUIRE_SUPER_ADMIN_TOTP: truth(
    'false, in production true',
    'Whether super admins must set up two-factor authentication before they have their permissions.',
  ),
  INTERNAL_TOKEN: secret(
    'Token for the internal routes of the AI service, which needs it, and for `/operations` of the backend.',
  ),
  INTERNAL_TOKEN_ALSO: secret(`A second token that is accepted too. ${WHILE_CHANGED}`),
  METRICS_TOKEN: secret(
    'Token for `/metrics` of all services and nothing else. INTERNAL_TOKEN is accepted there only if this one is not set.',
  ),
  METRICS_TOKEN_ALSO: secret(`A second token that is accepted too. ${WHILE_CHANGED}`),
  MASTER_KEY: secret(
    'Encrypts provider keys, two-factor secrets, alert channels and stored answers in the database. Needed by all three services.',
  ),
  MASTER_KEY_ALSO: secret(`A second key: what is encrypted under it can be read too. ${WHILE_CHANGED}`),
  WEBHOOK_SECRET: secret("The payment provider's signing secret of the webhook. Needed by the backend."),
  WEBHOOK_SECRET_ALSO: secret(
    `A second secret: events that are signed with it are accepted too. ${WHILE_CHANGED}`,
  ),
  PAYMENT_PROVIDER_KEY: secret(
    "The payment provider's secret key. Without it and without the sandbox nothing can be bought.",
  ),
  PAYMENT_PROVIDER_ACCOUNT: text(
    null,
    'Your account at the payment provider, `acct_…`, if events of your webhook name it in `account`. Signed events that name another account are stored and not applied; with a key of live mode, so are events of test mode.',
  ),
  PAYMENT_PROVIDER_URL: httpUrl(
    'https://api.stripe.com',
    "Where the payment provider's interface is, of API version 2023-10-16. With the sandbox, the sandbox.",
  ),
  CONSOLE_URL: httpUrl(
    null,
    "Where people reach the console: mails and the payment provider lead back there. Without it, the backend's own.",
  ),
  GATEWAY_URL: gatewayAddress(
    "Where browsers reach the gateway, without a path: the console's playground calls it there. Without it, the gateway's own.",
  ),
  SMTP_URL: url(
    ['smtp:', 'smtps:'],
    'The mail server, as `smtps://user:password@host:465`. Without it mail is only stored in DATA_DIR, to be read there.',
  ),
  MAIL_FROM: mailAddress('no-reply@localhost', 'The sender of all mail.'),
  MAIL_FROM_NAME: text('Turnpike', 'The name of the sender.'),
  OIDC_ISSUER: httpUrl(
    null,
    'An OpenID provider with which people sign in to the console, as `https://login.example.org`. docs/operations.md says how to set it up.',
  ),
  OIDC_CLIENT_ID: text(
    null,
    'Our client id there. The redirect URI is CONSOLE_URL with `/session/oidc/callback`.',
  ),
  OIDC_CLIENT_SECRET: secret('The client secret there. Without it, only PKCE is used (a public client).'),
  OIDC_CLIENT_SECRET_FILE: text(null, 'Path of a file that contains the value.'),
  OIDC_DOMAINS: pairs(
    /^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+=(existing|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/,
    'acme.example=COMPANY_ID, or acme.example=existing',
    'Whose addresses may sign in, as `acme.example=COMPANY_ID` with commas: new people of that domain become members of that company. With `existing` only accounts that are there sign in.',
  ),
  OIDC_ROLE_CLAIM: text(null, 'The claim of the ID token with roles or groups, such as `groups`.'),
  OIDC_ROLES: pairs(
    /^[^=,]{1,200}=(MEMBER|COMPANY_ADMIN|SUPER_ADMIN)$/,
    'staff=MEMBER',
    'What its values mean, as `staff=MEMBER,finance=COMPANY_ADMIN` with commas. SUPER_ADMIN is given only if it is named here.',
  ),
  OIDC_NAME: text('single sign-on', 'The label of the sign-in button in the console.'),
  SIGN_UP: oneOf(
    ['open', 'invited', 'closed'],
    'open',
    'Who can sign up: `open`: anyone, with a company of their own; `invited`: only people whom a company admin invited; `closed`: no new accounts.',
  ),
  DEMO_WORLD: flag('Creates a demo company with users and keys in an empty database. Off in production.'),
  CREDITS_GRANTED_TO_DEMO: whole(
    0,
    1_000_000_000,
    1_000,
    'Credits granted to the demo company, once. 0 grants none.',
  ),
  TRIAL_CREDITS: whole(
    0,
    1_000_000_000,
    0,
    'Credits granted to a new company, once, when its first admin has verified the e-mail address. 0 grants none.',
  ),
  CREDIT_EXPIRY_NOTICE_DAYS: whole(
    0,
    90,
    7,
    'How many days before credits expire the company is notified by e-mail. For credits with less than twice that lifetime, the e-mail is sent after half of it. 0 sends none.',
  ),
  CHECKOUT_AUTOMATIC_TAX: permission(
    'Whether the payment provider calculates and collects taxes on its checkout pages and on the invoices of subscriptions begun there. Set up taxes at the provider first.',
  ),
  CHECKOUT_TAX_IDS: permission(
    'Whether the checkout pages ask for the tax id and the name of the business, which the provider shows on its invoices.',
  ),
  PAYMENT_SANDBOX: flag('Runs the payment sandbox. Off in production.'),
  ALLOW_PUBLIC_DEMO: permission(
    'Outside of production: allows other machines to reach the demo company and the sandbox. Otherwise a HOST that is not loopback is refused while they run.',
  ),
  ALLOW_PLAIN_HTTP: permission(
    'In production: lets CONSOLE_URL, GATEWAY_URL, PAYMENT_PROVIDER_URL and OIDC_ISSUER begin with `http://` on hosts other than loopback, as in a trusted network.',
  ),
  MODEL_CONFIG: text(null, 'A JSON file that maps model aliases to providers.'),
  ALIAS_PREFIX: word('svc', 'The part before the slash in the names of the documented aliases.'),
  IP_REQUESTS_PER_MINUTE: whole(
    0,
    10_000_000,
    600,
    'Requests a minute of one client address at the gateway; 0 is no limit. An IPv6 address counts as its /64.',
  ),
  BACKEND_REQUESTS_PER_MINUTE: whole(
    0,
    10_000_000,
    3_000,
    'Requests a minute to GraphQL: of one user who is signed in, and of one client address without a valid token; 0 is no limit.',
  ),
  COMPANY_CEILINGS: ceilings(
    'Ceilings that new companies begin with, as `requestsPerMinute=600,documentsPerDay=200`; without it none. Super admins change those of a company. docs/operations.md.',
  ),
  LIMIT_SHARE_WITHOUT_REDIS: whole(
    0,
    100,
    0,
    'The share of each limit, in percent, that a process allows while Redis is unavailable and it enforces limits on its own. 0: 100 divided by GATEWAY_PROCESSES.',
  ),
  HOLD_WAIT_MS: whole(
    0,
    60_000,
    2_000,
    'How long a call waits for credits that running calls hold, before it is refused with 429 CREDITS_HELD. 0: not at all.',
  ),
  ABANDONED_STREAMS: oneOf(
    ['free', 'drain'],
    'free',
    'What happens to a stream whose client leaves before its usage has arrived: `free` aborts it and charges nothing, up to ABANDONED_STREAMS_FREE_PER_HOUR; further streams of the hour are read on for their usage and charged, with the code `drained-beyond-free`. `drain` reads on and charges from the first, with the code `drained`.',
  ),
  ABANDONED_STREAMS_FREE_PER_HOUR: whole(
    0,
    1_000_000,
    100,
    'Streams that a key may abandon for free per hour; a company may abandon ten times as many. Further ones are read to their usage and charged.',
  ),
  ABANDONED_STREAMS_DRAIN_SECONDS: whole(
    1,
    3_600,
    60,
    'Maximum time for which an abandoned stream is read to get its usage.',
  ),
  STREAM_USAGE_CHUNK: oneOf(
    ['always', 'asked'],
    'always',
    'Whether streams of chat and completions show the last chunk, which has the usage: `always`, with an empty choice if the client did not send `stream_options.include_usage: true`, or `asked` for only those that did. A key may have its own choice.',
  ),
  UNPRICED_FIELDS: oneOf(
    ['forward', 'refuse'],
    'forward',
    'What happens to fields and tools that may cost more at the provider than the prices of the model cover, such as `service_tier`, `plugins`, audio or a web search: `forward` sends them on, and charges by the prices there are; `refuse` answers 400. What has a price is charged either way.',
  ),
  UNPRICED_CALLS_PER_DAY: whole(
    0,
    1_000_000_000,
    100,
    'Calls of a company a day (UTC) for which the provider may report a cost that no price covers. After more of them, calls with such fields are 400 `UNPRICED_LIMIT`.',
  ),
  UNAVAILABLE_TOOLS: oneOf(
    ['refuse', 'drop'],
    'refuse',
    'What happens to web search, web fetch and image generation that run at the provider, if they have no price for the model, other tools remain and `tool_choice` does not name them: `drop` the tool and name it in `x-turnpike-dropped-tools`, or leave it to UNPRICED_FIELDS. The search that Codex lists in every request is dropped in any case where it cannot be forwarded.',
  ),
  CORS_ORIGINS: origins(
    'Origins of web pages that may call the gateway from a browser, such as `https://app.example.org`, with commas between them; `*` is every page. The console may in any case. Whoever opens such a page can read the key that it sends.',
  ),
  TRUSTED_PROXIES: networks(
    'Proxies whose forwarded-for header is trusted: addresses or networks, separated by commas.',
  ),
  ...ALERT_SETTINGS,
  ...CALL_HOOK_SETTINGS,
  UPSTREAM_PRIVATE_NETWORKS: networks(
    'Private networks in which providers may run, such as 10.0.0.0/8, separated by commas. In production, or if this is set, all other hosts that do not resolve to a public address are refused.',
  ),
  UPSTREAM_CLIENT: oneOf(
    ['sockets', 'fetch'],
    'sockets',
    "How providers are called: by the gateway's own client, or by the runtime's `fetch`. Providers that are reached through an HTTP proxy (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY) are always called by `fetch`.",
  ),
  UPSTREAM_CONNECT_TIMEOUT_MS: whole(10, 600_000, 5_000, 'How long connecting to a provider may take.'),
  UPSTREAM_FIRST_BYTE_TIMEOUT_MS: {
    ...whole(
      10,
      3_600_000,
      null,
      "How long a provider's first byte may take. Models that reason begin a whole answer late, and a stream early. A value that is set holds for both. A target's `timeout_ms` goes before it.",
    ),
    fallback: '`600000` for whole answers, `120000` for streams',
  },
  UPSTREAM_IDLE_TIMEOUT_MS: whole(
    10,
    3_600_000,
    300_000,
    'How long may pass between two chunks of an answer. A target’s `idle_timeout_ms` goes before it.',
  ),
  BREAKER_FAILURES: whole(1, 1_000, 5, 'Consecutive failures that open a provider’s circuit breaker.'),
  BREAKER_COOLDOWN_SECONDS: whole(
    1,
    86_400,
    60,
    'How long it stays open before the provider is tested again.',
  ),
  POSTPAID_CURRENCY: currency('usd', 'The currency of POSTPAID companies, as a lowercase code.'),
  POSTPAID_PRICE_PER_CREDIT: price('0.01', 'What a credit costs a POSTPAID company, in that currency.'),
  POSTPAID_DUE_DAYS: whole(0, 365, 14, 'Days until an invoice is due. An overdue invoice blocks calls.'),
  MAX_BODY_BYTES: whole(1_024, 1_073_741_824, 32 * 1024 * 1024, 'Largest request body; otherwise 413.'),
  LARGE_BODIES_MB: whole(
    16,
    1_048_576,
    512,
    'The memory of a gateway process for request bodies above 1 MB, over all calls until they end, in megabytes. One company may use half of it. At least four times MAX_BODY_BYTES is used. Beyond it, calls are answered with 503.',
  ),
  LARGE_ANSWERS_MB: whole(
    16,
    1_048_576,
    1_024,
    'The memory of a gateway process for responses above 1 MB that are not streamed, over all calls, in megabytes. One company may use half of it. Beyond it, calls are answered with 503.',
  ),
  BODY_TIMEOUT_MS: whole(100, 600_000, 30_000, 'Time limit for receiving a body; otherwise 408.'),
  ANSWER_TIMEOUT_MS: whole(
    1_000,
    600_000,
    30_000,
    'Time limit for the backend and the AI service to begin a response.',
  ),
  SHUTDOWN_TIMEOUT_MS: whole(0, 600_000, 15_000, 'How long running calls may take to finish after SIGTERM.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl(
    null,
    'An OpenTelemetry collector, as `http://127.0.0.1:4318`: the gateway sends traces of its calls there. Without it there are none.',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: headerPairs(
    'Headers that are sent to it, as `name=value`, separated by commas.',
  ),
  OTEL_TRACES_SAMPLER_ARG: part(
    '1',
    'The share of calls that are traced, from 0 to 1. For calls of clients that send a `traceparent`, the client decides.',
  ),
  LOG_LEVEL: oneOf(['debug', 'info', 'warn', 'error'], 'info', 'The minimum level that is logged.'),
  LOG_FORMAT: oneOf(
    ['auto', 'json', 'text'],
    'auto',
    '`auto` is `text` in a terminal, otherwise `json`, one entry a line.',
  ),
  LOG_KEEP_ROWS: whole(0, 100_000_000, 200_000, 'Log entries stored in the database for the log viewer.'),
  LOG_KEEP_MS: whole(60_000, 365 * DAY_MS, 14 * DAY_MS, 'How long log entries are stored.'),
} as const satisfies Record<string, Setting<unknown>>;

export type SettingName = keyof typeof SETTINGS;
export type SettingValues = { [Name in SettingName]: z.output<(typeof SETTINGS)[Name]['schema']> };
