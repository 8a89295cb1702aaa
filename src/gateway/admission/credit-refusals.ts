import type { CallBook } from '../../domain/calls/settlement/settle-call.ts';
import { heldBudget } from '../../domain/credits/budgets/budget-levels.ts';
import {
  budgetsOfCall,
  type CallBudget,
  type CompanyBudgets,
} from '../../domain/credits/budgets/call-budgets.ts';
import { type BillingStatus, isBlocked } from '../../domain/credits/holds/billing-status.ts';
import type { Payer } from '../../domain/credits/holds/holds.ts';
import { BALANCE_LEVEL, creditsOfMicro } from '../../domain/credits/ledger/credit-account.ts';
import { spendingKeyId } from '../../domain/keys/api-key.ts';
import type { KeyInUse } from '../../domain/keys/key-lookup.ts';
import type { CompanyLimitName } from '../../domain/limits/company-ceilings.ts';
import type { KeyLimitName, Limits } from '../../domain/limits/limits.ts';
import { type Refusal, suspendedMessage } from './refusals.ts';

/** The balance that pays for a key's calls, and the company's budgets that they count against. */
export function payerOf(
  key: KeyInUse,
  startedAtMs: number,
  budgets: CompanyBudgets | null = null,
  endUser?: string,
): Payer {
  const { id: keyId, companyId, monthlySpendingLimitMicro: monthlyLimitMicro, payerUserId: userId } = key;
  const { rotationRootId } = key;
  const own = { companyId, keyId, monthlyLimitMicro, startedAtMs, userId };
  const payer = rotationRootId === null ? own : { ...own, spendingKeyId: rotationRootId };
  if (budgets === null) return payer;
  const call = { keyId: spendingKeyId(key), project: key.project, endUser };
  return { ...payer, budgets: budgetsOfCall(budgets, call) };
}

/** Null if only limits and credits remain to be checked. */
function billingStatusRefusal(status: BillingStatus, key: KeyInUse, nowMs: number): Refusal | null {
  const { suspendedFor } = status;
  if (suspendedFor !== null) return { name: 'companySuspended', message: suspendedMessage(suspendedFor) };
  if (isBlocked(status, nowMs)) return { name: 'planLimitExceeded' };
  return status.isInDebt && key.payerUserId !== null ? COMPANY_IN_DEBT : null;
}

export const NOT_PAYABLE_NOW: Refusal = {
  name: 'unavailable',
  message: 'Credits cannot be checked or charged right now. Retry with backoff.',
};

export function blockedBy(
  calls: Pick<CallBook, 'hasRoom'>,
  status: BillingStatus,
  key: KeyInUse,
  nowMs: number,
): Refusal | null {
  return billingStatusRefusal(status, key, nowMs) ?? (calls.hasRoom() ? null : NOT_PAYABLE_NOW);
}

export type NotAdmitted = Exclude<Awaited<ReturnType<Limits['reserve']>>, { outcome: 'admitted' }>;

export function limitRefusal(limited: NotAdmitted, payer: Payer, isHostedCall: boolean): Refusal {
  switch (limited.outcome) {
    case 'unknown-level':
      return NOT_PAYABLE_NOW;
    case 'held':
      return {
        name: 'creditsHeld',
        message: heldMessage(limited.hold, payer),
        retryAfterMs: limited.retryAfterMs,
      };
    case 'not-payable':
      return levelRefusal(limited.hold, payer, limited.level, isHostedCall);
    case 'refused':
      return {
        name: 'rateLimited',
        message: limitMessage(limited.by),
        retryAfterMs: limited.retryAfterMs,
      };
  }
}

/** For a hold that was not granted, by the level that it was held against. */
function levelRefusal(
  { name }: { readonly name: string },
  payer: Payer,
  levelMicro: number,
  isHosted: boolean,
): Refusal {
  const budget = heldBudget(name, payer.budgets ?? []);
  if (budget !== null) return budgetRefusal(budget, payer);
  const isBalance = name.startsWith(BALANCE_LEVEL);
  const refusal = isBalance ? creditRefusal(payer) : spendingRefusal(payer);
  return isHosted && levelMicro > 0 ? { ...refusal, message: TOOLS_TOO_DEAR } : refusal;
}

