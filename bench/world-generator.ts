import type { SQL } from 'bun';
import { sums } from './world-sums.ts';

/** How large: a year of this many calls, with companies and keys to go with it. */
export interface WorldSize {
  readonly calls: number;
  readonly companies: number;
  readonly keys: number;
}

export interface World extends WorldSize {
  /** Has two fifths of all calls and a hundredth of all keys. */
  readonly hotCompanyId: string;
  /** One of the middle: half of the others have fewer calls. */
  readonly companyId: string;
  readonly keyId: string;
  /** The key that most calls of the largest company have. */
  readonly hotKeyId: string;
  /** One of the largest company that is hardly used. */
  readonly rareKeyId: string;
  readonly userId: string;
  /** Of a call of the largest company, half a year ago. */
  readonly requestId: string;
  /** Of that call: a client's own. */
  readonly clientRequestId: string;
  readonly endUser: string;
}

const MONTHS = 12;
/** As many connections fill the tables as the machines have cores on which this is run. */
const LOADERS = 2;

/** A call in a thousand is a company's, in a hundred a key's. */
export function sizeOf(calls: number): WorldSize {
  return { calls, companies: Math.max(100, calls / 1_000), keys: Math.max(1_000, calls / 100) };
}

/** Steps of one stage run beside each other, each on one connection. */
export type Stage = readonly string[];

/**
 * Fills a migrated and empty database with a year as the charges would have left it: its books balance, and
 * `turnpike audit` says so. All of it is made by the server, tables before their indexes.
 *
 * One company has two fifths of the calls; the others have fewer and fewer, the largest of them some hundred thousand of ten
 * million, the smallest two hundred. Most calls of the largest come from 20 of its keys, name one of 20,000 end users and
 * belong to a project. One call in twenty fails or is refused; some codes, tags and end users are rare.
 */
export async function makeWorld(
  sql: SQL,
  size: WorldSize,
  signal: AbortSignal,
  report: (stage: string, ms: number) => void = () => undefined,
): Promise<World> {
  const months = Array.from({ length: MONTHS + 1 }, (_, month) => `select world.fill_month(${month})`);
  const stages: readonly (readonly [string, Stage])[] = [
    ['functions', [functions(size)]],
    ['people', people(size)],
    ['calls', [FILL_MONTH]],
    // The current month has fewer calls than the others: last, so that both connections end at about the same time.
    ['months of calls', months],
    ['partitions', [ATTACH_MONTHS]],
    ...sums(size),
    ['others', others(size)],
    ['vacuum', ['vacuum analyze']],
    // Otherwise those who read would write what was loaded: a server at work has done so long before.
    ['checkpoint', ['checkpoint']],
  ];
  const connections = await Promise.all(Array.from({ length: LOADERS }, () => sql.reserve()));
  try {
    await Promise.all(connections.map((connection) => connection.unsafe(SESSION)));
    for (const [name, steps] of stages) {
      const begun = performance.now();
      const waiting = [...steps];
      const work = async (connection: (typeof connections)[number]) => {
        for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
          signal.throwIfAborted();
          await connection.unsafe(step);
        }
      };
      await Promise.all(connections.map(work));
      report(name, performance.now() - begun);
    }
    const found = { request: '', user: '', client: '' };
    const [row] = (await connections[0]?.unsafe(ONE_CALL)) ?? [];
    Object.assign(found, row);
    return worldOf(size, found);
  } finally {
    for (const connection of connections) connection.release();
  }
}

function worldOf(
  size: WorldSize,
  found: { readonly request: string; readonly user: string; readonly client: string },
): World {
  const id = (kind: string, number: number) =>
    `${kind}0000000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`;
  const middle = size.companies / 2;
  return {
    ...size,
    hotCompanyId: id('c', 1),
    companyId: id('c', middle),
    keyId: id('a', middle - 2 + size.companies - 1),
    hotKeyId: id('a', 1),
    rareKeyId: id('a', size.keys / 100),
    userId: id('e', middle - 1),
    requestId: found.request,
    clientRequestId: found.client,
    endUser: found.user,
  };
}

