import type { Transaction } from '../../ports/database.ts';
import { fromMinorUnits } from '../catalog/currency.ts';
import type { MailOutbox, MailToSend } from '../mail/outbox.ts';

/** Mails a fact to all who look after a company's money, once each, if the transaction commits. */
export type TellAdmins = (wanted: ToldFact) => Promise<void>;

type Kinds = 'receipt' | 'payment-failed' | 'payment-action-required' | 'trial-ending' | 'upcoming-invoice';
type DataOf<Kind extends Kinds> = Extract<MailToSend, { kind: Kind }>['data'];

export type ToldFact = {
  [Kind in Kinds]: {
    readonly kind: Kind;
    readonly companyId: string;
    /** Without the company's name, which is added. */
    readonly data: Omit<DataOf<Kind>, 'companyName'>;
    /** The fact that is told; the same again is not told twice. */
    readonly fact: string;
  };
}[Kinds];

const MOST_ADMINS = 100;

export function createTellAdmins(transaction: Transaction, outbox: Pick<MailOutbox, 'send'>): TellAdmins {
  return async ({ kind, companyId, data, fact }) => {
    const rows = await transaction.query<{ companyName: string; email: string }>(
      `select company.name as "companyName", person.email
       from companies as company join users as person on person.company_id = company.id
       where company.id = $1 and person.role = 'COMPANY_ADMIN' and person.removed_at is null
       order by person.created_at, person.id limit ${MOST_ADMINS}`,
      [companyId],
    );
    for (const { companyName, email } of rows) {
      const dedupeKey = `${fact}:${email}`;
      // The kind and its data belong together by the type of the fact; joined with the name the compiler loses it.
      const mail = { kind, to: email, companyId, dedupeKey, data: { ...data, companyName } } as MailToSend;
      await outbox.send(mail, transaction);
    }
  };
}

/** As mails write money. */
export function amountOf(minor: bigint, currency: string): { value: string; currency: string } {
  return { value: fromMinorUnits(minor, currency), currency };
}
