import { describe, expect, test } from 'bun:test';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import { BALANCE_LEVEL } from '../../src/domain/credits/ledger/credit-account.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend, type Person } from './backend-under-test.ts';

const ADJUST = `mutation($companyId: ID!, $credits: Float!, $key: String!) {
  adjustCredits(companyId: $companyId, credits: $credits, reason: "a gift", idempotencyKey: $key) {
    id type credits balanceAfter source reason createdAt } }`;
const TRANSACTIONS = `query($first: Int, $after: ID) { creditTransactions(first: $first, after: $after) {
  nodes { id type credits balanceAfter source } pageInfo { hasNextPage endCursor } } }`;

interface Transactions {
  creditTransactions: {
    nodes: { id: string; type: string; credits: number; balanceAfter: number }[];
    pageInfo: { hasNextPage: boolean; endCursor: string | null };
  };
}

const backend = useResource(() => openBackend());

/** An admin of a company of their own. */
async function admin(): Promise<Person & { readonly companyId: string }> {
  const companyId = await backend.company('Books');
  return { ...(await backend.person(companyId, { role: 'COMPANY_ADMIN' })), companyId };
}

describe('a company’s credits', () => {
  test('P-19 an adjustment is in the balance and among the transactions, newest first, page by page', async () => {
    const { companyId, ask } = await admin();
    const { superAdmin } = backend.people;
    for (let n = 1; n <= 5; n += 1) {
      const wanted = { companyId, credits: n === 3 ? -0.000001 : 1.5, key: `page ${companyId} ${n}` };
      await superAdmin.ask(ADJUST, wanted);
    }
    expect(await ask('{ creditBalance { credits held } }')).toEqual({
      creditBalance: { credits: 5.999999, held: 0 },
    });
    const seen: number[] = [];
    let after: string | null = null;
    do {
      const { creditTransactions }: Transactions = await ask<Transactions>(TRANSACTIONS, { first: 2, after });
      seen.push(...creditTransactions.nodes.map(({ balanceAfter }) => balanceAfter));
      after = creditTransactions.pageInfo.hasNextPage ? creditTransactions.pageInfo.endCursor : null;
    } while (after !== null);
    expect(seen).toEqual([5.999999, 4.499999, 2.999999, 3, 1.5]);
  });

  test('P-19 transactions are filtered by type, words of the reason and time', async () => {
    const { companyId, ask, refusal } = await admin();
    await backend.people.superAdmin.ask(ADJUST, { companyId, credits: 4, key: `filtered ${companyId}` });
    await chargeCalls(backend.database, [finishedCall(companyId)]);
    const find = async (filter: string) => {
      const query = `{ creditTransactions(${filter}) { nodes { type } } }`;
      const { creditTransactions } = await ask<Transactions>(query);
      return creditTransactions.nodes.map(({ type }) => type);
    };
    expect(await find('first: 9')).toEqual(['USAGE', 'ADJUSTMENT']);
    expect(await find('types: [ADJUSTMENT, REFUND]')).toEqual(['ADJUSTMENT']);
    expect(await find('types: [USAGE]')).toEqual(['USAGE']);
    expect(await find('types: []')).toEqual(['USAGE', 'ADJUSTMENT']);
    expect(await find('search: "GIFT a"')).toEqual(['ADJUSTMENT']);
    expect(await find('search: "no such words"')).toEqual([]);
    expect(await find('from: "2001-01-01", to: "2001-01-02"')).toEqual([]);
    expect(await find('from: "2001-01-01"')).toEqual(['USAGE', 'ADJUSTMENT']);
    const turned = '{ creditTransactions(from: "2030-01-02", to: "2030-01-01") { nodes { id } } }';
    expect((await refusal(turned)).extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'to' });
    // What is not usage has an index of its own: it is few rows among those of all calls.
    await backend.database.query('set enable_seqscan = off');
    const plan = await backend.database.query<Record<string, string>>(
      `explain select version from credit_transactions where account_id = '${companyId}' and type <> 'USAGE'
       order by version desc limit 10`,
    );
    await backend.database.query('reset enable_seqscan');
    expect(JSON.stringify(plan)).toContain('credit_transactions_not_usage');
  });

  test('P-19 an idempotency key adjusts once; the same key for something else is CONFLICT', async () => {
    const { companyId } = await admin();
    const { superAdmin } = backend.people;
    const wanted = { companyId, credits: 10, key: `once ${companyId}` };
    type Adjusted = { adjustCredits: { id: string; balanceAfter: number } };
    const first = await superAdmin.ask<Adjusted>(ADJUST, wanted);
    expect(first.adjustCredits).toMatchObject({ type: 'ADJUSTMENT', credits: 10, balanceAfter: 10 });
    await superAdmin.ask(ADJUST, { ...wanted, key: `other ${companyId}` });
    expect(await superAdmin.ask<Adjusted>(ADJUST, wanted)).toEqual(first);
    for (const changed of [{ credits: 11 }, { companyId: backend.companies.other }]) {
      const { extensions } = await superAdmin.refusal(ADJUST, { ...wanted, ...changed });
      expect(extensions.code).toBe('CONFLICT');
    }
    expect(await superAdmin.refusal(ADJUST, { ...wanted, credits: 0, key: 'zero' })).toMatchObject({
      extensions: { code: 'BAD_USER_INPUT', field: 'credits' },
    });
    const log = await superAdmin.ask<{ auditLog: { nodes: { action: string; details: object }[] } }>(
      'query($id: ID!) { auditLog(companyId: $id) { nodes { action details } } }',
      { id: companyId },
    );
    expect(log.auditLog.nodes.map(({ action }) => action)).toEqual(['credits.adjusted', 'credits.adjusted']);
    expect(log.auditLog.nodes[0]?.details).toEqual({ credits: 10, reason: 'a gift' });
  });

  test('P-19 an adjustment is published to the gateways before the response, and only once committed', async () => {
    const { companyId } = await admin();
    const { superAdmin } = backend.people;
    // As a gateway that has read the level from the database stores it.
    const level = { kind: 'level', name: BALANCE_LEVEL, value: 0, version: 0, ttlMs: 60_000 } as const;
    await backend.parts.sharedState.settle(companyId, [{ ...level, replaces: null }]);
    await superAdmin.ask(ADJUST, { companyId, credits: 2, key: `level ${companyId}` });
    const limit = { level: BALANCE_LEVEL, maxAgeMs: 60_000 };
    const look = { kind: 'held', name: BALANCE_LEVEL, entry: 'x', amount: 1, ttlMs: 1_000 } as const;
    const claims = [{ ...look, rule: 'fits', limit } as const];
    const reserved = await backend.parts.sharedState.reserve(companyId, claims);
    expect(reserved).toMatchObject({ outcome: 'reserved', limitStates: [{ limit: 2_000_000 }] });
  });

  test('P-19 credits held by calls in flight are shown next to the balance', async () => {
    const { companyId, ask } = await admin();
    const held = { name: BALANCE_LEVEL, entry: 'call', amount: 250_000, ttlMs: 60_000 };
    await backend.parts.sharedState.reserve(companyId, [
      { kind: 'held', ...held, rule: 'fits', limit: 10_000_000 },
    ]);
    expect(await ask('{ creditBalance { held } }')).toEqual({ creditBalance: { held: 0.25 } });
  });

  test('P-15 the statement is CSV with both balances, and formulas in it are plain text', async () => {
    const { companyId, ask, refusal } = await admin();
    const adjust = `mutation($id: ID!, $key: String!) { adjustCredits(companyId: $id, credits: 3.25,
      reason: "=HYPERLINK(1),\\"x\\"", idempotencyKey: $key) { id } }`;
    await backend.people.superAdmin.ask(adjust, { id: companyId, key: `csv ${companyId}` });
    const statement = '{ creditStatement(from: "2020-01-01", to: "2200-01-01") }';
    const { creditStatement } = await ask<{ creditStatement: string }>(statement);
    const lines = creditStatement.split('\r\n');
    expect(lines).toHaveLength(5);
    expect(lines[0]).toBe('date,type,credits,balance_after,source,reason,expires_at');
    expect(lines[2]).toContain(`,ADJUSTMENT,3.25,3.25,adjustment:csv ${companyId},"'=HYPERLINK(1),""x"""`);
    expect(lines[3]).toEndWith('CLOSING_BALANCE,,3.25,,,');
    const wrong = await refusal('{ creditStatement(from: "2030-01-01", to: "2030-01-01") }');
    expect(wrong.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'to' });
  });
});

