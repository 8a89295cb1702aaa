import {
  findInvoice,
  findInvoiceByProviderId,
  type Invoice,
  type InvoiceStatus,
} from '../credits/invoice.ts';
import { attachProviderInvoice, upsertInvoice } from '../credits/invoice-from-provider.ts';
import { markInvoicePaid, voidInvoice } from '../credits/invoice-settling.ts';
import { companyOf, lockCompany } from './company-of.ts';
import { type EffectContext, type EffectOutcome, type KeptEvent, waitKeys } from './effect.ts';
import { currencyIn, fieldsIn, idIn, listIn, minorIn, momentIn, ourIdIn, textIn } from './wire-fields.ts';

/** Whose invoice an event is about, before anything is written. */
export type FoundInvoice =
  | {
      readonly outcome: 'found';
      readonly companyId: string;
      readonly providerInvoiceId: string;
      readonly subscriptionId: string | null;
      /** As it is known, if it is. */
      readonly known: Invoice | null;
      /** One that we made ourselves, and that may not know its name at the provider yet. */
      readonly own: Invoice | null;
    }
  | { readonly outcome: 'not-yet'; readonly because: EffectOutcome };

const STATUSES: ReadonlyMap<string, InvoiceStatus> = new Map([
  ['draft', 'DRAFT'],
  ['open', 'OPEN'],
  ['paid', 'PAID'],
  ['void', 'VOID'],
  ['uncollectible', 'UNCOLLECTIBLE'],
]);

export async function findEventInvoice(event: KeptEvent, context: EffectContext): Promise<FoundInvoice> {
  const { transaction } = context;
  const providerInvoiceId = idIn(event.object.id);
  if (providerInvoiceId === null) {
    return { outcome: 'not-yet', because: { outcome: 'failed', reason: 'the invoice has no id' } };
  }
  const customerId = idIn(event.object.customer);
  const subscriptionId = idIn(event.object.subscription);
  const known = await findInvoiceByProviderId(transaction, providerInvoiceId);
  const ownId = ourIdIn(event.object, 'invoiceId');
  const ours = known !== null || ownId === null ? null : await findInvoice(transaction, ownId);
  const own = ours?.kind === 'POSTPAID' && ours.providerInvoiceId === null ? ours : null;
  const companyId =
    known?.companyId ??
    own?.companyId ??
    (await companyOf(transaction, {
      customerId,
      subscriptionId,
      companyId: ourIdIn(event.object, 'companyId'),
    }));
  if (companyId === null) {
    const reason = `no company of ours is customer ${customerId} of invoice ${providerInvoiceId}`;
    const waitsFor = waitKeys({ customer: customerId, subscription: subscriptionId });
    return { outcome: 'not-yet', because: { outcome: 'deferred', reason, waitsFor } };
  }
  return { outcome: 'found', companyId, providerInvoiceId, subscriptionId, known, own };
}

export type MirroredInvoice =
  | { readonly outcome: 'mirrored'; readonly invoice: Invoice; readonly isStale: boolean }
  | { readonly outcome: 'refused'; readonly because: EffectOutcome };

/**
 * Keeps an invoice as the provider tells of it, under the company's lock. What follows in the ledger from its being
 * paid or void follows here. `status` is what the kind of event says; without it the invoice's own counts.
 */
export async function mirrorInvoice(
  event: KeptEvent,
  context: EffectContext,
  found: Extract<FoundInvoice, { outcome: 'found' }>,
  { status, otherwise }: { readonly status?: InvoiceStatus; readonly otherwise: InvoiceStatus },
): Promise<MirroredInvoice> {
  const { transaction, newId } = context;
  const { companyId, providerInvoiceId, subscriptionId, own } = found;
  const wire = event.object;
  await lockCompany(transaction, companyId);
  const names = {
    number: textIn(wire.number, 100),
    hostedUrl: textIn(wire.hosted_invoice_url),
    dueAt: momentIn(wire.due_date),
  };
  if (own !== null) await attachProviderInvoice(transaction, own.id, { providerInvoiceId, ...names });
  const transitions = fieldsIn(wire.status_transitions);
  const told = status ?? STATUSES.get(textIn(wire.status) ?? '') ?? otherwise;
  const paidAt = told === 'PAID' ? (momentIn(transitions.paid_at) ?? event.happenedAt) : null;
  const amountMinor = minorIn(wire.total) ?? minorIn(wire.amount_due) ?? minorIn(wire.amount_paid) ?? 0n;
  const upserted = await upsertInvoice(transaction, {
    newId: newId(),
    providerInvoiceId,
    companyId,
    kind: await kindOf(context, providerInvoiceId, subscriptionId),
    status: told,
    // A credit note in the shape of an invoice asks for nothing.
    amountMinor: amountMinor < 0n ? 0n : amountMinor,
    currency: currencyIn(wire.currency) ?? 'usd',
    ...periodOf(event),
    ...names,
    finalizedAt: momentIn(transitions.finalized_at),
    paidAt,
  });
  if (upserted.outcome === 'of-another-company') {
    const reason = `invoice ${providerInvoiceId} is known as another company's`;
    return { outcome: 'refused', because: { outcome: 'failed', reason, companyId } };
  }
  const { invoice } = upserted;
  if (invoice.status === 'PAID' && told === 'PAID') {
    await markInvoicePaid(transaction, { invoiceId: invoice.id, paidAt: paidAt ?? event.happenedAt });
  }
  if (invoice.status === 'VOID' && told === 'VOID') {
    await voidInvoice(transaction, { invoiceId: invoice.id, reason: 'voided at the payment provider' });
  }
  return { outcome: 'mirrored', invoice, isStale: upserted.outcome === 'stale' };
}

/** A pack's invoice stays one, whichever of its events comes first. */
async function kindOf(
  { transaction }: EffectContext,
  providerInvoiceId: string,
  subscriptionId: string | null,
): Promise<'SUBSCRIPTION' | 'PACK' | 'MANUAL'> {
  if (subscriptionId !== null) return 'SUBSCRIPTION';
  const known = await findInvoiceByProviderId(transaction, providerInvoiceId);
  return known?.kind === 'PACK' || known?.kind === 'SUBSCRIPTION' ? known.kind : 'MANUAL';
}

/** Of the lines that are no proration; the invoice's own period is the one that usage was counted in. */
export function periodOf(event: KeptEvent): {
  readonly periodStart: Date | null;
  readonly periodEnd: Date | null;
} {
  const lines = listIn(event.object.lines);
  const line = lines.find(({ proration }) => proration !== true) ?? lines[0];
  const period = fieldsIn(line?.period);
  const [periodStart, periodEnd] = [momentIn(period.start), momentIn(period.end)];
  if (periodStart === null || periodEnd === null || periodEnd < periodStart) {
    return { periodStart: null, periodEnd: null };
  }
  return { periodStart, periodEnd };
}
