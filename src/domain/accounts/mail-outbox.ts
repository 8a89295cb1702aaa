import type { Transaction } from '../../ports/database.ts';

/** A mail that grants access. `token` is the secret of its link and is stored nowhere else in plain text. */
export type AccountMail =
  | {
      readonly kind: 'invitation';
      readonly to: string;
      readonly companyId: string;
      readonly data: {
        readonly token: string;
        readonly companyName: string;
        readonly invitedBy: string;
        readonly expiresAt: Date;
      };
    }
  | {
      readonly kind: 'password-reset' | 'verify-email';
      readonly to: string;
      readonly data: { readonly token: string; readonly expiresAt: Date };
    };

/**
 * Takes a mail within the transaction that creates its token: it is sent if and only if that commits. The outcome is
 * `invalid` for an address that cannot receive mail.
 */
export interface MailOutbox {
  send(mail: AccountMail, within: Transaction): Promise<{ readonly outcome: string }>;
}