const ONE_CALL = `select own.request_id as request, own.end_user as user, client.request_id as client from
  (select request_id, end_user from calls
    where company_id = world.id('c', 1) and end_user is not null and request_id like 'req\\_%'
      and started_at < now() - interval '180 days' order by started_at desc limit 1) as own,
  (select request_id from calls
    where company_id = world.id('c', 1) and request_id not like 'req\\_%' and started_at < now() - interval '180 days'
    order by started_at desc limit 1) as client`;

const SESSION = `set statement_timeout = 0; set work_mem = '512MB'; set maintenance_work_mem = '1GB';
  set max_parallel_maintenance_workers = 0; set max_parallel_workers_per_gather = 0; set synchronous_commit = off; set jit = off`;

/** Which company, key, tokens and outcome a call has, and when it began, follows from its number. */
const functions = ({ calls, companies, keys }: WorldSize) => `
  create schema world;
  create function world.id(kind text, n bigint) returns uuid language sql immutable as
    $$ select (kind || '0000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid $$;
  create function world.drawn(n bigint, what bigint) returns bigint language sql immutable as
    $$ select hashint8extended(n, what) & 2147483647 $$;
  create function world.begin_ms() returns bigint language sql immutable as
    $$ select ${Math.floor(Date.now() / 1000) * 1000 - 365 * 86_400_000}::bigint $$;
  create function world.calls() returns bigint language sql immutable as $$ select ${calls}::bigint $$;
  create function world.step_ms() returns float8 language sql immutable as
    $$ select ${(365 * 86_400_000) / calls}::float8 $$;
  create function world.ms(n bigint) returns bigint language sql immutable as
    $$ select world.begin_ms() + floor(n * world.step_ms())::bigint $$;
  create function world.call_id(n bigint) returns uuid language sql immutable as
    $$ select (lpad(to_hex(world.ms(n)), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid $$;
  create function world.request(n bigint) returns text language sql immutable as
    $$ select case when n % 100 = 7 then 'trace-' || n::text
      else 'req_' || lpad(to_hex(world.ms(n)), 12, '0') || lpad(to_hex(n), 12, '0') end $$;
  create function world.company(n bigint) returns bigint language sql immutable as
    $$ select case when world.drawn(n, 1) % 10 < 4 then 1
      else 2 + floor(${companies - 1} * (world.drawn(n, 2) / 2147483648::float8) * (world.drawn(n, 2) / 2147483648::float8)
        * (world.drawn(n, 2) / 2147483648::float8))::bigint end $$;
  -- The largest company has 20 keys for most calls, each with some of the end users.
  create function world.key(n bigint, company bigint, end_user bigint) returns bigint language sql immutable as
    $$ select case when company > 1 then company - 2 + ${companies - 1} * (1 + world.drawn(n, 3) % 9)
      when n % 5 > 0 then 1 + coalesce(end_user, world.drawn(n, 3)) % least(20, ${keys / 100})
      else 1 + world.drawn(n, 3) % ${keys / 100} end $$;
  -- Some end users of the largest company call far more often than others.
  create function world.end_user(n bigint, company bigint) returns bigint language sql immutable as
    $$ select case when company = 1 and n % 10 < 6
        then floor(20000 * (world.drawn(n, 4) / 2147483648::float8) * (world.drawn(n, 4) / 2147483648::float8))::bigint
      when company > 1 and n % 20 = 0 then world.drawn(n, 4) % 50 end $$;
  create function world.project(company bigint, key bigint) returns text language sql immutable as
    $$ select case when company = 1 then 'project-' || (key % 12)::text when company % 10 = 0 then 'app' end $$`;

