import type { Statements } from '../../ports/database.ts';

/** Whether a company's calls are held back for what it owes. */
export interface Standing {
  /** The earliest due date of its open invoices: from then on its keys open no model. Null where nothing is open. */
  readonly blockedFromMs: number | null;
}

export const GOOD_STANDING: Standing = { blockedFromMs: null };

/** Compared at each call: an invoice comes due while nobody tells of it. */
export function isBlocked({ blockedFromMs }: Standing, nowMs: number): boolean {
  return blockedFromMs !== null && blockedFromMs <= nowMs;
}

/**
 * Companies with an open invoice and how they stand; who is not among them stands well. Only POSTPAID companies are
 * blocked by invoices (G-32): one that has been made PREPAID since pays before it calls.
 */
export async function readStandings(
  statements: Statements,
  companyIds: readonly string[],
): Promise<ReadonlyMap<string, Standing>> {
  const rows = await statements.query<{ companyId: string; dueAt: Date }>(
    `select invoice.company_id as "companyId", min(invoice.due_at) as "dueAt"
     from invoices as invoice join companies as company on company.id = invoice.company_id
     where invoice.company_id = any($1::uuid[]) and invoice.status = 'OPEN' and invoice.due_at is not null
       and company.billing_mode = 'POSTPAID'
     group by invoice.company_id`,
    [companyIds],
  );
  return new Map(rows.map(({ companyId, dueAt }) => [companyId, { blockedFromMs: dueAt.getTime() }]));
}
