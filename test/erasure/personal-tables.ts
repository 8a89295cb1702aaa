interface Tables {
  readonly what: string;
  readonly tables: readonly string[];
}

/**
 * Where data of a talent goes. The tests of erasure make a person of whom every one of these has something: a new table that takes
 * data of talents needs a place here, data that reaches it, and an erasure.
 */
export const OF_TALENTS: readonly string[] = [
  ...['audit_log', 'log_entries', 'mail_outbox', 'pgboss.job'],
  ...['match_changes', 'match_pairs', 'match_scores', 'match_subjects'],
  ...['meeting_transcripts', 'meetings', 'room_events', 'rooms'],
  ...['talent_decisions', 'talent_files', 'talent_proposals', 'talent_versions', 'talents'],
];

/** Where data of a member goes, likewise. The same tables are here where both leave something. */
export const OF_MEMBERS: readonly string[] = [
  ...['email_verifications', 'invitations', 'oidc_identities', 'password_resets', 'sessions', 'step_ups'],
  ...['totp_recovery_codes', 'totp_secrets', 'users'],
  ...['alert_channels', 'alert_settings', 'api_keys', 'service_tokens'],
  ...['audit_log', 'mail_outbox', 'talents', 'talent_versions'],
  ...['meetings', 'room_events'],
];

/** All other tables, with what they have instead. */
export const OF_NOBODY: readonly Tables[] = [
  {
    what: 'the hash of a room’s name, and the time of its use: an erasure writes it',
    tables: ['erased_meetings'],
  },
  {
    what: 'what a company demands of talents',
    tables: ['job_files', 'job_versions', 'jobs', 'match_weights'],
  },
  {
    what: 'a company as a whole, and what operators allow it',
    tables: [
      'companies',
      'company_ceiling_defaults',
      'company_ceilings',
      'payload_settings',
      'room_prefixes',
    ],
  },
  {
    what: 'what was sent by callers, by names that these chose: docs/payloads.md says how it is erased',
    tables: [
      ...['call_payloads', 'cached_answers', 'idempotency_keys', 'stored_responses'],
      ...['calls', 'budgets', 'subject_months', 'usage_subject_counts', 'usage_subject_days'],
      ...['usage_subject_limit', 'usage_subject_months'],
    ],
  },
  {
    what: 'addresses of requests without a key, for 7 days',
    tables: ['address_refusals', 'address_refusal_days', 'address_refusal_days_done'],
  },
  {
    what: 'records, sums and deliveries of calls, by ids',
    tables: [
      ...['call_hook_deliveries', 'calls_retirement', 'set_aside_calls', 'withheld_usage'],
      ...['charge_corrections', 'invoice_credits', 'usage_before_midnight'],
      ...[
        'company_cost_months',
        'company_cost_months_done',
        'cost_days',
        'platform_days',
        'platform_days_done',
      ],
      ...['retired_costs', 'retired_usage', 'usage_days', 'usage_months', 'usage_months_done'],
    ],
  },
  {
    what: 'money, which is stored as long as books are',
    tables: [
      ...[
        'balance_uses',
        'cash_entries',
        'charge_refunds',
        'credit_accounts',
        'credit_alerts',
        'credit_lots',
      ],
      ...['credit_pack_purchases', 'credit_transactions', 'failed_payments', 'failed_refunds', 'invoices'],
      ...['key_months', 'old_ledger_seals', 'payment_disputes', 'payment_reconciliation', 'plan_grant_lines'],
      ...['plan_grants', 'postpaid_spans', 'postpaid_terms', 'provider_events', 'subscription_checkouts'],
      ...['subscriptions', 'alert_deliveries'],
      ...['audit_differences', 'audit_provider_objects', 'audits', 'ledger_digests'],
    ],
  },
  {
    what: 'the catalogue of plans, packs and models, and provider keys',
    tables: [
      ...['credit_packs', 'pack_rates', 'plan_rates', 'plans', 'prices_to_archive'],
      ...[
        'model_alias_bounds',
        'model_alias_tools',
        'model_aliases',
        'model_catalogue',
        'model_hosted_tools',
      ],
      ...[
        'model_prices',
        'withdrawn_prices',
        'model_target_history',
        'model_targets',
        'own_key_catalogue',
        'own_provider_keys',
      ],
    ],
  },
  {
    what: 'the payment sandbox, for development',
    tables: [
      ...['payment_sandbox_deliveries', 'payment_sandbox_objects', 'payment_sandbox_replays'],
      'payment_sandbox_settings',
    ],
  },
  {
    what: 'the installation',
    tables: [
      ...['console_assets', 'database_epoch', 'demo_world', 'match_generator', 'match_processes'],
      ...['schema_migrations', 'schema_support', 'service_processes', 'stored_functions'],
      ...['pgboss.bam', 'pgboss.job_dependency', 'pgboss.queue', 'pgboss.queue_stats', 'pgboss.schedule'],
      ...['pgboss.subscription', 'pgboss.version', 'pgboss.warning'],
    ],
  },
];
