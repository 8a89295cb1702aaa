import { useState } from 'react';
import { isLarge, LargeAmount, usePostingMark } from '../parts/amounts.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Field, Form } from '../parts/form.tsx';
import { Notice } from '../parts/page.tsx';
import { credits } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';

const ADJUST = graphql(`mutation($id: ID!, $credits: Float!, $reason: String!, $once: String!) {
  adjustCredits(companyId: $id, credits: $credits, reason: $reason, idempotencyKey: $once) { balanceAfter } }`);

interface Posting {
  readonly credits: number;
  readonly reason: string;
}

interface AdjustCreditsProps {
  readonly company: {
    readonly id: string;
    readonly name: string;
    readonly balance: { readonly credits: number };
  };
  close(): void;
  changed(): Promise<void>;
}

/** Adds credits to a company or removes them. The dialog stays open for further postings; each is posted once. */
export function AdjustCredits({ company, close, changed }: AdjustCreditsProps) {
  const { session } = useConsole();
  const mark = usePostingMark();
  const [balance, setBalance] = useState(company.balance.credits);
  const [isPosted, setPosted] = useState(false);
  const [large, setLarge] = useState<Posting | null>(null);
  const post = async (posting: Posting) => {
    const { adjustCredits } = await session.request(ADJUST, {
      ...posting,
      ...{ id: company.id, once: mark.of(posting) },
    });
    mark.next();
    setLarge(null);
    setBalance(adjustCredits.balanceAfter);
    setPosted(true);
    await changed();
  };
  const cancel = (
    <button type="button" onClick={close}>
      Close
    </button>
  );
  return (
    <Dialog title={`Credits of ${company.name}`} close={close}>
      {isPosted && <Notice mood="good">Done. The balance is {credits(balance)} credits.</Notice>}
      {large !== null && (
        <LargeAmount
          says={`${large.credits < 0 ? 'Take' : 'Give'} ${credits(Math.abs(large.credits))} credits ${large.credits < 0 ? 'from' : 'to'} ${company.name}? The balance is then ${credits(balance + large.credits)} credits.`}
          confirm={() => post(large)}
          cancel={() => setLarge(null)}
        />
      )}
      <Form
        submit="Post it"
        beside={cancel}
        isReady={large === null}
        send={async ({ text, number }) => {
          const posting = { credits: number('credits') ?? 0, reason: text('reason') };
          setPosted(false);
          if (isLarge(posting.credits)) setLarge(posting);
          else await post(posting);
        }}
      >
        <Field
          label="Credits"
          hint="A negative amount removes credits."
          name="credits"
          type="number"
          step="any"
          required
        />
        <Field label="Reason" hint="The company sees it." name="reason" maxLength={200} required />
      </Form>
    </Dialog>
  );
}
