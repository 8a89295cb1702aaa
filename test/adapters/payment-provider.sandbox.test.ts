import { beforeAll } from 'bun:test';
import { describePaymentBilling } from '../contracts/payment-billing.contract.ts';
import { describePaymentSelling } from '../contracts/payment-selling.contract.ts';
import type { ProviderUnderTest } from '../contracts/payment-shop.ts';
import { useMemoryDatabase } from '../setup/use-memory-database.ts';
import { openSandbox, type SandboxUnderTest } from './payment-sandbox-under-test.ts';

const database = useMemoryDatabase({ beforeClose: () => sandbox.close() });
let sandbox: SandboxUnderTest;

beforeAll(async () => {
  sandbox = await openSandbox(database);
});

const open = (): ProviderUnderTest => ({
  provider: sandbox.provider,
  pay: async (sessionId) => void (await sandbox.click(`/checkout/${sessionId}/pay`)),
});

describePaymentSelling(open);
describePaymentBilling(open);
