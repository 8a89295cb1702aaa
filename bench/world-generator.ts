import type { SQL } from 'bun';

/** How large: a year of this many calls, with companies and keys to go with it. */
export interface WorldSize {
  readonly calls: number;
  readonly companies: number;
  readonly keys: number;
}

export interface World extends WorldSize {
  /** Has a tenth of all calls and a hundredth of all keys. */
  readonly hotCompanyId: string;
  /** One of the others, which are alike. */
  readonly companyId: string;
  readonly keyId: string;
  readonly userId: string;
  /** Of a call of the largest company, half a year ago. */
  readonly requestId: string;
  readonly endUser: string;
}

const MONTHS = 12;

/** A call in a thousand is a company's, in a hundred a key's. */
export function sizeOf(calls: number): WorldSize {
  return { calls, companies: Math.max(100, calls / 1_000), keys: Math.max(1_000, calls / 100) };
}

/**
 * Fills a migrated and empty database with a year as the charges would have left it: its books balance, and
 * `turnpike audit` says so. All of it is made by the server, in some seconds a million calls.
 */
export async function makeWorld(
  sql: SQL,
  size: WorldSize,
  signal: AbortSignal,
  hasLedger = true,
): Promise<World> {
  const connection = await sql.reserve();
  const found = { request: '', user: '' };
  const kept = [...(hasLedger ? ledger() : []), ...usage()];
  try {
    for (const step of [SESSION, functions(size), ...people(size), ...calls(), ...kept, ...others(size)]) {
      signal.throwIfAborted();
      await connection.unsafe(step);
    }
    const [row] = await connection.unsafe(ONE_CALL);
    Object.assign(found, row);
  } finally {
    connection.release();
  }
  const id = (kind: string, number: number) =>
    `${kind}0000000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`;
  return {
    ...size,
    hotCompanyId: id('c', 1),
    companyId: id('c', 42),
    keyId: id('a', 40 + size.companies - 1),
    userId: id('e', 42),
    requestId: String(found.request),
    endUser: String(found.user),
  };
}

const ONE_CALL = `select request_id as request, end_user as user from calls
  where company_id = world.id('c', 1) and end_user is not null and started_at < now() - interval '180 days'
  order by started_at desc limit 1`;

const SESSION = `set statement_timeout = 0; set work_mem = '256MB'; set maintenance_work_mem = '512MB';
  set synchronous_commit = off`;

/** Which company and key a call has, and when it began, follows from its number. */
const functions = ({ calls, companies, keys }: WorldSize) => `
  create schema world;
  create function world.id(kind text, n bigint) returns uuid language sql immutable as
    $$ select (kind || '0000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid $$;
  create function world.mixed(n bigint) returns bigint language sql immutable as
    $$ select ((n * 2654435761) % 4294967296) $$;
  create function world.begin_ms() returns bigint language sql immutable as
    $$ select ${Math.floor(Date.now() / 1000) * 1000 - 365 * 86_400_000}::bigint $$;
  create function world.ms(n bigint) returns bigint language sql immutable as
    $$ select world.begin_ms() + n * ${Math.floor((365 * 86_400_000) / calls)} $$;
  create function world.call_id(n bigint) returns uuid language sql immutable as
    $$ select (lpad(to_hex(world.ms(n)), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid $$;
  create function world.request(n bigint) returns text language sql immutable as
    $$ select 'req_' || lpad(to_hex(world.ms(n)), 12, '0') || lpad(to_hex(n), 12, '0') $$;
  create function world.company(n bigint) returns bigint language sql immutable as
    $$ select case n % 10 when 0 then 1 else 2 + world.mixed(n) % ${companies - 1} end $$;
  create function world.key(n bigint, company bigint) returns bigint language sql immutable as
    $$ select case company when 1 then 1 + world.mixed(n) % ${keys / 100}
      else company - 2 + ${companies - 1} * (1 + world.mixed(n) / 7 % 9) end $$`;

const people = ({ companies, keys }: WorldSize) => [
  `insert into companies (id, name, provider_customer_id, created_at)
   select world.id('c', n), 'Company ' || n, 'cus_' || n, now() - interval '366 days' from generate_series(1, ${companies}) as n`,
  `insert into users (id, company_id, email, password_hash, role, created_at)
   select world.id('e', n), world.id('c', 1 + n % ${companies}), 'person' || n || '@company.example', 'x',
     case when n < ${companies} then 'COMPANY_ADMIN' else 'MEMBER' end, now() from generate_series(1, ${companies * 3}) as n`,
  `insert into sessions (id, user_id, family_sha256, current_sha256, seed, client_address, user_agent, created_at,
     refreshed_at, expires_at, last_moment)
   select world.id('5', n), world.id('e', n), sha256(n::text::bytea), sha256(n::text::bytea), sha256(n::text::bytea),
     '127.0.0.1', 'x', now(), now(), now() + interval '30 days', now() + interval '90 days'
   from generate_series(1, ${companies * 3}) as n`,
  `insert into api_keys (id, company_id, name, sha256, prefix, last_four, scopes, requests_per_minute,
     tokens_per_minute, created_at)
   select world.id('a', n), world.id('c', case when n <= ${keys / 100} then 1 else 2 + n % ${companies - 1} end),
     'key ' || n, sha256(('key' || n)::bytea), 'tpk_0000', '0000', '{inference:chat}', 600, 1000000,
     now() - interval '366 days' from generate_series(1, ${keys}) as n`,
];

