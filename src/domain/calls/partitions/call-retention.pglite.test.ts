import { retiredCallsContract } from '../../../../test/contracts/retired-calls.contract.ts';
import { useMemoryDatabase } from '../../../../test/setup/use-memory-database.ts';

const database = useMemoryDatabase();

retiredCallsContract('PGlite', () => database);
