/** Below and above the version of any transaction. */
export const BEFORE_ALL = '-9223372036854775808';
export const AFTER_ALL = '9223372036854775807';
/** Above any balance; the sum of two still fits into a bigint. */
const FAR = '4000000000000000000';

/**
 * A select of the columns `account_id`, `after` and `upto`: the transactions of an account after one version, up to and
 * including another. Each of the two is the version of a transaction that is sealed alone, or of the last in a group
 * that is sealed together, or `BEFORE_ALL` or `AFTER_ALL`.
 */
export type Spans = string;

/** The result of a statement over spans. */
export interface SpanCounts {
  readonly faults: bigint;
  /** Transactions that are sealed together with a later one. */
  readonly members: bigint;
}

/**
 * Reads the time as double precision, which is accurate to less than half a microsecond until the year 2106 and faster
 * than `extract`.
 */
const createdOf = (row: string) => `(date_part('epoch', ${row}.created_at) * 1000000)::bigint`;
const entryOf = (row: string) =>
  `ledger_entry_text(${row}.amount_micro, ${createdOf(row)}, ${row}.type, ${row}.contra, ${row}.source_kind, ${row}.source_id, ${row}.reason)`;
const IS_CALL = `posted.source_kind = 'call' and posted.type = 'USAGE' and posted.contra = 'usage'
    and octet_length(posted.source_id) = 36 and posted.reason is null`;
/**
 * Read from the previous row: its seal or, if it is sealed together with a later row, that row's version, which is
 * shorter. Null if there is no previous row or it is from before there were seals.
 */
const SEAL_OR_GROUP = 'case when seal_version = version then seal else int8send(seal_version) end';

/**
 * Equals `ledger_seal` for a transaction `posted` of `account`, in fewer steps if it is a call's. `textsend` uses the
 * client encoding, which is UTF-8; with another one the seals do not match, and their own check is run.
 */
const SEAL = `case when ${IS_CALL}
  then sha256(coalesce(seal_before, '') || textsend(account.name || posted.version::text || chr(10) || posted.amount_micro::text || ' '
    || ${createdOf('posted')}::text || ' USAGE usage 4:call 36:' || posted.source_id || chr(10)))
  else ledger_seal(seal_before, posted.account_id, posted.version, ${entryOf('posted')}) end`;

/**
 * The content of a transaction `posted`, in binary form for a call. Different lists of transactions never give the same
 * bytes: the binary form begins with a zero byte, the text form with a letter, and the end of each can be determined.
 */
const WHOLE_ENTRY = `case when ${IS_CALL} and posted.version between 1 and 72057594037927935
    and (posted.seal is not null) = (posted.seal_version = posted.version)
  then int8send(posted.version) || int8send(posted.seal_version) || int8send(posted.amount_micro) || int8send(posted.balance_after_micro)
    || timestamptz_send(posted.created_at) || textsend(posted.source_id) || coalesce(posted.seal, '')
  else textsend(concat('v', posted.version, ' ', posted.balance_after_micro, ' ', posted.seal_version, ' ', encode(posted.seal, 'hex'), ' ')
    || ${entryOf('posted')}) end`;

/**
 * The digest of the transactions in `span`, ordered by version; null if there are none. The rows are read in that
 * order, because sorting each span would cost as much as the hash.
 */
export const DIGEST_OF_SPAN = `(select sha256(string_agg(${WHOLE_ENTRY}, '')) from (select * from credit_transactions
    where account_id = span.account_id and version > span.after and version <= span.upto order by version) as posted)`;

/**
 * Counts faults of single transactions. Each must continue from the previous balance, and have a type and a contra
 * account that the totals include. One that is sealed alone must have the seal that follows from the previous one,
 * which is sealed alone too or ends a group. The row before a span is read along with it.
 */
export const singlesIn = (spans: Spans) => `
  select count(*) filter (where not case
      when posted.version < 1 or posted.seal_version is null and posted.version > seals_from then false
      when balance_after_micro not between -${FAR} and ${FAR} or amount_micro not between -${FAR} and ${FAR} then false
      when balance_after_micro - amount_micro <> coalesce(balance_before, 0) then false
      when type not in ('USAGE', 'PACK_PURCHASE', 'SUBSCRIPTION_GRANT', 'INVOICE_PAYMENT', 'ADJUSTMENT', 'REFUND', 'EXPIRY') then false
      when contra not in ('usage', 'sales', 'grants', 'receivables', 'adjustments', 'expired') then false
      when posted.version <= seals_from then true
      when posted.seal_version <> posted.version then true
      when octet_length(seal_before) = 8 then seal_before = int8send(posted.version)
      else seal is not distinct from ${SEAL} end) as faults,
    count(*) filter (where posted.seal_version <> posted.version and posted.version > seals_from) as members
  from (${spans}) as span
  join (select id, id::text || ' ' as name, seals_from from credit_accounts offset 0) as account on account.id = span.account_id
  cross join lateral (select posted.*, lag(${SEAL_OR_GROUP}) over own as seal_before, lag(balance_after_micro) over own as balance_before
    from credit_transactions as posted
    where posted.account_id = span.account_id and posted.version >= span.after and posted.version <= span.upto
    window own as (order by version)) as posted
  where posted.version > span.after`;

/**
 * Counts groups of transactions sealed together whose seal does not match. All but the last of a group are aggregated
 * in order, and joined with the last and with the row before the group, which must be sealed alone or end another
 * group.
 */
export const sealedTogetherIn = (spans: Spans) => `
  select count(*) as faults, 0::bigint as members
  from (select posted.account_id, posted.seal_version, seals_from, min(posted.version) as first, max(posted.version) as last,
      string_agg(${entryOf('posted')}, '' order by posted.version) as entries
    from (${spans}) as span join credit_accounts as account on account.id = span.account_id
    join credit_transactions as posted on posted.account_id = span.account_id and posted.version > span.after and posted.version <= span.upto
    where posted.seal_version <> posted.version and posted.version > seals_from
    group by posted.account_id, posted.seal_version, seals_from) as members
  left join credit_transactions as closing on closing.account_id = members.account_id and closing.version = members.seal_version
  left join lateral (select version, seal_version, seal from credit_transactions as other
    where other.account_id = members.account_id and other.version < first and other.version > seals_from
    order by other.version desc limit 1) as before on true
  where not coalesce(closing.seal_version = closing.version and last < closing.version
    and (before.version is null or before.version = before.seal_version)
    and closing.seal = ledger_seal(before.seal, members.account_id, closing.version, entries || ${entryOf('closing')}), false)`;
