/**
 * What the rules of this folder allow. Every row says why it is there: a row without a good reason is a row
 * to delete.
 */

interface AllowedArrow {
  readonly from: string;
  readonly to: readonly string[];
  readonly reason: string;
}

/** Who may import whom in src, besides itself. `domain` and `adapters` stand for all their folders. */
export const rooms: readonly AllowedArrow[] = [
  {
    from: 'start',
    to: [
      'gateway',
      'backend',
      'ai-service',
      'command-line',
      'payment-sandbox',
      'http',
      'domain',
      'ports',
      'adapters',
      'root',
    ],
    reason: 'wires everything together, so it alone knows everything',
  },
  {
    from: 'gateway',
    to: ['domain', 'ports', 'http'],
    reason: 'a surface: rules and interfaces, no neighbour',
  },
  {
    from: 'backend',
    to: ['domain', 'ports', 'http'],
    reason: 'a surface: rules and interfaces, no neighbour',
  },
  { from: 'ai-service', to: ['domain', 'ports', 'http'], reason: 'a surface, as the two above' },
  { from: 'command-line', to: ['domain', 'ports', 'http'], reason: 'a surface, as the three above' },
  {
    from: 'payment-sandbox',
    to: ['ports'],
    reason: 'stands in for the payment provider over HTTP, so it knows nothing of the system that calls it',
  },
  { from: 'http', to: ['ports'], reason: 'what surfaces share knows no rule of the domain' },
  { from: 'domain', to: ['ports'], reason: 'rules do not know how the outside is reached' },
  {
    from: 'adapters',
    to: ['ports'],
    reason: 'an adapter fulfils an interface and knows nothing else of ours',
  },
  { from: 'ports', to: [], reason: 'interfaces depend on nothing' },
  { from: 'console', to: [], reason: 'browser code talks to the system over HTTP only' },
  { from: 'bin', to: [], reason: 'runs on Node before anything of ours can be loaded' },
];

/** Which capabilities of src/domain may import which others. */
export const domainSiblings: readonly AllowedArrow[] = [
  {
    from: 'accounts',
    to: ['limits', 'retention'],
    reason: 'counts attempts by address as limits do; removes expired sessions and tokens in chunks',
  },
  { from: 'logs', to: ['retention'], reason: 'removes old entries in chunks' },
  {
    from: 'alerts',
    to: ['accounts', 'retention'],
    reason: 'a channel belongs to a company and mails its people; removes old deliveries in chunks',
  },
  {
    from: 'call-hooks',
    to: ['calls', 'credits', 'retention'],
    reason: 'a record says what a call was charged, in credits; removes old deliveries in chunks',
  },
  {
    from: 'mail',
    to: ['credits', 'retention'],
    reason: 'writes amounts of credits as all other texts do; removes old mail in chunks',
  },
  { from: 'keys', to: ['accounts', 'models'], reason: 'a key belongs to a company and opens models' },
  {
    from: 'credits',
    to: ['accounts', 'alerts', 'catalog', 'keys', 'retention'],
    reason:
      'a balance belongs to a company; invoices are in the currencies of the catalog; an alert names the key whose limit it is about, and is dispatched; old months are removed in chunks',
  },
  {
    from: 'calls',
    to: ['credits', 'models', 'accounts', 'keys', 'alerts', 'retention'],
    reason:
      'a finished call is priced by its model and charged; months are added up company by company; the log of a key is shown to its company alone; operators are alerted of withheld usage',
  },
  {
    from: 'answer-cache',
    to: ['calls', 'retention'],
    reason: 'encrypts answers as calls encrypt those of idempotent calls; removes old ones in chunks',
  },
  {
    from: 'call-payloads',
    to: ['calls', 'retention'],
    reason:
      'encrypts prompts and answers as calls encrypt those of idempotent calls; removes old ones in chunks',
  },
  {
    from: 'stored-responses',
    to: ['calls', 'retention'],
    reason: 'encrypts responses as calls encrypt stored answers; removes old ones in chunks',
  },
  { from: 'subscriptions', to: ['accounts', 'catalog'], reason: 'a company subscribes to a plan' },
  {
    from: 'payments',
    to: ['credits', 'catalog', 'subscriptions', 'accounts', 'mail', 'retention'],
    reason: 'money in becomes credits or a subscription of a company, at the price of the catalog',
  },
  {
    from: 'reconciliation',
    to: ['calls', 'credits', 'payments', 'catalog', 'models', 'accounts', 'alerts'],
    reason:
      'recounts by the rules that calls are charged and money becomes credits by; reads what the provider has as payments do; mails super admins and alerts operators',
  },
  { from: 'jobs', to: ['accounts'], reason: 'the history of a job names who changed it' },
  {
    from: 'talents',
    to: ['accounts', 'logs'],
    reason: 'the history of a talent names who changed it; log entries about a talent are erased with it',
  },
  {
    from: 'own-keys',
    to: ['models'],
    reason: 'a company’s own key is for a host of an alias, encrypted and used as targets’ keys are',
  },
  {
    from: 'model-calls',
    to: ['models', 'breakers', 'limits', 'credits', 'calls'],
    reason: 'tries the targets of a model behind their breakers; holds, records and charges the call',
  },
  {
    from: 'matching',
    to: ['accounts', 'documents', 'jobs', 'talents'],
    reason: 'reads a company’s talents and jobs, and skills in texts as documents do',
  },
  {
    from: 'documents',
    to: ['models', 'model-calls', 'calls'],
    reason: 'parses with models; a record says which tokens are charged',
  },
  {
    from: 'meetings',
    to: ['accounts', 'jobs', 'talents', 'matching', 'retention'],
    reason: 'briefs and reminds people of a talent and a job',
  },
];

