import { booksSimulation } from '../../../../test/contracts/books-simulation.contract.ts';
import { useMemoryDatabase } from '../../../../test/setup/use-memory-database.ts';

const database = useMemoryDatabase();

booksSimulation('PGlite', () => database, { seed: 33, steps: 1_000, atOnce: 1, timeoutMs: 300_000 });