/** Each month is filled before it gets its indexes, which takes a third of the time. */
const calls = () => [
  `alter table calls detach partition calls_first`,
  `do $$
   declare
     first timestamp := date_trunc('month', to_timestamp(world.begin_ms() / 1000.0) at time zone 'utc');
     bound text; next_bound text; name text; size float8 := world.ms(1) - world.begin_ms();
   begin
     for month in 0 .. ${MONTHS} loop
       bound := lpad(to_hex((extract(epoch from first + month * interval '1 month') * 1000)::bigint), 12, '0') || repeat('0', 20);
       next_bound := lpad(to_hex((extract(epoch from first + (month + 1) * interval '1 month') * 1000)::bigint), 12, '0') || repeat('0', 20);
       name := 'calls_from_' || to_char(first + month * interval '1 month', 'YYYY_MM_DD');
       execute format('create table %I (like calls including defaults including constraints)', name);
       execute format($f$insert into %I (id, company_id, key_id, request_id, endpoint, alias, target_id, outcome, reason,
           http_status, streamed, prompt_tokens, cached_tokens, completion_tokens, estimated_tokens, started_at,
           first_byte_ms, duration_ms, charge_micro, price_id, end_user, tags)
         select world.call_id(n), world.id('c', company), world.id('a', world.key(n, company)), world.request(n),
           'chat/completions', 'svc/' || alias[1], 'embedded', case when failed then 'FAILED' else 'SUCCEEDED' end,
           case when failed then 'connect' end, case when failed then 502 else 200 end, n %% 2 = 0,
           case when not failed then 1000 end, case when not failed then 0 end, case when not failed then 200 end, 1200,
           to_timestamp(world.ms(n) / 1000.0), 120, 400 + n %% 900, case when failed then 0 else charge end,
           case when not failed then ('00000000-0000-8000-8000-00000000000' || alias[2])::uuid end,
           case when n %% 50 = 0 then 'user-' || n %% 10007 end, case when n %% 20 = 0 then array['env:prod', 'team-a'] end
         from generate_series(greatest(1, ceil((%s - world.begin_ms()) / %s::float8)::bigint),
             least(%s, ceil((%s - world.begin_ms()) / %s::float8)::bigint - 1)) as n,
           lateral (select world.company(n) as company, world.mixed(n) %% 50 = 0 as failed, world.mixed(n) / 11 %% 4 as kind) as drawn,
           lateral (select case kind when 0 then array['chat-premium', '1'] when 1 then array['chat-cheap', '3']
               when 2 then array['extract-fast', '5'] else array['chat-default', '2'] end as alias,
             case kind when 0 then 9000 when 1 then 360 when 2 then 540 else 1800 end as charge) as priced$f$,
         name, ('x' || left(bound, 12))::bit(48)::bigint, size, (365 * 86400000::bigint / size)::bigint,
         ('x' || left(next_bound, 12))::bit(48)::bigint, size);
       execute format('alter table %I add primary key (id)', name);
       execute format('create index on %I (company_id, started_at)', name);
       execute format('create index on %I (key_id, started_at) where key_id is not null', name);
       execute format('create index on %I (company_id, end_user, started_at) where end_user is not null', name);
       execute format('create index on %I (request_id) where request_id not like ''req\\_%%''', name);
       execute format('create index on %I (id) where outcome <> ''SUCCEEDED''', name);
       execute format('create index on %I (company_id, started_at) where outcome <> ''SUCCEEDED''', name);
       begin
         execute format('alter table calls attach partition %I for values from (%L) to (%L)', name, bound::uuid, next_bound::uuid);
       exception when invalid_object_definition then execute format('drop table %I', name);
       end;
     end loop;
     execute format('alter table calls attach partition calls_first for values from (minvalue) to (%L)',
       (lpad(to_hex((extract(epoch from first) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid);
   end $$`,
];

