/**
 * Every kind of alert there is. A new one is a row here and a call of `dispatch` (dispatch.ts) in the transaction that
 * knows the fact; channels, deliveries, GraphQL and the console take it from this table.
 */
export const ALERT_EVENTS = {
  LOW_BALANCE: {
    audience: 'company',
    type: 'alert.low_balance',
    name: 'Low balance',
    meaning: 'The balance has fallen to one of the thresholds of alertSettings.',
  },
  CREDIT_LINE: {
    audience: 'company',
    type: 'alert.credit_line',
    name: 'Credit limit',
    meaning: 'A share of the credit limit is used.',
  },
  KEY_SPENDING: {
    audience: 'company',
    type: 'alert.key_spending',
    name: 'Spending of a key',
    meaning: 'An API key has spent a share of its monthly limit.',
  },
  BUDGET: {
    audience: 'company',
    type: 'alert.budget',
    name: 'Budget',
    meaning: 'A share of a monthly budget is spent.',
  },
  CREDITS_EXPIRING: {
    audience: 'company',
    type: 'alert.credits_expiring',
    name: 'Credits expire soon',
    meaning: 'Credits expire within the days of CREDIT_EXPIRY_NOTICE_DAYS unless they are used.',
  },
  CREDITS_EXPIRED: {
    audience: 'company',
    type: 'alert.credits_expired',
    name: 'Credits have expired',
    meaning: 'Credits were not used in time.',
  },
  WITHHELD_USAGE: {
    audience: 'operators',
    type: 'alert.withheld_usage',
    name: 'Withheld usage',
    meaning: 'Providers reported more usage than a call can have; the excess is not charged.',
  },
  AUDIT_DIFFERENCES: {
    audience: 'operators',
    type: 'alert.audit_differences',
    name: 'Differences of the audit',
    meaning: 'The daily audit found differences in the books that the audit before did not find.',
  },
} as const satisfies Record<string, AlertEventRow>;

interface AlertEventRow {
  /** Whose channels it goes to: those of the company that it is about, or those of the operators. */
  readonly audience: 'company' | 'operators';
  /** As webhooks name it. */
  readonly type: `alert.${string}`;
  /** As people read it. */
  readonly name: string;
  readonly meaning: string;
}

export type AlertEventKind = keyof typeof ALERT_EVENTS;

export const ALERT_EVENT_KINDS = Object.keys(ALERT_EVENTS) as readonly AlertEventKind[];

/** Sent by the test button alone. */
export const TEST_EVENT = 'TEST';

/** One fact, raised once. */
export interface AlertEvent {
  readonly kind: AlertEventKind;
  /** The company that it is about; null for operators. */
  readonly companyId: string | null;
  readonly companyName: string | null;
  /**
   * The same for the same fact within a company and kind, as `KEY_ID:80:2030-01`: raised again, it is delivered once a
   * channel. At most 500 characters.
   */
  readonly fact: string;
  /**
   * What the dedupe keys of mails about this fact begin with, where it is mailed to chosen people besides: who is one of
   * them and has a channel gets one mail. `alert:COMPANY:KIND:FACT` unless said.
   */
  readonly mailKey?: string;
  readonly raisedAt: Date;
  /** One line. */
  readonly title: string;
  /** A sentence or two: what happened and what to do. */
  readonly message: string;
  /** Figures for programs, such as `{ balance_credits: 12.5 }`. */
  readonly data: AlertData;
}

export type AlertData = Readonly<Record<string, string | number | boolean | null | readonly string[]>>;

/** What a webhook gets, and what the other channels are written from. */
export interface AlertPayload {
  /** Receivers that get it twice recognize it by this. */
  readonly id: string;
  readonly object: 'alert';
  readonly type: string;
  readonly created_at: string;
  readonly is_test: boolean;
  readonly company: { readonly id: string; readonly name: string } | null;
  readonly title: string;
  readonly message: string;
  readonly data: AlertData;
}

const MOST_TITLE = 200;
/** A mail holds no more in a paragraph. */
const MOST_MESSAGE = 400;
const MOST_NAME = 200;

export function payloadOf(event: AlertEvent, id: string): AlertPayload {
  const { kind, companyId, companyName, raisedAt, title, message, data } = event;
  return {
    ...{ id, object: 'alert', type: ALERT_EVENTS[kind].type, created_at: raisedAt.toISOString() },
    is_test: false,
    company: companyOf(companyId, companyName),
    ...{ title: line(title, MOST_TITLE), message: line(message, MOST_MESSAGE), data },
  };
}

export function testPayload(
  id: string,
  company: { readonly id: string; readonly name: string } | null,
  channelName: string,
  now: Date,
): AlertPayload {
  return {
    ...{ id, object: 'alert', type: 'alert.test', created_at: now.toISOString(), is_test: true },
    company: companyOf(company?.id ?? null, company?.name ?? null),
    title: 'Test alert',
    message: line(`This is a test of the alert channel ${channelName}. Nothing has happened.`, MOST_MESSAGE),
    data: {},
  };
}

/**
 * What Slack, and what speaks as Slack does, takes. People choose names of companies and keys: `&`, `<` and `>` are escaped
 * as Slack demands, so a name makes no link and no mention, and an `@` is followed by a space of no width.
 */
export function slackBody({ title, message }: Pick<AlertPayload, 'title' | 'message'>): string {
  return JSON.stringify({ text: `*${slackText(title).replaceAll('*', '')}*\n${slackText(message)}` });
}

function slackText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('@', '@\u200b');
}

function companyOf(id: string | null, name: string | null): AlertPayload['company'] {
  return id === null ? null : { id, name: line(name ?? '', MOST_NAME) };
}

/** One line of bounded length, without control characters and what reverses the direction of writing. */
function line(text: string, most: number): string {
  const plain = text.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ');
  return [...plain].slice(0, most).join('').trim();
}
