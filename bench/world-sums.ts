import type { Stage, WorldSize } from './world-generator.ts';

const ALL_KEYS = `'00000000-0000-0000-0000-000000000000'`;
const TOKENS = `coalesce(sum(prompt_tokens), 0), coalesce(sum(cached_tokens), 0), coalesce(sum(completion_tokens), 0),
  sum(charge_micro)`;

/** What every commit maintains beside the calls, made at once: the ledger with its seals, and all sums. */
export function sums(_size: WorldSize): readonly (readonly [string, Stage])[] {
  return [
    ['ledger: prepared', [LEDGER_BEFORE]],
    ['ledger', [ledgerOf('='), ledgerOf('<>'), ...USAGE]],
    ['ledger: indexes', [...LEDGER_INDEXES, ...AFTER_USAGE]],
    ['ledger: accounts', [LEDGER_AFTER, USAGE_MONTHS]],
  ];
}

const LEDGER_BEFORE = `
  alter table credit_transactions disable trigger user;
  alter table credit_transactions drop constraint credit_transactions_pkey;
  alter table credit_transactions drop constraint credit_transactions_source_kind_source_id_key;
  alter table usage_days disable trigger user; alter table usage_days drop constraint usage_days_pkey;
  drop index usage_days_of_keys;
  alter table usage_subject_days drop constraint usage_subject_days_pkey;
  -- As ledger_seal computes it.
  create function world.seal(before bytea, account uuid, version bigint, entry text) returns bytea language plpgsql immutable as
    $$ begin return sha256(coalesce(before, ''::bytea)
      || convert_to(account::text || ' ' || version::text || chr(10) || entry, 'UTF8')); end $$;
  create aggregate world.sealed(uuid, bigint, text) (sfunc = world.seal, stype = bytea)`;

/** Every transaction has a seal of its own, as those of calls that were charged one by one. */
const ledgerOf = (isHot: '=' | '<>') => `
  insert into credit_transactions (account_id, version, type, amount_micro, balance_after_micro, contra, source_kind, source_id,
    created_at, seal_version, seal)
  select account, version, type, amount, balance, contra, kind, source, at, version,
    world.sealed(account, version, amount::text || ' ' || (extract(epoch from at) * 1000000)::bigint || ' ' || type || ' ' || contra
      || ' ' || length(kind) || ':' || kind || ' ' || length(source) || ':' || source || chr(10))
      over (partition by account order by version rows between unbounded preceding and current row)
  from (select account, row_number() over own as version, type, amount, sum(amount) over own as balance, contra, kind,
      source, at
    from (select id as account, '00000000-0000-0000-0000-000000000000'::uuid as place, 'PACK_PURCHASE' as type,
        1000000000000 as amount, 'sales' as contra, 'world' as kind, id::text as source,
        to_timestamp(world.begin_ms() / 1000.0) as at
      from companies where id ${isHot} world.id('c', 1)
      union all
      select company_id, id, 'USAGE', -charge_micro, 'usage', 'call', id::text, started_at
      from calls where charge_micro <> 0 and company_id ${isHot} world.id('c', 1)) as entries
    window own as (partition by account order by place rows between unbounded preceding and current row)) as numbered`;

const LEDGER_INDEXES = [
  `create unique index credit_transactions_source_kind_source_id_key on credit_transactions (source_kind, source_id)`,
  'create unique index credit_transactions_pkey on credit_transactions (account_id, version)',
];

const LEDGER_AFTER = `
  alter table credit_transactions add primary key using index credit_transactions_pkey;
  alter table credit_transactions add constraint credit_transactions_source_kind_source_id_key
    unique using index credit_transactions_source_kind_source_id_key;
  alter table credit_transactions enable trigger user;
  analyze credit_transactions;
  update credit_accounts set balance_micro = sums.balance, version = sums.version, last_seal = last.seal,
    topped_up_micro = 1000000000000, topped_up_version = 1
  from (select account_id, sum(amount_micro) as balance, max(version) as version from credit_transactions group by 1) as sums
    join credit_transactions as last using (account_id, version)
  where sums.account_id = id`;

const NAMED = `(select company_id, key_id, alias, outcome, prompt_tokens, cached_tokens, completion_tokens, charge_micro,
    (started_at at time zone 'utc')::date as day, kind, subject
  from calls, lateral (select 'PROJECT' as kind, project as subject where project is not null
    union all select 'END_USER', end_user where end_user is not null
    union all select 'TAG', tag from unnest(tags) as tag) as carried
  where outcome <> 'REFUSED' and (project is not null or end_user is not null or tags is not null)) as named`;

