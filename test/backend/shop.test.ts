import { beforeAll, describe, expect, test } from 'bun:test';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { updateStaleCustomers } from '../../src/domain/payments/customer-profile.ts';
import { until } from '../doubles/until.ts';
import { openSandbox, type SandboxUnderTest } from '../payment-sandbox/sandbox-under-test.ts';
import { useDatabase } from '../setup/use-database.ts';
import { type BackendUnderTest, openBackend } from './backend-under-test.ts';

let sandbox: SandboxUnderTest;
let backend: BackendUnderTest;
const database = useDatabase({ beforeClose: () => sandbox?.close() });
beforeAll(async () => {
  sandbox = await openSandbox(database);
  // Waits for another process use the machine's own clock.
  const clock = { ...sandbox.clock, sleep: createSystemClock().sleep };
  backend = await openBackend({ database, provider: sandbox.provider, clock });
});

type Id = { readonly id: string };
const FIELDS = 'id name credits price currency sortOrder';
const PACK = { name: 'Starter', credits: 1_000, price: 10, currency: 'usd', sortOrder: 1 };
const ADD_PACK = `mutation($input: CreateCreditPackInput!) { createCreditPack(input: $input) { ${FIELDS} } }`;
const PLAN = { name: 'Basic', billingMode: 'PREPAID', price: 29, currency: 'usd', credits: 3_000 };
const ADD_PLAN = `mutation($input: PlanInput!) { createPlan(input: $input) { id needsProviderPricing providerPriceId price interval active } }`;
const SYNC = 'mutation { syncAllPlansProviderPricing { id name providerPriceId providerProductId } }';
const BUY_PACK = `mutation($id: ID!) { createCreditPackCheckout(creditPackId: $id) { url purchaseId providerSessionId } }`;
const BUY_PLAN = `mutation($id: ID!) { createSubscriptionCheckout(planId: $id) { url purchaseId providerSessionId } }`;
type Opened = {
  readonly url: string;
  readonly purchaseId: string | null;
  readonly providerSessionId: string;
};

async function addPack(changes: object = {}): Promise<Id> {
  const input = { ...PACK, ...changes };
  return (await backend.people.superAdmin.ask<{ createCreditPack: Id }>(ADD_PACK, { input }))
    .createCreditPack;
}
async function addPlan(changes: object = {}): Promise<Id> {
  const input = { ...PLAN, ...changes };
  return (await backend.people.superAdmin.ask<{ createPlan: Id }>(ADD_PLAN, { input })).createPlan;
}
async function actionsOn(objectId: string): Promise<string[]> {
  const rows = await database.query<{ action: string }>(
    'select action from audit_log where object_id = $1 order by id',
    [objectId],
  );
  return rows.map(({ action }) => action);
}

