import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { type Posting, postTransaction } from '../../src/domain/credits/ledger/ledger.ts';
import type { Database } from '../../src/ports/database.ts';

const { newId } = createSystemSecrets();

/** A company that pays in advance. Its id. */
export async function addTestCompany(database: Database): Promise<string> {
  const id = newId();
  await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
  return id;
}

/** A member of that company. Its id. */
export async function addTestUser(
  database: Database,
  companyId: string,
  email = `${newId()}@example.com`,
  role = 'MEMBER',
): Promise<string> {
  const id = newId();
  await database.query(
    "insert into users (id, company_id, email, password_hash, role) values ($1, $2, $3, 'none', $4)",
    [id, companyId, email, role],
  );
  return id;
}

/** An adjustment, or what `changes` make of it, with a source of its own. */
export function postTo(
  database: Database,
  accountId: string,
  amountMicro: bigint,
  changes: Partial<Posting> = {},
) {
  const adjustment = { accountId, amountMicro, type: 'ADJUSTMENT', contra: 'adjustments' } as const;
  return database.transaction((transaction) =>
    postTransaction(transaction, { ...adjustment, sourceKind: 'test', sourceId: newId(), ...changes }),
  );
}
