import type { AlertData, AlertEvent } from '../../alerts/alert-events.ts';
import { creditsAsNumber, creditsOfMicro } from '../ledger/credit-account.ts';
import type { AlertKind } from './alert-settings.ts';

/** The content of an alert's mail. */
export type AlertContent =
  | {
      readonly kind: 'low-balance';
      readonly data: {
        readonly companyName: string;
        readonly balanceMicro: bigint;
        readonly thresholdMicro: bigint;
        readonly at: Date;
        readonly isOfUser?: true;
      };
    }
  | {
      readonly kind: 'spending-limit';
      readonly data: {
        readonly companyName: string;
        readonly keyName: string;
        readonly limitMicro: bigint;
        readonly spentMicro: bigint;
        readonly percent: number;
        readonly resetsAt: Date;
      };
    }
  | BudgetContent;

interface BudgetContent {
  readonly kind: 'budget';
  readonly data: {
    readonly companyName: string;
    readonly budgetOf: string;
    readonly isHard: boolean;
    readonly limitMicro: bigint;
    readonly spentMicro: bigint;
    readonly percent: number;
    readonly resetsAt: Date;
  };
}

interface NoticedAlert {
  readonly kind: AlertKind;
  readonly companyId: string;
  readonly companyName: string;
  readonly raisedAt: Date;
  readonly thresholdPercent: number;
  readonly key: { readonly id: string } | null;
  readonly budget: { readonly id: string } | null;
}

/** An alert as the company's channels get it. `fact` is the same each time it is raised. */
export function eventOf(notice: NoticedAlert, content: AlertContent, fact: string): AlertEvent {
  const { kind, companyId, companyName, raisedAt, thresholdPercent } = notice;
  const known = { kind, companyId, companyName, raisedAt, fact };
  if (content.kind === 'spending-limit') {
    const { keyName, limitMicro, spentMicro, percent, resetsAt } = content.data;
    const data: AlertData = {
      ...{ key_id: notice.key?.id ?? null, key_name: keyName, threshold_percent: percent },
      ...{ spent_credits: creditsAsNumber(spentMicro), limit_credits: creditsAsNumber(limitMicro) },
      resets_at: resetsAt.toISOString(),
    };
    const title = `The key ${keyName} of ${companyName} has spent ${percent} % of its monthly limit`;
    const spent = `It has spent ${creditsOfMicro(spentMicro)} of ${creditsOfMicro(limitMicro)} credits.`;
    const next = percent < 100 ? 'Calls are refused once the limit is reached.' : 'Calls are refused.';
    return {
      ...known,
      data,
      title,
      message: `${spent} ${next} The limit starts again on ${dayOf(resetsAt)}.`,
    };
  }
  if (content.kind === 'budget') return { ...known, ...budgetEvent(notice, content.data) };
  const { balanceMicro, thresholdMicro } = content.data;
  const left = creditsOfMicro(balanceMicro);
  const data: AlertData = {
    ...{ balance_credits: creditsAsNumber(balanceMicro), threshold_credits: creditsAsNumber(thresholdMicro) },
    threshold_percent: thresholdPercent,
  };
  const isUsedUp = balanceMicro <= 0n;
  const message = isUsedUp
    ? 'Calls are refused until credits are bought or the credit limit is raised.'
    : `That is not more than the threshold of ${creditsOfMicro(thresholdMicro)} credits. When nothing is left, calls are refused.`;
  const title = isUsedUp ? `${companyName} has no credits left` : `${companyName} has ${left} credits left`;
  return { ...known, data, title, message };
}

function budgetEvent(
  notice: NoticedAlert,
  { companyName, budgetOf, isHard, limitMicro, spentMicro, percent, resetsAt }: BudgetContent['data'],
): Pick<AlertEvent, 'data' | 'title' | 'message'> {
  const data: AlertData = {
    ...{ budget_id: notice.budget?.id ?? null, budget_of: budgetOf, threshold_percent: percent },
    ...{ spent_credits: creditsAsNumber(spentMicro), limit_credits: creditsAsNumber(limitMicro) },
    resets_at: resetsAt.toISOString(),
  };
  const spent = `${creditsOfMicro(spentMicro)} of ${creditsOfMicro(limitMicro)} credits are spent.`;
  const refused = percent < 100 ? 'When it is used up, calls are refused.' : 'Calls are refused.';
  const next = isHard ? refused : 'No call is refused.';
  return {
    data,
    title: `The budget of ${budgetOf} at ${companyName} is ${percent} % used`,
    message: `${spent} ${next} It resets on ${dayOf(resetsAt)}.`,
  };
}

function dayOf(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}
