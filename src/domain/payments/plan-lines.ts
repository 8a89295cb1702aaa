import type { PlanRate } from '../catalog/plan-rates.ts';
import {
  fieldsIn,
  idIn,
  listedIn,
  minorIn,
  momentIn,
  ourIdIn,
  priceOfLine,
  textIn,
  wholeIn,
} from './provider-objects.ts';

/**
 * The rule by which money becomes plan credits (P-22), without a database: every line of a paid invoice moves
 * `plan credits × net amount ÷ plan price`, at the rate that was frozen when the line's price was created.
 *
 * - Each line is rounded down to the micro-credit, towards minus infinity: at most one micro-credit per line, in favour
 *   of the operator.
 * - A period line counts net of its discounts. A proration is net already: before 2025-09-30 the provider takes the
 *   discount off the amount and reports discount amounts of zero.
 * - `credits` are per billing interval, and quantity is part of the amount. Inclusive tax is in the line and in the
 *   price, exclusive tax in neither.
 */
type Fields = Readonly<Record<string, unknown>>;

export interface InvoiceLine {
  readonly id: string;
  readonly priceId: string | null;
  /** From the price's metadata. */
  readonly planId: string | null;
  readonly amountMinor: bigint;
  /** Net of discounts. */
  readonly netMinor: bigint;
  readonly isProration: boolean;
  /** Added by hand, or a proration: not a line of the subscription itself. */
  readonly isItem: boolean;
  /** Of a recurring price that is not metered: only such a price can be a plan's. */
  readonly isLicensed: boolean;
  readonly quantity: number | null;
  readonly description: string | null;
  readonly periodStart: Date | null;
  readonly periodEnd: Date | null;
}

type LineKind = 'PERIOD' | 'PRORATION' | 'TRIAL' | 'FREE' | 'OTHER';

export interface LineMovement {
  readonly line: InvoiceLine;
  readonly kind: LineKind;
  readonly rate: PlanRate | null;
  /** Zero for all kinds except PERIOD and PRORATION. */
  readonly movedMicro: bigint;
}

/** The credits that a line moves at its rate; a null rate is a line of no plan. */
export function moveLine(line: InvoiceLine, rate: PlanRate | null): LineMovement {
  if (rate === null) return { line, kind: 'OTHER', rate, movedMicro: 0n };
  if (rate.priceMinor === 0n) {
    const kind = line.isProration || line.netMinor !== 0n ? 'OTHER' : 'FREE';
    return { line, kind, rate, movedMicro: 0n };
  }
  const isTrial = !line.isProration && !line.isItem && line.amountMinor === 0n && line.quantity !== 0;
  if (isTrial) return { line, kind: 'TRIAL', rate, movedMicro: 0n };
  const movedMicro = dividedDown(rate.creditsMicro * line.netMinor, rate.priceMinor);
  return { line, kind: line.isProration ? 'PRORATION' : 'PERIOD', rate, movedMicro };
}

/** The money of an invoice, in minor units. */
export interface InvoiceMoney {
  readonly totalMinor: bigint;
  /** The total without exclusive taxes and shipping: the expected sum of the lines. */
  readonly linesMinor: bigint;
  /** How much of the total was paid: by card, outside the provider, or from the customer's balance. */
  readonly paidMinor: bigint;
}

/**
 * The credits that an invoice moves: the sum of its lines. A positive sum is reduced to the part of the lines that is
 * in the total (a discount that no line shows) and to the part of the total that was paid (a credit note before
 * payment, which lowers the amount due but not the total).
 */
export function moveInvoice(movements: readonly LineMovement[], money: InvoiceMoney): bigint {
  const movedMicro = movements.reduce((sum, movement) => sum + movement.movedMicro, 0n);
  if (movedMicro <= 0n) return movedMicro;
  const shownMinor = movements.reduce((sum, { line }) => sum + line.netMinor, 0n);
  const invoicedMicro = share(movedMicro, money.linesMinor, shownMinor);
  return share(invoicedMicro, money.paidMinor, money.totalMinor);
}

/** The money of the plan lines, as far as `moveInvoice` counts them, and the best rate that was paid. */
export function countedMoney(
  movements: readonly LineMovement[],
  money: InvoiceMoney,
): Omit<CountedInvoice, 'currency' | 'movedMicro' | 'spentMinor' | 'returnedMinor'> {
  const planned = movements.filter(({ kind }) => kind === 'PERIOD' || kind === 'PRORATION');
  const linesMinor = planned.reduce((sum, { line }) => sum + line.netMinor, 0n);
  const shownMinor = movements.reduce((sum, { line }) => sum + line.netMinor, 0n);
  const best = planned
    .filter(({ line }) => line.netMinor > 0n)
    .reduce((highest, { rate }) => (rate === null ? highest : better(highest, rate)), NO_RATE);
  const creditedMinor = planned.reduce(
    (sum, { line }) => (line.netMinor < 0n ? sum - line.netMinor : sum),
    0n,
  );
  if (linesMinor <= 0n) return { linesMinor, creditedMinor, best };
  const invoicedMinor = share(linesMinor, money.linesMinor, shownMinor);
  return { linesMinor: share(invoicedMinor, money.paidMinor, money.totalMinor), creditedMinor, best };
}

type Rate = Pick<PlanRate, 'priceMinor' | 'creditsMicro'>;
const NO_RATE: Rate = { priceMinor: 1n, creditsMicro: 0n };

function better(one: Rate, other: Rate): Rate {
  return other.creditsMicro * one.priceMinor > one.creditsMicro * other.priceMinor ? other : one;
}

