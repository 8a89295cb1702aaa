import { afterAll, beforeAll } from 'bun:test';
import { booksSimulation } from '../../../../test/contracts/books-simulation.contract.ts';
import { openMemoryDatabase } from '../../../../test/doubles/memory-database.ts';
import type { Database } from '../../../ports/database.ts';

let database: Database;
beforeAll(async () => {
  database = await openMemoryDatabase();
});
afterAll(() => database.close());

booksSimulation('PGlite', () => database, { seed: 33, steps: 1_000, atOnce: 1, timeoutMs: 300_000 });
