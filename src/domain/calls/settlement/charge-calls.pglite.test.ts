import { chargeCallsContract } from '../../../../test/contracts/charge-calls.contract.ts';
import { useMemoryDatabase } from '../../../../test/setup/use-memory-database.ts';

const database = useMemoryDatabase();

chargeCallsContract('PGlite', () => database);