export interface LibraryHome {
  /** A package; `node:` for Node's own parts, `bun` for Bun's. */
  readonly name: string;
  /** Beginnings of paths. Tests and benchmarks may use every dependency. */
  readonly homes: readonly string[];
  readonly never?: readonly string[];
  readonly reason: string;
}

export const libraryHomes: readonly LibraryHome[] = [
  { name: 'hono', homes: ['src/'], never: ['src/ports/'], reason: 'requests and answers, Web standards' },
  { name: 'zod', homes: ['src/'], never: ['src/ports/'], reason: 'whatever comes from outside is checked' },
  { name: '@electric-sql/pglite', homes: ['src/adapters/database/'], reason: 'the embedded database' },
  { name: 'pg-boss', homes: ['src/adapters/job-queue/'], reason: 'the job queue' },
  {
    name: 'jose',
    homes: ['src/domain/accounts/'],
    reason: 'access tokens, and ID tokens of an OpenID provider',
  },
  ...['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'].map((platform) => ({
    name: `sherpa-onnx-${platform}`,
    homes: ['src/adapters/networks/'],
    reason: 'has the library of ONNX Runtime for that platform, which runs the networks',
  })),
  {
    name: 'gpt-tokenizer',
    homes: ['src/adapters/model-upstream/embedded/'],
    reason: 'true token counts of the embedded models',
  },
  { name: 'graphql', homes: ['src/backend/'], reason: 'the language of the backend’s one interface' },
  { name: 'graphql-yoga', homes: ['src/backend/'], reason: 'GraphQL over HTTP' },
  { name: '@pothos/core', homes: ['src/backend/graphql/'], reason: 'the schema, code first' },
  {
    name: '@pothos/plugin-scope-auth',
    homes: ['src/backend/graphql/'],
    reason: 'access, declared beside each field',
  },
  { name: '@pothos/plugin-dataloader', homes: ['src/backend/graphql/'], reason: 'no list is an N+1' },
  { name: 'dataloader', homes: ['src/backend/graphql/'], reason: 'what the plugin above loads with' },
  { name: 'graphql-ws', homes: ['src/backend/', 'console/'], reason: 'subscriptions over WebSocket' },
  {
    name: 'stripe',
    homes: ['src/adapters/payment-provider/', 'src/payment-sandbox/'],
    reason: 'the payment provider’s client; the sandbox takes only the types of its objects',
  },
  { name: 'nodemailer', homes: ['src/adapters/mail/'], reason: 'sends mail by SMTP' },
  { name: 'unpdf', homes: ['src/adapters/document-reader/'], reason: 'text out of PDF' },
  { name: 'mammoth', homes: ['src/adapters/document-reader/'], reason: 'text out of DOCX' },
  { name: 'htmlparser2', homes: ['src/adapters/document-reader/'], reason: 'text out of HTML and ODT' },
  {
    name: 'hyparquet-writer',
    homes: ['src/adapters/table-files/'],
    reason: 'calls as Parquet files, for analytics',
  },
  {
    name: 'hyparquet',
    homes: ['src/adapters/table-files/'],
    reason: 'how many rows a Parquet file has; tests read it back',
  },
  {
    name: 'fflate',
    homes: ['src/adapters/document-reader/'],
    reason: 'looks into a zip before anything is inflated',
  },
  {
    name: '@modelcontextprotocol/server',
    homes: ['src/gateway/mcp'],
    reason: 'the official server of the protocol',
  },
  {
    name: 'swagger-ui-dist',
    homes: ['src/adapters/', 'src/start/'],
    reason: 'the interactive page of the API documents, from files of its own',
  },
  { name: 'react', homes: ['console/'], reason: 'the pages of the console' },
  { name: 'react-dom', homes: ['console/'], reason: 'the same, in a browser' },
  { name: 'wouter', homes: ['console/'], reason: 'addresses of the console’s pages' },
  {
    name: 'gql.tada',
    homes: ['console/session/'],
    reason: 'types of the console’s queries, inferred from their text; no code of it runs',
  },
  { name: 'uplot', homes: ['console/'], reason: 'the charts of the console' },
  {
    name: 'bun',
    homes: ['src/start/', 'src/http/', 'src/adapters/'],
    reason: 'the runtime stays replaceable: rules and surfaces are plain TypeScript and Web standards',
  },
  {
    name: 'node:',
    homes: [
      'bin/',
      'src/start/',
      'src/http/',
      'src/adapters/',
      'src/command-line/',
      'src/backend/console-files',
      // One signature for senders and the sandbox. WebCrypto's promises would make a simulated run unrepeatable.
      'src/ports/webhooks/',
    ],
    reason: 'files, sockets and processes belong to the outside; rules use Web standards',
  },
];

