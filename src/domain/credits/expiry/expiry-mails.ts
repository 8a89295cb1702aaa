import type { Clock } from '../../../ports/clock.ts';
import type { Database, Transaction } from '../../../ports/database.ts';
import type { QueueDefinition } from '../../../ports/job-queue.ts';
import { findCompany } from '../../accounts/company.ts';
import type { AlertEvent } from '../../alerts/alert-events.ts';
import type { AlertDispatch } from '../../alerts/dispatch.ts';
import { mailReceivers, readAlertSettings } from '../alerts/alert-settings.ts';
import { creditsAsNumber, creditsOfMicro } from '../ledger/credit-account.ts';
import { listLots } from '../ledger/credit-lots.ts';

/**
 * Mails about expiring credits: once some days before, and once after they have expired. They go to the users that the
 * company chose for its alerts, otherwise to its admins, and are not sent if it has switched alerts off. For trial
 * credits only the second is sent: the mail that announces the end of the trial says what expires with it.
 */
type ExpiryMail = {
  readonly kind: 'credits-expiring' | 'credits-expired';
  readonly to: string;
  readonly companyId: string;
  readonly dedupeKey: string;
  readonly data: {
    readonly companyName: string;
    readonly totalMicro: bigint;
    /** The first to expire, at most ten. */
    readonly lots: LotInMail[];
  };
};

interface LotInMail {
  readonly label: string;
  readonly creditsMicro: bigint;
  readonly expiresAt: Date;
}

/** Takes mails within a transaction: they are sent if and only if it commits. */
export interface ExpiryOutbox {
  send(mail: ExpiryMail, within: Transaction): Promise<unknown>;
}

export interface ExpiringLot {
  readonly version: bigint;
  readonly label: string | null;
  readonly creditsMicro: bigint;
  readonly expiresAt: Date;
}

const MOST_LOTS = 10;

/** Mails a company about its lots and alerts its channels. Nothing is sent if none of the lots has credits. */
export async function mailExpiry(
  transaction: Transaction,
  { mail, alerts }: { readonly mail: ExpiryOutbox; readonly alerts?: AlertDispatch | undefined },
  kind: ExpiryMail['kind'],
  {
    companyId,
    lots,
    now,
  }: { readonly companyId: string; readonly lots: readonly ExpiringLot[]; readonly now: Date },
): Promise<void> {
  const company = await findCompany(transaction, companyId);
  const [first] = lots;
  if (company === null || first === undefined) return;
  const settings = await readAlertSettings(transaction, companyId);
  if (!settings.isOn) return;
  const data = {
    companyName: company.name,
    totalMicro: lots.reduce((sum, { creditsMicro }) => sum + creditsMicro, 0n),
    lots: lots.slice(0, MOST_LOTS).map(({ label, creditsMicro, expiresAt }) => ({
      ...{ label: label ?? 'Granted credits', creditsMicro, expiresAt },
    })),
  };
  const mailKey = [kind, companyId, first.version].join(':');
  for (const { email: to } of await mailReceivers(transaction, companyId, settings)) {
    await mail.send({ kind, to, companyId, dedupeKey: `${mailKey}:${to}`, data }, transaction);
  }
  await alerts?.dispatch({ ...eventOf(kind, companyId, data, mailKey), raisedAt: now }, transaction);
}

function eventOf(
  kind: ExpiryMail['kind'],
  companyId: string,
  { companyName, totalMicro, lots }: ExpiryMail['data'],
  mailKey: string,
): Omit<AlertEvent, 'raisedAt'> {
  const amount = creditsOfMicro(totalMicro);
  const first = lots[0]?.expiresAt.toISOString() ?? null;
  const known = { companyId, companyName, fact: mailKey, mailKey };
  const data = { credits: creditsAsNumber(totalMicro), first_expiry_at: first };
  if (kind === 'credits-expired') {
    const title = `${amount} credits of ${companyName} have expired`;
    return { ...known, data, kind: 'CREDITS_EXPIRED', title, message: 'They were not used in time.' };
  }
  return {
    ...known,
    ...{ data, kind: 'CREDITS_EXPIRING', title: `${amount} credits of ${companyName} expire soon` },
    message: 'They expire unless they are used. What expires first is used first.',
  };
}

interface NoticeParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly mail: ExpiryOutbox;
  readonly alerts?: AlertDispatch;
  /** 0 sends no notice. */
  readonly expiryNoticeDays: number;
}

const ACCOUNTS_AT_ONCE = 100;
const DAY_MS = 24 * 60 * 60_000;

/**
 * Lots that expire within the notice period, each once. For a lot that lasts less than twice that period, the notice is
 * sent after half of its time: otherwise it would be sent together with the credits.
 */
const TO_NOTICE = `expired_at is null and noticed_at is null and expires_at > $1 and expires_at <= $2
  and (subject is null or not starts_with(subject, 'trial:'))
  and (granted_at is null or granted_at + (expires_at - granted_at) / 2 <= $1)`;

/** Notifies companies of lots that will expire. Returns the number of accounts. */
export async function noticeExpiry(parts: NoticeParts, signal?: AbortSignal): Promise<number> {
  const { database, clock, expiryNoticeDays } = parts;
  if (expiryNoticeDays === 0) return 0;
  const now = new Date(clock.now());
  const until = new Date(now.getTime() + expiryNoticeDays * DAY_MS);
  let noticed = 0;
  for (let after: string | null = null; ; ) {
    const accounts: readonly { readonly accountId: string }[] = await database.query(
      `select distinct account_id as "accountId" from credit_lots
       where ${TO_NOTICE} and ($3::uuid is null or account_id > $3)
       order by account_id limit ${ACCOUNTS_AT_ONCE}`,
      [now, until, after],
    );
    for (const { accountId } of accounts) {
      signal?.throwIfAborted();
      after = accountId;
      await database.transaction(async (transaction) => {
        // Of two concurrent runs, the second waits here and finds none.
        const marked = await transaction.query<{ version: bigint }>(
          `update credit_lots set noticed_at = $1 where ${TO_NOTICE} and account_id = $3 returning version`,
          [now, until, accountId],
        );
        const versions = new Set(marked.map(({ version }) => version));
        const left = await listLots(transaction, accountId, { first: Number.MAX_SAFE_INTEGER });
        const lots = left
          .filter(({ version }) => versions.has(version))
          .map(({ leftMicro, ...lot }) => ({ ...lot, creditsMicro: leftMicro }));
        await mailExpiry(transaction, parts, 'credits-expiring', { companyId: accountId, lots, now });
      });
    }
    noticed += accounts.length;
    if (accounts.length < ACCOUNTS_AT_ONCE) return noticed;
  }
}

export const EXPIRY_NOTICES_QUEUE: QueueDefinition = {
  name: 'credit-expiry-notices',
  retries: 3,
  retryDelaySeconds: 60,
  retryDelayMaxSeconds: 600,
  runSeconds: 600,
  heartbeatSeconds: 60,
};

export const EXPIRY_NOTICES_CRON = '7 * * * *';
