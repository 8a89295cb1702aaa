import type { Statements } from '../../ports/database.ts';
import { creditsOfMicro } from '../credits/ledger/credit-account.ts';
import {
  afterRefunds,
  ORDER_OF_INVOICE,
  RETURNED_MINOR,
  type StoredInvoice,
} from '../payments/plan-grants.ts';
import { grantedMicro } from '../payments/plan-lines.ts';
import type { ComputedCheck } from './audit-check.ts';
import { type Difference, lineOf } from './difference.ts';

/**
 * Recalculates the plan credits of every company from the lines of its paid invoices, at the frozen rates of their
 * prices, and compares them with what its invoices granted. `grantedMicro` is the rule for all invoices of a company
 * together; the database recalculates the credits of each line.
 */
export async function planCreditDifferences(
  statements: Statements,
  limit: number,
): Promise<readonly Difference[]> {
  const found: Difference[] = [];
  let after = '00000000-0000-0000-0000-000000000000';
  while (found.length < limit) {
    const invoices = await statements.query<RecountedInvoice>(INVOICES, [after, COMPANIES_AT_ONCE]);
    const last = invoices.at(-1);
    if (last === undefined) break;
    after = last.companyId;
    for (const ofCompany of Map.groupBy(invoices, ({ companyId }) => companyId).values()) {
      const difference = compareCompany(ofCompany);
      if (difference !== null) found.push(difference);
    }
  }
  return found.slice(0, limit);
}

export const planCreditsCheck: ComputedCheck = {
  holds: 'plan credits are the money of invoice lines at the frozen rates of their prices',
  find: async (statements, limit) => (await planCreditDifferences(statements, limit)).map(lineOf),
};

const COMPANIES_AT_ONCE = 200;

interface RecountedInvoice extends StoredInvoice {
  readonly companyId: string;
  readonly id: string;
  /** The credits posted for it; `takenMicro` are those that its refunds took. */
  readonly postedMicro: bigint;
  readonly takenMicro: bigint;
  /** Null if it has no lines that count, as for invoices from before lines were stored. */
  readonly lineMicro: bigint | null;
  readonly recountedMicro: bigint | null;
  readonly lineMinor: bigint | null;
  readonly bestPriceMinor: bigint | null;
  readonly bestCreditsMicro: bigint | null;
}

function compareCompany(invoices: readonly RecountedInvoice[]): Difference | null {
  const expected = grantedMicro(
    invoices.map((invoice) =>
      afterRefunds({
        ...invoice,
        movedMicro: movedOf(invoice),
        priceMinor: invoice.bestPriceMinor ?? invoice.priceMinor,
        creditsMicro: invoice.bestCreditsMicro ?? invoice.creditsMicro,
      }),
    ),
  );
  const found = invoices.reduce((sum, { postedMicro, takenMicro }) => sum + postedMicro - takenMicro, 0n);
  if (expected === found) return null;
  const wrong = invoices.find((invoice) => movedOf(invoice) !== invoice.movedMicro) ?? invoices.at(-1);
  const companyId = wrong?.companyId ?? '';
  return {
    kind: 'PLAN_CREDITS',
    subject: `plan-invoice/${wrong?.id} of company ${companyId}`,
    expected: `${creditsOfMicro(expected)} credits by the lines and rates of ${invoices.length} invoices`,
    found: `${creditsOfMicro(found)} credits`,
    remedy: `turnpike replay-payments --object ${wrong?.id}`,
  };
}

/**
 * The credits that an invoice moves by its lines and rates. A positive amount counts in proportion to what was paid of
 * the lines; the stored amount is accepted within two minor units of rounding.
 */
function movedOf(invoice: RecountedInvoice): bigint {
  const { movedMicro, lineMicro, recountedMicro, lineMinor, linesMinor } = invoice;
  if (lineMicro === null || recountedMicro === null || lineMinor === null) return movedMicro;
  if (recountedMicro <= 0n) return recountedMicro;
  if (lineMinor <= 0n || linesMinor <= 0n) {
    const isPlausible = recountedMicro === lineMicro && movedMicro >= 0n && movedMicro <= lineMicro;
    return isPlausible ? movedMicro : recountedMicro;
  }
  if (linesMinor >= lineMinor) return recountedMicro;
  const least = (recountedMicro * linesMinor) / lineMinor;
  const most = (recountedMicro * (linesMinor + 2n)) / lineMinor;
  return movedMicro >= least - 2n && movedMicro <= most ? movedMicro : least;
}