export interface WordException {
  readonly path: string;
  /** The name of a rule in banned-words.ts. */
  readonly word: string;
  readonly reason: string;
}

/** Waits that no fact can replace: real processes, drawn moments, the pace of a load, and what bounds a wait itself. */
const FIXED_WAITS: Readonly<Record<string, string>> = {
  'src/domain/limits/lost-holds.redis.test.ts':
    'how long the calls of its load run, and the pause between two',
  'test/attacks/unread-answers.slow.test.ts':
    'the runtime measures unread seconds in real time: a provider is silent for longer, a reader pauses for less',
  'test/doubles/until.ts': 'the pause between two looks at a fact',
  'test/gateway/routing.test.ts':
    'each provider answers after a drawn time, so that some answers come before their hedge and some after it',
  'test/runner/child.ts': 'bounds the silence and the end of a process that hangs',
  'test/runner/hang.ts': 'how long a process that hangs has to write down where it is',
  'test/services/once-per-run.ts': 'the pause between two tries at a lock that another process holds',
  'test/services/private-service.ts':
    'the pause between two looks at a server that starts, and a bound on its stop',
  'test/system/credit-kills.slow.test.ts': 'each kill comes at another moment of the calls under way',
  'test/system/credit-world.ts': 'how long the provider takes for an answer under load',
  'test/system/database-step-back.slow.test.ts':
    'the pace of calls that go on for longer than a gateway trusts the level it has read',
  'test/system/kills.slow.test.ts': 'each kill comes at another moment of a start',
  'test/system/running-system.ts':
    'bounds the wait for the end of a pipe that a child of the process may hold open',
  'test/system/signals.slow.test.ts':
    'a repeated signal counts as one for two seconds, by the clock of a real process',
};

export const wordExceptions: readonly WordException[] = Object.entries(FIXED_WAITS).map(([path, reason]) => {
  return { path, word: 'fixed wait', reason };
});

/** Where each process begins; every other file of src is reached from one of them. */
export const entries: readonly string[] = [
  'src/start/everything.ts',
  'src/start/gateway.ts',
  'src/start/backend.ts',
  'src/start/ai-service.ts',
  'src/start/turnpike.ts',
];

export interface TableOwner {
  /** The folder that alone writes these tables. */
  readonly owner: string;
  /** Tables, or a schema as a whole. */
  readonly owns: readonly string[];
}

