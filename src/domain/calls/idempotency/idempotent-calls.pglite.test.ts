import { afterAll, beforeAll } from 'bun:test';
import { idempotentCallsContract } from '../../../../test/contracts/idempotent-calls.contract.ts';
import { openMemoryDatabase } from '../../../../test/doubles/memory-database.ts';
import type { Database } from '../../../ports/database.ts';

let database: Database;
beforeAll(async () => {
  database = await openMemoryDatabase();
});
afterAll(() => database.close());

idempotentCallsContract('PGlite', () => database);
