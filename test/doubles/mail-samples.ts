import type { MailToSend } from '../../src/domain/mail/outbox.ts';
import type { MailData, MailKind } from '../../src/domain/mail/templates.ts';

const at = new Date(Date.UTC(2030, 2, 4, 5, 6));
const companyName = 'Acme';
const amount = { value: '1200.50', currency: 'eur' };
const token = 'tok_abcdefghijklmnopqrstuvwxyz012345';

/** The data of every kind of mail, with every field filled. */
export const MAIL_SAMPLES: { readonly [Kind in MailKind]: MailData<Kind> } = {
  receipt: {
    companyName,
    item: 'Credit pack Starter',
    amount,
    paidAt: at,
    creditsMicro: 1_500_000_000n,
    creditsExpireAt: at,
    invoiceNumber: 'R-1',
    invoiceUrl: 'https://pay.example/i/1?a=1&b=2',
  },
  'payment-failed': {
    companyName,
    amount,
    reason: 'card declined',
    nextAttemptAt: at,
    payUrl: 'https://pay.example/p/1',
  },
  'payment-action-required': { companyName, amount, payUrl: 'https://pay.example/p/2', dueAt: at },
  'trial-ending': {
    ...{ companyName, planName: 'Team', endsAt: at, amount },
    ...{ creditsMicro: 5_000_000n, trialCreditsMicro: 1_000_000n, isCanceled: false },
  },
  'plan-request': { companyName, planName: 'Enterprise', askedBy: 'a@acme.example', message: 'Call us.' },
  'upcoming-invoice': { companyName, amount, dueAt: at, planName: 'Team', creditsMicro: 5_000_000n },
  'invoice-issued': {
    companyName,
    invoiceNumber: 'R-2',
    amount,
    periodStart: at,
    periodEnd: at,
    dueAt: at,
    invoiceUrl: 'https://pay.example/i/2',
  },
  'invoice-overdue': {
    companyName,
    invoiceNumber: 'R-3',
    amount,
    dueAt: at,
    invoiceUrl: 'https://pay.example/i/3',
  },
  'payment-dispute': { companyName, state: 'lost', amount, creditsMicro: 2_500_000n },
  'refund-failed': { companyName, amount, creditsMicro: 2_500_000n },
  'payment-problem': {
    companyName,
    problem: 'dispute-opened',
    reference: 'dp_1',
    amount,
    creditsMicro: 2_500_000n,
    respondBy: at,
  },
  'low-balance': { companyName, balanceMicro: 2_500_000n, thresholdMicro: 10_000_000n, at },
  'credits-expiring': {
    companyName,
    totalMicro: 3_500_000n,
    lots: [
      { label: 'Credit pack Starter', creditsMicro: 1_000_000n, expiresAt: at },
      { label: 'Plan Pro', creditsMicro: 2_500_000n, expiresAt: at },
    ],
  },
  'credits-expired': {
    companyName,
    totalMicro: 1_000_000n,
    lots: [{ label: 'Trial of Pro', creditsMicro: 1_000_000n, expiresAt: at }],
  },
  'spending-limit': {
    companyName,
    keyName: 'Production',
    limitMicro: 50_000_000n,
    spentMicro: 50_000_001n,
    percent: 100,
    resetsAt: at,
  },
  alert: {
    ...{ title: 'Customer has 5 credits left', message: 'When nothing is left, calls are refused.' },
    ...{ companyName, at, isTest: false },
  },
  budget: {
    companyName,
    budgetOf: 'the project website',
    isHard: true,
    limitMicro: 50_000_000n,
    spentMicro: 40_000_000n,
    percent: 80,
    resetsAt: at,
  },
  'withheld-usage': {
    calls: 2,
    creditsMicro: 9_007_199_254_740_991n,
    companies: [companyName],
    aliases: ['svc/chat-default'],
  },
  'audit-differences': { differences: 3, newDifferences: 2, kinds: ['CASH', 'TOTALS'], checkedAt: at },
  'company-suspended': { companyName, reason: 'The card was reported as stolen', at },
  'company-resumed': { companyName, at },
  invitation: { companyName, invitedBy: 'Ada', role: 'member', token, expiresAt: at },
  'verify-email': { token, expiresAt: at },
  'password-reset': { token, expiresAt: at },
  'scorecard-reminder': {
    companyName,
    meetingId: '0190f0f0-0000-7000-8000-000000000001',
    talentName: 'Grace',
    jobTitle: 'Engineer',
    endedAt: at,
  },
  'meeting-summary': {
    companyName,
    meetingId: '0190f0f0-0000-7000-8000-000000000001',
    room: 'interview-1',
    jobTitle: 'Engineer',
    talentName: 'Grace',
    sentBy: 'ada@customer.example',
    sections: [{ name: 'Decisions', lines: ['Ada: We decided to go on.'] }],
  },
};

export const MAIL_KINDS = Object.keys(MAIL_SAMPLES) as MailKind[];

export function sampleMail(kind: MailKind, changes: Partial<MailToSend> = {}): MailToSend {
  return { kind, to: 'ada@customer.example', data: MAIL_SAMPLES[kind], ...changes } as MailToSend;
}
