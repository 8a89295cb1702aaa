import type { Transaction } from '../../ports/database.ts';
import { listAdmins } from './members.ts';

export const LONGEST_SUSPENSION_REASON = 200;

/** A mail to the admins of a company whose calls are refused from now on, or are answered again. */
export type SuspensionMail = {
  readonly to: string;
  readonly companyId: string;
} & (
  | {
      readonly kind: 'company-suspended';
      readonly data: { readonly companyName: string; readonly reason: string; readonly at: Date };
    }
  | { readonly kind: 'company-resumed'; readonly data: { readonly companyName: string; readonly at: Date } }
);

export interface SuspensionOutbox {
  send(mail: SuspensionMail, within: Transaction): Promise<{ readonly outcome: string }>;
}

interface Suspension {
  readonly companyId: string;
  /** Shown to the company: in the error of each refused call, and in its console. */
  readonly reason: string;
  readonly now: Date;
}

export type SuspensionChange = 'changed' | 'unchanged' | 'no-such-company';

/**
 * Model calls of a suspended company are refused. Its people can still sign in, read and pay. A second suspension only
 * changes the reason. The admins get a mail of each change. The caller announces the change after the commit.
 */
export async function suspendCompany(
  transaction: Transaction,
  outbox: SuspensionOutbox,
  { companyId, reason, now }: Suspension,
): Promise<SuspensionChange> {
  const change = changeOf(
    await transaction.query<{ readonly isChanged: boolean }>(
      `with changed as (
         update companies set suspended_at = coalesce(suspended_at, $3), suspension_reason = $2
         where id = $1 and suspension_reason is distinct from $2 returning id)
       select exists (select 1 from changed) as "isChanged" from companies where id = $1`,
      [companyId, reason, now],
    ),
  );
  if (change !== 'changed') return change;
  for (const { email: to, companyName } of await listAdmins(transaction, companyId)) {
    const data = { companyName, reason, at: now };
    await outbox.send({ kind: 'company-suspended', to, companyId, data }, transaction);
  }
  return change;
}

export async function resumeCompany(
  transaction: Transaction,
  outbox: SuspensionOutbox,
  { companyId, now }: Pick<Suspension, 'companyId' | 'now'>,
): Promise<SuspensionChange> {
  const change = changeOf(
    await transaction.query<{ readonly isChanged: boolean }>(
      `with changed as (
         update companies set suspended_at = null, suspension_reason = null
         where id = $1 and suspended_at is not null returning id)
       select exists (select 1 from changed) as "isChanged" from companies where id = $1`,
      [companyId],
    ),
  );
  if (change !== 'changed') return change;
  for (const { email: to, companyName } of await listAdmins(transaction, companyId)) {
    const data = { companyName, at: now };
    await outbox.send({ kind: 'company-resumed', to, companyId, data }, transaction);
  }
  return change;
}

function changeOf([row]: readonly { readonly isChanged: boolean }[]): SuspensionChange {
  if (row === undefined) return 'no-such-company';
  return row.isChanged ? 'changed' : 'unchanged';
}
