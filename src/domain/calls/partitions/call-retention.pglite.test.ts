import { afterAll, beforeAll } from 'bun:test';
import { retiredCallsContract } from '../../../../test/contracts/retired-calls.contract.ts';
import { openMemoryDatabase } from '../../../../test/doubles/memory-database.ts';
import type { Database } from '../../../ports/database.ts';

let database: Database;
beforeAll(async () => {
  database = await openMemoryDatabase();
}, 60_000);
afterAll(() => database.close());

retiredCallsContract('PGlite', () => database);
