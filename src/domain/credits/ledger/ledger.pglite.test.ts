import { alertSettingsContract } from '../../../../test/contracts/alert-settings.contract.ts';
import { ledgerContract } from '../../../../test/contracts/ledger.contract.ts';
import { useMemoryDatabase } from '../../../../test/setup/use-memory-database.ts';

const database = useMemoryDatabase();

ledgerContract('PGlite', () => database);
alertSettingsContract('PGlite', () => database);
