import type { Statements } from '../../../ports/database.ts';
import { IS_PRICED_RIGHT, PRICE_COLUMNS, PRICED_CALLS, STORED_SUMS, WITHHELD } from '../usage-checks.ts';
import { monthOf, monthOfDays, ofDate } from './calendar.ts';
import { areSmall, drawWeightedSums, isNothing, PRIME, summed, type WeightedSums } from './weighted-sums.ts';

const ALL_KEYS = "'00000000-0000-0000-0000-000000000000'::uuid";
/** The most tokens that usage by day counts for a call. */
const MOST_TOKENS = '1099511627776';
/** The most tags that a call can have. If one has more, the check of usage by name is run itself. */
const MOST_TAGS = 8;
/**
 * Keeps a subquery from being merged into the statement, so that its expressions are computed once. With a plain 0,
 * PostgreSQL would use no parallel workers.
 */
const ONCE = "offset '0'::bigint";
const CALL_COLUMNS = `calls.id, calls.company_id, key_id, calls.alias, target_id, outcome, prompt_tokens, cached_tokens, cache_write_tokens,
        completion_tokens, charge_micro, surcharge_micro, charge_share_millionths, price_factor_millionths, completion_factor_millionths, hour_write_tokens, hour_write_factor_millionths, cost_micro, price_id, payer_id, served_by, started_at,
        project, end_user, tags`;
const DAY_OF_CALL = "(started_at at time zone interval '0')::date";

const tokensOf = (column: string) => `least(coalesce(${column}, 0), ${MOST_TOKENS})`;
const ofPriced = (column: string) => `(case when price_id is null then 0 else ${tokensOf(column)} end)`;
/** The columns of `STORED_SUMS`, computed for a call. */
const OF_CALL = [
  '1',
  "(case when outcome = 'FAILED' then 1 else 0 end)",
  ...['prompt_tokens', 'cached_tokens', 'cache_write_tokens', 'completion_tokens'].map(ofPriced),
  'charge_micro',
  'coalesce(surcharge_micro, 0)',
];
/** Nearly every call has a price and neither cache writes nor a surcharge. */
const PLAIN_CALL = {
  when: `price_id is not null and cache_write_tokens is null and surcharge_micro is null
    and ${areSmall(['prompt_tokens', 'cached_tokens', 'completion_tokens', 'charge_micro'])}`,
  columns: [
    ...OF_CALL.slice(0, 2),
    ...['prompt_tokens', 'cached_tokens', '0', 'completion_tokens', 'charge_micro', '0'],
  ],
};
const PLAIN_SUMS = { when: areSmall(STORED_SUMS), columns: STORED_SUMS };
const RETIRED_DAYS = 'select company_id, day from retired_usage';
const RETIRED_MONTHS = "select company_id, date_trunc('month', day)::date from retired_usage";

/** True for each check of calls and their sums that is proved. */
interface UsageProof {
  readonly charges: boolean;
  readonly prices: boolean;
  readonly payers: boolean;
  readonly days: boolean;
  readonly costs: boolean;
  readonly subjects: boolean;
  readonly spending: boolean;
  readonly months: boolean;
  readonly keys: boolean;
}

/**
 * The limits of the comparison, read beforehand. A change in the meantime can make correct sums differ, in which case
 * the check itself is run; it cannot make wrong sums equal.
 */
interface Bounds {
  /** Calls with lower ids were deleted by retention. */
  readonly retiredBefore: string | null;
  /** The first day with sums by project, end user and tag; `spentFrom` is the first month with sums for budgets. */
  readonly namedFrom: string;
  readonly spentFrom: string;
  /** All months before these have been added up for every company with usage in them. */
  readonly openFrom: string;
  readonly namedOpenFrom: string;
}