function creditRefusal({ userId }: Payer): Refusal {
  return { name: 'insufficientCredits', message: userId === null ? NONE_LEFT : NONE_LEFT_OF_USER };
}

const NONE_LEFT =
  'Your company has no credits left. Buy credits, or ask for a higher credit line; calls resume at once.';
const NONE_LEFT_OF_USER =
  'The personal credit balance that pays for this key is used up. Ask a company admin to move credits to it, or use a key that the company pays for.';

/** Names what the running calls hold. */
function heldMessage({ name }: { readonly name: string }, payer: Payer): string {
  const budget = heldBudget(name, payer.budgets ?? []);
  const held =
    budget !== null
      ? budgetName(budget)
      : name.startsWith(BALANCE_LEVEL)
        ? balanceName(payer)
        : limitName(payer);
  return `What is left of ${held} is held by calls that are still running. Retry after the time in retry-after, or lower max_tokens.`;
}

function balanceName({ userId }: Payer): string {
  return userId === null
    ? 'the credits of your company'
    : 'the personal credit balance that pays for this key';
}

function limitName({ monthlyLimitMicro }: Payer): string {
  return `this key's monthly spending limit of ${creditsOfMicro(monthlyLimitMicro ?? 0n)} credits`;
}

function budgetName({ scope, subject, mostMicro }: CallBudget): string {
  const of = BUDGET_OF[scope](JSON.stringify(subject));
  return `the monthly budget of ${creditsOfMicro(BigInt(mostMicro))} credits of ${of}`;
}

/** For a call with hosted tools, whose whole estimate is held. */
const TOOLS_TOO_DEAR =
  'The credits that are free do not cover this call with all uses of its hosted tools. Lower max_tool_calls or max_uses, leave tools out, or buy credits.';

/** Users' credits are credits of the company, which has a debt. */
const COMPANY_IN_DEBT: Refusal = {
  name: 'insufficientCredits',
  message:
    'The balance of your company is below zero, so personal credit balances are blocked. Buy credits for the company; calls resume immediately.',
};

/** Buying credits does not help with a key's own limit, so it is not a 402. */
function spendingRefusal(payer: Payer): Refusal {
  const free = nextMonth(payer.startedAtMs);
  const message = `${capital(limitName(payer))} is used up. Raise the limit, use another key, or wait until ${free} (UTC).`;
  return { name: 'keySpendingLimit', message };
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Only a raised budget or the next month helps. Client-chosen values are cut to a maximum length. */
function budgetRefusal(budget: CallBudget, { startedAtMs }: Payer): Refusal {
  const resets = `It resets on ${nextMonth(startedAtMs)} (UTC).`;
  const message = `${capital(budgetName(budget))} is used up. Have a company admin raise it, or wait. ${resets}`;
  return { name: 'budgetExceeded', message };
}

const BUDGET_OF: Readonly<Record<CallBudget['scope'], (subject: string) => string>> = {
  COMPANY: () => 'your company',
  PROJECT: (subject) => `the project ${subject}`,
  KEY: () => 'this key',
  END_USER: (subject) => `the end user ${subject}`,
};

function nextMonth(atMs: number): string {
  const at = new Date(atMs);
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1)).toISOString().slice(0, 10);
}

const CEILING_MESSAGES: Readonly<Record<CompanyLimitName, string>> = {
  'company requests': 'requests a minute',
  'company tokens': 'tokens a minute',
  'company calls in flight': 'calls in flight',
  'company documents': 'documents a day',
};

function isCompanyLimit(by: KeyLimitName): by is CompanyLimitName {
  return by in CEILING_MESSAGES;
}

/** Names the limit that a call exceeds. */
function limitMessage(by: KeyLimitName): string {
  if (by === 'streams') return ONE_STREAM;
  if (isCompanyLimit(by)) {
    return `Your company is over its ceiling of ${CEILING_MESSAGES[by]}, over all its keys. Back off and try again, or ask the operator to raise the ceiling.`;
  }
  return `This key is over its limit of ${by}${by === 'calls in flight' ? '' : ' a minute'}. Back off and try again.`;
}

const ONE_STREAM =
  'Your company abandoned too many streams before their usage arrived, so it is limited to one stream at a time for an hour. Read streams to the end, or call without stream.';
