import { SQL } from 'bun';
import { askBackend, type StartedBackend, startBackendAlone } from './frame/backend.ts';
import type { BenchContext, Measurement, Row } from './frame/measurement.ts';

const CALLS = 1_000_000;
const KEYS = 100;
const DAYS = 90;
const REQUESTS = 400;
const WARM_UP = 40;

const QUERIES = [
  { label: 'whoAmI', query: '{ whoAmI { id email isSuperAdmin } }' },
  {
    label: 'usage of the last 30 days, by day',
    query: '{ usage(groupBy: [DAY]) { totals { calls credits } rows { day totals { calls credits } } } }',
  },
  {
    label: `usage of ${DAYS} days, by alias, with the balance`,
    query:
      '{ creditBalance { credits held } usage(from: "FROM", groupBy: [ALIAS]) { totals { calls } rows { alias totals { calls promptTokens credits } } } }',
  },
  {
    label: `usage of the last 30 days, by ${KEYS} keys`,
    query: '{ usage(groupBy: [KEY]) { totals { calls } rows { keyId totals { calls credits } } } }',
  },
] as const;

/** One at a time, over HTTP, as the console asks. */
export const graphql: Measurement = {
  name: 'graphql',
  what: `GraphQL answers of one backend process on PostgreSQL, with ${CALLS / 1e6} million calls of the company stored`,
  async run(context) {
    const backend = await startBackendAlone(context);
    await fill(backend);
    const stored = await askBackend<{ usage: { totals: { calls: number } } }>(
      backend.url,
      backend.companyAdmin,
      '{ usage { totals { calls } } }',
    );
    if (stored.usage.totals.calls < CALLS / 4) throw new Error('the calls that were stored are not reported');
    const rows: Row[] = [];
    for (const { label, query } of QUERIES) rows.push(...(await timed(context, backend, label, query)));
    return rows;
  },
};

/** As the charges would have left them: the calls themselves, and what was added up from them. */
async function fill({ databaseUrl, companyId }: StartedBackend): Promise<void> {
  const sql = new SQL(databaseUrl, { max: 1 });
  await sql`insert into calls (id, company_id, key_id, request_id, endpoint, alias, outcome, http_status, streamed,
      prompt_tokens, cached_tokens, completion_tokens, estimated_tokens, started_at, duration_ms, charge_micro, price_id)
    select gen_random_uuid(), ${companyId}, ('03000000-0000-8000-8000-' || lpad((n % ${KEYS} + 1)::text, 12, '0'))::uuid,
      'req_' || n, 'chat/completions',
      'svc/' || (array['chat-premium', 'chat-default', 'chat-cheap', 'extract-default'])[n % 4 + 1],
      case when n % 50 = 0 then 'FAILED' else 'SUCCEEDED' end, 200, true, 900, 100, 200, 1000,
      now() - (n % ${DAYS}) * interval '1 day', 700, 1700, gen_random_uuid()
    from generate_series(1, ${CALLS}) as n`;
  await sql`alter table usage_days disable trigger user`;
  await sql`insert into usage_days (company_id, key_id, day, alias, calls, failures, prompt_tokens, cached_tokens,
      completion_tokens, charge_micro)
    select company_id, coalesce(key_id, '00000000-0000-0000-0000-000000000000'), day, alias, count(*),
      count(*) filter (where outcome = 'FAILED'), sum(prompt_tokens), sum(cached_tokens), sum(completion_tokens),
      sum(charge_micro)
    from (select *, (started_at at time zone 'utc')::date as day from calls) as dated
    group by grouping sets ((company_id, day, alias, key_id), (company_id, day, alias))`;
  await sql`alter table usage_days enable trigger user`;
  await sql.unsafe('analyze calls; analyze usage_days');
  await sql.close();
}

async function timed(
  { signal }: BenchContext,
  { url, companyAdmin }: StartedBackend,
  label: string,
  query: string,
): Promise<Row[]> {
  const from = new Date(Date.now() - (DAYS - 1) * 86_400_000).toISOString();
  const times: number[] = [];
  for (let n = 0; n < WARM_UP + REQUESTS; n += 1) {
    signal.throwIfAborted();
    const begun = performance.now();
    await askBackend(url, companyAdmin, query.replace('FROM', from));
    if (n >= WARM_UP) times.push(performance.now() - begun);
  }
  times.sort((one, other) => one - other);
  const at = (share: number) => times[Math.floor((times.length - 1) * share)] ?? Number.NaN;
  return [
    { label: `${label}: p50`, value: at(0.5), unit: 'ms' },
    { label: `${label}: p99`, value: at(0.99), unit: 'ms' },
  ];
}
