import type { z } from 'zod';
import type { ConsoleLinks, MailContent, Template } from './content.ts';
import {
  invoiceIssued,
  invoiceOverdue,
  paymentActionRequired,
  paymentDispute,
  paymentFailed,
  paymentProblem,
  receipt,
  refundFailed,
  trialEnding,
  upcomingInvoice,
} from './templates/billing.ts';
import {
  companyResumed,
  companySuspended,
  invitation,
  meetingSummary,
  passwordReset,
  scorecardReminder,
  verifyEmail,
} from './templates/team.ts';
import {
  alert,
  auditDifferences,
  budget,
  creditsExpired,
  creditsExpiring,
  lowBalance,
  planRequest,
  spendingLimit,
  withheldUsage,
} from './templates/usage.ts';

/** All types of mail. */
export const TEMPLATES = {
  receipt,
  'payment-failed': paymentFailed,
  'payment-action-required': paymentActionRequired,
  'trial-ending': trialEnding,
  'upcoming-invoice': upcomingInvoice,
  'invoice-issued': invoiceIssued,
  'invoice-overdue': invoiceOverdue,
  'payment-dispute': paymentDispute,
  'refund-failed': refundFailed,
  'payment-problem': paymentProblem,
  'low-balance': lowBalance,
  'spending-limit': spendingLimit,
  budget,
  'credits-expiring': creditsExpiring,
  'credits-expired': creditsExpired,
  'withheld-usage': withheldUsage,
  'audit-differences': auditDifferences,
  alert,
  'plan-request': planRequest,
  'company-suspended': companySuspended,
  'company-resumed': companyResumed,
  invitation,
  'password-reset': passwordReset,
  'verify-email': verifyEmail,
  'scorecard-reminder': scorecardReminder,
  'meeting-summary': meetingSummary,
} as const satisfies Record<string, Template<z.ZodType>>;

export type MailKind = keyof typeof TEMPLATES;
/** As the caller provides it: dates as Date, micro-credits as BigInt. */
export type MailData<Kind extends MailKind> = z.input<(typeof TEMPLATES)[Kind]['data']>;
/** As stored: plain JSON. */
export type StoredMailData = { readonly [field: string]: unknown };

type ReadData =
  | { readonly outcome: 'read'; readonly data: StoredMailData; readonly expiresAt: Date | null }
  /** Names the fields, never their values. */
  | { readonly outcome: 'invalid'; readonly reason: string };

type WrittenMail =
  | { readonly outcome: 'written'; readonly content: MailContent }
  | { readonly outcome: 'invalid'; readonly reason: string };

export function readMailData(kind: string, data: unknown): ReadData {
  const template = templateOf(kind);
  if (template === null) return { outcome: 'invalid', reason: 'no mail of this kind is known' };
  const parsed = template.data.safeParse(data);
  if (!parsed.success) return { outcome: 'invalid', reason: wrongFields(parsed.error) };
  const expiresAt = template.expiresAt?.(parsed.data);
  return {
    outcome: 'read',
    data: parsed.data as StoredMailData,
    expiresAt: expiresAt === undefined ? null : new Date(expiresAt),
  };
}

export function writeMail(kind: string, data: unknown, links: ConsoleLinks): WrittenMail {
  const read = readMailData(kind, data);
  const template = templateOf(kind);
  if (read.outcome === 'invalid') return read;
  if (template === null) return { outcome: 'invalid', reason: 'no mail of this kind is known' };
  return { outcome: 'written', content: template.write(read.data, links) };
}

/** The kind is not known statically; the schema of the same template has checked the data. */
function templateOf(kind: string): Template<z.ZodType<StoredMailData>> | null {
  if (!Object.hasOwn(TEMPLATES, kind)) return null;
  return TEMPLATES[kind as MailKind] as unknown as Template<z.ZodType<StoredMailData>>;
}

function wrongFields(error: z.ZodError): string {
  const fields = new Set(
    error.issues.slice(0, 10).map(({ path }) => path.join('.').slice(0, 60) || 'the whole'),
  );
  return `missing or not as they should be: ${[...fields].join(', ')}`;
}