describe('the catalog', () => {
  test('P-10 P-11 a pack is returned with its six fields, and has its price at the provider', async () => {
    const pack = await addPack({ currency: 'USD', price: 19.99 });
    expect<object>(pack).toEqual({ id: expect.any(String), ...PACK, price: 19.99 });
    const [row] = await database.query<{ status: string; priceId: string }>(
      'select status, provider_price_id as "priceId" from credit_packs where id = $1',
      [pack.id],
    );
    const { body } = await sandbox.call('GET', `/v1/prices/${row?.priceId}`);
    expect([row?.status, body.unit_amount, body.type]).toEqual(['ACTIVE', 1_999, 'one_time']);
    expect(await actionsOn(pack.id)).toEqual(['credit-pack.created']);
  });

  test('P-11 P-5 status and provider ids of a pack cannot be queried: nothing runs', async () => {
    const before = await database.query('select 1 from credit_packs');
    for (const field of ['status', 'providerProductId', 'providerPriceId', 'createdAt']) {
      const query = ADD_PACK.replace(FIELDS, `id ${field}`);
      const { extensions } = await backend.people.superAdmin.refusal(query, { input: PACK });
      expect(extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    }
    expect(await database.query('select 1 from credit_packs')).toHaveLength(before.length);
  });

  test('P-12 no mutation syncs packs in bulk', async () => {
    const { __schema } = await backend.people.anonymous.ask<{
      __schema: { mutationType: { fields: { name: string }[] } };
    }>('{ __schema { mutationType { fields { name } } } }');
    const names = __schema.mutationType.fields.map(({ name }) => name);
    expect(names.filter((name) => /pack/i.test(name)).sort()).toEqual([
      'createCreditPack',
      'createCreditPackCheckout',
      'retireCreditPack',
      'updateCreditPack',
    ]);
  });

  test('P-10 an amount that the currency cannot represent, or any other invalid value, is refused by its field', async () => {
    const wrong: readonly [object, string][] = [
      [{ price: 1000.5, currency: 'jpy' }, 'input.price'],
      [{ price: -1 }, 'input.price'],
      [{ price: 0 }, 'input.price'],
      [{ price: 1e300 }, 'input.price'],
      [{ currency: 'xyz' }, 'input.currency'],
      [{ credits: 0 }, 'input.credits'],
      [{ credits: 0.00000001 }, 'input.credits'],
      [{ name: ' ' }, 'input.name'],
      [{ sortOrder: 2_000_000 }, 'input.sortOrder'],
    ];
    for (const [changes, field] of wrong) {
      const refused = await backend.people.superAdmin.refusal(ADD_PACK, { input: { ...PACK, ...changes } });
      expect([changes, refused.extensions]).toEqual([changes, { code: 'BAD_USER_INPUT', field }]);
    }
  });

  test('P-9 P-16 sync prices active PREPAID plans that lack one, leaves the others, and can be repeated', async () => {
    const { superAdmin } = backend.people;
    const [sold, retired, later] = [
      await addPlan(),
      await addPlan({ name: 'Old', active: false }),
      await addPlan({ name: 'Enterprise', billingMode: 'POSTPAID', price: 0, credits: 0 }),
    ];
    type Synced = { syncAllPlansProviderPricing: (Id & { providerPriceId: string })[] };
    const [first, second] = await Promise.all([superAdmin.ask<Synced>(SYNC), superAdmin.ask<Synced>(SYNC)]);
    const listed = first.syncAllPlansProviderPricing.map(({ id }) => id);
    expect(listed).toContain(sold.id);
    expect(listed).not.toContain(retired.id);
    expect(listed).not.toContain(later.id);
    expect(second).toEqual(first);
    expect(await superAdmin.ask<Synced>(SYNC)).toEqual(first);
    expect((await actionsOn(sold.id)).filter((action) => action === 'plan.priced').length).toBeGreaterThan(0);
    const shown = async (who: 'member' | 'superAdmin') =>
      (await backend.people[who].ask<{ plans: Id[] }>('{ plans { id } }')).plans.map(({ id }) => id);
    expect(await shown('member')).not.toContain(retired.id);
    expect(await shown('superAdmin')).toContain(retired.id);
  });
});

test('plans and packs are changed, reordered and retired, each recorded; the old price is archived', async () => {
  const { superAdmin, member } = backend.people;
  const { id: planId } = await addPlan();
  const { id: packId } = await addPack();
  await superAdmin.ask(SYNC);
  const fields = 'price credits sortOrder creditsExpireAfterDays active needsProviderPricing providerPriceId';
  type Changed = Record<'plan' | 'pack', Record<string, unknown>>;
  const { plan } = await superAdmin.ask<Changed>(
    `mutation($id: ID!, $input: PlanInput!) { plan: updatePlan(id: $id, input: $input) { ${fields} } }`,
    { id: planId, input: { ...PLAN, price: 39, credits: 4_000, sortOrder: -5, creditsExpireAfterDays: 60 } },
  );
  const changed = { price: 39, credits: 4_000, sortOrder: -5, creditsExpireAfterDays: 60, active: true };
  expect(plan).toMatchObject({ ...changed, needsProviderPricing: false });
  const { body: price } = await sandbox.call('GET', `/v1/prices/${plan.providerPriceId}`);
  expect(price).toMatchObject({ unit_amount: 3_900, active: true });
  const listed = await member.ask<{ plans: Id[] }>('{ plans { id } }');
  expect(listed.plans[0]?.id).toBe(planId);
  const { pack } = await superAdmin.ask<Changed>(
    `mutation($id: ID!, $input: CreateCreditPackInput!) {
      pack: updateCreditPack(id: $id, input: $input) { ${FIELDS} } }`,
    { id: packId, input: { ...PACK, price: 11, sortOrder: -3, creditsExpireAfterDays: 45 } },
  );
  expect(pack).toEqual({ id: packId, ...PACK, price: 11, sortOrder: -3 });
  // P-11: the pack itself has six fields and no more.
  const terms = await member.ask<{ creditPackTerms: object[] }>(
    '{ creditPackTerms { creditPackId creditsExpireAfterDays } }',
  );
  expect(terms.creditPackTerms[0]).toEqual({ creditPackId: packId, creditsExpireAfterDays: 45 });
  const retired = await superAdmin.ask(
    `mutation($plan: ID!, $pack: ID!) { retirePlan(id: $plan) { active } retireCreditPack(id: $pack) { id } }`,
    { plan: planId, pack: packId },
  );
  expect(retired).toEqual({ retirePlan: { active: false }, retireCreditPack: { id: packId } });
  const { body: archived } = await sandbox.call('GET', `/v1/prices/${plan.providerPriceId}`);
  expect(archived.active).toBe(false);
  const sold = await member.ask<Record<'plans' | 'creditPacks', Id[]>>('{ plans { id } creditPacks { id } }');
  const ids = [...sold.plans, ...sold.creditPacks].map(({ id }) => id);
  expect(ids.filter((id) => id === planId || id === packId)).toEqual([]);
  expect((await actionsOn(planId)).slice(-2)).toEqual(['plan.updated', 'plan.retired']);
  expect((await actionsOn(packId)).slice(-2)).toEqual(['credit-pack.updated', 'credit-pack.retired']);
  const wrong = await superAdmin.refusal(
    `mutation($id: ID!, $input: PlanInput!) { updatePlan(id: $id, input: $input) { id } }`,
    { id: planId, input: { ...PLAN, billingMode: 'POSTPAID' } },
  );
  expect(wrong.extensions).toEqual({ code: 'BAD_USER_INPUT', field: 'input.billingMode' });
});

test('P-16 a plan may have a trial; an invalid one is refused by its field', async () => {
  const { superAdmin } = backend.people;
  const add = 'mutation($input: PlanInput!) { createPlan(input: $input) { price trialDays trialCredits } }';
  const plan = { name: 'Tried', billingMode: 'PREPAID', price: 0, currency: 'usd', credits: 100 };
  const input = { ...plan, trialDays: 14, trialCredits: 0.5 };
  expect(await superAdmin.ask(add, { input })).toEqual({
    createPlan: { price: 0, trialDays: 14, trialCredits: 0.5 },
  });
  expect(await superAdmin.ask(add, { input: plan })).toEqual({
    createPlan: { price: 0, trialDays: null, trialCredits: 0 },
  });
  const refused = await superAdmin.refusal(add, { input: { ...input, trialDays: 0 } });
  expect(refused.extensions).toEqual({ code: 'BAD_USER_INPUT', field: 'input.trialDays' });
});

describe('buying', () => {
  test('P-20 a pack is bought, paid and in the balance, and the purchase and its invoice show it', async () => {
    const { admin, member, otherAdmin } = backend.people;
    const pack = await addPack({ creditsExpireAfterDays: 365 });
    const { createCreditPackCheckout: opened } = await admin.ask<{ createCreditPackCheckout: Opened }>(
      BUY_PACK,
      pack,
    );
    expect(opened.url).toStartWith(sandbox.url);
    expect(await actionsOn(opened.purchaseId ?? '')).toEqual(['purchase.begun']);
    const purchases =
      '{ creditPackPurchases(first: 1) { nodes { id status creditPack { name sortOrder } amount credits } } }';
    const node = { id: opened.purchaseId, creditPack: { name: 'Starter', sortOrder: 1 }, amount: 10 };
    expect(await admin.ask(purchases)).toEqual({
      creditPackPurchases: { nodes: [{ ...node, status: 'PENDING', credits: 1_000 }] },
    });
    await sandbox.click(`/checkout/${opened.providerSessionId}/pay`);
    await sandbox.settled();
    for (const { event } of sandbox.received) {
      if (event !== null) await backend.parts.paymentEvents.receive(event);
    }
    expect(await admin.ask(purchases)).toEqual({
      creditPackPurchases: { nodes: [{ ...node, status: 'COMPLETED', credits: 1_000 }] },
    });
    const books =
      '{ creditBalance { credits } creditTransactions { nodes { type credits } } invoices { nodes { status amount currency } } }';
    expect(await admin.ask(books)).toEqual({
      creditBalance: { credits: 1_000 },
      creditTransactions: { nodes: [{ type: 'PACK_PURCHASE', credits: 1_000 }] },
      invoices: { nodes: [{ status: 'PAID', amount: 10, currency: 'usd' }] },
    });
    const lots = '{ creditLots { id label credits left grantedAt expiresAt } }';
    type Lots = { creditLots: { grantedAt: string; expiresAt: string }[] };
    const { creditLots } = await member.ask<Lots>(lots);
    expect(creditLots).toEqual([
      expect.objectContaining({ label: 'Credit pack Starter', credits: 1_000, left: 1_000 }),
    ]);
    const [lot] = creditLots;
    expect(Date.parse(lot?.expiresAt ?? '') - Date.parse(lot?.grantedAt ?? '')).toBe(365 * 86_400_000);
    expect(await admin.ask('{ creditTransactions { nodes { expiresAt } } }')).toEqual({
      creditTransactions: { nodes: [{ expiresAt: lot?.expiresAt }] },
    });
    expect(await otherAdmin.ask(lots)).toEqual({ creditLots: [] });
    type Events = { paymentEvents: { nodes: (Id & { type: string; status: string; effect: string })[] } };
    const { paymentEvents } = await backend.people.superAdmin.ask<Events>(
      '{ paymentEvents(first: 100, status: PROCESSED) { nodes { id type status effect error receivedAt processedAt } } }',
    );
    const done = paymentEvents.nodes.find(({ type }) => type === 'checkout.session.completed');
    const replay = 'mutation($id: ID!) { replayPaymentEvent(id: $id) { status } }';
    expect((await backend.people.superAdmin.refusal(replay, done ?? {})).extensions.code).toBe('CONFLICT');
    const replayAll = 'mutation($from: DateTime!, $to: DateTime!) { replayPayments(from: $from, to: $to) }';
    const range = { from: '2000-01-01', to: '2099-01-01' };
    const { replayPayments } = await backend.people.superAdmin.ask<{ replayPayments: number }>(
      replayAll,
      range,
    );
    expect(replayPayments).toBeGreaterThan(0);
    expect(await admin.ask('{ creditBalance { credits } }')).toEqual({ creditBalance: { credits: 1_000 } });
    const backwards = { from: range.to, to: range.from };
    const refused = await backend.people.superAdmin.refusal(replayAll, backwards);
    expect(refused.extensions.code).toBe('BAD_USER_INPUT');
  });

  test('P-24 super admins see the findings of the audit, with remedies, and can start another', async () => {
    const { superAdmin } = backend.people;
    const report = `{ auditReport { checkedAt from to differences { kind subject expected found remedy } isCut
      credits { sold left } cash { currency received outstanding } } }`;
    type Report = {
      auditReport: { checkedAt: string; differences: object[]; cash: { currency: string }[] };
    };
    const { auditReport } = await superAdmin.ask<Report>(report);
    expect(auditReport).toMatchObject({ differences: [], isCut: false, cash: [{ currency: 'usd' }] });
    expect(await superAdmin.ask(report)).toEqual({ auditReport });
    const purchase = crypto.randomUUID();
    await database.query(
      `insert into audit_differences (audit_id, number, kind, subject, expected, found, remedy)
       select id, 0, 'REFUND_NOT_BOOKED', $1, '4 usd refunded', '0 usd', 'turnpike replay-payments --object ch_1' from audits`,
      [purchase],
    );
    const found = await superAdmin.ask<Report>(report);
    expect(found.auditReport.differences).toEqual([
      {
        ...{ kind: 'REFUND_NOT_BOOKED', subject: purchase, expected: '4 usd refunded', found: '0 usd' },
        remedy: 'turnpike replay-payments --object ch_1',
      },
    ]);
    const start = 'mutation($from: DateTime!, $to: DateTime!) { startAudit(from: $from, to: $to) }';
    const range = { from: '2026-01-01T00:00:00.000Z', to: '2026-02-01T00:00:00.000Z' };
    expect(await superAdmin.ask(start, range)).toEqual({ startAudit: expect.any(Boolean) });
    expect(await actionsOn(`${range.from}/${range.to}`)).toEqual(['audit.started']);
    for (const wrong of [
      { from: range.to, to: range.from },
      { from: '2000-01-01', to: range.to },
    ]) {
      expect((await superAdmin.refusal(start, wrong)).extensions.code).toBe('BAD_USER_INPUT');
    }
  });

  test('P-26 an unknown price fails with the provider’s own message', async () => {
    const pack = await addPack();
    await database.query(`update credit_packs set provider_price_id = 'price_gone' where id = $1`, [pack.id]);
    const refused = await backend.people.admin.refusal(BUY_PACK, pack);
    expect(refused.message).toContain("No such price: 'price_gone'");
    expect(refused.extensions.code).toBe('PAYMENT_PROVIDER_FAILED');
    expect(await actionsOn(pack.id)).toEqual(['credit-pack.created']);
  });

  test('P-22 P-29 a plan is subscribed to once; POSTPAID and unpriced ones are not sold', async () => {
    const company = await backend.company('Subscriber');
    const admin = await backend.person(company, { role: 'COMPANY_ADMIN' });
    expect(await admin.ask('{ subscription { id } }')).toEqual({ subscription: null });
    const unpriced = await addPlan({ name: 'New' });
    const postpaid = await addPlan({ name: 'Later', billingMode: 'POSTPAID', price: 0, credits: 0 });
    for (const plan of [unpriced, postpaid]) {
      expect((await admin.refusal(BUY_PLAN, plan)).extensions.code).toBe('CONFLICT');
    }
    await backend.people.superAdmin.ask(SYNC);
    const { createSubscriptionCheckout: opened } = await admin.ask<{ createSubscriptionCheckout: Opened }>(
      BUY_PLAN,
      unpriced,
    );
    expect(opened.purchaseId).toBeNull();
    await sandbox.click(`/checkout/${opened.providerSessionId}/pay`);
    const subscribed = '{ subscription { status isActive plan { id } providerSubscriptionId } }';
    await until(async () => {
      await sandbox.settled();
      for (const { event } of sandbox.received) {
        if (event !== null) await backend.parts.paymentEvents.receive(event);
      }
      const { subscription } = await admin.ask<{ subscription: { isActive: boolean } | null }>(subscribed);
      return subscription?.isActive === true;
    });
    expect(await admin.ask(subscribed)).toMatchObject({
      subscription: { status: 'ACTIVE', plan: { id: unpriced.id } },
    });
    expect((await admin.refusal(BUY_PLAN, unpriced)).extensions.code).toBe('CONFLICT');
    const portal = 'mutation { createBillingPortalSession { url } }';
    const { createBillingPortalSession } = await admin.ask<{ createBillingPortalSession: { url: string } }>(
      portal,
    );
    expect(createBillingPortalSession.url).toStartWith(sandbox.url);
    await deactivated(admin.companyId ?? '');
  });
});

/** P-27, on the subscription that the test above has bought. */
async function deactivated(companyId: string): Promise<void> {
  const { superAdmin } = backend.people;
  const [row] = await database.query<{ id: string; name: string }>(
    'select id, provider_subscription_id as name from subscriptions where company_id = $1',
    [companyId],
  );
  const end = `mutation($ids: [String!], $dryRun: Boolean!) {
    deactivateStaleSubscriptions(providerSubscriptionIds: $ids, dryRun: $dryRun) { id status isActive endDate } }`;
  type Ended = { deactivateStaleSubscriptions: { id: string; status: string; isActive: boolean }[] };
  const ids = [row?.name, 'sub_nobody'];
  const dry = await superAdmin.ask<Ended>(end, { ids, dryRun: true });
  expect(dry.deactivateStaleSubscriptions).toMatchObject([{ id: row?.id, status: 'ACTIVE', isActive: true }]);
  expect(await superAdmin.ask<Ended>('mutation { deactivateStaleSubscriptions { id } }')).toEqual({
    deactivateStaleSubscriptions: [],
  });
  expect(await actionsOn(row?.id ?? '')).toEqual([]);
  const none = await superAdmin.ask<Ended>(end, { ids: [], dryRun: false });
  expect(none.deactivateStaleSubscriptions).toEqual([]);
  const real = await superAdmin.ask<Ended>(end, { ids, dryRun: false });
  const endDate = new Date(backend.parts.clock.now()).toISOString();
  expect(real.deactivateStaleSubscriptions as object[]).toEqual([
    { id: row?.id, status: 'CANCELED', isActive: false, endDate },
  ]);
  const again = await superAdmin.ask<Ended>(end, { ids, dryRun: false });
  expect(again.deactivateStaleSubscriptions).toEqual([]);
  expect(await actionsOn(row?.id ?? '')).toEqual(['subscription.deactivated']);
}

describe('the profile of a company', () => {
  const PROFILE = `mutation($name: String, $address: CompanyAddressInput, $taxId: String, $billingEmail: String) {
    updateCompany(name: $name, address: $address, taxId: $taxId, billingEmail: $billingEmail) {
      name taxId billingEmail address { line1 line2 postalCode city state country } } }`;
  const address = { line1: '1 Main Street', postalCode: '10115', city: 'Berlin', country: 'de' };

  test('is stored, changed in parts, sent to the customer at the provider, and recorded by its fields', async () => {
    const companyId = await backend.company('Profiled');
    const admin = await backend.person(companyId, { role: 'COMPANY_ADMIN' });
    const pack = await addPack();
    await admin.ask(BUY_PACK, { id: pack.id });
    const customer = async () => {
      const [row] = await database.query<{ id: string }>(
        'select provider_customer_id as id from companies where id = $1',
        [companyId],
      );
      return (await sandbox.call('GET', `/v1/customers/${row?.id}`)).body;
    };
    const billingEmail = 'bills@profiled.example';
    const given = { address, taxId: 'DE 123/456.789', billingEmail };
    const shown = { ...address, country: 'DE', line2: null, state: null };
    expect(await admin.ask(PROFILE, given)).toEqual({
      updateCompany: { name: 'Profiled', ...given, address: shown },
    });
    expect(await customer()).toMatchObject({
      name: 'Profiled',
      email: billingEmail,
      address: { line1: '1 Main Street', city: 'Berlin', country: 'DE' },
      invoice_settings: { custom_fields: [{ name: 'Tax ID', value: 'DE 123/456.789' }] },
    });
    expect(await admin.ask(PROFILE, { name: 'Profiled Ltd', address: null })).toEqual({
      updateCompany: { name: 'Profiled Ltd', ...given, address: null },
    });
    expect(await customer()).toMatchObject({ name: 'Profiled Ltd', address: null });
    expect(await actionsOn(companyId)).toEqual(['company.updated', 'company.updated']);
    const stale = await database.query('select 1 from companies where id = $1 and customer_is_stale', [
      companyId,
    ]);
    expect(stale).toEqual([]);
  });

  test('is sent to the provider by the job where the provider did not answer', async () => {
    const companyId = await backend.company('Later');
    const admin = await backend.person(companyId, { role: 'COMPANY_ADMIN' });
    await admin.ask(BUY_PACK, { id: (await addPack()).id });
    await database.query('update companies set customer_is_stale = true where id = $1', [companyId]);
    const failure = { reason: 'unavailable', message: 'Not now.', code: null } as const;
    const away = { updateCustomer: async () => ({ outcome: 'failed', failure }) as const };
    const { log } = backend.parts;
    expect(await updateStaleCustomers({ database, provider: away, log }, { companyId })).toBe(0);
    expect(await updateStaleCustomers({ database, provider: sandbox.provider, log }, { companyId })).toBe(1);
    expect(await updateStaleCustomers({ database, provider: sandbox.provider, log }, { companyId })).toBe(0);
  });

  test('is refused by its field where a value is invalid', async () => {
    const { admin } = backend.people;
    const wrong: readonly [object, string][] = [
      [{}, 'name'],
      [{ name: ' ' }, 'name'],
      [{ address: { ...address, country: 'Germany' } }, 'address.country'],
      [{ address: { ...address, line1: ' ' } }, 'address.line1'],
      [{ address: { ...address, city: 'x'.repeat(201) } }, 'address.city'],
      [{ taxId: '<b>' }, 'taxId'],
      [{ taxId: '1'.repeat(41) }, 'taxId'],
      [{ billingEmail: 'nobody' }, 'billingEmail'],
    ];
    for (const [changes, field] of wrong) {
      const refused = await admin.refusal(PROFILE, changes);
      expect([changes, refused.extensions]).toEqual([changes, { code: 'BAD_USER_INPUT', field }]);
    }
  });
});
