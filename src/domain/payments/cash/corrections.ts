import type { Transaction } from '../../../ports/database.ts';
import type { AccountLevel } from '../../credits/ledger/credit-account.ts';
import { findTransactionOf, lockAccount, postTransaction } from '../../credits/ledger/ledger.ts';
import { type CashAccount, type CashSource, postCash } from './cash.ts';

/**
 * Corrections by an operator, for books that differ from the money. Nothing is edited: a correction is a further
 * posting that names the source it corrects, and the audit adds the two. A source whose credits and cash are corrected
 * to zero counts as reversed.
 */
export const CORRECTED_SOURCES = [
  'credit-pack-purchase',
  'plan-invoice',
  'plan-line',
  'charge-refund',
  'invoice',
  'credit-note',
  'dispute',
] as const;
export type CorrectedSource = (typeof CORRECTED_SOURCES)[number];

/** The source kind of the posting; its id is `KIND/ID/KEY`. */
export const CORRECTION_SOURCE = 'correction';

interface CorrectionParams {
  readonly kind: CorrectedSource;
  readonly id: string;
  readonly creditsMicro: bigint;
  readonly cashMinor: bigint;
  /** The same key makes no second correction. */
  readonly key: string;
  readonly reason: string;
  readonly now: Date;
}

export type Corrected =
  | {
      readonly outcome: 'corrected' | 'done-before';
      readonly companyId: string;
      readonly level: AccountLevel | null;
    }
  | { readonly outcome: 'no-such-source' }
  | { readonly outcome: 'refused'; readonly message: string };

export async function correctSource(transaction: Transaction, params: CorrectionParams): Promise<Corrected> {
  const { kind, id, creditsMicro, cashMinor, key, reason, now } = params;
  const source = await findSource(transaction, kind, id);
  if (source === null) return { outcome: 'no-such-source' };
  const { companyId } = source;
  const sourceId = `${kind}/${id}/${key}`;
  if (sourceId.length > 200) return { outcome: 'refused', message: 'The idempotency key is too long.' };
  // Two that are typed at once wait for each other here.
  await lockAccount(transaction, companyId);
  const before = await findCorrection(transaction, source, sourceId, key);
  if (before !== null && (before.creditsMicro !== creditsMicro || before.cashMinor !== cashMinor)) {
    return { outcome: 'refused', message: OTHER_CORRECTION };
  }
  let isNew = false;
  let level: AccountLevel | null = null;
  if (creditsMicro !== 0n) {
    const posted = await postTransaction(transaction, {
      ...{ accountId: companyId, type: 'ADJUSTMENT', amountMicro: creditsMicro, contra: 'adjustments' },
      ...{ sourceKind: CORRECTION_SOURCE, sourceId, reason },
      takesBack: { grant: { sourceKind: kind, sourceId: id } },
    });
    if (posted.outcome === 'no-account' || posted.outcome === 'wrong-amount') {
      const message =
        posted.outcome === 'wrong-amount' ? posted.problem : `There is no account ${companyId}.`;
      return { outcome: 'refused', message };
    }
    isNew = posted.outcome === 'posted';
    level = posted.level;
  }
  if (cashMinor !== 0n) {
    const { cash } = source;
    if (cash === null) return { outcome: 'refused', message: `A ${kind} has no cash of its own.` };
    const entry = { companyId, amountMinor: cashMinor, step: stepOf(key), reason, happenedAt: now };
    isNew = (await postCash(transaction, { ...entry, ...cash })) || isNew;
  }
  return { outcome: isNew ? 'corrected' : 'done-before', companyId, level };
}

const OTHER_CORRECTION =
  'This idempotency key was used for other amounts of this source: nothing was changed, use another key.';

const stepOf = (key: string) => `correction:${key}`;

/** What was corrected under this key; null if nothing was. */
async function findCorrection(
  transaction: Transaction,
  { cash }: FoundSource,
  sourceId: string,
  key: string,
): Promise<{ readonly creditsMicro: bigint; readonly cashMinor: bigint } | null> {
  const posted = await findTransactionOf(transaction, { sourceKind: CORRECTION_SOURCE, sourceId });
  const [entry] = await transaction.query<{ amountMinor: bigint }>(
    `select amount_minor as "amountMinor" from cash_entries
     where source_kind = $1 and source_id = $2 and account = $3 and step = $4`,
    [cash?.sourceKind ?? null, cash?.sourceId ?? null, cash?.account ?? null, stepOf(key)],
  );
  if (posted === null && entry === undefined) return null;
  return { creditsMicro: posted?.amountMicro ?? 0n, cashMinor: entry?.amountMinor ?? 0n };
}

interface FoundSource {
  readonly companyId: string;
  /** The cash entry with its money; null if it has none. */
  readonly cash: {
    readonly account: CashAccount;
    readonly currency: string;
    readonly sourceKind: CashSource;
    readonly sourceId: string;
  } | null;
}

const FIND: Readonly<Record<CorrectedSource, string>> = {
  'credit-pack-purchase': `select company_id, currency, 'credit-pack-purchase' as kind, id::text, 'received' as account
    from credit_pack_purchases where id::text = $1`,
  'plan-invoice': `select company_id, currency, 'invoice', id::text, 'received' from invoices where provider_invoice_id = $1
    union all select company_id, currency, null, null, null from plan_grants where provider_invoice_id = $1`,
  'plan-line': `select company_id, currency, null, null, null from plan_grant_lines
    where provider_invoice_id || ':' || provider_line_id = $1`,
  invoice: `select company_id, currency, 'invoice', id::text, 'received' from invoices
    where id::text = $1 or provider_invoice_id = $1`,
  'charge-refund': `select company_id, currency, kind, charge_id,
      case kind when 'dispute' then 'disputed' when 'credit-note' then 'balance' else 'refunded' end
    from (select *, case when starts_with(charge_id, 'cn_') then 'credit-note'
        when exists (select 1 from payment_disputes where dispute_id = refund.charge_id) then 'dispute'
        else 'charge-refund' end as kind from charge_refunds as refund) as refund where charge_id = $1`,
  'credit-note': `select company_id, currency, 'credit-note', charge_id, 'balance' from charge_refunds where charge_id = $1`,
  dispute: `select company_id, currency, 'dispute', dispute_id, 'disputed' from payment_disputes where dispute_id = $1`,
};

/** Without a row of the source, the owner of the posting or of the cash entry. */
async function findSource(
  transaction: Transaction,
  kind: CorrectedSource,
  id: string,
): Promise<FoundSource | null> {
  const [row] = await transaction.query<{
    companyId: string;
    currency: string | null;
    kind: CashSource | null;
    id: string;
    account: CashAccount;
  }>(
    `select company_id as "companyId", currency, kind, id, account from (
       (select * from (${FIND[kind]}) as row (company_id, currency, kind, id, account) limit 1)
       union all
       (select company_id, currency, source_kind, source_id, account from cash_entries
        where source_kind = $2 and source_id = $1 order by id limit 1)
       union all
       (select account_id, null, null, null, null from credit_transactions
        where source_kind = $2 and (source_id = $1 or starts_with(source_id, $1 || ':')) limit 1)) as found limit 1`,
    [id, kind],
  );
  if (row === undefined) return null;
  const { companyId, currency, account } = row;
  if (row.kind === null || currency === null) return { companyId, cash: null };
  return { companyId, cash: { account, currency, sourceKind: row.kind, sourceId: row.id } };
}
