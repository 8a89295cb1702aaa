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
const ADD_PLAN = 'mutation($input: PlanInput!) { createPlan(input: $input) { id } }';
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
    const { extensions } = await backend.people.superAdmin.refusal(ADD_PACK, {
      input: { ...PACK, price: 0 },
    });
    expect(extensions).toEqual({ code: 'BAD_USER_INPUT', field: 'input.price' });
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

  test('P-9 P-16 sync prices active PREPAID plans that lack one, and leaves the others', async () => {
    const { superAdmin } = backend.people;
    const sold = await addPlan({ trialDays: 14, trialCredits: 0.5 });
    const retired = await addPlan({ name: 'Old', active: false });
    const later = await addPlan({ name: 'Enterprise', billingMode: 'POSTPAID', price: 0, credits: 0 });
    type Synced = { syncAllPlansProviderPricing: { id: string; providerPriceId: string }[] };
    const { syncAllPlansProviderPricing: synced } = await superAdmin.ask<Synced>(SYNC);
    const ids = synced.map(({ id }) => id);
    expect([sold, retired, later].map(({ id }) => ids.includes(id))).toEqual([true, false, false]);
    expect(await actionsOn(sold.id)).toContain('plan.priced');
    const shown = async (who: 'member' | 'superAdmin') =>
      (await backend.people[who].ask<{ plans: Id[] }>('{ plans { id } }')).plans.map(({ id }) => id);
    expect(await shown('member')).not.toContain(retired.id);
    expect(await shown('superAdmin')).toContain(retired.id);
    const trial = await superAdmin.ask<{ plans: Id[] }>('{ plans { id trialDays trialCredits } }');
    expect(trial.plans).toContainEqual({ ...sold, trialDays: 14, trialCredits: 0.5 } as Id);
  });

  test('P-16 plans and packs are changed, reordered and retired, each recorded', async () => {
    const { superAdmin, member } = backend.people;
    const { id: planId } = await addPlan();
    const { id: packId } = await addPack();
    await superAdmin.ask(SYNC);
    const change = `mutation($id: ID!, $input: PlanInput!) { updatePlan(id: $id, input: $input) {
      price credits sortOrder creditsExpireAfterDays active needsProviderPricing } }`;
    const terms = { price: 39, credits: 4_000, sortOrder: -5, creditsExpireAfterDays: 60 };
    expect(await superAdmin.ask(change, { id: planId, input: { ...PLAN, ...terms } })).toEqual({
      updatePlan: { ...terms, active: true, needsProviderPricing: false },
    });
    expect((await member.ask<{ plans: Id[] }>('{ plans { id } }')).plans[0]?.id).toBe(planId);
    const input = { ...PACK, price: 11, sortOrder: -3 };
    expect(
      await superAdmin.ask(
        `mutation($id: ID!, $input: CreateCreditPackInput!) {
          updateCreditPack(id: $id, input: $input) { ${FIELDS} } }`,
        { id: packId, input: { ...input, creditsExpireAfterDays: 45 } },
      ),
    ).toEqual({ updateCreditPack: { id: packId, ...input } });
    // P-11: the pack itself has six fields and no more.
    const { creditPackTerms } = await member.ask<{ creditPackTerms: object[] }>(
      '{ creditPackTerms { creditPackId creditsExpireAfterDays } }',
    );
    expect(creditPackTerms[0]).toEqual({ creditPackId: packId, creditsExpireAfterDays: 45 });
    const retired = await superAdmin.ask(
      'mutation($plan: ID!, $pack: ID!) { retirePlan(id: $plan) { active } retireCreditPack(id: $pack) { id } }',
      { plan: planId, pack: packId },
    );
    expect(retired).toEqual({ retirePlan: { active: false }, retireCreditPack: { id: packId } });
    const sold = JSON.stringify(await member.ask('{ plans { id } creditPacks { id } }'));
    for (const id of [planId, packId]) expect(sold).not.toContain(id);
    expect((await actionsOn(planId)).slice(-2)).toEqual(['plan.updated', 'plan.retired']);
    expect((await actionsOn(packId)).slice(-2)).toEqual(['credit-pack.updated', 'credit-pack.retired']);
    const wrong = await superAdmin.refusal(change, {
      id: planId,
      input: { ...PLAN, billingMode: 'POSTPAID' },
    });
    expect(wrong.extensions).toEqual({ code: 'BAD_USER_INPUT', field: 'input.billingMode' });
  });
});