describe('the billing mode of a company', () => {
  const BILLING = `mutation($id: ID!, $mode: BillingMode!, $limit: Float) {
    setCompanyBilling(companyId: $id, billingMode: $mode, creditLimit: $limit) { billingMode creditLimit } }`;

  test('P-15 a super admin sets it, it is recorded once, and the gateways have the credit line', async () => {
    const { companyId: id } = await admin();
    const { superAdmin } = backend.people;
    const wanted = { id, mode: 'POSTPAID', limit: 100.5 };
    for (let n = 0; n < 2; n += 1) {
      expect(await superAdmin.ask(BILLING, wanted)).toEqual({
        setCompanyBilling: { billingMode: 'POSTPAID', creditLimit: 100.5 },
      });
    }
    const log = await superAdmin.ask<{ auditLog: { nodes: object[] } }>(
      'query($id: ID!) { auditLog(companyId: $id) { nodes { action details } } }',
      { id },
    );
    expect(log.auditLog.nodes).toEqual([
      { action: 'company.billing-set', details: { billingMode: 'POSTPAID', creditLimit: 100.5 } },
    ]);
    for (const refused of [{ limit: -1 }, { mode: 'PREPAID', limit: 5 }, { limit: 1e300 }]) {
      const { extensions } = await superAdmin.refusal(BILLING, { ...wanted, ...refused });
      expect(extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'creditLimit' });
    }
    const never = { ...wanted, id: '019a0000-0000-7000-8000-00000000dead' };
    expect((await superAdmin.refusal(BILLING, never)).extensions.code).toBe('NOT_FOUND');
  });
});

