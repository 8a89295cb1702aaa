import { afterAll, beforeAll } from 'bun:test';
import { alertSettingsContract } from '../../../../test/contracts/alert-settings.contract.ts';
import { ledgerContract } from '../../../../test/contracts/ledger.contract.ts';
import { openMemoryDatabase } from '../../../../test/doubles/memory-database.ts';
import type { Database } from '../../../ports/database.ts';

let database: Database;
beforeAll(async () => {
  database = await openMemoryDatabase();
});
afterAll(() => database.close());

ledgerContract('PGlite', () => database);
alertSettingsContract('PGlite', () => database);