/** What the provider has sent by now is applied. */
async function received(): Promise<void> {
  await sandbox.settled();
  for (const { event } of sandbox.received) {
    if (event !== null) await backend.parts.paymentEvents.receive(event);
  }
}

describe('buying', () => {
  test('P-20 a pack is bought, paid and in the balance, and the purchase and its invoice show it', async () => {
    const { admin, member, superAdmin } = backend.people;
    const pack = await addPack({ creditsExpireAfterDays: 365 });
    const { createCreditPackCheckout: opened } = await admin.ask<{ createCreditPackCheckout: Opened }>(
      BUY_PACK,
      pack,
    );
    expect(opened.url).toStartWith(sandbox.url);
    expect(await actionsOn(opened.purchaseId ?? '')).toEqual(['purchase.begun']);
    const purchases =
      '{ creditPackPurchases(first: 1) { nodes { id status creditPack { name } amount credits } } }';
    const node = { id: opened.purchaseId, creditPack: { name: 'Starter' }, amount: 10, credits: 1_000 };
    expect(await admin.ask(purchases)).toEqual({
      creditPackPurchases: { nodes: [{ ...node, status: 'PENDING' }] },
    });
    await sandbox.click(`/checkout/${opened.providerSessionId}/pay`);
    await received();
    expect(await admin.ask(purchases)).toEqual({
      creditPackPurchases: { nodes: [{ ...node, status: 'COMPLETED' }] },
    });
    const { creditLots } = await member.ask<{ creditLots: { grantedAt: string; expiresAt: string }[] }>(
      '{ creditLots { label left grantedAt expiresAt } }',
    );
    expect(creditLots).toMatchObject([{ label: 'Credit pack Starter', left: 1_000 }]);
    const [{ grantedAt, expiresAt } = { grantedAt: '', expiresAt: '' }] = creditLots;
    expect(Date.parse(expiresAt) - Date.parse(grantedAt)).toBe(365 * 86_400_000);
    const books = `{ creditBalance { credits } creditTransactions { nodes { type credits expiresAt } }
      invoices { nodes { status amount currency } } }`;
    expect(await admin.ask(books)).toEqual({
      creditBalance: { credits: 1_000 },
      creditTransactions: { nodes: [{ type: 'PACK_PURCHASE', credits: 1_000, expiresAt }] },
      invoices: { nodes: [{ status: 'PAID', amount: 10, currency: 'usd' }] },
    });
    const { paymentEvents } = await superAdmin.ask<{ paymentEvents: { nodes: (Id & { type: string })[] } }>(
      '{ paymentEvents(first: 100, status: PROCESSED) { nodes { id type status effect error receivedAt processedAt } } }',
    );
    const done = paymentEvents.nodes.find(({ type }) => type === 'checkout.session.completed');
    const replay = 'mutation($id: ID!) { replayPaymentEvent(id: $id) { status } }';
    expect((await superAdmin.refusal(replay, done ?? {})).extensions.code).toBe('CONFLICT');
    const replayAll = 'mutation($from: DateTime!, $to: DateTime!) { replayPayments(from: $from, to: $to) }';
    const range = { from: '2000-01-01', to: '2099-01-01' };
    const { replayPayments } = await superAdmin.ask<{ replayPayments: number }>(replayAll, range);
    expect(replayPayments).toBeGreaterThan(0);
    expect(await admin.ask('{ creditBalance { credits } }')).toEqual({ creditBalance: { credits: 1_000 } });
    const refused = await superAdmin.refusal(replayAll, { from: range.to, to: range.from });
    expect(refused.extensions.code).toBe('BAD_USER_INPUT');
  });

  test('P-24 super admins see the findings of the audit, with remedies, and can start another', async () => {
    const { superAdmin } = backend.people;
    const report = `{ auditReport { differences { kind subject expected found remedy } isCut
      credits { sold left } cash { currency received outstanding } } }`;
    expect(await superAdmin.ask(report)).toMatchObject({
      auditReport: { differences: [], isCut: false, cash: [{ currency: 'usd' }] },
    });
    const difference = {
      ...{ kind: 'REFUND_NOT_BOOKED', subject: crypto.randomUUID(), expected: '4 usd refunded' },
      ...{ found: '0 usd', remedy: 'turnpike replay-payments --object ch_1' },
    };
    await database.query(
      `insert into audit_differences (audit_id, number, kind, subject, expected, found, remedy)
       select id, 0, $1, $2, $3, $4, $5 from audits`,
      Object.values(difference),
    );
    expect(await superAdmin.ask(report)).toMatchObject({ auditReport: { differences: [difference] } });
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

  test('P-22 P-27 P-29 a plan is subscribed to once, and deactivated by its id after a dry run', async () => {
    const companyId = await backend.company('Subscriber');
    const admin = await backend.person(companyId, { role: 'COMPANY_ADMIN' });
    const plan = await addPlan({ name: 'New' });
    expect((await admin.refusal(BUY_PLAN, plan)).extensions.code).toBe('CONFLICT');
    await backend.people.superAdmin.ask(SYNC);
    const { createSubscriptionCheckout: opened } = await admin.ask<{ createSubscriptionCheckout: Opened }>(
      BUY_PLAN,
      plan,
    );
    expect(opened.purchaseId).toBeNull();
    await sandbox.click(`/checkout/${opened.providerSessionId}/pay`);
    type Subscribed = { subscription: { id: string; providerSubscriptionId: string } | null };
    const shown = '{ subscription { id status isActive plan { id } providerSubscriptionId } }';
    await until(async () => {
      await received();
      return (await admin.ask<Subscribed>(shown)).subscription !== null;
    });
    const { subscription } = await admin.ask<Subscribed>(shown);
    expect(subscription).toMatchObject({ status: 'ACTIVE', isActive: true, plan: { id: plan.id } });
    expect((await admin.refusal(BUY_PLAN, plan)).extensions.code).toBe('CONFLICT');
    const portal = 'mutation { createBillingPortalSession { url } }';
    expect(await admin.ask(portal)).toEqual({
      createBillingPortalSession: { url: expect.stringContaining(sandbox.url) },
    });
    await deactivate(subscription?.id ?? '', subscription?.providerSubscriptionId ?? '');
  });
});

async function deactivate(id: string, providerId: string): Promise<void> {
  const { superAdmin } = backend.people;
  const end = async (ids: string[], dryRun: boolean) =>
    (
      await superAdmin.ask<{ deactivateStaleSubscriptions: object[] }>(
        `mutation($ids: [String!], $dryRun: Boolean!) {
          deactivateStaleSubscriptions(providerSubscriptionIds: $ids, dryRun: $dryRun) { id status isActive } }`,
        { ids, dryRun },
      )
    ).deactivateStaleSubscriptions;
  const ids = [providerId, 'sub_nobody'];
  expect(await end(ids, true)).toEqual([{ id, status: 'ACTIVE', isActive: true }]);
  expect(await end([], false)).toEqual([]);
  expect(await actionsOn(id)).toEqual([]);
  expect(await end(ids, false)).toEqual([{ id, status: 'CANCELED', isActive: false }]);
  expect(await end(ids, false)).toEqual([]);
  expect(await actionsOn(id)).toEqual(['subscription.deactivated']);
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
      [{ address: { ...address, country: 'Germany' } }, 'address.country'],
      [{ taxId: '<b>' }, 'taxId'],
      [{ billingEmail: 'nobody' }, 'billingEmail'],
    ];
    for (const [changes, field] of wrong) {
      const refused = await admin.refusal(PROFILE, changes);
      expect([changes, refused.extensions]).toEqual([changes, { code: 'BAD_USER_INPUT', field }]);
    }
  });
});