describe('usage of a company', () => {
  test('P-15 usage in total, by day, alias and key, of the requested days', async () => {
    const { companyId, ask, refusal } = await admin();
    const keyId = backend.parts.secrets.newId();
    const nowMs = backend.clock.now();
    await chargeCalls(backend.database, [
      finishedCall(companyId, { startedAtMs: nowMs, keyId }),
      finishedCall(companyId, { startedAtMs: nowMs, alias: 'svc/chat-cheap' }),
      finishedCall(companyId, { startedAtMs: nowMs, keyId, outcome: 'FAILED' }),
      finishedCall(companyId, { startedAtMs: nowMs - 40 * 86_400_000, keyId }),
    ]);
    const totals = 'totals { calls failures promptTokens cachedTokens completionTokens credits }';
    type Usage = { usage: { totals: object; rows: { totals: { calls: number } }[] } };
    const plain = await ask<Usage>(`{ usage { ${totals} rows { day } } }`);
    expect(plain.usage.rows).toEqual([]);
    expect(plain.usage.totals).toMatchObject({ calls: 3, failures: 1, promptTokens: 20, cachedTokens: 8 });
    const all = 'usage(from: "2029-10-01T12:00:00Z", to: "2030-01-01"';
    const keyed = await ask<Usage>(
      `{ ${all}, groupBy: [KEY, DAY]) { totals { calls } rows { day keyId alias totals { calls } } } }`,
    );
    expect(keyed.usage.totals).toEqual({ calls: 4 });
    expect(keyed.usage.rows).toEqual([
      { day: '2029-11-22', keyId, alias: null, totals: { calls: 1 } },
      { day: '2030-01-01', keyId, alias: null, totals: { calls: 2 } },
    ] as never);
    const aliased = await ask<Usage>(
      `{ ${all}, groupBy: [ALIAS, ALIAS]) { rows { alias totals { calls } } } }`,
    );
    expect(aliased.usage.rows).toEqual([
      { alias: 'svc/chat-cheap', totals: { calls: 1 } },
      { alias: 'svc/chat-default', totals: { calls: 3 } },
    ] as never);
    for (const range of [
      'from: "1999-01-01"',
      'to: "2300-01-01"',
      'from: "2020-01-01"',
      'from: "2030-02-01"',
    ]) {
      expect((await refusal(`{ usage(${range}) { rows { day } } }`)).extensions.code).toBe('BAD_USER_INPUT');
    }
  });

  test('P-15 usage by project, end user or tag, one at a time, of the own company alone', async () => {
    const { companyId, ask, refusal } = await admin();
    const keyId = backend.parts.secrets.newId();
    const startedAtMs = Date.UTC(2029, 8, 5, 10);
    const carried = { startedAtMs, keyId, project: 'web', tags: ['env:prod', 'team-a'] };
    await chargeCalls(backend.database, [
      finishedCall(companyId, { ...carried, endUser: 'ada' }),
      finishedCall(companyId, { ...carried, endUser: 'bob', outcome: 'FAILED' }),
      finishedCall(companyId, { startedAtMs: startedAtMs + 86_400_000, keyId, endUser: 'bob' }),
      finishedCall(companyId, { startedAtMs, keyId }),
    ]);
    const period = 'from: "2029-09-05T09:59:00Z", to: "2029-09-06T00:00:01Z"';
    const by = async (groupBy: string, person = ask) => {
      const fields = 'project endUser tag day totals { calls failures }';
      const { usage } = await person<{ usage: { rows: object[] } }>(
        `{ usage(${period}, groupBy: [${groupBy}]) { from to totals { calls } rows { ${fields} } } }`,
      );
      return usage;
    };
    const none = { project: null, endUser: null, tag: null, day: null };
    expect(await by('PROJECT')).toEqual({
      ...{ from: '2029-09-05T00:00:00.000Z', to: '2029-09-07T00:00:00.000Z', totals: { calls: 4 } },
      rows: [{ ...none, project: 'web', totals: { calls: 2, failures: 1 } }],
    } as never);
    expect((await by('END_USER, DAY')).rows).toEqual([
      { ...none, endUser: 'ada', day: '2029-09-05', totals: { calls: 1, failures: 0 } },
      { ...none, endUser: 'bob', day: '2029-09-05', totals: { calls: 1, failures: 1 } },
      { ...none, endUser: 'bob', day: '2029-09-06', totals: { calls: 1, failures: 0 } },
    ]);
    expect((await by('TAG')).rows).toEqual([
      { ...none, tag: 'env:prod', totals: { calls: 2, failures: 1 } },
      { ...none, tag: 'team-a', totals: { calls: 2, failures: 1 } },
    ]);
    const other = await admin();
    expect(other.companyId).not.toBe(companyId);
    expect((await by('END_USER', other.ask)).rows).toEqual([]);
    const two = await refusal(`{ usage(${period}, groupBy: [TAG, END_USER]) { rows { tag } } }`);
    expect(two.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'groupBy' });
  });

  test('P-15 usage and failures of a part of a day are exact, and the report names the period', async () => {
    const { companyId, ask, refusal } = await admin();
    const at = Date.UTC(2029, 6, 5, 10);
    await chargeCalls(
      backend.database,
      [-1, 0, 4_999, 5_000].flatMap((ms) => [
        finishedCall(companyId, { startedAtMs: at + ms }),
        finishedCall(companyId, { startedAtMs: at + ms, outcome: 'FAILED' }),
      ]),
    );
    const part = '(from: "2029-07-05T10:00:00Z", to: "2029-07-05T10:00:05Z", groupBy: DAY)';
    expect(
      await ask(`{ usage${part} { from to totals { calls } rows { day totals { calls } } }
        usageFailures${part} { rows { calls } latest { startedAt } } }`),
    ).toEqual({
      usage: {
        ...{ from: '2029-07-05T10:00:00.000Z', to: '2029-07-05T10:00:05.000Z', totals: { calls: 4 } },
        rows: [{ day: '2029-07-05', totals: { calls: 4 } }],
      },
      usageFailures: {
        rows: [{ calls: 2 }],
        latest: [{ startedAt: '2029-07-05T10:00:04.999Z' }, { startedAt: '2029-07-05T10:00:00.000Z' }],
      },
    });
    expect(await ask('{ usage(from: "2029-07-05", to: "2029-07-05") { from to totals { calls } } }')).toEqual(
      {
        usage: { from: '2029-07-05T00:00:00.000Z', to: '2029-07-06T00:00:00.000Z', totals: { calls: 8 } },
      },
    );
    const reversed = '{ usage(from: "2029-07-05T10:00:05Z", to: "2029-07-05T10:00:05Z") { from } }';
    expect((await refusal(reversed)).extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'from' });
  });

  test('P-19 invoices are listed newest first, with the decimals of the currency', async () => {
    const { companyId, ask } = await admin();
    for (const [n, currency] of ['usd', 'jpy', 'kwd'].entries()) {
      await backend.database.query(
        `insert into invoices (id, company_id, kind, status, amount_minor, currency, created_at)
         values ($1, $2, 'MANUAL', 'OPEN', 1230, $3, $4)`,
        [backend.parts.secrets.newId(), companyId, currency, new Date(Date.UTC(2030, 0, n + 1))],
      );
    }
    type Listed = { invoices: { nodes: object[]; pageInfo: { hasNextPage: boolean; endCursor: string } } };
    const query = `query($after: ID) { invoices(first: 2, after: $after) {
      nodes { status amount currency } pageInfo { hasNextPage endCursor } } }`;
    const first = await ask<Listed>(query);
    const status = 'OPEN';
    expect(first.invoices.nodes).toEqual([
      { status, amount: 1.23, currency: 'kwd' },
      { status, amount: 1230, currency: 'jpy' },
    ]);
    const { endCursor: after, hasNextPage } = first.invoices.pageInfo;
    expect(hasNextPage).toBe(true);
    const { invoices } = await ask<Listed>(query, { after });
    expect(invoices.nodes).toEqual([{ status, amount: 12.3, currency: 'usd' }]);
    await backend.database.query(
      `update invoices set number = 'INV-' || upper(currency), status = case currency when 'jpy' then 'PAID' else status end
       where company_id = $1`,
      [companyId],
    );
    const found = async (filter: string) => {
      const { invoices: some } = await ask<{ invoices: { nodes: { currency: string }[] } }>(
        `{ invoices(${filter}) { nodes { currency } } }`,
      );
      return some.nodes.map(({ currency }) => currency);
    };
    expect(await found('status: OPEN')).toEqual(['kwd', 'usd']);
    expect(await found('search: "inv-jpy"')).toEqual(['jpy']);
    expect(await found('search: "inv", status: PAID')).toEqual(['jpy']);
    const { invoices: foreign } = await backend.people.otherAdmin.ask<Listed>(query, { after });
    expect(foreign.nodes).toEqual([]);
  });
});

