import { mailOutboxContract } from '../../../test/contracts/mail-outbox.contract.ts';
import { useMemoryDatabase } from '../../../test/setup/use-memory-database.ts';

const database = useMemoryDatabase();

mailOutboxContract('the embedded database', () => database);