export const tableOwners: readonly TableOwner[] = [
  {
    owner: 'src/domain/accounts',
    owns: [
      ...['companies', 'users', 'sessions', 'invitations', 'password_resets'],
      ...['totp_secrets', 'totp_recovery_codes', 'step_ups', 'email_verifications', 'service_tokens'],
      ...['oidc_identities', 'company_ceilings', 'company_ceiling_defaults'],
    ],
  },
  { owner: 'src/domain/alerts', owns: ['alert_channels', 'alert_deliveries'] },
  { owner: 'src/domain/answer-cache', owns: ['cached_answers'] },
  { owner: 'src/domain/call-payloads', owns: ['call_payloads', 'payload_settings'] },
  { owner: 'src/domain/audit', owns: ['audit_log'] },
  { owner: 'src/domain/call-hooks', owns: ['call_hook_deliveries'] },
  {
    owner: 'src/domain/calls',
    owns: [
      ...['calls', 'calls_other', 'calls_retirement', 'retired_usage', 'idempotency_keys'],
      ...['usage_days', 'usage_months', 'usage_months_done', 'set_aside_calls', 'withheld_usage'],
      'charge_corrections',
      ...['usage_subject_months', 'platform_days', 'platform_days_done'],
      ...['company_cost_months', 'company_cost_months_done'],
      ...['address_refusals', 'address_refusal_days', 'address_refusal_days_done'],
      ...['cost_days', 'retired_costs'],
      ...['usage_subject_days', 'usage_subject_counts', 'usage_subject_limit'],
    ],
  },
  {
    owner: 'src/domain/catalog',
    owns: ['plans', 'plan_rates', 'pack_rates', 'credit_packs', 'prices_to_archive'],
  },
  { owner: 'src/domain/console-assets', owns: ['console_assets'] },
  {
    owner: 'src/domain/credits',
    owns: [
      ...['credit_accounts', 'credit_transactions', 'key_months', 'credit_alerts', 'alert_settings'],
      ...['invoices', 'postpaid_spans', 'postpaid_terms', 'credit_lots'],
      ...['old_ledger_seals', 'subject_months', 'budgets', 'invoice_credits', 'usage_before_midnight'],
    ],
  },
  { owner: 'src/domain/jobs', owns: ['jobs', 'job_versions', 'job_files'] },
  { owner: 'src/domain/keys', owns: ['api_keys'] },
  { owner: 'src/domain/logs', owns: ['log_entries'] },
  { owner: 'src/domain/mail', owns: ['mail_outbox'] },
  {
    owner: 'src/domain/matching',
    owns: [
      ...['match_subjects', 'match_changes', 'match_pairs', 'match_scores', 'match_weights'],
      ...['match_generator', 'match_processes'],
    ],
  },
  {
    owner: 'src/domain/meetings',
    owns: ['rooms', 'room_prefixes', 'meetings', 'room_events', 'meeting_transcripts', 'erased_meetings'],
  },
  {
    owner: 'src/domain/models',
    owns: [
      'model_target_history',
      ...[
        'model_aliases',
        'model_targets',
        'model_catalogue',
        'model_prices',
        'withdrawn_prices',
        'model_alias_bounds',
      ],
      ...['model_hosted_tools', 'model_alias_tools'],
    ],
  },
  {
    owner: 'src/domain/payments',
    owns: [
      ...[
        'credit_pack_purchases',
        'subscription_checkouts',
        'plan_grants',
        'plan_grant_lines',
        'charge_refunds',
        'balance_uses',
      ],
      ...['failed_payments', 'provider_events', 'payment_reconciliation'],
      ...['payment_disputes', 'failed_refunds', 'cash_entries'],
    ],
  },
  {
    owner: 'src/domain/reconciliation',
    owns: ['audits', 'audit_differences', 'audit_provider_objects', 'ledger_digests'],
  },
  { owner: 'src/domain/own-keys', owns: ['own_provider_keys', 'own_key_catalogue'] },
  { owner: 'src/domain/processes', owns: ['service_processes', 'database_epoch'] },
  { owner: 'src/domain/stored-responses', owns: ['stored_responses'] },
  { owner: 'src/domain/subscriptions', owns: ['subscriptions'] },
  {
    owner: 'src/domain/talents',
    owns: ['talents', 'talent_versions', 'talent_files', 'talent_decisions', 'talent_proposals'],
  },
  {
    owner: 'src/payment-sandbox',
    owns: [
      ...['payment_sandbox_objects', 'payment_sandbox_replays', 'payment_sandbox_deliveries'],
      'payment_sandbox_settings',
    ],
  },
  { owner: 'src/start', owns: ['demo_world'] },
  { owner: 'src/adapters/database', owns: ['schema_migrations', 'schema_support', 'stored_functions'] },
  { owner: 'src/adapters/journal', owns: ['entries', 'probes'] },
  { owner: 'src/adapters/job-queue', owns: ['pgboss'] },
];

