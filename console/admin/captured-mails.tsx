import { useState } from 'react';
import { Dialog } from '../parts/dialog.tsx';
import { List, RowButton } from '../parts/list.tsx';
import { Card, Notice, Page, Problem } from '../parts/page.tsx';
import { exact, Moment } from '../parts/words.tsx';
import { graphql, type RowOf } from '../session/graphql.ts';
import { useQuery } from '../session/use-query.ts';

const MAILS = graphql(`{ capturedMails(first: 50) { nodes { id to subject capturedAt text } } }`);
const LOOK_EVERY_MS = 5_000;

type CapturedMail = RowOf<typeof MAILS>;

export function CapturedMails() {
  const result = useQuery(MAILS, {}, LOOK_EVERY_MS);
  const [shown, setShown] = useState<CapturedMail | null>(null);
  const isSent = result.data !== null && result.data.capturedMails === null;
  return (
    <Page title="Captured mail" says="Without a mail server, mail is captured here: the last 50 messages.">
      {isSent ? (
        <Notice>A mail server is set up: mail is sent to people, and none is captured.</Notice>
      ) : (
        <Card>
          <List
            label="Captured mail"
            rows={result.data?.capturedMails?.nodes ?? null}
            error={result.error}
            retry={result.reload}
            keyOf={({ id }) => id}
            nameOf={({ subject, to, capturedAt }) => `${subject}, ${to}, ${exact(capturedAt)}`}
            empty={<p>Invitations, receipts and resets appear here.</p>}
            columns={[
              { name: 'When', show: ({ capturedAt }) => <Moment at={capturedAt} /> },
              { name: 'To', show: ({ to }) => to },
              { name: 'Subject', show: ({ subject }) => subject },
              {
                name: 'Actions',
                show: (mail) => <RowButton onClick={() => setShown(mail)}>Read</RowButton>,
              },
            ]}
          />
        </Card>
      )}
      <Problem error={isSent ? result.error : null} />
      {shown !== null && (
        <Dialog title={shown.subject} close={() => setShown(null)}>
          <p className="quiet">To {shown.to}</p>
          <pre>{shown.text ?? 'It was removed in favor of newer ones.'}</pre>
          <div>
            <button type="button" className="main" onClick={() => setShown(null)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </Page>
  );
}