/** The last reading of a line counts. The id of a repeated reading has `#` and a number. */
const LINES = `select distinct on (provider_invoice_id, split_part(provider_line_id, '#', 1)) * from plan_grant_lines
    where company_id in (select company_id from companies_of_page)
    order by provider_invoice_id, split_part(provider_line_id, '#', 1), created_at desc, provider_line_id desc`;

/** A line without a price id has one of its plan's rates. */
const RATE = `select price_minor, credits_micro from plan_rates as rate
    where rate.currency = line.currency and (rate.provider_price_id = line.provider_price_id
      or (line.provider_price_id is null and rate.plan_id = line.plan_id)) and rate.price_minor > 0
    order by floor(rate.credits_micro::numeric * line.amount_minor / rate.price_minor) = line.moved_micro desc,
      rate.created_at desc limit 1`;

const INVOICES = `with companies_of_page as (
    select distinct company_id from plan_grants where company_id > $1 order by company_id limit $2),
  latest as (${LINES}),
  recounted as (
    select provider_invoice_id, sum(moved_micro)::bigint as line_micro, sum(line.amount_minor)::bigint as line_minor,
      coalesce(sum(floor(rate.credits_micro::numeric * line.amount_minor / rate.price_minor)), 0)::bigint as recounted_micro,
      (array_agg(rate.price_minor order by rate.credits_micro::numeric / rate.price_minor desc)
        filter (where line.amount_minor > 0 and rate.price_minor is not null))[1] as best_price,
      (array_agg(rate.credits_micro order by rate.credits_micro::numeric / rate.price_minor desc)
        filter (where line.amount_minor > 0 and rate.price_minor is not null))[1] as best_credits
    from latest as line left join lateral (${RATE}) as rate on true
    where line.kind in ('PERIOD', 'PRORATION') group by provider_invoice_id)
  select invoice.company_id as "companyId", invoice.provider_invoice_id as id, invoice.currency, 0::bigint as "spentMinor",
    coalesce(invoice.moved_micro, invoice.credits_micro) as "movedMicro",
    coalesce(invoice.lines_minor, invoice.amount_minor) as "linesMinor", invoice.amount_minor as "paidMinor",
    coalesce(invoice.credited_minor, 0) as "creditedMinor",
    coalesce(invoice.best_price_minor, greatest(1, invoice.amount_minor)) as "priceMinor",
    coalesce(invoice.best_credits_micro, invoice.credits_micro) as "creditsMicro",
    coalesce(refund.micro, 0)::bigint as "refundedMicro", coalesce(refund.minor, 0)::bigint as "refundedMinor",
    invoice.credits_micro as "postedMicro", coalesce(refund.taken, 0)::bigint as "takenMicro",
    line_micro as "lineMicro", recounted_micro as "recountedMicro", line_minor as "lineMinor",
    best_price as "bestPriceMinor", best_credits as "bestCreditsMicro", ${RETURNED_MINOR}, ${ORDER_OF_INVOICE}
  from plan_grants as invoice
  left join (select source_id, sum(refunded_micro) as micro, sum(refunded_minor) as minor,
      sum(coalesce(taken_micro, refunded_micro) + expired_micro) as taken from charge_refunds
    where source_kind = 'PLAN_GRANT' and company_id in (select company_id from companies_of_page) group by source_id) as refund
    on refund.source_id = invoice.provider_invoice_id
  left join recounted on recounted.provider_invoice_id = invoice.provider_invoice_id
  where invoice.company_id in (select company_id from companies_of_page)
  union all
  select company_id, provider_invoice_id, currency, amount_minor, 0, 0, 0, 0, 1, 0, 0, 0, credits_micro, 0,
    null, null, null, null, null, null, happened_at, ${Number.MAX_SAFE_INTEGER}, 0
  from balance_uses where company_id in (select company_id from companies_of_page)
  order by "companyId", "happenedAt", "numberInOrder", sequence`;
