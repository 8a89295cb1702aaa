import type { Transaction } from '../../ports/database.ts';
import { ownBalanceMicro } from './alert-hand-on.ts';
import type { AlertNotice, AlertReceiver } from './alert-notice.ts';

/** The two mails that alerts become. */
export type AlertMail = AlertContent & {
  readonly to: string;
  readonly companyId: string;
  /** The same alert to the same person is one mail, however often it is told. */
  readonly dedupeKey: string;
};

type AlertContent =
  | {
      readonly kind: 'low-balance';
      readonly data: {
        readonly companyName: string;
        readonly balanceMicro: bigint;
        readonly thresholdMicro: bigint;
      };
    }
  | {
      readonly kind: 'spending-limit';
      readonly data: {
        readonly companyName: string;
        readonly keyName: string;
        readonly limitMicro: bigint;
        readonly spentMicro: bigint;
        readonly resetsAt: Date;
      };
    };

/** Takes mails within a transaction: they go out if and only if it commits. */
export interface AlertOutbox {
  send(mail: AlertMail, within: Transaction): Promise<unknown>;
}

/** Mails every alert to those whom its company wants to be told. */
export function createAlertMails(outbox: AlertOutbox): AlertReceiver {
  return async (notice, within) => {
    const content = contentOf(notice);
    if (content === null) return;
    const { companyId, kind, subject, thresholdPercent, episode } = notice;
    for (const to of notice.receivers) {
      const dedupeKey = ['alert', companyId, kind, subject, thresholdPercent, episode, to].join(':');
      await outbox.send({ to, companyId, dedupeKey, ...content }, within);
    }
  };
}

/** Null where it has become pointless: the key or its limit is gone. */
function contentOf(notice: AlertNotice): AlertContent | null {
  const { companyName, kind, key, balanceMicro, toppedUpMicro, lineMicro } = notice;
  const percent = BigInt(notice.thresholdPercent);
  switch (kind) {
    case 'LOW_BALANCE': {
      const thresholdMicro = ownBalanceMicro(notice) ?? (toppedUpMicro * percent) / 100n;
      return { kind: 'low-balance', data: { companyName, balanceMicro, thresholdMicro } };
    }
    case 'CREDIT_LINE': {
      if (lineMicro === null) return null;
      // Of a line people want to know what is left of it.
      const thresholdMicro = (lineMicro * (100n - percent)) / 100n;
      return {
        kind: 'low-balance',
        data: { companyName, balanceMicro: balanceMicro + lineMicro, thresholdMicro },
      };
    }
    case 'KEY_SPENDING': {
      if (key === null || key.limitMicro === null) return null;
      const { name: keyName, limitMicro, spentMicro } = key;
      const resetsAt = monthAfter(notice.episode);
      return { kind: 'spending-limit', data: { companyName, keyName, limitMicro, spentMicro, resetsAt } };
    }
  }
}

/** `YYYY-MM`. */
function monthAfter(episode: string): Date {
  const [year, month] = episode.split('-').map(Number);
  return new Date(Date.UTC(year ?? 0, month ?? 0));
}