/** Compares all calls, in one pass, with the stored sums. It is a single statement, so it sees one snapshot. */
export async function proveUsage(statements: Statements): Promise<UsageProof> {
  const [bounds] = await statements.query<Bounds>(
    `select (select before_id::text from calls_retirement) as "retiredBefore",
       coalesce((select min(day) from usage_subject_counts), 'infinity')::text as "namedFrom",
       coalesce((select min(month) from subject_months), 'infinity')::text as "spentFrom",
       ${openFrom('true', `usage_days where key_id = ${ALL_KEYS} and`)} as "openFrom",
       ${openFrom('has_subjects', 'usage_subject_days where')} as "namedOpenFrom"`,
  );
  const shared = await statements.query<{ companyId: string; kind: string; day: string }>(SHARED_DAYS);
  if (bounds === undefined) throw new Error('the bounds of usage could not be read');
  const [proof] = await statements.query<UsageProof>(
    statementOf(await drawWeightedSums(statements), bounds),
    [
      monthOfDays(),
      shared.map(({ companyId }) => companyId),
      shared.map(({ day }) => day),
      shared.map(({ kind }) => kind),
    ],
  );
  if (proof === undefined) throw new Error('usage could not be added up');
  return proof;
}

/**
 * Looking up the company and month of each row is slow, so most rows are decided by their month alone. If that is
 * wrong, a month that is not added up is compared, and the sums differ.
 */
const openFrom = (condition: string, days: string) => `coalesce((select min(months.month)
    from (select distinct month from usage_months_done) as months cross join companies
    where (companies.id, months.month) not in (select company_id, month from usage_months_done where ${condition})
      and exists (select 1 from ${days} company_id = companies.id and day >= months.month and day < months.month + interval '1 month')),
  (select max(month) + interval '1 month' from usage_months_done where ${condition}), '-infinity')::date::text`;

/** Days on which some names of a company share a row: all names of such a day are compared as one. */
const SHARED_DAYS = `select company_id as "companyId", kind, day::text as day from usage_subject_counts as counted
  where subjects >= 10 and exists (select 1 from usage_subject_days as days where days.company_id = counted.company_id
    and days.kind = counted.kind and days.day = counted.day and days.subject = '(other)')`;
const sharedOf = (kind: string) => `select company_id, day
  from unnest($2::uuid[], $3::date[], $4::text[]) as shared (company_id, day, kind) where kind = '${kind}'`;

/**
 * Usage by day, by name and by month in one number, because computing the value of a row is the most expensive part. If
 * it is not zero, all of these checks are run. The rows of days are counted twice: against the calls, and against the
 * months that were added up from them.
 */
const COUNTED = 'calls.counted + retired.sum + months.sum + named_months.sum - days.sum - named.sum';

function statementOf(sums: WeightedSums, bounds: Bounds): string {
  return `select
      ${isNothing('calls.charges - posted.sum - withheld.sum')} and posted.others = 0 and retired_calls.present = 0 as charges,
      calls.mispriced + withheld_calls.mispriced = 0 as prices,
      calls.foreign_payers = 0 as payers,
      ${isNothing(COUNTED)} and days.empty = 0 as days,
      ${isNothing('calls.costs + retired_costs.sum - costs.sum')} and costs.empty = 0 as costs,
      ${isNothing(COUNTED)} and named.empty + calls.overtagged = 0 as subjects,
      ${isNothing('calls.spent - spent.sum')} as spending,
      ${isNothing(COUNTED)} and days.empty + months.empty + named.empty_days + named_months.empty = 0 as months,
      ${isNothing('days.spent - keys.sum')} as keys
    from ${callParts(sums, bounds)}, ${ledgerParts(sums, bounds)},
      ${dayParts(sums, bounds)}, ${namedParts(sums, bounds)}`;
}