describe('prices of models', () => {
  test('P-15 a price is set by a super admin, for now or later, and is readable by all', async () => {
    const { superAdmin, member } = backend.people;
    const set = `mutation($alias: String!, $from: DateTime, $prompt: Float!) { setAliasPrice(alias: $alias, from: $from,
      price: { prompt: $prompt, cached: 0.1, completion: 4 }) { prompt cached completion } }`;
    const alias = 'svc/chat-cheap';
    await superAdmin.ask(set, { alias, prompt: 0.5 });
    await superAdmin.ask(set, { alias, prompt: 0.25, from: '2190-01-01T00:00:00Z' });
    const { modelAliases } = await member.ask<{
      modelAliases: { alias: string; prices: { prompt: number }[] }[];
    }>('{ modelAliases { alias prices { prompt inForceFrom } } }');
    const cheap = modelAliases.find((one) => one.alias === alias);
    expect(cheap?.prices.map(({ prompt }) => prompt)).toEqual([0.5, 0.25]);
    for (const wrong of [{ prompt: -1 }, { prompt: 0.0000001 }, { from: '2001-01-01T00:00:00Z' }]) {
      const { extensions } = await superAdmin.refusal(set, { alias, prompt: 1, ...wrong });
      expect(extensions.code).toBe('BAD_USER_INPUT');
    }
    const { extensions } = await superAdmin.refusal(set, { alias: 'svc/none', prompt: 1 });
    expect(extensions.code).toBe('NOT_FOUND');
  });
});

