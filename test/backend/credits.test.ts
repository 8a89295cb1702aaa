import { describe, expect, test } from 'bun:test';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import type { FinishedCall } from '../../src/domain/calls/settlement/finished-call.ts';
import { BALANCE_LEVEL } from '../../src/domain/credits/ledger/credit-account.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend, type Person } from './backend-under-test.ts';
import { makeMoneyOf } from './money-of-a-company.ts';

const ADJUST = `mutation($companyId: ID!, $credits: Float!, $key: String!) {
  adjustCredits(companyId: $companyId, credits: $credits, reason: "a gift", idempotencyKey: $key) {
    id type credits balanceAfter source reason createdAt } }`;
interface Transactions {
  creditTransactions: { nodes: { type: string }[] };
}

const backend = useResource(() => openBackend());

/** An admin of a company of their own. */
async function admin(): Promise<Person & { readonly companyId: string }> {
  const companyId = await backend.company('Books');
  return { ...(await backend.person(companyId, { role: 'COMPANY_ADMIN' })), companyId };
}

describe('a company’s credits', () => {
  test('P-19 transactions are filtered by type, words of the reason and time', async () => {
    const { companyId, ask, refusal } = await admin();
    await backend.people.superAdmin.ask(ADJUST, { companyId, credits: 4, key: `filtered ${companyId}` });
    await chargeCalls(backend.database, [finishedCall(companyId)]);
    const find = async (filter: string) => {
      const query = `{ creditTransactions(${filter}) { nodes { type } } }`;
      const { creditTransactions } = await ask<Transactions>(query);
      return creditTransactions.nodes.map(({ type }) => type);
    };
    expect(await find('types: []')).toEqual(['USAGE', 'ADJUSTMENT']);
    expect(await find('types: [ADJUSTMENT, REFUND]')).toEqual(['ADJUSTMENT']);
    expect(await find('types: [USAGE]')).toEqual(['USAGE']);
    expect(await find('search: "GIFT a"')).toEqual(['ADJUSTMENT']);
    expect(await find('from: "2001-01-01", to: "2001-01-02"')).toEqual([]);
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

  test('P-19 a super admin reads those of any company; for others it does not exist', async () => {
    const { companyId, refusal } = await admin();
    const { superAdmin } = backend.people;
    await superAdmin.ask(ADJUST, { companyId, credits: 4, key: `read ${companyId}` });
    const query = (id: string) => `{ creditTransactions(companyId: "${id}") { nodes { type credits } } }`;
    const nodes = [{ type: 'ADJUSTMENT', credits: 4 }];
    expect(await superAdmin.ask(query(companyId))).toEqual({ creditTransactions: { nodes } });
    const statement = `{ creditStatement(companyId: "${companyId}", from: "2001-01-01", to: "2040-01-01") }`;
    expect(JSON.stringify(await superAdmin.ask(statement))).toContain('ADJUSTMENT');
    expect((await refusal(query(backend.companies.other))).extensions.code).toBe('NOT_FOUND');
    const never = '019a0000-0000-7000-8000-00000000dead';
    expect((await superAdmin.refusal(query(never))).extensions.code).toBe('NOT_FOUND');
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

  test('P-15 the statement is CSV', async () => {
    const { companyId, ask, refusal } = await admin();
    await backend.people.superAdmin.ask(ADJUST, { companyId, credits: 3.25, key: `csv ${companyId}` });
    const { creditStatement } = await ask<{ creditStatement: string }>(
      '{ creditStatement(from: "2020-01-01", to: "2200-01-01") }',
    );
    expect(creditStatement.split('\r\n')[2]).toContain(`,3.25,3.25,adjustment:csv ${companyId},a gift`);
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
    for (const refused of [{ mode: 'PREPAID', limit: 5 }, { limit: 1e300 }]) {
      const { extensions } = await superAdmin.refusal(BILLING, { ...wanted, ...refused });
      expect(extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'creditLimit' });
    }
    const never = { ...wanted, id: '019a0000-0000-7000-8000-00000000dead' };
    expect((await superAdmin.refusal(BILLING, never)).extensions.code).toBe('NOT_FOUND');
  });

  test('P-29 beside a subscription a company is not invoiced, and a company that is invoiced does not subscribe', async () => {
    const { companyId: id, ask, refusal } = await admin();
    const { superAdmin } = backend.people;
    await makeMoneyOf(backend, id);
    const refused = await superAdmin.refusal(BILLING, { id, mode: 'POSTPAID' });
    expect([refused.extensions.code, refused.message]).toEqual([
      'CONFLICT',
      expect.stringContaining('Cancel the subscription'),
    ]);
    expect(await ask('{ company { billingMode } }')).toEqual({ company: { billingMode: 'PREPAID' } });
    const { database } = backend;
    await database.query(
      "update subscriptions set status = 'CANCELED', is_active = false where company_id = $1",
      [id],
    );
    await superAdmin.ask(BILLING, { id, mode: 'POSTPAID' });
    const [plan] = await database.query<{ id: string }>(
      `update plans set provider_price_id = 'price_of_theirs' where id = (
         select plan_id from subscriptions where company_id = $1) returning id`,
      [id],
    );
    const subscribe = 'mutation($plan: ID!) { createSubscriptionCheckout(planId: $plan) { url } }';
    expect((await refusal(subscribe, { plan: plan?.id })).message).toContain('monthly invoice');
  });
});

describe('usage of a company', () => {
  test('P-15 usage in total, by day and key, and by end user, of the requested days', async () => {
    const { companyId, ask, refusal } = await admin();
    const keyId = backend.parts.secrets.newId();
    const nowMs = backend.clock.now();
    await chargeCalls(backend.database, [
      finishedCall(companyId, { startedAtMs: nowMs, keyId }),
      finishedCall(companyId, { startedAtMs: nowMs, alias: 'svc/chat-cheap' }),
      finishedCall(companyId, { startedAtMs: nowMs, keyId, outcome: 'FAILED', endUser: 'ada' }),
      finishedCall(companyId, { startedAtMs: nowMs - 40 * 86_400_000, keyId }),
    ]);
    const totals = 'totals { calls failures promptTokens cachedTokens }';
    expect(await ask(`{ usage { ${totals} rows { day } } }`)).toEqual({
      usage: { totals: { calls: 3, failures: 1, promptTokens: 20, cachedTokens: 8 }, rows: [] },
    });
    const all = 'usage(from: "2029-10-01T12:00:00Z", to: "2030-01-01"';
    const row = 'rows { day keyId endUser totals { calls } }';
    expect(await ask(`{ ${all}, groupBy: [KEY, DAY]) { from to ${row} } }`)).toEqual({
      usage: {
        ...{ from: '2029-10-01T12:00:00.000Z', to: '2030-01-02T00:00:00.000Z' },
        rows: [
          { day: '2029-11-22', keyId, endUser: null, totals: { calls: 1 } },
          { day: '2030-01-01', keyId, endUser: null, totals: { calls: 2 } },
        ],
      },
    });
    // Sums by name are of whole days.
    expect(await ask(`{ ${all}, groupBy: END_USER) { from ${row} } }`)).toEqual({
      usage: {
        from: '2029-10-01T00:00:00.000Z',
        rows: [{ day: null, keyId: null, endUser: 'ada', totals: { calls: 1 } }],
      },
    });
    const two = await refusal(`{ ${all}, groupBy: [TAG, END_USER]) { from } }`);
    expect(two.extensions).toMatchObject({ code: 'BAD_USER_INPUT', field: 'groupBy' });
    for (const range of ['to: "2300-01-01"', 'from: "2020-01-01"', 'from: "2030-02-01"']) {
      expect((await refusal(`{ usage(${range}) { rows { day } } }`)).extensions.code).toBe('BAD_USER_INPUT');
    }
  });

  test('P-19 invoices are listed and searched, with the decimals of the currency', async () => {
    const { companyId, ask } = await admin();
    for (const [n, currency] of ['usd', 'jpy', 'kwd'].entries()) {
      await backend.database.query(
        `insert into invoices (id, company_id, kind, status, amount_minor, currency, created_at, number)
         values ($1, $2, 'MANUAL', $5, 1230, $3, $4, 'INV-' || upper($3))`,
        [
          ...[backend.parts.secrets.newId(), companyId, currency, new Date(Date.UTC(2030, 0, n + 1))],
          currency === 'jpy' ? 'PAID' : 'OPEN',
        ],
      );
    }
    const query = `query($after: ID, $search: String, $status: InvoiceStatus) {
      invoices(first: 2, after: $after, search: $search, status: $status) {
        nodes { amount currency } pageInfo { endCursor } } }`;
    type Listed = { invoices: { nodes: object[]; pageInfo: { endCursor: string } } };
    const list = async (variables: object, asked = ask) => (await asked<Listed>(query, variables)).invoices;
    const [kwd, jpy, usd] = [
      { amount: 1.23, currency: 'kwd' },
      { amount: 1230, currency: 'jpy' },
      { amount: 12.3, currency: 'usd' },
    ];
    const { nodes, pageInfo } = await list({});
    expect(nodes).toEqual([kwd, jpy]);
    const after = pageInfo.endCursor;
    expect((await list({ after })).nodes).toEqual([usd]);
    expect((await list({ status: 'OPEN' })).nodes).toEqual([kwd, usd]);
    expect((await list({ search: 'inv-jpy', status: 'PAID' })).nodes).toEqual([jpy]);
    expect((await list({ after }, backend.people.otherAdmin.ask)).nodes).toEqual([]);
  });
});

describe('corrections of charges', () => {
  const CORRECT = `mutation($id: String!, $credits: Float!, $reason: String!) {
    correctCharge(requestId: $id, credits: $credits, reason: $reason) { id credits corrections { credits nodes { credits reason } } } }`;
  const RERATE = `mutation($filter: CallFilter!, $dryRun: Boolean) {
    rerateCalls(filter: $filter, dryRun: $dryRun) {
      calls creditsBefore creditsAfter companies { company { name } difference } dearer { requestId } } }`;
  const PRICE = `mutation($from: DateTime, $reason: String) {
    setAliasPrice(alias: "svc/extract-fast", price: { prompt: 0.1, cached: 0.1, completion: 0.1 }, from: $from, reason: $reason) { prompt } }`;
  const charged = async (companyId: string, changes: Partial<FinishedCall> = {}) => {
    const call = finishedCall(companyId, { requestId: crypto.randomUUID(), ...changes });
    await chargeCalls(backend.database, [call]);
    return call;
  };
  const actions = async (objectId: string) =>
    (
      await backend.database.query('select action from audit_log where object_id = $1 order by id', [
        objectId,
      ])
    ).map(({ action }) => action);

  test('credits of a call are given back, once per reason, shown beside it and recorded', async () => {
    const { companyId, ask } = await admin();
    const { superAdmin } = backend.people;
    const { id, requestId } = await charged(companyId);
    const given = { id: requestId, credits: 0.00005, reason: 'a wrong answer' };
    const corrected = {
      correctCharge: {
        ...{ id, credits: 0.000_076 },
        corrections: { credits: 0.000_05, nodes: [{ credits: 0.000_05, reason: 'a wrong answer' }] },
      },
    };
    for (const named of [requestId, id]) {
      expect(await superAdmin.ask<object>(CORRECT, { ...given, id: named })).toEqual(corrected);
    }
    const seen =
      '{ calls { nodes { corrections { credits } } } creditTransactions { nodes { type credits source } } }';
    expect(await ask(seen)).toMatchObject({
      calls: { nodes: [{ corrections: { credits: 0.000_05 } }] },
      creditTransactions: {
        nodes: [{ type: 'ADJUSTMENT', source: expect.stringContaining(id) }, { type: 'USAGE' }],
      },
    });
    for (const [changes, code] of [
      [{ credits: 0.00004 }, 'CONFLICT'],
      [{ credits: 0.00004, reason: 'more' }, 'CONFLICT'],
      [{ credits: 0, reason: 'none' }, 'BAD_USER_INPUT'],
      [{ credits: -1, reason: 'less' }, 'BAD_USER_INPUT'],
      [{ id: 'req_unknown' }, 'NOT_FOUND'],
      [{ reason: 'x'.repeat(501) }, 'BAD_USER_INPUT'],
    ] as const) {
      const refusal = await superAdmin.refusal(CORRECT, { ...given, ...changes });
      expect([changes, refusal.extensions.code]).toEqual([changes, code]);
    }
    const twin = await charged(companyId, { requestId });
    expect((await superAdmin.refusal(CORRECT, given)).message).toContain('by its own id');
    const free = await charged(companyId, { outcome: 'FAILED', httpStatus: 502, tokens: null });
    expect((await superAdmin.refusal(CORRECT, { ...given, id: free.id })).message).toContain('not charged');
    expect([await actions(id), await actions(twin.id)]).toEqual([['charge.corrected'], []]);
  });

  test('calls are priced again by a price that was set for their time, after a dry run', async () => {
    const { companyId, ask } = await admin();
    const { superAdmin } = backend.people;
    const startedAtMs = Date.now() - 3_600_000;
    const model = 'svc/extract-fast';
    await charged(companyId, { alias: model, startedAtMs });
    const [from, to] = [new Date(startedAtMs - 1_000), new Date(startedAtMs + 1_000)];
    const filter = { model, from, to };
    expect((await superAdmin.refusal(PRICE, { from })).message).toContain('reason');
    await superAdmin.ask(PRICE, { from, reason: 'it was three times too high' });
    // 6 x 0.3 + 4 x 0.15 + 17 x 1.2 micro-credits, and 27 x 0.1.
    const report = {
      ...{ calls: 1, creditsBefore: 0.000_023, creditsAfter: 0.000_003, dearer: [] },
      companies: [{ company: { name: 'Books' }, difference: 0.000_02 }],
    };
    const balance = async () =>
      (await ask<{ creditBalance: { credits: number } }>('{ creditBalance { credits } }')).creditBalance;
    expect(await superAdmin.ask<object>(RERATE, { filter })).toEqual({ rerateCalls: report });
    expect(await balance()).toEqual({ credits: -0.000_023 });
    expect(await superAdmin.ask<object>(RERATE, { filter, dryRun: false })).toEqual({ rerateCalls: report });
    expect(await balance()).toEqual({ credits: -0.000_003 });
    expect(await superAdmin.ask<object>(RERATE, { filter, dryRun: false })).toMatchObject({
      rerateCalls: { calls: 0 },
    });
    expect(await balance()).toEqual({ credits: -0.000_003 });
    expect(await actions(model)).toEqual(['alias.price-set', 'calls.rerated']);
    for (const wrong of [
      { from, to },
      { model, to },
      { model, from },
      { model, from: new Date(0), to },
    ]) {
      expect((await superAdmin.refusal(RERATE, { filter: wrong })).extensions.code).toBe('BAD_USER_INPUT');
    }
  });

  test('a price to come is withdrawn', async () => {
    const { superAdmin } = backend.people;
    const from = new Date(Date.now() + 3_600_000);
    const WITHDRAW =
      'mutation($from: DateTime!) { withdrawAliasPrice(alias: "svc/extract-fast", from: $from) { prompt } }';
    await superAdmin.ask(PRICE, { from });
    expect(await superAdmin.ask<object>(WITHDRAW, { from })).toEqual({ withdrawAliasPrice: { prompt: 0.1 } });
    expect((await superAdmin.refusal(WITHDRAW, { from })).extensions.code).toBe('BAD_USER_INPUT');
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

  test('is listed page by page, posted once, dropped permanently; and recorded', async () => {
    const { companyId, ask } = await admin();
    const { superAdmin } = backend.people;
    const tokens = { promptTokens: 3_000_000, cachedTokens: 0, completionTokens: 0 };
    const tokenBounds = { promptTokens: 1_000_000, completionTokens: 1 };
    const calls = [1, 2].map(() => finishedCall(companyId, { tokens, tokenBounds }));
    await chargeCalls(backend.database, calls);
    const [first, second] = calls.map(({ id }) => id).toReversed() as [string, string];
    const { withheldUsage: page } = await superAdmin.ask<Listed>(LIST, { first: 1 });
    expect(page.nodes).toMatchObject([
      {
        ...{ id: first, companyName: 'Books', model: 'svc/chat-default', promptTokens: 3_000_000 },
        ...{ promptBound: 1_000_000, chargedCredits: 1, withheldCredits: 2, status: 'OPEN', reason: null },
      },
    ]);
    const next = await superAdmin.ask<Listed>(LIST, { first: 1, after: page.pageInfo.endCursor });
    expect(next.withheldUsage.nodes).toMatchObject([{ id: second }]);
    for (const _again of [1, 2]) {
      expect(await superAdmin.ask<object>(POST, { id: first })).toEqual({
        postWithheldUsage: { status: 'POSTED', withheldCredits: 2 },
      });
    }
    expect(await superAdmin.ask<object>(DROP, { id: second })).toEqual({
      dropWithheldUsage: { status: 'DROPPED', reason: 'a fault' },
    });
    expect((await superAdmin.refusal(POST, { id: second })).extensions.code).toBe('CONFLICT');
    expect((await superAdmin.refusal(DROP, { id: first })).extensions.code).toBe('CONFLICT');
    expect((await superAdmin.refusal(POST, { id: companyId })).extensions.code).toBe('NOT_FOUND');
    expect(await ask('{ creditBalance { credits } }')).toEqual({ creditBalance: { credits: -4 } });
    const { withheldUsage: all } = await superAdmin.ask<Listed>(LIST, { all: true });
    expect(all.nodes.map(({ status }) => status)).toEqual(['POSTED', 'DROPPED']);
    const recorded = await backend.database.query(
      'select action from audit_log where object_id = any ($1) order by id',
      [[first, second]],
    );
    expect(recorded.map(({ action }) => action)).toEqual(['withheld-usage.posted', 'withheld-usage.dropped']);
  });
});
