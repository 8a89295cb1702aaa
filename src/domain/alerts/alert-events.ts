/**
 * All types of alerts. To add one, add a row here and a call of `dispatch` (dispatch.ts) in the transaction that
 * establishes the fact; channels, deliveries, GraphQL and the console use this table.
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
    meaning: 'Credits expired unused.',
  },
  WITHHELD_USAGE: {
    audience: 'operators',
    type: 'alert.withheld_usage',
    name: 'Withheld usage',
    meaning: 'Providers reported more usage than a call can have; the excess is not charged.',
  },
  UNPRICED_CALLS: {
    audience: 'operators',
    type: 'alert.unpriced_calls',
    name: 'Costs without a price',
    meaning: 'The first call of a day whose provider reported a cost that no price covers.',
  },
  AUDIT_DIFFERENCES: {
    audience: 'operators',
    type: 'alert.audit_differences',
    name: 'Differences of the audit',
    meaning: 'The daily audit found new differences in the ledger.',
  },
} as const satisfies Record<string, AlertEventRow>;

interface AlertEventRow {
  /** Whether it is sent to the channels of the company concerned or to those of the operators. */
  readonly audience: 'company' | 'operators';
  /** The name in webhooks. */
  readonly type: `alert.${string}`;
  /** The name shown to people. */
  readonly name: string;
  readonly meaning: string;
}

export type AlertEventKind = keyof typeof ALERT_EVENTS;

export const ALERT_EVENT_KINDS = Object.keys(ALERT_EVENTS) as readonly AlertEventKind[];

/** Only sent by the test button. */
export const TEST_EVENT = 'TEST';

/** A fact, raised once. */
export interface AlertEvent {
  readonly kind: AlertEventKind;
  /** The company that it is about; null if it is for operators. */
  readonly companyId: string | null;
  readonly companyName: string | null;
  /**
   * Identifies the fact within a company and kind, for example `KEY_ID:80:2030-01`: if raised again, it is still
   * delivered once per channel. At most 500 characters.
   */
  readonly fact: string;
  /**
   * Prefix of the dedupe keys of mails about this fact, if it is also mailed to selected people: a person who has a
   * channel too gets one mail. Defaults to `alert:COMPANY:KIND:FACT`.
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

/** The body of a webhook, from which the messages of other channels are written. */
export interface AlertPayload {
  /** Receivers recognize a repeated delivery by it. */
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
/** The limit of a paragraph in a mail. */
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
 * The body for Slack and compatible receivers. Users choose the names of companies and keys: `&`, `<` and `>` are
 * escaped as Slack requires, so that a name creates no link or mention, and an `@` is followed by a zero-width space.
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

/** One line of limited length, without control characters and characters that change the writing direction. */
function line(text: string, most: number): string {
  const plain = text.toWellFormed().replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu, ' ');
  return [...plain].slice(0, most).join('').trim();
}
