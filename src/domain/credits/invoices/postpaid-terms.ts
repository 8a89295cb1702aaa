import type { Statements, Transaction } from '../../../ports/database.ts';

/** Terms agreed with a POSTPAID company besides its credit limit. They apply until others are agreed. */
export interface AgreedTerms {
  readonly companyId: string;
  readonly planId: string;
  /** Days until an invoice is due; null uses the operator's setting. */
  readonly dueDays: number | null;
  /** The day of the month, UTC, on which the month before is invoiced. */
  readonly invoiceDay: number;
  /** Null uses the operator's price of a credit. */
  readonly rate: AgreedRate | null;
  readonly agreedAt: Date;
}

/** A price for an amount of credits; amounts are multiples of the smallest amount payable in the currency. */
export interface AgreedRate {
  readonly priceMinor: bigint;
  readonly creditsMicro: bigint;
  readonly currency: string;
  readonly leastMinor: bigint;
}

export const MOST_DUE_DAYS = 365;
/** Every month has this day. */
export const LAST_INVOICE_DAY = 28;

interface TermsRow extends Omit<AgreedTerms, 'rate'> {
  readonly priceMinor: bigint | null;
  readonly creditsMicro: bigint | null;
  readonly currency: string | null;
  readonly leastMinor: bigint | null;
}

/** By company; companies without agreed terms are left out. */
export async function findAgreedTerms(
  statements: Statements,
  companyIds: readonly string[],
): Promise<ReadonlyMap<string, AgreedTerms>> {
  const rows = await statements.query<TermsRow>(
    `select company_id as "companyId", plan_id as "planId", due_days as "dueDays", invoice_day as "invoiceDay",
       price_minor as "priceMinor", credits_micro as "creditsMicro", currency, least_minor as "leastMinor",
       agreed_at as "agreedAt"
     from postpaid_terms where company_id = any($1::uuid[])`,
    [companyIds],
  );
  return new Map(rows.map((row) => [row.companyId, termsOf(row)]));
}

function termsOf({ priceMinor, creditsMicro, currency, leastMinor, ...terms }: TermsRow): AgreedTerms {
  const isAgreed = priceMinor !== null && creditsMicro !== null && currency !== null && leastMinor !== null;
  return { ...terms, rate: isAgreed ? { priceMinor, creditsMicro, currency, leastMinor } : null };
}

/** Replaces the terms agreed before. */
export async function writeAgreedTerms(transaction: Transaction, terms: AgreedTerms): Promise<void> {
  const { companyId, planId, dueDays, invoiceDay, rate, agreedAt } = terms;
  await transaction.query(
    `insert into postpaid_terms (company_id, plan_id, due_days, invoice_day, price_minor, credits_micro, currency,
       least_minor, agreed_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict (company_id) do update set plan_id = $2, due_days = $3, invoice_day = $4, price_minor = $5,
       credits_micro = $6, currency = $7, least_minor = $8, agreed_at = $9`,
    [
      ...[companyId, planId, dueDays, invoiceDay, rate?.priceMinor ?? null, rate?.creditsMicro ?? null],
      ...[rate?.currency ?? null, rate?.leastMinor ?? null, agreedAt],
    ],
  );
}
