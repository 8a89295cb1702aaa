import type { Transaction } from '../../ports/database.ts';

export const LONGEST_SUSPENSION_REASON = 200;

interface Suspension {
  readonly companyId: string;
  /** Shown to the company: in the error of each refused call, and in its console. */
  readonly reason: string;
  readonly now: Date;
}

export type SuspensionChange = 'changed' | 'unchanged' | 'no-such-company';

/**
 * Model calls of a suspended company are refused. Its people can still sign in, read and pay. A second suspension only
 * changes the reason. The caller announces the change after the commit.
 */
export async function suspendCompany(
  transaction: Transaction,
  { companyId, reason, now }: Suspension,
): Promise<SuspensionChange> {
  return changeOf(
    await transaction.query<{ readonly isChanged: boolean }>(
      `with changed as (
         update companies set suspended_at = coalesce(suspended_at, $3), suspension_reason = $2
         where id = $1 and suspension_reason is distinct from $2 returning id)
       select exists (select 1 from changed) as "isChanged" from companies where id = $1`,
      [companyId, reason, now],
    ),
  );
}

export async function resumeCompany(transaction: Transaction, companyId: string): Promise<SuspensionChange> {
  return changeOf(
    await transaction.query<{ readonly isChanged: boolean }>(
      `with changed as (
         update companies set suspended_at = null, suspension_reason = null
         where id = $1 and suspended_at is not null returning id)
       select exists (select 1 from changed) as "isChanged" from companies where id = $1`,
      [companyId],
    ),
  );
}

function changeOf([row]: readonly { readonly isChanged: boolean }[]): SuspensionChange {
  if (row === undefined) return 'no-such-company';
  return row.isChanged ? 'changed' : 'unchanged';
}
