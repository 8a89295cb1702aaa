import { beforeAll, describe, expect, test } from 'bun:test';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
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

/** The platform interface's table of errors, row by row, on the routes that they name. */
test('P-3 POST /payments/webhook with a wrong signature: 400, plain text that begins with Webhook Error:', async () => {
  const headers = { 'stripe-signature': 't=1,v1=00' };
  const request = new Request('https://backend.example/payments/webhook', {
    ...{ method: 'POST', headers, body: '{"id":"evt_1","object":"event"}' },
  });
  const answer = await backend.fetch(request);
  expect(answer.status).toBe(400);
  expect(answer.headers.get('content-type')).toStartWith('text/plain');
  expect(await answer.text()).toStartWith('Webhook Error:');
  expect(await database.query('select 1 from provider_events')).toEqual([]);
});

describe('P-5 P-11 POST /graphql with a field that the output type does not define', () => {
  const input = { name: 'Never', credits: 1, price: 1, currency: 'usd', sortOrder: 1 };

  test.each(['status', 'providerProductId', 'providerPriceId', 'nothing'])(
    '%s of a pack: a validation error, and the mutation does not run',
    async (field) => {
      const query = `mutation($input: CreateCreditPackInput!) { createCreditPack(input: $input) { id ${field} } }`;
      const { extensions, message } = await backend.people.superAdmin.refusal(query, { input });
      expect(message).toContain(field);
      expect(extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
      expect(await database.query("select 1 from credit_packs where name = 'Never'")).toEqual([]);
    },
  );
});

describe('P-26 checkout against a price that does not exist at the provider', () => {
  const PACK = 'mutation($id: ID!) { createCreditPackCheckout(creditPackId: $id) { url } }';
  const PLAN = 'mutation($id: ID!) { createSubscriptionCheckout(planId: $id) { url } }';

  test('of a pack and of a plan: the provider’s own message, and no purchase is left', async () => {
    const { superAdmin, admin } = backend.people;
    const pack = { name: 'Old', credits: 10, price: 1, currency: 'usd', sortOrder: 1 };
    const { createCreditPack } = await superAdmin.ask<{ createCreditPack: { id: string } }>(
      'mutation($input: CreateCreditPackInput!) { createCreditPack(input: $input) { id } }',
      { input: pack },
    );
    const plan = { name: 'Old', billingMode: 'PREPAID', price: 29, currency: 'usd', credits: 3_000 };
    const { createPlan } = await superAdmin.ask<{ createPlan: { id: string } }>(
      'mutation($input: PlanInput!) { createPlan(input: $input) { id } }',
      { input: plan },
    );
    // As after the provider was switched from test to live mode.
    for (const table of ['credit_packs', 'plans']) {
      await database.query(`update ${table} set provider_price_id = 'price_stale'`);
    }
    for (const [mutation, { id }] of [
      [PACK, createCreditPack],
      [PLAN, createPlan],
    ] as const) {
      const refused = await admin.refusal(mutation, { id });
      expect(refused.message).toContain("No such price: 'price_stale'");
      expect(refused.extensions.code).toBe('PAYMENT_PROVIDER_FAILED');
    }
    expect(await database.query("select 1 from credit_pack_purchases where status <> 'CANCELED'")).toEqual(
      [],
    );
  });
});
