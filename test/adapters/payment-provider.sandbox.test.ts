import { afterAll, beforeAll } from 'bun:test';
import type { Database } from '../../src/ports/database.ts';
import { describePaymentBilling } from '../contracts/payment-billing.contract.ts';
import { describePaymentSelling } from '../contracts/payment-selling.contract.ts';
import type { ProviderUnderTest } from '../contracts/payment-shop.ts';
import { openMemoryDatabase } from '../doubles/memory-database.ts';
import { openSandbox, type SandboxUnderTest } from './payment-sandbox-under-test.ts';

let database: Database;
let sandbox: SandboxUnderTest;

beforeAll(async () => {
  database = await openMemoryDatabase();
  sandbox = await openSandbox(database);
}, 60_000);

afterAll(async () => {
  await sandbox.close();
  await database.close();
});

const open = (): ProviderUnderTest => ({
  provider: sandbox.provider,
  pay: async (sessionId) => void (await sandbox.click(`/checkout/${sessionId}/pay`)),
});

describePaymentSelling(open);
describePaymentBilling(open);
