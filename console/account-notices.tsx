import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { Act, Dialog } from './parts/dialog.tsx';
import { CodeField, Form } from './parts/form.tsx';
import { Notice } from './parts/page.tsx';
import { useConsole } from './session/console-context.ts';
import { graphql } from './session/graphql.ts';
import type { Person } from './session/session.ts';
import { useQuery } from './session/use-query.ts';

const RESEND = graphql(`mutation { resendVerification }`);
const SUSPENSION = graphql(`{ company { suspendedAt suspensionReason } }`);
/** A suspension is announced on pages that are already open. */
const LOOK_EVERY_MS = 30_000;
const STEP_UP = graphql(`mutation($totp: String!) { stepUp(totp: $totp) }`);

/** What the user still has to do for their account, shown at the top of every page. */
export function AccountNotices({ person }: { person: Person }) {
  const { session } = useConsole();
  const [isSent, setSent] = useState(false);
  const resend = async () => {
    await session.request(RESEND);
    setSent(true);
  };
  return (
    <>
      {person.mustSetUpTotp && (
        <Notice mood="warn">
          <p>Super admins need two-factor authentication here: you get your permissions once it is set up.</p>
          <Link href="/profile">Set it up</Link>
        </Notice>
      )}
      {person.companyId !== null && <SuspensionNotice />}
      {!person.emailVerified && (
        <Notice mood="warn">
          <p>
            Verify your e-mail address: open the link that was mailed to {person.email}. Until then you cannot
            invite others.
          </p>
          {isSent ? <p>Another e-mail was sent.</p> : <Act name="Send the mail again" work={resend} />}
        </Notice>
      )}
    </>
  );
}

function SuspensionNotice() {
  const { data } = useQuery(SUSPENSION, {}, LOOK_EVERY_MS);
  const { suspendedAt = null, suspensionReason = null } = data?.company ?? {};
  if (suspendedAt === null) return null;
  return (
    <Notice mood="bad">
      <p>
        Your company is suspended: its model calls are refused. Reason: {suspensionReason?.replace(/\.$/, '')}
        . Contact the operator of this service to have it resumed. Your data, invoices and keys stay as they
        are.
      </p>
    </Notice>
  );
}

/** Opens when an operation needs a fresh code. The operation continues once the code is accepted. */
export function StepUpDialog() {
  const { session } = useConsole();
  const [answer, setAnswer] = useState<((isDone: boolean) => void) | null>(null);
  useEffect(
    () =>
      session.onStepUp(
        () =>
          new Promise((resolve) =>
            setAnswer(() => (isDone: boolean) => {
              setAnswer(null);
              resolve(isDone);
            }),
          ),
      ),
    [session],
  );
  if (answer === null) return null;
  const cancel = (
    <button type="button" onClick={() => answer(false)}>
      Cancel
    </button>
  );
  return (
    <Dialog title="Confirm that it is you" close={() => answer(false)}>
      <p>This requires a new code from your authenticator app. It is valid for ten minutes.</p>
      <Form
        submit="Confirm"
        beside={cancel}
        send={async ({ text }) => {
          await session.request(STEP_UP, { totp: text('totp') });
          answer(true);
        }}
      >
        <CodeField orRecoveryCode />
      </Form>
    </Dialog>
  );
}