const people = ({ companies, keys }: WorldSize): Stage => [
  `insert into companies (id, name, provider_customer_id, created_at)
   select world.id('c', n), 'Company ' || n, 'cus_' || n, now() - interval '366 days' from generate_series(1, ${companies}) as n;
   insert into users (id, company_id, email, password_hash, role, created_at)
   select world.id('e', n), world.id('c', 1 + n % ${companies}), 'person' || n || '@company.example', 'x',
     case when n < ${companies} then 'COMPANY_ADMIN' else 'MEMBER' end, now() from generate_series(1, ${companies * 3}) as n;
   insert into sessions (id, user_id, family_sha256, current_sha256, seed, client_address, user_agent, created_at,
     refreshed_at, expires_at, last_moment)
   select world.id('5', n), world.id('e', n), sha256(n::text::bytea), sha256(n::text::bytea), sha256(n::text::bytea),
     '127.0.0.1', 'x', now(), now(), now() + interval '30 days', now() + interval '90 days'
   from generate_series(1, ${companies * 3}) as n;
   insert into api_keys (id, company_id, name, sha256, prefix, last_four, scopes, requests_per_minute,
     tokens_per_minute, created_at, project)
   select world.id('a', n), world.id('c', company), 'key ' || n, sha256(('key' || n)::bytea), 'tpk_0000', '0000',
     '{inference:chat}', 600, 1000000, now() - interval '366 days', world.project(company, n)
   from (select n, case when n <= ${keys / 100} then 1 else 2 + n % ${companies - 1} end as company
     from generate_series(1, ${keys}) as n) as given;
   insert into model_target_history (id, alias, provider, host, model)
   select 'target-' || n, 'chat-default', 'openai', 'provider-' || n % 3 || '.example', 'model' from generate_series(1, 5) as n`,
];

/** Each month is filled before it gets its indexes, and belongs to the table only then. */
const FILL_MONTH = `
  create function world.month_start(month integer) returns timestamp language sql immutable as
    $$ select date_trunc('month', to_timestamp(world.begin_ms() / 1000.0) at time zone 'utc') + month * interval '1 month' $$;
  create function world.month_bound(month integer) returns uuid language sql immutable as
    $$ select (lpad(to_hex((extract(epoch from world.month_start(month)) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid $$;
  create function world.month_name(month integer) returns text language sql immutable as
    $$ select 'calls_from_' || to_char(world.month_start(month), 'YYYY_MM_DD') $$;
  -- The number of the first call of a month.
  create function world.first_call(month integer) returns bigint language sql immutable as
    $$ select greatest(1, ceil(((extract(epoch from world.month_start(month)) * 1000)::bigint - world.begin_ms())
      / world.step_ms()))::bigint $$;
  create function world.fill_month(month integer) returns void language plpgsql as $f$
  declare
    name text := world.month_name(month);
  begin
    -- Each level is computed once for a call: the planner would otherwise write every name out wherever it is used.
    execute format('create table %I (like calls including defaults including constraints)', name);
    execute format($$insert into %I (id, company_id, key_id, request_id, endpoint, alias, target_id, outcome, reason,
        http_status, streamed, prompt_tokens, cached_tokens, completion_tokens, estimated_tokens, started_at, first_byte_ms,
        duration_ms, charge_micro, price_id, end_user, tags, project, cost_micro, count)
      select world.call_id(n), world.id('c', company), world.id('a', key), world.request(n), 'chat/completions',
        'svc/' || alias, case when ended < 97 then 'target-' || price::text end,
        case when ended < 95 then 'SUCCEEDED' when ended < 97 then 'FAILED' else 'REFUSED' end,
        case when ended < 95 then null when ended = 95 then 'connect' when ended = 96 then 'client-left'
          when n %% 20011 = 0 then 'LLM_MODEL_NOT_ALLOWED' when ended = 97 then 'INSUFFICIENT_CREDITS' else 'RATE_LIMITED' end,
        case when ended < 95 then 200 when ended = 95 then 502 when ended = 96 then 499
          when n %% 20011 = 0 then 403 when ended = 97 then 402 else 429 end,
        n %% 2 = 0, case when ended < 95 then prompt end, case when ended < 95 then cached end,
        case when ended < 95 then completion end, case when ended < 97 then prompt + 500 else 0 end,
        to_timestamp(world.ms(n) / 1000.0), case when ended < 95 then 120 + n %% 300 end,
        case when ended >= 97 then 2 when n %% 211 = 0 then 5000 + n %% 25000 else 400 + n %% 900 end,
        case when ended < 95 then charge else 0 end,
        case when ended < 95 then ('00000000-0000-8000-8000-00000000000' || price::text)::uuid end,
        'user-' || end_user::text,
        case when n %% 500009 = 0 then array['env:prod', 'incident:4711']
          when company = 1 and n %% 2 = 0 then array['env:prod', 'team-' || (n %% 16)::text]
          when company > 1 and n %% 20 = 1 then array['env:test'] end,
        world.project(company, key), case when ended < 97 and price < 3 then charge * 6 / 10 end,
        case when ended > 97 and n %% 7 = 0 then 60 + n %% 500 end
      from (select n, company, end_user, world.key(n, company, end_user) as key, price, ended, prompt, cached, completion,
          case price when 1 then 'chat-premium' when 2 then 'chat-default' when 3 then 'chat-cheap' else 'extract-fast' end as alias,
          (((prompt - cached) * prompt_price + cached * (prompt_price / 2) + completion * prompt_price * 4 + 999999) / 1000000) as charge
        from (select n, company, world.end_user(n, company) as end_user, price,
            world.drawn(n, 6) %% 100 as ended, 200 + world.drawn(n, 7) %% 4000 as prompt,
            case when n %% 3 = 0 then 128 else 0 end as cached, 20 + world.drawn(n, 8) %% 800 as completion,
            case price when 1 then 5000000 when 2 then 1000000 when 3 then 200000 else 300000 end::bigint as prompt_price
          from (select n, world.company(n) as company, (array[1, 2, 3, 5])[1 + world.drawn(n, 5) %% 4] as price
            from generate_series(%s, %s) as n offset 0) as numbered offset 0) as drawn offset 0) as priced$$,
      name, world.first_call(month), least(world.calls(), world.first_call(month + 1) - 1));
    execute format('alter table %I add primary key (id)', name);
    execute format('create index on %I (company_id, started_at)', name);
    execute format('create index on %I (key_id, started_at) where key_id is not null', name);
    execute format('create index on %I (company_id, end_user, started_at) where end_user is not null', name);
    execute format('create index on %I (request_id) where request_id not like ''req\\_%%''', name);
    execute format('create index on %I (id) where outcome <> ''SUCCEEDED''', name);
    execute format('create index on %I (company_id, started_at) where outcome <> ''SUCCEEDED''', name);
  end $f$`;

