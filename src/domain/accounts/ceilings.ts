import type { Statements, Transaction } from '../../ports/database.ts';

/** Upper limits that operators set for a company, whatever its admins set; null is no ceiling. */
export interface Ceilings {
  /** Over all keys of the company, like tokens and calls in flight. */
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly callsInFlight: number | null;
  /** Of CVs and postings, in millions of bytes. */
  readonly storageMegabytes: number | null;
  /** CVs and postings in 24 hours, uploaded or parsed, even if reading them failed. */
  readonly documentsPerDay: number | null;
  /** Active keys. */
  readonly apiKeys: number | null;
  /** Including open invitations. */
  readonly members: number | null;
}

export type CeilingName = keyof Ceilings;

interface CeilingBounds {
  readonly column: string;
  readonly least: 0 | 1;
  readonly most: number;
}

/** The columns and counters end slightly above two billion. */
const HIGHEST = 2_000_000_000;

/** In display order. A rate of 0 is not allowed: that would be a suspension. */
export const CEILINGS: Readonly<Record<CeilingName, CeilingBounds>> = {
  requestsPerMinute: { column: 'requests_per_minute', least: 1, most: HIGHEST },
  tokensPerMinute: { column: 'tokens_per_minute', least: 1, most: HIGHEST },
  callsInFlight: { column: 'calls_in_flight', least: 1, most: 100_000 },
  storageMegabytes: { column: 'storage_megabytes', least: 0, most: HIGHEST },
  documentsPerDay: { column: 'documents_per_day', least: 0, most: HIGHEST },
  apiKeys: { column: 'api_keys', least: 0, most: 1_000_000 },
  members: { column: 'members', least: 1, most: 1_000_000 },
};

export const CEILING_NAMES = Object.keys(CEILINGS) as readonly CeilingName[];

export const NO_CEILINGS: Ceilings = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  callsInFlight: null,
  storageMegabytes: null,
  documentsPerDay: null,
  apiKeys: null,
  members: null,
};

const COLUMN_NAMES = CEILING_NAMES.map((name) => CEILINGS[name].column).join(', ');
const CEILING_COLUMNS = CEILING_NAMES.map((name) => `${CEILINGS[name].column} as "${name}"`).join(', ');

/** What is wrong with a value; null if it is valid. */
export function ceilingProblem(name: CeilingName, value: number): string | null {
  const { least, most } = CEILINGS[name];
  const isRight = Number.isInteger(value) && value >= least && value <= most;
  return isRight ? null : `a whole number from ${least} to ${most} is needed`;
}

/** For many companies at once; a company without a row has none. */
export async function readCeilings(
  statements: Statements,
  companyIds: readonly string[],
): Promise<ReadonlyMap<string, Ceilings>> {
  const rows = await statements.query<Ceilings & { companyId: string }>(
    `select company_id as "companyId", ${CEILING_COLUMNS} from company_ceilings where company_id = any($1::uuid[])`,
    [companyIds],
  );
  return new Map(rows.map(({ companyId, ...ceilings }) => [companyId, ceilings]));
}

export async function findCeilings(statements: Statements, companyId: string): Promise<Ceilings> {
  return (await readCeilings(statements, [companyId])).get(companyId) ?? NO_CEILINGS;
}

/**
 * Reads one ceiling before something is added that it counts. If there is one, the company's row is locked until the
 * transaction ends, so that concurrent additions are counted one after the other.
 */
export async function lockCeiling(
  transaction: Transaction,
  companyId: string,
  name: CeilingName,
): Promise<number | null> {
  if ((await findCeilings(transaction, companyId))[name] === null) return null;
  await lockRow(transaction, companyId);
  return (await findCeilings(transaction, companyId))[name];
}

type SetCeilings =
  | { readonly outcome: 'set'; readonly before: Ceilings; readonly ceilings: Ceilings }
  | { readonly outcome: 'no-such-company' }
  | { readonly outcome: 'invalid'; readonly name: CeilingName; readonly message: string };

/** Undefined keeps a ceiling, null removes it. What a company already has stays, even above a new ceiling. */
export async function setCeilings(
  transaction: Transaction,
  companyId: string,
  changes: Readonly<Partial<Record<CeilingName, number | null | undefined>>>,
  now: Date,
): Promise<SetCeilings> {
  for (const name of CEILING_NAMES) {
    const value = changes[name] ?? null;
    const message = value === null ? null : ceilingProblem(name, value);
    if (message !== null) return { outcome: 'invalid', name, message };
  }
  if (!(await lockRow(transaction, companyId))) return { outcome: 'no-such-company' };
  const before = await findCeilings(transaction, companyId);
  const values = CEILING_NAMES.map((name) => (changes[name] === undefined ? before[name] : changes[name]));
  const places = CEILING_NAMES.map((_, at) => `$${at + 3}`).join(', ');
  const rows = await transaction.query<Ceilings>(
    `insert into company_ceilings (company_id, updated_at, ${COLUMN_NAMES}) values ($1, $2, ${places})
     on conflict (company_id) do update set updated_at = excluded.updated_at,
       (${COLUMN_NAMES}) = (${CEILING_NAMES.map((name) => `excluded.${CEILINGS[name].column}`).join(', ')})
     returning ${CEILING_COLUMNS}`,
    [companyId, now, ...values],
  );
  return { outcome: 'set', before, ceilings: rows[0] ?? before };
}

/** The ceilings of companies added from now on, by any process. Existing companies keep theirs. */
export async function storeDefaultCeilings(statements: Statements, ceilings: Ceilings): Promise<void> {
  const values = CEILING_NAMES.map((name) => ceilings[name]);
  const places = CEILING_NAMES.map((_, at) => `$${at + 1}`).join(', ');
  await statements.query(
    `insert into company_ceiling_defaults (${COLUMN_NAMES}) values (${places})
     on conflict (only_row) do update set
       (${COLUMN_NAMES}) = (${CEILING_NAMES.map((name) => `excluded.${CEILINGS[name].column}`).join(', ')})
     where (${CEILING_NAMES.map((name) => `company_ceiling_defaults.${CEILINGS[name].column}`).join(', ')})
       is distinct from (${CEILING_NAMES.map((name) => `excluded.${CEILINGS[name].column}`).join(', ')})`,
    values,
  );
}

/** For the statement that adds a company, after the name of its insert: a company starts with the defaults. */
export const BEGIN_WITH_DEFAULTS = `insert into company_ceilings (company_id, ${COLUMN_NAMES})
  select added.id, ${COLUMN_NAMES} from added, company_ceiling_defaults`;

async function lockRow(transaction: Transaction, companyId: string): Promise<boolean> {
  const sql = 'select 1 from companies where id = $1 for no key update';
  return (await transaction.query(sql, [companyId])).length > 0;
}
