import type { Statements } from '../../ports/database.ts';

export type BillingMode = 'PREPAID' | 'POSTPAID';

export interface Company {
  readonly id: string;
  readonly name: string;
  readonly billingMode: BillingMode;
  /** How far a POSTPAID company may go below zero; null is no limit. */
  readonly creditLimitMicro: bigint | null;
  readonly providerCustomerId: string | null;
  readonly createdAt: Date;
}

export interface NewCompany {
  readonly id: string;
  readonly name: string;
  readonly billingMode: BillingMode;
}

const COLUMNS = `id, name, billing_mode as "billingMode", credit_limit_micro as "creditLimitMicro",
  provider_customer_id as "providerCustomerId", created_at as "createdAt"`;

/** Does nothing where a company of that id exists already. */
export async function addCompany(statements: Statements, company: NewCompany): Promise<void> {
  await statements.query(
    'insert into companies (id, name, billing_mode) values ($1, $2, $3) on conflict (id) do nothing',
    [company.id, company.name, company.billingMode],
  );
}

export async function findCompany(statements: Statements, id: string): Promise<Company | null> {
  const rows = await statements.query<Company>(`select ${COLUMNS} from companies where id = $1`, [id]);
  return rows[0] ?? null;
}

/** In the order of their ids. `after` is the last id of the page before. */
export async function listCompanies(
  statements: Statements,
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
): Promise<readonly Company[]> {
  return await statements.query<Company>(
    `select ${COLUMNS} from companies where $1::uuid is null or id > $1 order by id limit $2`,
    [after ?? null, limit],
  );
}

export async function hasCompanies(statements: Statements): Promise<boolean> {
  return (await statements.query('select 1 from companies limit 1')).length > 0;
}

/** The company as it is then, or null where there is none. */
export async function renameCompany(
  statements: Statements,
  { id, name, now }: { readonly id: string; readonly name: string; readonly now: Date },
): Promise<Company | null> {
  const rows = await statements.query<Company>(
    `update companies set name = $2, updated_at = $3 where id = $1 returning ${COLUMNS}`,
    [id, name, now],
  );
  return rows[0] ?? null;
}
