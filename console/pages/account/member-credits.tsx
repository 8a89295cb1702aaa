import { useState } from 'react';
import { isLarge, LargeAmount, usePostingMark } from '../../parts/amounts.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Choice, Field, Form } from '../../parts/form.tsx';
import { List, Nil } from '../../parts/list.tsx';
import { credits, Moment, spoken } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { graphql } from '../../session/graphql.ts';
import { usePages } from '../../session/use-query.ts';

const TRANSACTIONS =
  graphql(`query($after: ID, $userId: ID) { userCreditTransactions(first: 10, after: $after, userId: $userId) {
  nodes { id type credits balanceAfter reason createdAt } pageInfo { hasNextPage endCursor } } }`);
const GRANT = graphql(`mutation($userId: ID!, $credits: Float!, $reason: String!, $idempotencyKey: String!) {
  grantUserCredits(userId: $userId, credits: $credits, reason: $reason, idempotencyKey: $idempotencyKey) { id }
}`);

interface Transfer {
  readonly credits: number;
  readonly reason: string;
}

interface MemberCreditsProps {
  readonly member: {
    readonly id: string;
    readonly email: string;
    readonly creditBalance: { readonly credits: number; readonly held: number } | null;
  };
  close(): void;
  moved(): Promise<void>;
}

/** A member's own balance with its transactions, and transfers of credits to it or back. */
export function MemberCredits({ member, close, moved }: MemberCreditsProps) {
  const { session } = useConsole();
  const { id: userId, email, creditBalance } = member;
  const transactions = usePages(TRANSACTIONS, { userId });
  const mark = usePostingMark();
  const [large, setLarge] = useState<Transfer | null>(null);
  const move = async (transfer: Transfer) => {
    await session.request(GRANT, { ...transfer, userId, idempotencyKey: mark.of(transfer) });
    await moved();
    close();
  };
  const cancel = (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
  return (
    <Dialog title={`Credits of ${email}`} isWide close={close}>
      <p>
        {credits(creditBalance?.credits ?? 0)} credits, {credits(creditBalance?.held ?? 0)} held by calls. API
        keys that are paid by this person draw on them.
      </p>
      {large !== null && (
        <LargeAmount
          says={`Move ${credits(Math.abs(large.credits))} credits ${large.credits < 0 ? `from ${email} back to the company` : `from the company to ${email}`}?`}
          confirm={() => move(large)}
          cancel={() => setLarge(null)}
        />
      )}
      <Form
        submit="Move the credits"
        beside={cancel}
        isReady={large === null}
        send={async ({ text, number }) => {
          const amount = number('credits') ?? 0;
          const transfer = {
            credits: text('direction') === 'back' ? -amount : amount,
            reason: text('reason'),
          };
          if (isLarge(amount)) setLarge(transfer);
          else await move(transfer);
        }}
      >
        <div className="columns">
          <Choice label="Move" name="direction">
            <option value="to">from the company to the person</option>
            <option value="back">back to the company</option>
          </Choice>
          <Field label="Credits" name="credits" type="number" min={0.000001} step="any" required />
        </div>
        <Field label="Reason" name="reason" maxLength={500} required />
      </Form>
      <List
        label="Transactions"
        rows={transactions.nodes}
        error={transactions.error}
        retry={transactions.reload}
        more={transactions}
        keyOf={({ id }) => id}
        empty={<p>No credits were moved yet.</p>}
        columns={[
          { name: 'When', show: ({ createdAt }) => <Moment at={createdAt} /> },
          { name: 'Type', show: ({ type }) => spoken(type) },
          { name: 'Credits', isNumber: true, show: (row) => credits(row.credits) },
          { name: 'Balance', isNumber: true, show: ({ balanceAfter }) => credits(balanceAfter) },
          { name: 'Reason', show: ({ reason }) => reason ?? <Nil /> },
        ]}
      />
    </Dialog>
  );
}
