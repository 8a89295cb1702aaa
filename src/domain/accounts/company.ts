import type { Statements, Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { BEGIN_WITH_DEFAULTS } from './ceilings.ts';
import { accountProblem, insertUser } from './user.ts';

export type BillingMode = 'PREPAID' | 'POSTPAID';

export interface Company {
  readonly id: string;
  readonly name: string;
  readonly billingMode: BillingMode;
  /** How far below zero a POSTPAID company may go; null is unlimited. */
  readonly creditLimitMicro: bigint | null;
  readonly providerCustomerId: string | null;
  readonly address: CompanyAddress | null;
  /** As the company writes it: `DE123456789`. */
  readonly taxId: string | null;
  /** Receives billing mails in addition to the admins. */
  readonly billingEmail: string | null;
  readonly createdAt: Date;
  /** Null unless operators have suspended it (suspension.ts). */
  readonly suspendedAt: Date | null;
  readonly suspensionReason: string | null;
}

export interface CompanyAddress {
  readonly line1: string;
  readonly line2: string | null;
  readonly postalCode: string | null;
  readonly city: string | null;
  readonly state: string | null;
  /** Two letters, upper case. */
  readonly country: string;
}

interface NewCompany {
  readonly id: string;
  readonly name: string;
  readonly billingMode: BillingMode;
}

const COMPANY_COLUMNS = `id, name, billing_mode as "billingMode", credit_limit_micro as "creditLimitMicro",
  provider_customer_id as "providerCustomerId", address, tax_id as "taxId", billing_email as "billingEmail",
  created_at as "createdAt", suspended_at as "suspendedAt", suspension_reason as "suspensionReason"`;

/** With the ceilings for new companies. Does nothing if a company with that id exists. */
export async function addCompany(statements: Statements, company: NewCompany): Promise<void> {
  await statements.query(
    `with added as (insert into companies (id, name, billing_mode) values ($1, $2, $3)
       on conflict (id) do nothing returning id)
     ${BEGIN_WITH_DEFAULTS}`,
    [company.id, company.name, company.billingMode],
  );
}

export async function findCompany(statements: Statements, id: string): Promise<Company | null> {
  const rows = await statements.query<Company>(`select ${COMPANY_COLUMNS} from companies where id = $1`, [
    id,
  ]);
  return rows[0] ?? null;
}

/** In no order; unknown ids are left out. */
export async function findCompanyNames(
  statements: Statements,
  ids: readonly string[],
): Promise<readonly Pick<Company, 'id' | 'name'>[]> {
  return await statements.query('select id, name from companies where id = any($1::uuid[])', [ids]);
}

export async function findCompanyByCustomer(
  statements: Statements,
  providerCustomerId: string,
): Promise<Company | null> {
  const rows = await statements.query<Company>(
    `select ${COMPANY_COLUMNS} from companies where provider_customer_id = $1`,
    [providerCustomerId],
  );
  return rows[0] ?? null;
}

/** Ordered by id. */
interface CompanyPage {
  readonly limit: number;
  /** The last id of the previous page. */
  readonly after?: string | undefined;
  /** Lower-case words that its name, id, billing address or a member's address must all contain. */
  readonly words?: readonly string[];
}

/** Most searches fill a page from these. Looking up the members of each company takes some 10 µs for each. */
const SEARCHED_FIRST = 1_000;
const SEARCHED = `lower(concat_ws(' ', name, id::text, billing_email))`;

export async function listCompanies(
  statements: Statements,
  { limit, after, words = [] }: CompanyPage,
): Promise<readonly Company[]> {
  const first = await statements.query<Company>(
    `select ${COMPANY_COLUMNS} from
       (select * from companies where ($1::uuid is null or id > $1) order by id limit $4) as companies
     where not exists (select 1 from unnest($3::text[]) as word
       where position(word in ${SEARCHED}) = 0
         and not exists (select 1 from users
           where company_id = companies.id and removed_at is null and position(word in lower(email)) > 0))
     order by id limit $2`,
    [after ?? null, limit, words, Math.max(limit, SEARCHED_FIRST)],
  );
  if (words.length === 0 || first.length === limit) return first;
  const conditions = words.map((_, at) => `and ${hasWord(`$${at + 3}::text`)}`);
  return await statements.query<Company>(
    `select ${COMPANY_COLUMNS} from companies where ($1::uuid is null or id > $1) ${conditions.join(' ')}
     order by id limit $2`,
    [after ?? null, limit, ...words],
  );
}

/**
 * The members are read once for all companies. PostgreSQL keeps what an array is unnested to in a hash table, however
 * large it is; rows of a subquery only while it expects them to fit into work_mem.
 */
function hasWord(word: string): string {
  return `(position(${word} in ${SEARCHED}) > 0 or id in (select unnest(array(select company_id from users
    where company_id is not null and removed_at is null and position(${word} in lower(email)) > 0))))`;
}

export async function hasCompanies(statements: Statements): Promise<boolean> {
  return (await statements.query('select 1 from companies limit 1')).length > 0;
}

interface ProfileParams {
  readonly id: string;
  /** Undefined keeps a field, null removes it. */
  readonly name?: string | undefined;
  readonly address?: CompanyAddress | null | undefined;
  readonly taxId?: string | null | undefined;
  readonly billingEmail?: string | null | undefined;
  readonly now: Date;
}

/**
 * The changed company, or null if there is none. Its customer at the payment provider is stale until
 * `markCustomerFresh`.
 */
export async function updateCompanyProfile(
  statements: Statements,
  { id, name, address, taxId, billingEmail, now }: ProfileParams,
): Promise<Company | null> {
  const rows = await statements.query<Company>(
    `update companies set name = coalesce($2, name), address = case when $3 then $4::jsonb else address end,
       tax_id = case when $5 then $6 else tax_id end, billing_email = case when $7 then $8 else billing_email end,
       customer_is_stale = provider_customer_id is not null, updated_at = $9
     where id = $1 returning ${COMPANY_COLUMNS}`,
    [
      ...[id, name ?? null, address !== undefined, address == null ? null : { ...address }],
      ...[taxId !== undefined, taxId ?? null, billingEmail !== undefined, billingEmail ?? null, now],
    ],
  );
  return rows[0] ?? null;
}

/** Companies whose customer at the provider does not show their profile yet; of one company, or of all. */
export async function companiesWithStaleCustomer(
  statements: Statements,
  { companyId = null, limit }: { readonly companyId?: string | null; readonly limit: number },
): Promise<readonly (Company & { readonly updatedAt: Date })[]> {
  return await statements.query<Company & { readonly updatedAt: Date }>(
    `select ${COMPANY_COLUMNS}, updated_at as "updatedAt" from companies
     where customer_is_stale and ($1::uuid is null or id = $1) order by id limit $2`,
    [companyId, limit],
  );
}

/** Unless the company has changed since. */
export async function markCustomerFresh(
  statements: Statements,
  { id, updatedAt }: { readonly id: string; readonly updatedAt: Date },
): Promise<void> {
  await statements.query(
    `update companies set customer_is_stale = false
     where id = $1 and date_trunc('milliseconds', updated_at) = $2`,
    [id, updatedAt],
  );
}

/** True if it changed. `credits`, which decides on billing, locks the account before it calls this. */
export async function changeBilling(
  transaction: Transaction,
  {
    companyId,
    mode,
    creditLimitMicro,
  }: { readonly companyId: string; readonly mode: BillingMode; readonly creditLimitMicro: bigint | null },
): Promise<boolean> {
  const changed = await transaction.query(
    `update companies set billing_mode = $2, credit_limit_micro = $3, updated_at = now()
     where id = $1 and (billing_mode, credit_limit_micro) is distinct from ($2::text, $3::bigint) returning id`,
    [companyId, mode, creditLimitMicro],
  );
  return changed.length > 0;
}

/** A new customer is created with the name only. */
const HAS_PROFILE = 'num_nonnulls(address, tax_id, billing_email) > 0';

/**
 * Stores a company's customer at the payment provider. False if it has one already, or if another company has this one.
 */
export async function linkProviderCustomer(
  statements: Statements,
  { companyId, customerId }: { readonly companyId: string; readonly customerId: string },
): Promise<boolean> {
  const linked = await statements.query(
    `update companies set provider_customer_id = $2, updated_at = now(), customer_is_stale = ${HAS_PROFILE}
     where id = $1 and provider_customer_id is null
       and not exists (select 1 from companies where provider_customer_id = $2)
     returning id`,
    [companyId, customerId],
  );
  return linked.length > 0;
}

/** The provider no longer has the company's customer: another one replaces it. */
export async function replaceProviderCustomer(
  statements: Statements,
  params: { readonly companyId: string; readonly staleId: string; readonly customerId: string },
): Promise<void> {
  await statements.query(
    `update companies set provider_customer_id = $3, updated_at = now(), customer_is_stale = ${HAS_PROFILE}
     where id = $1 and provider_customer_id = $2
       and not exists (select 1 from companies where provider_customer_id = $3)`,
    [params.companyId, params.staleId, params.customerId],
  );
}

/** Locks until the transaction ends. Rows that refer to the company can still be inserted. */
export async function lockCompanyRow(transaction: Transaction, companyId: string): Promise<void> {
  await transaction.query('select 1 from companies where id = $1 for no key update', [companyId]);
}

interface AccountParams {
  readonly companyName: string;
  readonly email: string;
  readonly password: string;
}

type PreparedAccount =
  | { readonly outcome: 'prepared'; readonly account: Omit<AccountParams, 'password'>; readonly hash: string }
  | { readonly outcome: 'bad-email' }
  | { readonly outcome: 'bad-password'; readonly message: string };

/** Outside the transaction: hashing takes tens of milliseconds, in which a transaction would block others. */
export async function prepareSignUp(secrets: Secrets, params: AccountParams): Promise<PreparedAccount> {
  const complaint = accountProblem(params);
  if (complaint !== null) return complaint;
  const { password, ...account } = params;
  return { outcome: 'prepared', account, hash: await secrets.hashPassword(password) };
}

type SignedUp =
  | {
      readonly outcome: 'signed-up';
      readonly companyId: string;
      readonly userId: string;
      readonly email: string;
    }
  /** The caller must roll back what was written before. */
  | { readonly outcome: 'email-taken' };

/** Adds a company and its first user, who is an admin. */
export async function signUp(
  statements: Statements,
  secrets: Secrets,
  { account, hash }: Extract<PreparedAccount, { outcome: 'prepared' }>,
): Promise<SignedUp> {
  const [companyId, userId] = [secrets.newId(), secrets.newId()];
  const email = account.email.trim();
  await addCompany(statements, { id: companyId, name: account.companyName, billingMode: 'PREPAID' });
  const person = { id: userId, companyId, email, role: 'COMPANY_ADMIN', isSuperAdmin: false } as const;
  const added = await insertUser(statements, { ...person, passwordHash: hash, emailVerified: false });
  return added.outcome === 'added' ? { outcome: 'signed-up', companyId, userId, email } : added;
}