function callParts(sums: WeightedSums, { retiredBefore, namedFrom, spentFrom }: Bounds): string {
  const { amountOf } = sums;
  const isThere = retiredBefore === null ? '' : `and id >= '${retiredBefore}'`;
  const either = (weightOf: (kind: string, name: string) => string) =>
    `(case when project is null then 0 else ${weightOf('PROJECT', 'project')} end
      + case when end_user is null then 0 else ${weightOf('END_USER', 'end_user')} end)`;
  const ofNames = `${either((kind, name) => ofName(sums, kind, name, 'day'))} + case when tags is null then 0 else ${ofTags(sums)} end`;
  const columns = {
    charges: `case when charge_micro <> 0 ${isThere} then ${amountOf(['1', 'charge_micro'])}
      * ${ofCharge(sums, 'coalesce(payer_id, company_id)', 'id::text')} end`,
    counted: `case when is_counted then ${amountOf(OF_CALL, PLAIN_CALL)} * (${ofDay(sums, ALL_KEYS)}
      + coalesce(${ofDay(sums, 'key_id')}, 0)
      + case when (project is not null or end_user is not null or tags is not null) and ${isNamed(namedFrom)}
        then (${ofNames}) % ${PRIME} else 0 end) end`,
    costs: `case when cost_micro is not null and is_counted then ${amountOf(['1', 'charge_micro', 'cost_micro'])}
      * ${ofCost(sums, `case when served_by is null then model_hash else ${modelOn(sums, ofDate(sums, 'day'), 'served_by')} end`, "coalesce(target_id, '')")} end`,
    spent: `case when charge_micro <> 0 and key_id is not null and (project is not null or end_user is not null)
      and day >= '${spentFrom}' and (company_id, ${monthOf('day')}) not in (${RETIRED_MONTHS})
      then ${amountOf(['charge_micro'])} * ${either((kind, name) => ofSpent(sums, kind, name, ofDate(sums, monthOf('day'))))} end`,
  };
  const selected = Object.entries(columns).map(([name, expression]) => `${summed(expression)} as ${name}`);
  return `(select ${selected.join(', ')},
      count(*) filter (where not ${IS_PRICED_RIGHT} and id not in (select call_id from (${WITHHELD}) as withheld)) as mispriced,
      count(*) filter (where payer_id is not null
        and (payer_id, company_id) not in (select id, company_id from credit_accounts where company_id is not null)) as foreign_payers,
      count(*) filter (where cardinality(tags) > ${MOST_TAGS}) as overtagged
    from (select ${CALL_COLUMNS}, ${PRICE_COLUMNS}, null::bigint as excess_micro, ${DAY_OF_CALL} as day,
        outcome <> 'REFUSED' and calls.alias is not null as is_counted,
        ${modelOn(sums, ofDate(sums, DAY_OF_CALL), 'calls.alias')} as model_hash
      from ${PRICED_CALLS} ${ONCE}) as calls) as calls,
    (select count(*) filter (where not ${IS_PRICED_RIGHT}) as mispriced
      from (select calls.*, ${PRICE_COLUMNS}, excess_micro
        from (${WITHHELD}) as withheld join ${PRICED_CALLS} on calls.id = call_id) as calls) as withheld_calls`;
}

const isNamed = (namedFrom: string) =>
  `is_counted and key_id is not null and day >= '${namedFrom}' and (company_id, day) not in (${RETIRED_DAYS})`;

/** The sum over all tags of a call. Unnesting the tags of each call would keep PostgreSQL from using parallel workers. */
function ofTags(sums: WeightedSums): string {
  const ofTag = (tag: string) => ofSubject(sums, 'TAG', tag);
  let each = '0';
  for (let at = MOST_TAGS; at >= 1; at--)
    each = `case when tags[${at}] is null then 0 else ${ofTag(`tags[${at}]`)} + ${each} end`;
  return `(case when ${isShared('TAG', 'day')} then cardinality(tags) * ${ofTag("'(other)'")} else ${each} end)`;
}