/** The first partition of the migrations takes what is older. */
const ATTACH_MONTHS = `do $$
  begin
    alter table calls detach partition calls_first;
    for month in 0 .. ${MONTHS} loop
      execute format('alter table %I add check (id >= %L and id < %L)', world.month_name(month), world.month_bound(month),
        world.month_bound(month + 1));
      execute format('alter table calls attach partition %I for values from (%L) to (%L)', world.month_name(month),
        world.month_bound(month), world.month_bound(month + 1));
    end loop;
    execute format('alter table calls attach partition calls_first for values from (minvalue) to (%L)', world.month_bound(0));
  end $$`;

/** A year of what else grows: entries of the audit log and of the log, payment events, invoices, mail, refused addresses. */
const others = ({ companies, calls }: WorldSize): Stage => [
  `insert into audit_log (happened_at, company_id, actor_id, action, object_kind, object_id, details, client_address, request_id)
   select now() - (${companies * 100} - n) * interval '1 minute', world.id('c', 1 + world.drawn(n, 1) % ${companies}),
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
  // A week in which every minute has thirty addresses that were refused.
  `insert into address_refusals (minute, address, code, count)
   select date_trunc('minute', now()) - n / 30 * interval '1 minute', '10.0.' || n % 30 || '.' || world.drawn(n, 1) % 200,
     'UNAUTHENTICATED', 1 + n % 9 from generate_series(1, ${Math.min(300_000, calls / 10)}) as n on conflict do nothing`,
];
