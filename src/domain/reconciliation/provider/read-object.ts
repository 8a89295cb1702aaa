import type { Statements } from '../../../ports/database.ts';
import type { PaymentProvider, WireObject } from '../../../ports/payment-provider.ts';
import { countLines, linesOf } from '../../payments/cash/replay-object.ts';
import { readInvoiceMoney } from '../../payments/plan-lines.ts';
import {
  currencyIn,
  disputeStatusIn,
  fieldsIn,
  idIn,
  minorIn,
  momentIn,
  ourIdIn,
  textIn,
} from '../../payments/provider-objects.ts';

export interface AuditRange {
  readonly id: string;
  readonly from: Date;
  readonly to: Date;
}

/** The fields of a provider object that the comparison uses. */
export interface ReadObject {
  readonly kind: 'charge' | 'refund' | 'dispute' | 'credit_note' | 'invoice';
  readonly id: string;
  readonly customerId?: string | null;
  readonly paymentId?: string | null;
  readonly chargeId?: string | null;
  readonly invoiceId?: string | null;
  readonly purchaseId?: string | null;
  readonly companyId?: string | null;
  readonly status: string;
  readonly currency: string | null;
  readonly amountMinor: bigint;
  readonly returnedMinor?: bigint;
  readonly outsideMinor?: bigint;
  readonly movedMicro?: bigint | null;
  readonly isRecent?: boolean;
  readonly createdAt: Date;
}

/** Thrown if the provider does not answer: the run ends and is continued later. */
export class ProviderPaused extends Error {}

interface LineParts {
  readonly database: Statements;
  readonly provider: Pick<PaymentProvider, 'listInvoiceLines'>;
}

function common(item: WireObject) {
  return {
    id: idIn(item.id) ?? '',
    status: textIn(item.status, 60) ?? 'unknown',
    currency: currencyIn(item.currency),
    createdAt: momentIn(item.created) ?? new Date(0),
    customerId: idIn(item.customer),
    companyId: ourIdIn(item, 'companyId'),
    purchaseId: ourIdIn(item, 'purchaseId'),
  };
}

export function readCharge(item: WireObject): ReadObject | null {
  if (item.paid !== true || item.status === 'failed') return null;
  const amountMinor = minorIn(item.amount_captured) ?? minorIn(item.amount) ?? 0n;
  return {
    ...{ ...common(item), kind: 'charge', amountMinor, returnedMinor: minorIn(item.amount_refunded) ?? 0n },
    ...{ paymentId: idIn(item.payment_intent), invoiceId: idIn(item.invoice) },
  };
}

export function readRefund(item: WireObject, { to }: AuditRange): ReadObject {
  const read = common(item);
  return {
    ...{ ...read, kind: 'refund', amountMinor: minorIn(item.amount) ?? 0n, chargeId: idIn(item.charge) },
    isRecent: read.createdAt > to,
  };
}

export function readDispute(item: WireObject): ReadObject {
  const charge = fieldsIn(item.charge);
  return {
    ...{ ...common(item), kind: 'dispute', amountMinor: minorIn(item.amount) ?? 0n },
    status: disputeStatusIn(item) ?? 'unknown',
    ...{ chargeId: idIn(item.charge), paymentId: idIn(item.payment_intent) ?? idIn(charge.payment_intent) },
  };
}

export function readNote(item: WireObject): ReadObject | null {
  if (item.type !== 'post_payment') return null;
  return {
    ...{
      ...common(item),
      kind: 'credit_note',
      amountMinor: minorIn(item.total) ?? minorIn(item.amount) ?? 0n,
    },
    ...{ invoiceId: idIn(item.invoice), returnedMinor: minorIn(fieldsIn(item.refund).amount) ?? 0n },
    outsideMinor: minorIn(item.out_of_band_amount) ?? 0n,
  };
}

export async function readInvoice(
  parts: LineParts,
  item: WireObject,
  { to }: AuditRange,
  signal: AbortSignal | undefined,
): Promise<ReadObject | null> {
  const read = common(item);
  if (read.status === 'draft') return null;
  const startMinor = minorIn(item.starting_balance) ?? 0n;
  const balanceMinor = (minorIn(item.ending_balance) ?? startMinor) - startMinor;
  const receivedMinor = read.status === 'paid' ? readInvoiceMoney(item).paidMinor - balanceMinor : 0n;
  const isOutside = item.paid_out_of_band === true;
  const amountMinor = receivedMinor > 0n ? receivedMinor : 0n;
  let movedMicro: bigint | null = null;
  if (read.status === 'paid') {
    const lines = await linesOf(parts, item);
    if (lines === null) {
      throw new ProviderPaused(`the payment provider did not list the lines of invoice ${read.id}`);
    }
    signal?.throwIfAborted();
    movedMicro = (await countLines(parts.database, item, lines))?.movedMicro ?? null;
  }
  const paidAt = momentIn(fieldsIn(item.status_transitions).paid_at);
  return {
    ...{ ...read, kind: 'invoice', amountMinor, outsideMinor: isOutside ? amountMinor : 0n, movedMicro },
    ...{ invoiceId: read.id, chargeId: idIn(item.charge), paymentId: idIn(item.payment_intent) },
    isRecent: paidAt !== null && paidAt > to,
  };
}

export async function keepObject(statements: Statements, auditId: string, object: ReadObject): Promise<void> {
  await statements.query(
    `insert into audit_provider_objects (audit_id, kind, object_id, customer_id, payment_id, charge_id, invoice_id,
       purchase_id, company_id, status, currency, amount_minor, returned_minor, outside_minor, moved_micro, is_recent,
       created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
     on conflict (audit_id, kind, object_id) do update set status = excluded.status, amount_minor = excluded.amount_minor,
       returned_minor = excluded.returned_minor`,
    [
      ...[auditId, object.kind, object.id, object.customerId ?? null, object.paymentId ?? null],
      ...[
        object.chargeId ?? null,
        object.invoiceId ?? null,
        object.purchaseId ?? null,
        object.companyId ?? null,
      ],
      ...[
        object.status,
        object.currency,
        object.amountMinor,
        object.returnedMinor ?? 0n,
        object.outsideMinor ?? 0n,
      ],
      ...[object.movedMicro ?? null, object.isRecent ?? false, object.createdAt],
    ],
  );
}