/** The withheld part of a call is posted later, in addition to the call's own transaction or without one. */
function ledgerParts(sums: WeightedSums, { retiredBefore }: Bounds): string {
  const weight = ofCharge(sums, 'posted.account_id', 'posted.source_id');
  const amount = '-(posted.amount_micro % 2147483647)';
  const isThere = retiredBefore === null ? 'true' : `posted.source_id >= '${retiredBefore}'`;
  return `(select ${summed(`case when source_kind = 'call' and ${isThere} then ${sums.amountOf(['1', amount])} * ${weight} end`)} as sum,
        count(*) filter (where type = 'USAGE' and source_kind not in ('call', 'withheld-usage')) as others
      from credit_transactions as posted) as posted,
    (select ${summed(`${sums.amountOf(['(case when own.source_id is null then 1 else 0 end)', amount])} * ${weight}`)} as sum
      from credit_transactions as posted
      left join credit_transactions as own on own.source_kind = 'call' and own.source_id = posted.source_id
      where posted.source_kind = 'withheld-usage' and ${isThere}) as withheld,
    (select count(*) as present from calls where ${retiredBefore === null ? 'false' : `id < '${retiredBefore}'`}) as retired_calls`;
}

const isDone = (month: string, openFrom: string, condition = 'true') =>
  `(${month} < '${openFrom}' or (company_id, ${month}) in (select company_id, month from usage_months_done where ${condition}))`;
const EMPTY = 'count(*) filter (where calls = 0)';
/** Sums by model are stored with the first day of their month. */
const EMPTY_MONTHS = "count(*) filter (where calls = 0 or alias <> '' and day <> month)";

function dayParts(sums: WeightedSums, { openFrom }: Bounds): string {
  const { amountOf } = sums;
  const value = amountOf(STORED_SUMS, PLAIN_SUMS);
  const onDay = modelOn(sums, ofDate(sums, 'day'));
  const inMonth = keyIn(sums, ofDate(sums, 'month'));
  const ofCosts = `${summed(`${amountOf(['calls', 'charge_micro', 'cost_micro'])} * ${ofCost(sums, onDay, 'target_id')}`)} as sum`;
  return `(select ${summed(`${value} * (${ofDay(sums, 'key_id', modelOn(sums, ofDate(sums, 'day')))}
          + case when ${isDone('month', openFrom)} then ${ofMonthByModel(sums, 'month_key')} + ${ofMonthByDay(sums, 'month_key')} else 0 end)`)} as sum,
        ${summed(`case when key_id <> ${ALL_KEYS} and charge_micro <> 0
          then ${amountOf(['charge_micro'])} * ${ofKey(sums, ofDate(sums, 'month'))} end`)} as spent,
        ${EMPTY} as empty
      from (select *, ${inMonth} as month_key from (select *, ${monthOf('day')} as month from usage_days ${ONCE}) as days ${ONCE}) as days) as days,
    (select ${summed(`${value} * ${ofDay(sums, 'key_id', onDay)}`)} as sum from retired_usage) as retired,
    (select ${summed(`${value} * case when alias = '' then ${ofMonthByDay(sums, inMonth)}
          else ${ofMonthByModel(sums, inMonth)} end`)} as sum,
        ${EMPTY_MONTHS} as empty from usage_months where ${isDone('month', openFrom)}) as months,
    (select ${summed(`${amountOf(['charge_micro'])} * ${ofKey(sums, ofDate(sums, 'month'))}`)} as sum from key_months) as keys,
    (select ${ofCosts}, ${EMPTY} as empty from cost_days) as costs,
    (select ${ofCosts} from retired_costs) as retired_costs`;
}

