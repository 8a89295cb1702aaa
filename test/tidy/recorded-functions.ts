export interface RecordedFunction {
  readonly name: string;
  readonly revision: number;
  /** The first 16 digits of its definition's SHA-256. */
  readonly checksum: string;
  readonly parameters: readonly string[];
  readonly returns: string;
}

/** Every file of migrations/functions as it was last recorded. To change one, see CONTRIBUTING.md, "Adding things". */
export const recordedFunctions: readonly RecordedFunction[] = [
  {
    name: 'account_alerts',
    revision: 1,
    checksum: '3ce8140d8f7a800c',
    parameters: [
      'company uuid',
      'before bigint',
      'after bigint',
      'line bigint',
      'topped_up bigint',
      'topped_up_version bigint',
      'month text',
    ],
    returns: 'table (kind text, subject text, threshold_percent integer, episode text)',
  },
  {
    name: 'audit_log_is_append_only',
    revision: 1,
    checksum: '57d20a4a83296943',
    parameters: [],
    returns: 'trigger',
  },
  {
    name: 'charge_call',
    revision: 13,
    checksum: '380640e87a284186',
    parameters: ['given_call json', 'companies uuid[]'],
    returns:
      'table (account_id uuid, balance_micro bigint, line_micro bigint, version bigint, key_id uuid, month text, spent_micro bigint)',
  },
  {
    name: 'charge_calls',
    revision: 21,
    checksum: '218c5ec7dac98710',
    parameters: ['given_calls text', 'companies uuid[]'],
    returns:
      'table (account_id uuid, balance_micro bigint, line_micro bigint, version bigint, key_id uuid, month text, spent_micro bigint)',
  },
  {
    name: 'count_attributed',
    revision: 3,
    checksum: '976184d27ecae218',
    parameters: ['given_calls text', 'known uuid[]'],
    returns:
      'table (account_id uuid, balance_micro bigint, line_micro bigint, version bigint, key_id uuid, month text, spent_micro bigint)',
  },
  {
    name: 'charge_calls_and_keep_answers',
    revision: 2,
    checksum: '2c10fd6716a80dc4',
    parameters: ['given_calls text', 'companies uuid[]', 'given_answers text'],
    returns:
      'table (account_id uuid, balance_micro bigint, line_micro bigint, version bigint, key_id uuid, month text, spent_micro bigint)',
  },
  { name: 'freeze_pack_rate', revision: 1, checksum: '3664e281c9d4f1bc', parameters: [], returns: 'trigger' },
  {
    name: 'charge_calls_and_record_responses',
    revision: 3,
    checksum: 'f167f6b608a35fc5',
    parameters: ['given_calls text', 'companies uuid[]', 'given_answers text', 'given_responses text'],
    returns:
      'table (account_id uuid, balance_micro bigint, line_micro bigint, version bigint, key_id uuid, month text, spent_micro bigint)',
  },
  {
    name: 'freeze_plan_rate',
    revision: 1,
    checksum: '494fce75e4726e93',
    parameters: [],
    returns: 'trigger',
  },
  {
    name: 'invoice_rank',
    revision: 1,
    checksum: '55f2e061fca9fd1c',
    parameters: ['status text'],
    returns: 'integer',
  },
  {
    name: 'keep_invoice_rank',
    revision: 1,
    checksum: '0313731690a2dd22',
    parameters: [],
    returns: 'trigger',
  },
  {
    name: 'keep_subscription_ended',
    revision: 1,
    checksum: '8216ca48e4ff3be5',
    parameters: [],
    returns: 'trigger',
  },
  {
    name: 'key_spending',
    revision: 2,
    checksum: 'ca99c7c80be04fcc',
    parameters: ['given_key uuid', 'given_month date'],
    returns: 'bigint',
  },
  {
    name: 'limited_spending',
    revision: 1,
    checksum: '0665a376223840d9',
    parameters: ['given_calls text', 'known uuid[]'],
    returns:
      'table (account_id uuid, balance_micro bigint, line_micro bigint, version bigint, key_id uuid, month text, spent_micro bigint)',
  },
  {
    name: 'ledger_entry_text',
    revision: 2,
    checksum: 'adfbc226595771a3',
    parameters: [
      'amount_micro bigint',
      'created_micro bigint',
      'type text',
      'contra text',
      'source_kind text',
      'source_id text',
      'reason text',
    ],
    returns: 'text',
  },
  {
    name: 'ledger_seal',
    revision: 2,
    checksum: 'efea2df650a23358',
    parameters: ['before bytea', 'account_id uuid', 'version bigint', 'entries text'],
    returns: 'bytea',
  },
  {
    name: 'match_job_changed',
    revision: 1,
    checksum: 'a9137575ea2fff81',
    parameters: [],
    returns: 'trigger',
  },
  {
    name: 'match_subject_gone',
    revision: 1,
    checksum: '00df13eb48f61159',
    parameters: ['gone_id uuid'],
    returns: 'void',
  },
  {
    name: 'match_talent_changed',
    revision: 1,
    checksum: '1ca26d085e563f2d',
    parameters: [],
    returns: 'trigger',
  },
  {
    name: 'model_targets_changed',
    revision: 1,
    checksum: '85ff416e25e4f5b3',
    parameters: [],
    returns: 'trigger',
  },
  {
    name: 'note_alert_moment',
    revision: 2,
    checksum: '168e2030a050041a',
    parameters: [],
    returns: 'trigger',
  },
  {
    name: 'note_match_change',
    revision: 1,
    checksum: '926fd81f00ab31b2',
    parameters: ['wanted_kind text', 'wanted_id uuid', 'wanted_company uuid'],
    returns: 'void',
  },
  {
    name: 'note_model_target',
    revision: 1,
    checksum: 'a329b804ac02acce',
    parameters: [],
    returns: 'trigger',
  },
  {
    name: 'note_postpaid_span',
    revision: 1,
    checksum: 'd5888a680fb6fa72',
    parameters: [],
    returns: 'trigger',
  },
  {
    name: 'open_credit_account',
    revision: 1,
    checksum: 'ed1c44ba21f978ed',
    parameters: [],
    returns: 'trigger',
  },
  {
    name: 'own_provider_keys_changed',
    revision: 1,
    checksum: '1ca4bc32aa1cbd00',
    parameters: [],
    returns: 'trigger',
  },
  { name: 'post_missing_cash', revision: 4, checksum: 'b54d973d7e4fdb2c', parameters: [], returns: 'bigint' },
  { name: 'refuse_change', revision: 1, checksum: 'cc2c6c7ec9e9fd78', parameters: [], returns: 'trigger' },
  {
    name: 'reopen_usage_month',
    revision: 2,
    checksum: '617e5523ade25409',
    parameters: [],
    returns: 'trigger',
  },
  {
    name: 'seal_transaction',
    revision: 1,
    checksum: '3a3308a41093bd16',
    parameters: [],
    returns: 'trigger',
  },
  {
    name: 'delete_responses_of_company',
    revision: 1,
    checksum: '0736be908bfa078a',
    parameters: [],
    returns: 'trigger',
  },
  {
    name: 'is_call',
    revision: 1,
    checksum: 'ff047fbeeaf1d054',
    parameters: ['outcome text', 'idempotency_sha256 bytea'],
    returns: 'boolean',
  },
  {
    name: 'is_credit_account',
    revision: 1,
    checksum: 'ea4d8a3add0d6a08',
    parameters: ['owner text', 'line_micro bigint', 'last_seal bytea'],
    returns: 'boolean',
  },
  {
    name: 'is_credit_transaction',
    revision: 1,
    checksum: '923bb657c5f6db7a',
    parameters: [
      'type text',
      'amount_micro bigint',
      'contra text',
      'source_kind text',
      'source_id text',
      'reason text',
      'seal bytea',
    ],
    returns: 'boolean',
  },
];
