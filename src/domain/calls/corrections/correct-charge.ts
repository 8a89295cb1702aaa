import type { Statements, Transaction } from '../../../ports/database.ts';
import type { JobQueue } from '../../../ports/job-queue.ts';
import { firstDayOfMonth } from '../../credits/billing-month.ts';
import { returnSpending } from '../../credits/budgets/budget-levels.ts';
import { creditInvoice, partsOnInvoices } from '../../credits/invoices/invoice-credits.ts';
import { INVOICE_ISSUED_QUEUE } from '../../credits/invoices/monthly-invoices.ts';
import type { AccountLevel } from '../../credits/ledger/credit-account.ts';
import { lockAccount, postTransaction } from '../../credits/ledger/ledger.ts';
import { ALL_KEYS } from '../usage/usage-report.ts';

/**
 * Credits of a call that are given back. The call and the sums of its day stay as they were charged: a correction is a line of
 * its own, dated when it is made. Who paid gets the credits. If a POSTPAID company pays the call by invoice, they come off
 * that invoice besides: off its usage, or by a credit note if it was issued. Limits and budgets of the running month have
 * them back; those of past months stay as they are.
 */
export interface ChargeCorrection {
  readonly id: string;
  readonly callId: string;
  readonly creditsMicro: bigint;
  readonly reason: string;
  readonly createdAt: Date;
}

interface CorrectionToMake {
  readonly id: string;
  readonly callId: string;
  /** Above zero. */
  readonly creditsMicro: bigint;
  /** One of a call; with the same amount it is a repeat. */
  readonly reason: string;
  /** Set where the call is priced again. */
  readonly priceId?: string;
  readonly now: Date;
}

type Corrected =
  | {
      readonly outcome: 'corrected';
      readonly companyId: string;
      /** To be published after the commit. */
      readonly level: AccountLevel;
    }
  | { readonly outcome: 'corrected-before' | 'not-found' }
  | { readonly outcome: 'refused'; readonly problem: string };

export const LONGEST_REASON = 500;

/** All corrections of a call together never exceed its charge. Repeating one changes nothing. */
export async function correctCharge(
  transaction: Transaction,
  jobQueue: Pick<JobQueue, 'enqueue'>,
  { id, callId, creditsMicro, reason, priceId, now }: CorrectionToMake,
): Promise<Corrected> {
  const call = await lockCall(transaction, callId);
  if (call === null) return { outcome: 'not-found' };
  const before = await listCorrections(transaction, [callId]);
  const same = before.find((one) => one.reason === reason);
  if (same?.creditsMicro === creditsMicro) return { outcome: 'corrected-before' };
  if (same !== undefined) return refused('another amount was given back for this reason: use another reason');
  const leftMicro = before.reduce((left, one) => left - one.creditsMicro, call.chargeMicro);
  if (creditsMicro > leftMicro) {
    return refused(`${inCredits(leftMicro)} of its ${inCredits(call.chargeMicro)} credits can be given back`);
  }
  const { companyId, payerId } = call;
  const parts =
    payerId === null ? await partsOnInvoices(transaction, companyId, { callId, creditsMicro }) : [];
  if (parts.some(({ invoice }) => invoice?.status === 'VOID')) {
    return refused('its invoice is void, which has given back all of its usage');
  }
  const isRunningMonth = call.month === firstDayOfMonth(now.getTime());
  await transaction.query(
    `insert into charge_corrections (id, call_id, company_id, account_id, credits_micro, reason, price_id,
       is_running_month, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      ...[id, callId, companyId, payerId ?? companyId, creditsMicro, reason, priceId ?? null],
      ...[isRunningMonth, now],
    ],
  );
  const posted = await postTransaction(transaction, {
    ...{
      accountId: payerId ?? companyId,
      type: 'ADJUSTMENT',
      amountMicro: creditsMicro,
      contra: 'usage',
    },
    ...{ sourceKind: 'charge-correction', sourceId: `${callId}/${id}`, reason },
  });
  if (posted.outcome === 'wrong-amount') throw new Error(`correction of call ${callId}: ${posted.problem}`);
  if (posted.outcome !== 'posted') throw new Error(`correction of call ${callId}: ${posted.outcome}`);
  let { level } = posted;
  for (const part of parts) {
    level = (await creditInvoice(transaction, { correctionId: id, companyId, memo: reason }, part)) ?? level;
    if (part.invoice === null) continue;
    await jobQueue.enqueue(
      INVOICE_ISSUED_QUEUE.name,
      { invoiceId: part.invoice.id },
      { within: transaction },
    );
  }
  if (isRunningMonth) await returnUsage(transaction, call, creditsMicro);
  return { outcome: 'corrected', companyId, level };
}

/** Of these calls, oldest first. */
export async function listCorrections(
  statements: Statements,
  callIds: readonly string[],
): Promise<readonly ChargeCorrection[]> {
  return await statements.query<ChargeCorrection>(
    `select id, call_id as "callId", credits_micro as "creditsMicro", reason, created_at as "createdAt"
     from charge_corrections where call_id = any($1::uuid[]) order by created_at, id`,
    [callIds],
  );
}

function refused(problem: string): Corrected {
  return { outcome: 'refused', problem };
}

function inCredits(micro: bigint): string {
  return String(Number(micro) / 1_000_000);
}

interface CorrectedCall {
  readonly id: string;
  readonly companyId: string;
  /** The user who paid; null if the company did. */
  readonly payerId: string | null;
  readonly keyId: string | null;
  readonly alias: string;
  readonly chargeMicro: bigint;
  readonly project: string | null;
  readonly endUser: string | null;
  /** In which it began; the first day of its month likewise. */
  readonly day: string;
  readonly month: string;
}

/** Locks the accounts as all charging does: those of the company and of the user who paid. */
async function lockCall(transaction: Transaction, callId: string): Promise<CorrectedCall | null> {
  const read = async () => {
    const [call] = await transaction.query<CorrectedCall>(
      `select id, company_id as "companyId", payer_id as "payerId", key_id as "keyId", alias, charge_micro as "chargeMicro",
         project, end_user as "endUser", to_char(started_at at time zone 'utc', 'YYYY-MM-DD') as day,
         to_char(started_at at time zone 'utc', 'YYYY-MM-01') as month
       from calls where id = $1`,
      [callId],
    );
    return call ?? null;
  };
  const call = await read();
  if (call === null) return null;
  const { companyId, payerId } = call;
  for (const id of [...new Set([companyId, payerId ?? companyId])].sort()) await lockAccount(transaction, id);
  // What was withheld of it may have been posted in the meantime.
  return await read();
}

/** For limits and budgets. The sums that reports show stay as they are. */
async function returnUsage(
  transaction: Transaction,
  call: CorrectedCall,
  creditsMicro: bigint,
): Promise<void> {
  await transaction.query(
    `update usage_days set returned_micro = returned_micro + $5
     where company_id = $1 and key_id = $2 and day = $3::date and alias = $4`,
    [call.companyId, ALL_KEYS, call.day, call.alias, creditsMicro],
  );
  await returnSpending(transaction, { call, month: call.month, creditsMicro });
}