describe('withheld usage', () => {
  const LIST = `query($first: Int, $after: ID, $all: Boolean) {
    withheldUsage(first: $first, after: $after, includeResolved: $all) {
      nodes { id companyName model promptTokens promptBound chargedCredits withheldCredits status reason resolvedAt }
      pageInfo { hasNextPage endCursor } } }`;
  const POST = `mutation($id: ID!) { postWithheldUsage(id: $id, reason: "checked") { status withheldCredits } }`;
  const DROP = `mutation($id: ID!) { dropWithheldUsage(id: $id, reason: "a fault") { status reason } }`;
  interface Listed {
    withheldUsage: {
      nodes: { id: string; status: string }[];
      pageInfo: { hasNextPage: boolean; endCursor: string | null };
    };
  }

  test('is listed page by page, posted once under concurrent requests, dropped permanently; and recorded', async () => {
    const { companyId, ask } = await admin();
    const { superAdmin } = backend.people;
    const tokens = { promptTokens: 3_000_000, cachedTokens: 0, completionTokens: 0 };
    const tokenBounds = { promptTokens: 1_000_000, completionTokens: 1 };
    const calls = Array.from({ length: 3 }, () => finishedCall(companyId, { tokens, tokenBounds }));
    await chargeCalls(backend.database, calls);
    const stored = {
      kind: 'level',
      name: BALANCE_LEVEL,
      value: -3_000_000,
      version: 3,
      ttlMs: 60_000,
    } as const;
    await backend.parts.sharedState.settle(companyId, [{ ...stored, replaces: null }]);
    const [first, second, third] = calls.map(({ id }) => id).toReversed() as [string, string, string];
    const { withheldUsage: page } = await superAdmin.ask<Listed>(LIST, { first: 2 });
    expect(page.nodes).toMatchObject([
      {
        ...{ id: first, companyName: 'Books', model: 'svc/chat-default', promptTokens: 3_000_000 },
        ...{ promptBound: 1_000_000, chargedCredits: 1, withheldCredits: 2, status: 'OPEN', reason: null },
      },
      { id: second },
    ]);
    const after = page.pageInfo.endCursor;
    expect((await superAdmin.ask<Listed>(LIST, { first: 2, after })).withheldUsage.nodes).toMatchObject([
      { id: third },
    ]);
    const posted = await Promise.all(
      Array.from({ length: 5 }, () => superAdmin.ask<object>(POST, { id: first })),
    );
    const done = { postWithheldUsage: { status: 'POSTED', withheldCredits: 2 } };
    expect(posted).toEqual(Array.from({ length: 5 }, () => done));
    expect(await superAdmin.ask<object>(DROP, { id: second })).toEqual({
      dropWithheldUsage: { status: 'DROPPED', reason: 'a fault' },
    });
    expect((await superAdmin.refusal(POST, { id: second })).extensions.code).toBe('CONFLICT');
    expect((await superAdmin.refusal(DROP, { id: first })).extensions.code).toBe('CONFLICT');
    expect((await superAdmin.refusal(POST, { id: companyId })).extensions.code).toBe('NOT_FOUND');
    expect(await ask('{ creditBalance { credits } }')).toEqual({ creditBalance: { credits: -5 } });
    const limit = { level: BALANCE_LEVEL, maxAgeMs: 60_000 };
    const look = { kind: 'held', name: BALANCE_LEVEL, entry: 'x', amount: 1, ttlMs: 1_000 } as const;
    const reserved = await backend.parts.sharedState.reserve(companyId, [{ ...look, rule: 'fits', limit }]);
    expect(reserved).toMatchObject({ limitStates: [{ limit: -5_000_000 }] });
    const all = await superAdmin.ask<Listed>(LIST, { all: true, first: 100 });
    const own = all.withheldUsage.nodes.filter(({ id }) => [first, second, third].includes(id));
    expect(own.map(({ status }) => status)).toEqual(['POSTED', 'DROPPED', 'OPEN']);
    const recorded = await backend.database.query(
      `select action from audit_log where object_id = any ($1) order by id`,
      [[first, second]],
    );
    expect(recorded.map(({ action }) => action)).toEqual(['withheld-usage.posted', 'withheld-usage.dropped']);
  });
});
