import { hostPorts, permission, secret, text, url, whole } from './setting-forms.ts';

/** The settings of PostgreSQL and Redis, as rows of the table in settings.ts. */

export const DATABASE_SETTINGS = {
  DATABASE_URL: url(
    ['postgres:', 'postgresql:'],
    'PostgreSQL 15 or newer, as `postgres://user:password@host:5432/name`: a database with the encoding UTF8 that its user owns. Special characters of the password are percent-encoded (`%2F` for `/`). Without it, the embedded database. `?sslmode=` is `disable` (the default), `prefer`, `require`, `verify-ca` or `verify-full`.',
  ),
  DATABASE_DIRECT_URL: url(
    ['postgres:', 'postgresql:'],
    'PostgreSQL itself, if `DATABASE_URL` is a pooler in transaction mode such as PgBouncer. Notices are received there, on one connection for each process. docs/scaling.md.',
  ),
  DATABASE_PASSWORD_FILE: text(
    null,
    'A file with the password of DATABASE_URL and DATABASE_DIRECT_URL, in place of one in them. It is read again for each new connection.',
  ),
  DATABASE_CA_FILE: text(
    null,
    'Certificates of the authorities that signed the certificate of PostgreSQL, as PEM. Connections then use TLS, and the certificate and its name are verified.',
  ),
  DATABASE_POOL_SIZE: whole(
    1,
    500,
    10,
    'Connections of each process to PostgreSQL. Processes that receive notices have one more. docs/scaling.md says how to size it.',
  ),
  DATABASE_MAX_WAITING: whole(
    1,
    100_000,
    2_000,
    'Statements that may wait for a connection; the next is refused.',
  ),
  DATABASE_CONNECT_TIMEOUT_MS: whole(100, 60_000, 5_000, 'How long connecting to PostgreSQL may take.'),
  DATABASE_STATEMENT_TIMEOUT_MS: whole(100, 600_000, 10_000, 'Time limit of a statement or a transaction.'),
} as const;

export const REDIS_SETTINGS = {
  REDIS_URL: url(
    ['redis:', 'rediss:'],
    "Redis 6.2 or newer or Valkey, as `redis://user:password@host:6379`, `rediss://` for TLS. Without it, this process's memory. docs/scaling.md has Sentinel and Cluster.",
  ),
  REDIS_TIMEOUT_MS: whole(50, 60_000, 2_000, 'How long connecting to Redis or one command may take.'),
  REDIS_PASSWORD_FILE: text(
    null,
    'A file with the password of REDIS_URL, in place of one in it. It is read again for each new connection.',
  ),
  REDIS_CA_FILE: text(
    null,
    'Certificates of the authorities that signed the certificates of Redis, as PEM. Needs `rediss://`.',
  ),
  REDIS_CLUSTER: permission('REDIS_URL is a node of a Redis Cluster.'),
  REDIS_SENTINEL_NAME: text(
    null,
    'REDIS_URL is a Sentinel, and this is the name under which it knows the primary. The user, password and database of REDIS_URL are those of the servers.',
  ),
  REDIS_SENTINEL_PASSWORD: secret('The password of the Sentinels themselves, if they have one.'),
  REDIS_NODES: hostPorts(
    'Further nodes of the cluster, or further Sentinels, as `host:port` with commas: it is enough if one of all can be reached.',
  ),
} as const;