export interface TableException {
  /** A file of src or a stored function. */
  readonly path: string;
  /** `{name}` where the name is computed from `name`. */
  readonly table: string;
  readonly access: 'read' | 'write';
  readonly reason: string;
}

const CHARGES = ['charge_call', 'charge_calls'].map((name) => `migrations/functions/${name}.sql`);
const CHARGED_TOGETHER = 'a call is recorded and charged by one statement, or neither';

export const tableExceptions: readonly TableException[] = [
  ...['companies', 'model_target_history'].map((table) => {
    const reason = 'sums of a thousand companies and targets are joined with their names in one statement';
    return { path: 'src/domain/calls/usage/margins.ts', table, access: 'read', reason } as const;
  }),
  ...['credit_transactions', 'credit_accounts', 'key_months', 'credit_alerts'].flatMap((table) =>
    CHARGES.map((path) => ({ path, table, access: 'write' as const, reason: CHARGED_TOGETHER })),
  ),
  {
    path: 'migrations/functions/charge_call.sql',
    table: 'stored_responses',
    access: 'write',
    reason: CHARGED_TOGETHER,
  },
  ...['subject_months', 'credit_alerts'].map((table) => {
    const path = 'migrations/functions/count_attributed.sql';
    return { path, table, access: 'write' as const, reason: CHARGED_TOGETHER };
  }),
  {
    path: 'src/domain/calls/corrections/rerate-calls.ts',
    table: 'model_prices',
    access: 'read',
    reason: 'millions of calls are compared with the price of their start by the statement that reads them',
  },
  {
    path: 'src/domain/calls/log/call-log.ts',
    table: 'model_prices',
    access: 'read',
    reason: 'the alias whose price a call has is read with it, by the statement that lists calls',
  },
  {
    path: 'src/domain/payments/paid-amounts.ts',
    table: 'invoices',
    access: 'read',
    reason: 'what was paid for an invoice is joined with its refunds',
  },
  {
    path: 'src/domain/credits/invoices/postpaid-usage.ts',
    table: 'calls',
    access: 'read',
    reason: 'the charges around a month’s end are joined with when their calls began',
  },
  ...['budget-levels.ts', 'budgets.ts'].map((file) => {
    const reason =
      'what a company has spent in a month is the sum of its days, of the same moment as other budgets';
    const path = `src/domain/credits/budgets/${file}`;
    return { path, table: 'usage_days', access: 'read' as const, reason };
  }),
  {
    path: 'src/domain/calls/partitions/call-retention.ts',
    table: '{partition}',
    access: 'write',
    reason: 'a partition of calls, named after its span; calls owns them all',
  },
  {
    path: 'src/domain/calls/partitions/call-retention.ts',
    table: 'credit_transactions',
    access: 'read',
    reason:
      'a partition of millions of calls is compared with its charges inside the statement that sums it up',
  },
  ...['invoices', 'credit_transactions'].map((table) => {
    const reason = 'whose a source is, is found in one statement whichever capability has it';
    return { path: 'src/domain/payments/cash/corrections.ts', table, access: 'read', reason } as const;
  }),
  {
    path: 'src/domain/payments/plan-grants.ts',
    table: 'invoices',
    access: 'read',
    reason:
      'the cash of a plan’s invoice has our id of it, and all invoices of a company are read in one statement',
  },
  {
    path: 'src/domain/matching/generator/company-index.ts',
    table: 'database_epoch',
    access: 'read',
    reason: 'the epoch must be of the same moment as the horizon that is read with it',
  },
  {
    path: 'src/domain/credits/holds/billing-status.ts',
    table: 'companies',
    access: 'read',
    reason:
      'which invoices block which companies: every gateway asks this once a second, in one statement, and the overdue ones are taken in one',
  },
  {
    path: 'src/domain/credits/ledger/user-account.ts',
    table: 'users',
    access: 'read',
    reason: 'which accounts hold credits of people who left is looked for in all accounts, in one statement',
  },
  {
    path: 'src/domain/keys/key-lookup.ts',
    table: 'company_ceilings',
    access: 'read',
    reason:
      'a gateway asks for the keys in use every second, with what their companies may use, in one statement',
  },
  {
    path: 'src/domain/keys/mint-key.ts',
    table: 'companies',
    access: 'read',
    reason: 'a key is inserted if its company exists, in one statement',
  },
];
