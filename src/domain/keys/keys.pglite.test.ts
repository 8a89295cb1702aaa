import { afterAll, beforeAll } from 'bun:test';
import { keysContract } from '../../../test/contracts/keys.contract.ts';
import { openMemoryDatabase } from '../../../test/doubles/memory-database.ts';
import type { Database } from '../../ports/database.ts';

let database: Database;
beforeAll(async () => {
  database = await openMemoryDatabase();
});
afterAll(() => database.close());

keysContract('the embedded database', () => database);
