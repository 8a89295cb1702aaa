import type { Transaction } from '../../src/ports/database.ts';

/**
 * Corruptions of the books by fact: what is said here of a fact is the only place that knows the table and the columns which
 * store it. Each statement returns a row for each that it changed.
 */
type Value = string | bigint | boolean | null | Expression;

interface Expression {
  readonly sql: (column: string) => string;
}

/** As much more than there is. */
export const more = (amount: bigint): Expression => ({ sql: (column) => `${column} + ${amount}` });
/** Any that is not null. */
export const any: Expression = { sql: (column) => `${column} is not null` };

type Fields<Name extends string> = Readonly<Partial<Record<Name, Value>>>;

/** A statement that plants a corruption. */
export type Planted = string;

function fact<const Name extends string>(table: string, columns: Readonly<Record<Name, string>>) {
  const columnsOf = (fields: Fields<Name>) =>
    (Object.entries(fields) as [Name, Value][]).map(([name, value]) => [columns[name], value] as const);
  const conditionOf = (where: Fields<Name>) =>
    columnsOf(where)
      .map(([column, value]) => {
        if (value === null) return `${column} is null`;
        return typeof value === 'object' ? value.sql(column) : `${column} = ${literal(value)}`;
      })
      .join(' and ');
  const assigned = (column: string, value: Value) =>
    value !== null && typeof value === 'object' ? value.sql(column) : literal(value);
  return {
    remove: (where: Fields<Name>): Planted => `delete from ${table} where ${conditionOf(where)} returning 1`,
    change: (where: Fields<Name>, to: Fields<Name>): Planted =>
      `update ${table} set ${columnsOf(to)
        .map(([column, value]) => `${column} = ${assigned(column, value)}`)
        .join(', ')} where ${conditionOf(where)} returning 1`,
    /** Another one, that differs in this. */
    double: (where: Fields<Name>, changes: Fields<Name>): Planted => {
      const pairs = columnsOf(changes).map(([column, value]) => `'${column}', ${assigned(column, value)}`);
      return `insert into ${table} overriding system value
        select (jsonb_populate_record(given, jsonb_build_object(${pairs.join(', ')}))).* from ${table} as given where ${conditionOf(where)} limit 1 returning 1`;
    },
  };
}

function literal(value: string | bigint | boolean | null): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
}

