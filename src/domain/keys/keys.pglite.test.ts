import { keysContract } from '../../../test/contracts/keys.contract.ts';
import { useMemoryDatabase } from '../../../test/setup/use-memory-database.ts';

const database = useMemoryDatabase();

keysContract('the embedded database', () => database);