/** What every commit keeps, made at once. The ledger's own indexes are made after its rows. */
const ledger = () => [
  // As if they were from before there were seals, which a job makes later.
  `alter table credit_transactions disable trigger credit_transactions_sealed;
   alter table credit_transactions drop constraint credit_transactions_pkey;
   alter table credit_transactions drop constraint credit_transactions_source_kind_source_id_key`,
  `insert into credit_transactions (account_id, version, type, amount_micro, balance_after_micro, contra, source_kind,
     source_id, created_at)
   select id, 1, 'PACK_PURCHASE', 1000000000000, 1000000000000, 'sales', 'world', id::text, to_timestamp(world.begin_ms() / 1000.0)
   from companies`,
  `insert into credit_transactions (account_id, version, type, amount_micro, balance_after_micro, contra, source_kind,
     source_id, created_at)
   select company_id, 1 + row_number() over own, 'USAGE', -charge_micro, 1000000000000 - sum(charge_micro) over own, 'usage',
     'call', id::text, started_at
   from calls where charge_micro <> 0
   window own as (partition by company_id order by id rows between unbounded preceding and current row)`,
  `alter table credit_transactions add primary key (account_id, version);
   alter table credit_transactions add constraint credit_transactions_source_kind_source_id_key unique (source_kind, source_id);
   alter table credit_transactions enable trigger credit_transactions_sealed`,
  `update credit_accounts set balance_micro = sums.balance, version = sums.version, seals_from = sums.version, topped_up_micro = 1000000000000,
     topped_up_version = 1
   from (select account_id, sum(amount_micro) as balance, max(version) as version from credit_transactions group by 1) as sums
   where sums.account_id = id`,
];

const usage = () => [
  'alter table usage_days disable trigger user; alter table usage_days drop constraint usage_days_pkey',
  `insert into usage_days (company_id, key_id, day, alias, calls, failures, prompt_tokens, cached_tokens,
     completion_tokens, charge_micro)
   select company_id, coalesce(key_id, '00000000-0000-0000-0000-000000000000'), day, alias, count(*),
     count(*) filter (where outcome = 'FAILED'), coalesce(sum(prompt_tokens), 0), coalesce(sum(cached_tokens), 0),
     coalesce(sum(completion_tokens), 0), sum(charge_micro)
   from (select *, (started_at at time zone 'utc')::date as day from calls) as dated
   group by grouping sets ((company_id, day, alias, key_id), (company_id, day, alias))`,
  `alter table usage_days add primary key (company_id, key_id, day, alias);
   alter table usage_days enable trigger user`,
  `insert into key_months (key_id, month, charge_micro)
   select key_id, date_trunc('month', day)::date, sum(charge_micro) from usage_days
   where key_id <> '00000000-0000-0000-0000-000000000000' group by 1, 2 having sum(charge_micro) > 0`,
];

/** A year of what else grows: entries of the audit log and of the log, payment events, invoices, mail. */
const others = ({ companies, calls }: WorldSize) => [
  `insert into audit_log (happened_at, company_id, actor_id, action, object_kind, object_id, details, client_address, request_id)
   select now() - (${companies * 100} - n) * interval '1 minute', world.id('c', 1 + world.mixed(n) % ${companies}),
     world.id('e', 1 + n % ${companies}), 'key.minted', 'key', n::text, '{}', '127.0.0.1', 'req_' || n
   from generate_series(1, ${companies * 100}) as n`,
  `insert into log_entries (timestamp, level, message, context)
   select now() - n * interval '5 seconds', case n % 20 when 0 then 'error' when 1 then 'warn' else 'info' end,
     'a request was answered', jsonb_build_object('requestId', 'req_' || n, 'service', 'gateway')
   from generate_series(1, ${Math.min(200_000, calls / 10)}) as n`,
  `insert into provider_events (id, provider_event_id, type, object_id, happened_at, payload, status, company_id, received_at,
     processed_at)
   select world.id('f', n), 'evt_' || n, 'invoice.paid', 'in_' || n, now() - n * interval '1 minute',
     jsonb_build_object('data', repeat('x', 1000)), case n % 100 when 0 then 'FAILED' else 'PROCESSED' end,
     world.id('c', 1 + n % ${companies}), now() - n * interval '1 minute', now() from generate_series(1, ${companies * 20}) as n`,
  `insert into invoices (id, company_id, kind, status, amount_minor, currency, provider_invoice_id, due_at, created_at)
   select world.id('1', n), world.id('c', 1 + n % ${companies}), 'SUBSCRIPTION', 'PAID', 1000, 'usd', 'in_' || n, now(),
     now() - n * interval '1 minute' from generate_series(1, ${companies * 12}) as n`,
  `insert into mail_outbox (id, kind, company_id, to_address, data, state, message_id, created_at, settled_at)
   select world.id('b', n), 'receipt', world.id('c', 1 + n % ${companies}), 'a@b.example', '{}', 'SENT', n || '@world', now(), now()
   from generate_series(1, ${companies * 12}) as n`,
  'vacuum analyze',
];