/** The transactions of all accounts. `before` is the balance that one left. */
export const ledger = fact('credit_transactions', {
  account: 'account_id',
  version: 'version',
  type: 'type',
  amount: 'amount_micro',
  balance: 'balance_after_micro',
  contra: 'contra',
  kind: 'source_kind',
  source: 'source_id',
  seal: 'seal',
  sealVersion: 'seal_version',
});
/** Makes the balances fit again, as someone would who hides a change of the ledger. */
export const rebalanced = (account: string): readonly Planted[] => [
  `update credit_transactions as posted set balance_after_micro = sum from (
     select version, sum(amount_micro) over (order by version) as sum from credit_transactions where account_id = '${account}') as summed
   where account_id = '${account}' and posted.version = summed.version returning 1`,
  `update credit_accounts set balance_micro = (
     select coalesce(sum(amount_micro), 0) from credit_transactions where account_id = '${account}') where id = '${account}' returning 1`,
];
export const accounts = fact('credit_accounts', {
  id: 'id',
  company: 'company_id',
  owner: 'owner',
  balance: 'balance_micro',
  version: 'version',
  line: 'line_micro',
  lastSeal: 'last_seal',
});
export const companies = fact('companies', { id: 'id', mode: 'billing_mode', line: 'credit_limit_micro' });
export const lots = fact('credit_lots', {
  account: 'account_id',
  version: 'version',
  amount: 'amount_micro',
  left: 'left_micro',
  expires: 'expires_at',
  expired: 'expired_at',
  taken: 'expired_micro',
});
export const calls = fact('calls', {
  id: 'id',
  company: 'company_id',
  key: 'key_id',
  payer: 'payer_id',
  outcome: 'outcome',
  prompt: 'prompt_tokens',
  charge: 'charge_micro',
  cost: 'cost_micro',
  surcharge: 'surcharge_micro',
  share: 'charge_share_millionths',
  price: 'price_id',
  endUser: 'end_user',
});
export const prices = fact('model_prices', {
  id: 'id',
  alias: 'alias',
  prompt: 'prompt_micro',
  from: 'in_force_from',
});
export const withheld = fact('withheld_usage', {
  call: 'call_id',
  excess: 'excess_micro',
  resolution: 'resolution',
});
const SUMS = { calls: 'calls', charge: 'charge_micro', prompt: 'prompt_tokens' } as const;
export const corrections = fact('charge_corrections', {
  id: 'id',
  call: 'call_id',
  account: 'account_id',
  amount: 'credits_micro',
});
export const invoiceCredits = fact('invoice_credits', {
  correction: 'correction_id',
  amount: 'credits_micro',
  money: 'amount_minor',
});
export const usageDays = fact('usage_days', {
  returned: 'returned_micro',
  company: 'company_id',
  key: 'key_id',
  day: 'day',
  alias: 'alias',
  ...SUMS,
});
export const retiredUsage = fact('retired_usage', { company: 'company_id', key: 'key_id', ...SUMS });
export const usageMonths = fact('usage_months', {
  company: 'company_id',
  key: 'key_id',
  month: 'month',
  alias: 'alias',
  ...SUMS,
});
export const subjectDays = fact('usage_subject_days', {
  company: 'company_id',
  kind: 'kind',
  subject: 'subject',
  day: 'day',
  ...SUMS,
});
export const subjectMonths = fact('subject_months', {
  company: 'company_id',
  scope: 'scope',
  month: 'month',
  subject: 'subject',
  charge: 'charge_micro',
});
export const keyMonths = fact('key_months', {
  returned: 'returned_micro',
  key: 'key_id',
  month: 'month',
  charge: 'charge_micro',
});
export const costDays = fact('cost_days', {
  company: 'company_id',
  day: 'day',
  cost: 'cost_micro',
  charge: 'charge_micro',
});
export const platformDays = fact('platform_days', {
  day: 'day',
  alias: 'alias',
  cost: 'cost_micro',
  charge: 'charge_micro',
});
export const companyCosts = fact('company_cost_months', {
  company: 'company_id',
  month: 'month',
  cost: 'cost_micro',
});
export const invoices = fact('invoices', {
  credited: 'credited_micro',
  id: 'id',
  company: 'company_id',
  kind: 'kind',
  status: 'status',
  minor: 'amount_minor',
  usage: 'usage_micro',
  first: 'first_version',
  last: 'last_version',
  provider: 'provider_invoice_id',
});
export const spans = fact('postpaid_spans', {
  company: 'company_id',
  after: 'after_version',
  until: 'until_version',
  invoiced: 'invoiced_version',
});
export const purchases = fact('credit_pack_purchases', {
  id: 'id',
  company: 'company_id',
  status: 'status',
  credits: 'credits_micro',
  minor: 'amount_minor',
  invoice: 'invoice_id',
  completed: 'completed_at',
});
export const packRates = fact('pack_rates', {
  pack: 'credit_pack_id',
  minor: 'price_minor',
  credits: 'credits_micro',
});
export const planRates = fact('plan_rates', {
  plan: 'plan_id',
  minor: 'price_minor',
  credits: 'credits_micro',
});
export const grants = fact('plan_grants', {
  invoice: 'provider_invoice_id',
  company: 'company_id',
  credits: 'credits_micro',
  moved: 'moved_micro',
});
export const grantLines = fact('plan_grant_lines', {
  invoice: 'provider_invoice_id',
  line: 'provider_line_id',
  minor: 'amount_minor',
  moved: 'moved_micro',
});
export const refunds = fact('charge_refunds', {
  charge: 'charge_id',
  company: 'company_id',
  kind: 'source_kind',
  source: 'source_id',
  refunded: 'refunded_minor',
  micro: 'refunded_micro',
  taken: 'taken_micro',
  granted: 'granted_micro',
});
export const failedRefunds = fact('failed_refunds', { id: 'refund_id', returned: 'returned_micro' });
export const disputes = fact('payment_disputes', {
  id: 'dispute_id',
  status: 'status',
  minor: 'amount_minor',
});
export const balanceUses = fact('balance_uses', {
  invoice: 'provider_invoice_id',
  credits: 'credits_micro',
  minor: 'amount_minor',
});
export const cash = fact('cash_entries', {
  id: 'id',
  company: 'company_id',
  account: 'account',
  minor: 'amount_minor',
  kind: 'source_kind',
  source: 'source_id',
  step: 'step',
});

/** Plants it past all triggers and references; each statement has to find what it changes. */
export async function plant(transaction: Transaction, statements: readonly Planted[]): Promise<void> {
  await transaction.script('set local session_replication_role = replica');
  for (const statement of statements) {
    const changed = await transaction.query(statement);
    if (changed.length === 0) throw new Error(`nothing was planted: ${statement}`);
  }
  await transaction.script('set local session_replication_role = origin');
}
