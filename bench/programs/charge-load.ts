/**
 * Charges calls for the requested time, or only inserts their rows, and reports how many. POST / with a Load; the
 * answer is the number of calls a second.
 */
import { SQL } from 'bun';
import { openPostgres } from '../../src/adapters/database/postgres.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { callRowOf } from '../../src/domain/calls/settlement/call-rows.ts';
import { chargeCalls, insertCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import type { FinishedCall } from '../../src/domain/calls/settlement/finished-call.ts';
import type { Statements } from '../../src/ports/database.ts';
import { createSilentLog } from '../../test/doubles/silent-log.ts';

export interface Load {
  readonly way: 'calls' | 'calls and ledger' | 'groups' | 'one by one';
  readonly companies: readonly string[];
  readonly forMs: number;
}

/** As many as gather behind a commit with this many calls in flight. */
const GROUP = 250;
/** With all connections of the pool at work, which is more than one commit at a time. */
const AT_ONCE = 10;

const url = process.env.DATABASE_URL ?? '';
const { newId } = createSystemSecrets();
const database = await openPostgres({
  url,
  log: createSilentLog(),
  applicationName: 'bench',
  poolSize: AT_ONCE,
  maxWaiting: 1_000,
  connectTimeoutMs: 5_000,
  statementTimeoutMs: 60_000,
});
const sql = new SQL({ url, adapter: 'postgres', max: AT_ONCE, bigint: true, idleTimeout: 0 });
const rawClient: Statements = {
  query: async (text, values = []) => await sql.unsafe(text, values as unknown[]),
  script: (text) => sql.unsafe(text),
};

async function run({ way, companies, forMs }: Load): Promise<number> {
  const keys = new Map(companies.map((id) => [id, newId()]));
  let at = Math.floor(Math.random() * companies.length);
  const next = (): FinishedCall => {
    at = (at + 7) % companies.length;
    const companyId = companies[at] ?? '';
    return callOf(companyId, keys.get(companyId) ?? null);
  };
  const group = () => Array.from({ length: GROUP }, next);
  const turns: Record<Load['way'], { lanes: number; calls: number; once: () => Promise<unknown> }> = {
    calls: { lanes: 1, calls: GROUP, once: () => insertCalls(rawClient, group()) },
    'calls and ledger': { lanes: 1, calls: GROUP, once: () => insertBoth(group()) },
    groups: { lanes: 1, calls: GROUP, once: () => chargeCalls(database, group()) },
    'one by one': { lanes: AT_ONCE, calls: 1, once: () => chargeCalls(database, [next()]) },
  };
  const { lanes, calls, once } = turns[way];
  const begun = performance.now();
  let done = 0;
  const lane = async () => {
    while (performance.now() - begun < forMs) {
      await once();
      done += calls;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return (done * 1_000) / (performance.now() - begun);
}

let version = 0;

/** The rows that a charge leaves and nothing else: no lock, no balance, no usage. Into a copy of the ledger's table. */
async function insertBoth(calls: readonly FinishedCall[]): Promise<void> {
  version += calls.length;
  await sql.unsafe(
    `with given as materialized (select * from json_to_recordset($1::text::json) as given (id uuid, company uuid,
       key uuid, request text, endpoint text, alias text, target text, outcome text, reason text, status integer,
       streamed boolean, prompt bigint, cached bigint, completion bigint, estimated bigint, started bigint,
       first_byte integer, duration integer)),
     recorded as (insert into calls (id, company_id, key_id, request_id, endpoint, alias, target_id, outcome, reason,
       http_status, streamed, prompt_tokens, cached_tokens, completion_tokens, estimated_tokens, started_at,
       first_byte_ms, duration_ms)
       select id, company, key, request, endpoint, alias, target, outcome, reason, status, streamed, prompt, cached,
         completion, estimated, to_timestamp(started / 1000::float8), first_byte, duration from given
       on conflict (id) do nothing)
     insert into ledger_rows (account_id, version, type, amount_micro, balance_after_micro, contra, source_kind, source_id)
     select company, $2::bigint + row_number() over (), 'USAGE', -1, 1, 'usage', 'call', id::text from given`,
    [JSON.stringify(calls.map(callRowOf)), process.pid * 1_000_000_000 + version],
  );
}

function callOf(companyId: string, keyId: string | null): FinishedCall {
  return {
    id: newId(),
    companyId,
    keyId,
    requestId: `req_${newId()}`,
    endpoint: 'chat/completions',
    alias: 'svc/chat-default',
    targetId: 'embedded',
    outcome: 'SUCCEEDED',
    reason: null,
    httpStatus: 200,
    streamed: true,
    tokens: { promptTokens: 1_234, cachedTokens: 200, completionTokens: 567 },
    estimatedTokens: 2_000,
    startedAtMs: Date.now(),
    firstByteMs: 120,
    durationMs: 2_345,
    monthlyLimitMicro: null,
  };
}

const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  fetch: async (request) => Response.json(await run((await request.json()) as Load)),
});
console.log(`ready: http://127.0.0.1:${server.port}/`);
process.on('SIGTERM', () => process.exit(0));