/** A paid invoice as it is counted: after refunds. */
export interface CountedInvoice {
  readonly currency: string;
  readonly movedMicro: bigint;
  readonly linesMinor: bigint;
  /** Its negative lines, without the sign. */
  readonly creditedMinor: bigint;
  readonly best: Rate;
  /** For an invoice that is for no plan: what it took from the customer's balance. Otherwise omitted, or zero. */
  readonly spentMinor?: bigint;
  /** For an invoice below zero: what it added to the customer's balance, with taxes. Omitted: as much as its lines. */
  readonly returnedMinor?: bigint;
}

/**
 * What the invoices of a company have granted in total, in the order of payment: the maximum of the running sum of what
 * they moved, and never more than the money of all of them at the best rate paid so far. The second limit matters if a
 * plan was changed without a proration and then back with one: the provider credits unused time of a plan that was
 * never paid for, and at a worse rate than that of the plan it replaces. What the first invoice credits was paid before
 * these books begin, and counts as money here.
 *
 * What a plan returned to the customer's balance is carried, so the credits that it had paid for stay. If that money then
 * pays for something else, it has left the plan, and the credits go.
 */
export function grantedMicro(invoices: readonly CountedInvoice[]): bigint {
  const sums = new Map<string, { minor: bigint; best: Rate }>();
  const returned = new Map<string, { minor: bigint; micro: bigint }>();
  let [granted, moved, reached] = [0n, 0n, 0n];
  for (const { currency, movedMicro, linesMinor, creditedMinor, best, ...balance } of invoices) {
    const { spentMinor = 0n, returnedMinor = -linesMinor } = balance;
    if (spentMinor > 0n) {
      const { minor, micro } = returned.get(currency) ?? { minor: 0n, micro: 0n };
      const spentMicro = minor > 0n ? (micro * spentMinor) / minor : 0n;
      granted = granted - spentMicro > reached ? granted - spentMicro : reached;
      continue;
    }
    if (movedMicro < 0n && linesMinor < 0n) {
      const { minor, micro } = returned.get(currency) ?? { minor: 0n, micro: 0n };
      returned.set(currency, { minor: minor + returnedMinor, micro: micro - movedMicro });
    }
    const opening = sums.size === 0 ? creditedMinor : 0n;
    const sum = sums.get(currency) ?? { minor: opening, best: NO_RATE };
    sums.set(currency, { minor: sum.minor + linesMinor, best: better(sum.best, best) });
    moved += movedMicro;
    let bound = 0n;
    for (const { minor, best: rate } of sums.values()) {
      if (minor > 0n) bound += (minor * rate.creditsMicro) / rate.priceMinor;
    }
    reached = moved < bound ? moved : bound;
    if (reached > granted) granted = reached;
  }
  return granted;
}

/** All of it if the whole is not positive: then no part can be missing. */
function share(micro: bigint, part: bigint, whole: bigint): bigint {
  if (whole <= 0n || part >= whole) return micro;
  return part <= 0n ? 0n : (micro * part) / whole;
}

function dividedDown(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  return dividend < 0n && dividend % divisor !== 0n ? quotient - 1n : quotient;
}

/**
 * The customer's balance is a payment method: what an invoice takes from it, or adds to it, counts like money. So does
 * what was paid outside the provider; a credit note does not.
 */
export function readInvoiceMoney(invoice: Fields): InvoiceMoney {
  const totalMinor =
    minorIn(invoice.total) ?? minorIn(invoice.amount_due) ?? minorIn(invoice.amount_paid) ?? 0n;
  const notedMinor = minorIn(invoice.pre_payment_credit_notes_amount) ?? 0n;
  const startMinor = minorIn(invoice.starting_balance) ?? 0n;
  const endMinor = minorIn(invoice.ending_balance) ?? startMinor;
  const takenMinor = (minorIn(invoice.amount_paid) ?? 0n) + endMinor - startMinor;
  const paidMinor = invoice.paid_out_of_band === true ? totalMinor - notedMinor : takenMinor;
  const taxesMinor = listedIn(invoice.total_tax_amounts)
    .filter(({ inclusive }) => inclusive !== true)
    .reduce((sum, { amount }) => sum + (minorIn(amount) ?? 0n), 0n);
  const shippingMinor = minorIn(fieldsIn(invoice.shipping_cost).amount_subtotal) ?? 0n;
  return { totalMinor, linesMinor: totalMinor - taxesMinor - shippingMinor, paidMinor };
}

export function readInvoiceLines(lines: readonly Fields[]): InvoiceLine[] {
  return lines.map((line, at) => {
    const amountMinor = minorIn(line.amount) ?? 0n;
    const isProration = line.proration === true;
    const price = fieldsIn(line.price);
    const recurring = fieldsIn(price.recurring);
    const usage = textIn(recurring.usage_type) ?? textIn(fieldsIn(line.plan).usage_type) ?? 'licensed';
    const isRecurring =
      price.type !== 'one_time' && (price.type === 'recurring' || line.type !== 'invoiceitem');
    const discountMinor = listedIn(line.discount_amounts).reduce(
      (sum, { amount }) => sum + (minorIn(amount) ?? 0n),
      0n,
    );
    return {
      id: idIn(line.id) ?? `line-${at}`,
      priceId: priceOfLine(line),
      planId: ourIdIn(price, 'planId') ?? ourIdIn(fieldsIn(line.plan), 'planId'),
      amountMinor,
      netMinor: isProration ? amountMinor : amountMinor - discountMinor,
      isProration,
      isItem: line.type === 'invoiceitem',
      isLicensed: isRecurring && usage === 'licensed',
      quantity: wholeIn(line.quantity),
      description: textIn(line.description)?.slice(0, 500) ?? null,
      periodStart: momentIn(fieldsIn(line.period).start),
      periodEnd: momentIn(fieldsIn(line.period).end),
    };
  });
}
