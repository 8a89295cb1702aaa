import { idempotentCallsContract } from '../../../../test/contracts/idempotent-calls.contract.ts';
import { useMemoryDatabase } from '../../../../test/setup/use-memory-database.ts';

const database = useMemoryDatabase();

idempotentCallsContract('PGlite', () => database);