function namedParts(sums: WeightedSums, { namedOpenFrom }: Bounds): string {
  const value = sums.amountOf(STORED_SUMS, PLAIN_SUMS);
  const byKind = (kinds: readonly string[], column: string, weightOf: (kind: string) => string) =>
    `case ${column} ${kinds.map((kind) => `when '${kind}' then ${weightOf(kind)}`).join(' ')} end`;
  const named = byKind(['PROJECT', 'END_USER', 'TAG'], 'kind', (kind) =>
    ofName(sums, kind, 'subject', 'day'),
  );
  const inMonth = nameIn(sums, ofDate(sums, 'month'));
  const spent = byKind(['PROJECT', 'END_USER'], 'scope', (kind) =>
    ofSpent(sums, kind, 'subject', ofDate(sums, 'month')),
  );
  const ofMonth = [
    ofNameByModel(sums, 'month_name', 'alias'),
    ofNameByModel(sums, 'month_name', "'*'"),
    ofNameByDay(sums, 'month_name'),
  ];
  const isThere = `(company_id, day) not in (${RETIRED_DAYS})`;
  return `(select ${summed(`${value} * (case when ${isThere} then ${named} else 0 end
          + case when ${isDone('month', namedOpenFrom, 'has_subjects')} then ${ofMonth.join(' + ')} else 0 end)`)} as sum,
        ${EMPTY} as empty_days,
        count(*) filter (where (calls = 0 or subjects is null) and ${isThere}) as empty
      from (select *, ${modelOn(sums, ofDate(sums, 'day'))} as model_hash, ${inMonth} as month_name
        from (select *, ${monthOf('day')} as month from usage_subject_days
          left join usage_subject_counts using (company_id, kind, day) ${ONCE}) as days ${ONCE}) as named) as named,
    (select ${summed(`${value} * case when alias = '' then ${ofNameByDay(sums, inMonth)}
          else ${ofNameByModel(sums, inMonth, 'alias')} end`)} as sum,
        ${EMPTY_MONTHS} as empty
      from usage_subject_months where ${isDone('month', namedOpenFrom, 'has_subjects')}) as named_months,
    (select ${summed(`${sums.amountOf(['charge_micro'])} * ${spent}`)} as sum
      from subject_months where (company_id, month) not in (${RETIRED_MONTHS})) as spent`;
}

const ofCharge = ({ weightOf }: WeightedSums, account: string, source: string) =>
  weightOf('charges', [{ text: source }, { uuid: account }]);

/** The hash of a model that a company uses on a day. */
const modelOn = ({ hashOf }: WeightedSums, dayHash: string, alias = 'alias') =>
  hashOf([{ uuid: 'company_id' }, { text: alias }], dayHash);

const ofDay = ({ weightOf }: WeightedSums, key: string, model = 'model_hash') =>
  weightOf('days', [{ uuid: key }], model);

const ofCost = ({ weightOf }: WeightedSums, model: string, target: string) =>
  weightOf('costs', [{ text: target }], model);

const isShared = (kind: string, day: string) => `(company_id, ${day}) in (${sharedOf(kind)})`;

const ofName = (sums: WeightedSums, kind: string, name: string, day: string) =>
  ofSubject(sums, kind, `case when ${isShared(kind, day)} then '(other)' else ${name} end`);

const ofSubject = ({ weightOf }: WeightedSums, kind: string, subject: string) =>
  weightOf(`named ${kind}`, [{ uuid: 'key_id' }, { text: subject }], 'model_hash');

const ofSpent = ({ weightOf }: WeightedSums, kind: string, name: string, monthHash: string) =>
  weightOf(`spent ${kind}`, [{ uuid: 'company_id' }, { text: name }], monthHash);

/** The hash of a key that a company uses in a month. */
const keyIn = ({ hashOf }: WeightedSums, monthHash: string) =>
  hashOf([{ uuid: 'company_id' }, { uuid: 'key_id' }], monthHash);

const ofMonthByModel = ({ weightOf }: WeightedSums, key: string) =>
  weightOf('months by model', [{ text: 'alias' }], key);

const ofMonthByDay = ({ weightOf }: WeightedSums, key: string) =>
  weightOf('months by day', [{ date: 'day' }], key);

const ofKey = ({ weightOf }: WeightedSums, monthHash: string) =>
  weightOf('keys', [{ uuid: 'key_id' }], monthHash);

/** The hash of a project, end user or tag of a company in a month. */
const nameIn = ({ hashOf }: WeightedSums, monthHash: string) =>
  hashOf([{ uuid: 'company_id' }, { text: 'kind' }, { text: 'subject' }], monthHash);

const ofNameByModel = ({ weightOf }: WeightedSums, name: string, alias: string) =>
  weightOf('names by model', [{ text: alias }], name);

const ofNameByDay = ({ weightOf }: WeightedSums, name: string) =>
  weightOf('names by day', [{ date: 'day' }], name);
