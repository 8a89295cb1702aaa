import { useState } from 'react';
import { Act, Confirmed } from '../../parts/dialog.tsx';
import { Field, Form } from '../../parts/form.tsx';
import { List } from '../../parts/list.tsx';
import { Card, Notice, Page } from '../../parts/page.tsx';
import { Moment } from '../../parts/words.tsx';
import { useConsole, useSessionState } from '../../session/console-context.ts';
import { graphql } from '../../session/graphql.ts';
import { useChange, useQuery } from '../../session/use-query.ts';

const SESSIONS = graphql(`{ sessions { id clientAddress userAgent createdAt refreshedAt } }`);
const END = graphql(`mutation($id: ID!) { endSession(id: $id) }`);
const LEAVE = graphql(`mutation { leaveCompany }`);

export function Profile() {
  const { session } = useConsole();
  const state = useSessionState();
  const sessions = useQuery(SESSIONS);
  const [isChanged, setChanged] = useState(false);
  const person = state.status === 'in' ? state.person : null;
  const change = useChange(sessions.reload);
  const leave = async () => {
    await session.request(LEAVE);
    await session.logOut();
  };
  return (
    <Page title="Password and sessions" says={person?.email}>
      <div className="halves">
        <Card title="Change the password">
          {isChanged && <Notice mood="good">It is changed, and all other sessions have ended.</Notice>}
          <Form
            submit="Change it"
            send={async ({ text }) => {
              const passwords = { currentPassword: text('current'), newPassword: text('new') };
              await session.signIn('change-password', passwords);
              setChanged(true);
              await sessions.reload();
            }}
          >
            <Field
              label="Current password"
              name="current"
              type="password"
              autoComplete="current-password"
              required
            />
            <Field
              label="New password"
              name="new"
              type="password"
              autoComplete="new-password"
              minLength={10}
              required
            />
          </Form>
        </Card>
        {person?.companyId != null && (
          <Card title="Leave">
            <p className="quiet">Your account is closed. The last admin of a company cannot leave.</p>
            <div>
              <Confirmed
                name="Leave the company"
                title="Leave the company?"
                says="Your account is closed at once. This cannot be undone."
                work={leave}
              />
            </div>
          </Card>
        )}
      </div>
      <Card title="Where you are logged in">
        <List
          label="Sessions"
          rows={sessions.data?.sessions ?? null}
          error={sessions.error}
          retry={sessions.reload}
          keyOf={({ id }) => id}
          empty={<p>Only this page.</p>}
          columns={[
            {
              name: 'Browser',
              show: ({ userAgent }) => <span title={userAgent}>{browserWords(userAgent)}</span>,
            },
            { name: 'From', show: ({ clientAddress }) => <span className="mono">{clientAddress}</span> },
            { name: 'Since', show: ({ createdAt }) => <Moment at={createdAt} /> },
            { name: 'Last seen', show: ({ refreshedAt }) => <Moment at={refreshedAt} /> },
            { name: 'Do', show: ({ id }) => <Act name="End" work={() => change(END, { id })} /> },
          ]}
        />
      </Card>
    </Page>
  );
}

const BROWSERS = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrom(?:e|ium)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const;
const SYSTEMS = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
] as const;

/** Chrome on Linux; what is no known browser is named as it names itself. */
function browserWords(userAgent: string): string {
  const browser = BROWSERS.find(([sign]) => sign.test(userAgent))?.[1];
  const system = SYSTEMS.find(([sign]) => sign.test(userAgent))?.[1];
  if (browser === undefined) return userAgent.slice(0, 60) || 'unknown';
  return system === undefined ? browser : `${browser} on ${system}`;
}
