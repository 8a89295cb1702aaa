import { beforeAll, expect, test } from 'bun:test';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { createAgreeingProvider } from '../doubles/agreeing-provider.ts';
import { describePostgres, usePostgres } from '../setup/use-postgres.ts';
import { type BackendUnderTest, openBackend } from './backend-under-test.ts';

describePostgres('money operations on PostgreSQL', () => {
  const database = usePostgres();
  let backend: BackendUnderTest;
  const prices: string[] = [];
  const asked = createAgreeingProvider();
  beforeAll(async () => {
    const provider = createAgreeingProvider({
      createPrice(wanted, key) {
        prices.push(key);
        return asked.createPrice(wanted, key);
      },
    });
    backend = await openBackend({ database, provider, clock: createSystemClock() });
  });

  test('P-19 one adjustment sent twenty times at once is posted and recorded once, and all get the same answer', async () => {
    const { superAdmin } = backend.people;
    const companyId = await backend.company('Rush');
    const adjust = `mutation($id: ID!) { adjustCredits(companyId: $id, credits: 5, reason: "once",
      idempotencyKey: "rush") { id balanceAfter } }`;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => superAdmin.ask(adjust, { id: companyId })),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    const admin = await backend.person(companyId, { role: 'COMPANY_ADMIN' });
    expect(await admin.ask('{ creditBalance { credits } auditLog { nodes { action } } }')).toEqual({
      creditBalance: { credits: 5 },
      auditLog: { nodes: [{ action: 'credits.adjusted' }] },
    });
  });

  test('P-15 a credit line set by concurrent requests is completely that of one of them', async () => {
    const { superAdmin } = backend.people;
    const id = await backend.company('Lines');
    const set = `mutation($id: ID!, $limit: Float) {
      setCompanyBilling(companyId: $id, billingMode: POSTPAID, creditLimit: $limit) { creditLimit } }`;
    await Promise.all([1, 2, 3, 4, 5].map((limit) => superAdmin.ask(set, { id, limit })));
    const [row] = await database.query<{ line: bigint; limit: bigint }>(
      `select line_micro as line, credit_limit_micro as limit from credit_accounts join companies using (id)
       where companies.id = $1`,
      [id],
    );
    expect(row?.line).toBe(row?.limit as bigint);
    const changes = await database.query(`select 1 from audit_log where action = 'company.billing-set'`);
    expect(changes).toHaveLength(5);
  });

  test('P-9 five concurrent syncs create one price for each plan', async () => {
    const { superAdmin } = backend.people;
    const add = `mutation($name: String!) { createPlan(input: { name: $name, billingMode: PREPAID, price: 9,
      currency: "eur", credits: 10 }) { id } }`;
    for (const name of ['A', 'B', 'C']) await superAdmin.ask(add, { name });
    const sync = 'mutation { syncAllPlansProviderPricing { id providerPriceId } }';
    const answers = await Promise.all(Array.from({ length: 5 }, () => superAdmin.ask(sync)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(prices).toHaveLength(3);
  });

  test('P-15 usage, invoices, transactions and the statement are the same as on the embedded engine', async () => {
    const admin = await backend.person(await backend.company('Reader'), { role: 'COMPANY_ADMIN' });
    expect(
      await admin.ask(`{ usage(groupBy: [DAY, ALIAS, KEY]) { totals { calls credits } rows { day } }
        usageFailures(groupBy: [DAY, ALIAS, KEY]) { rows { day } countedFrom latest { id } } creditAlerts { kind }
        invoices { nodes { id } } creditTransactions { nodes { id } } creditPackPurchases { nodes { id } }
        subscription { id } creditPacks { id } creditStatement(from: "2020-01-01", to: "2021-01-01") }`),
    ).toMatchObject({
      usage: { totals: { calls: 0, credits: 0 }, rows: [] },
      usageFailures: { rows: [], countedFrom: null, latest: [] },
      creditAlerts: [],
      creditStatement: expect.stringContaining('OPENING_BALANCE,,0,,'),
    });
  });
});