const USAGE = [
  `insert into usage_days (company_id, key_id, day, alias, calls, failures, prompt_tokens, cached_tokens,
     completion_tokens, charge_micro)
   select company_id, coalesce(key_id, ${ALL_KEYS}), day, alias, count(*), count(*) filter (where outcome = 'FAILED'), ${TOKENS}
   from (select *, (started_at at time zone 'utc')::date as day from calls where outcome <> 'REFUSED') as dated
   group by grouping sets ((company_id, day, alias, key_id), (company_id, day, alias))
   -- As they were written, a day after the other.
   order by day;
   alter table usage_days add primary key (company_id, key_id, day, alias);
   create index usage_days_of_keys on usage_days (company_id, day) where key_id <> ${ALL_KEYS};
   alter table usage_days enable trigger user;
   insert into key_months (key_id, month, charge_micro)
   select key_id, date_trunc('month', day)::date, sum(charge_micro) from usage_days
   where key_id <> ${ALL_KEYS} group by 1, 2 having sum(charge_micro) > 0`,
  `create table world.named as
   select company_id, kind, day, subject, key_id, alias, count(*) as calls, count(*) filter (where outcome = 'FAILED') as failures,
     coalesce(sum(prompt_tokens), 0) as prompt_tokens, coalesce(sum(cached_tokens), 0) as cached_tokens,
     coalesce(sum(completion_tokens), 0) as completion_tokens, sum(charge_micro) as charge_micro
   from ${NAMED} group by 1, 2, 3, 4, 5, 6;
   insert into subject_months (company_id, scope, month, subject, charge_micro)
   select company_id, kind, date_trunc('month', day)::date, subject, sum(charge_micro) from world.named
   where kind <> 'TAG' group by 1, 2, 3, 4 having sum(charge_micro) > 0;
   insert into usage_subject_counts (company_id, kind, day, subjects)
   select company_id, kind, day, least(1000, count(distinct subject)) from world.named group by 1, 2, 3`,
  // Without a look for the company of each row.
  `set session_replication_role = replica;
   insert into cost_days (company_id, day, alias, target_id, calls, charge_micro, cost_micro)
   select company_id, (started_at at time zone 'utc')::date, alias, target_id, count(*), sum(charge_micro), sum(cost_micro)
   from calls where cost_micro is not null group by 1, 2, 3, 4 order by 2;
   reset session_replication_role`,
];

const AFTER_USAGE = [
  // A day has rows for a thousand names of each kind; the others are added up.
  `insert into usage_subject_days (company_id, kind, day, subject, key_id, alias, calls, failures, prompt_tokens, cached_tokens,
     cache_write_tokens, completion_tokens, charge_micro, surcharge_micro)
   select company_id, kind, day, case when place > 1000 then '(other)' else subject end, key_id, alias, sum(calls),
     sum(failures), sum(prompt_tokens), sum(cached_tokens), 0, sum(completion_tokens), sum(charge_micro), 0
   from (select *, dense_rank() over (partition by company_id, kind, day order by subject collate "C") as place
     from world.named) as ranked
   group by 1, 2, 3, 4, 5, 6 order by 3;
   alter table usage_subject_days add primary key (company_id, kind, day, subject, key_id, alias);
   drop table world.named`,
];

/** The current month stays as days; the one before it too in its first days. Rows lie in the order in which the job writes them. */
const USAGE_MONTHS = `
  alter table usage_months drop constraint usage_months_pkey;
  drop index usage_months_of_keys;
  alter table usage_subject_months drop constraint usage_subject_months_pkey;
  insert into usage_months (company_id, key_id, month, alias, day, calls, failures, prompt_tokens, cached_tokens,
    completion_tokens, charge_micro)
  select company_id, key_id, month, coalesce(alias, ''), coalesce(day, month), sum(calls), sum(failures), sum(prompt_tokens),
    sum(cached_tokens), sum(completion_tokens), sum(charge_micro)
  from (select *, date_trunc('month', day)::date as month from usage_days) as days
  where month < date_trunc('month', current_date - 4)
  group by grouping sets ((company_id, key_id, month, alias), (company_id, key_id, month, day))
  order by month, company_id, grouping(alias), key_id, 4, 5;
  insert into usage_subject_months (company_id, kind, month, alias, day, subject, calls, failures, prompt_tokens, cached_tokens,
    cache_write_tokens, completion_tokens, charge_micro, surcharge_micro)
  select company_id, kind, month, case when grouping(alias) = 0 then alias when grouping(day) = 0 then '' else '*' end,
    coalesce(day, month), subject, sum(calls), sum(failures),
    sum(prompt_tokens), sum(cached_tokens), 0, sum(completion_tokens), sum(charge_micro), 0
  from (select *, date_trunc('month', day)::date as month from usage_subject_days) as days
  where month < date_trunc('month', current_date - 4)
  group by grouping sets ((company_id, kind, month, subject, alias), (company_id, kind, month, subject, day),
    (company_id, kind, month, subject))
  order by month, company_id, kind, 4, 5, subject;
  alter table usage_months add primary key (company_id, key_id, month, alias, day);
  create index usage_months_of_keys on usage_months (company_id, month) where alias > '' and key_id <> ${ALL_KEYS};
  alter table usage_subject_months add primary key (company_id, kind, month, alias, day, subject);
  insert into usage_months_done (company_id, month, has_subjects)
  select id, month::date, true from companies,
    generate_series(date_trunc('month', now() - interval '365 days'), date_trunc('month', current_date - 4) - interval '1 month',
      interval '1 month') as month`;
