import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { Act, Confirmed } from '../../parts/dialog.tsx';
import { Field, Form } from '../../parts/form.tsx';
import { List } from '../../parts/list.tsx';
import { Bones, Card, Notice, Page, Problem, Tag } from '../../parts/page.tsx';
import { exact, Moment } from '../../parts/words.tsx';
import { useConsole, useSessionState } from '../../session/console-context.ts';
import { type DataOf, graphql } from '../../session/graphql.ts';
import type { Person } from '../../session/session.ts';
import { type QueryResult, useChange, useQuery } from '../../session/use-query.ts';
import { TwoFactor } from './two-factor.tsx';

const SESSIONS = graphql(`{ sessions { id clientAddress userAgent createdAt refreshedAt isCurrent } }`);
const END = graphql(`mutation($id: ID!) { endSession(id: $id) }`);
const END_ALL = graphql(`mutation { endAllSessions }`);
const LEAVE = graphql(`mutation { leaveCompany }`);
const MEMBERS = graphql(`{ members(first: 100) { nodes { id role } pageInfo { hasNextPage } } }`);

export function Profile() {
  const state = useSessionState();
  const sessions = useQuery(SESSIONS);
  const person = state.status === 'in' ? state.person : null;
  return (
    <Page title="Password and sessions" says={person?.email}>
      <div className="halves">
        <ChangePassword changed={sessions.reload} />
        {person !== null && <TwoFactor person={person} />}
        {person?.companyId != null && <Leave person={person} />}
      </div>
      <Sessions sessions={sessions} />
    </Page>
  );
}

function ChangePassword({ changed }: { changed(): Promise<void> }) {
  const { session } = useConsole();
  const [isChanged, setChanged] = useState(false);
  const current = { name: 'current', type: 'password', autoComplete: 'current-password' } as const;
  const wanted = { name: 'new', type: 'password', autoComplete: 'new-password', minLength: 10 } as const;
  return (
    <Card title="Change the password">
      {isChanged && (
        <Notice mood="good">Your password was changed, and all other sessions have ended.</Notice>
      )}
      <Form
        submit="Change the password"
        clears
        send={async ({ password }) => {
          setChanged(false);
          const passwords = { currentPassword: password('current'), newPassword: password('new') };
          await session.signIn('change-password', passwords);
          setChanged(true);
          await changed();
        }}
      >
        <Field label="Current password" {...current} required />
        <Field label="New password" {...wanted} required />
      </Form>
    </Card>
  );
}

function Leave({ person }: { person: Person }) {
  const { session } = useConsole();
  const { data, error, reload } = useQuery(MEMBERS);
  const leave = async () => {
    await session.request(LEAVE);
    await session.logOut();
  };
  const reason = data === null ? null : whyNotLeave(person, data.members);
  return (
    <Card title="Leave the company">
      <Problem error={error} retry={reload} />
      {data === null ? (
        error === null && <Bones lines={2} />
      ) : reason !== null ? (
        <p className="quiet">{reason}</p>
      ) : (
        <>
          <p className="quiet">You lose access to the company, and your account is closed for good.</p>
          <div>
            <Confirmed
              name="Leave the company"
              title="Leave the company?"
              says="Your account is closed immediately. Keys that you pay for are revoked, and your credits return to the company. This cannot be undone."
              work={leave}
            />
          </div>
        </>
      )}
    </Card>
  );
}

/** Null if the user may leave, as far as the first members show: the server decides. */
function whyNotLeave({ role }: Person, { nodes, pageInfo }: DataOf<typeof MEMBERS>['members']): ReactNode {
  const admins = nodes.filter((one) => one.role === 'COMPANY_ADMIN').length;
  if (role !== 'COMPANY_ADMIN' || pageInfo.hasNextPage || admins > 1) return null;
  const team = <Link href="/team">Team</Link>;
  if (nodes.length > 1) {
    return <>The last admin of a company cannot leave. Make another person an admin under {team} first.</>;
  }
  return (
    <>
      The last admin of a company cannot leave. As you are its only person, invite another admin under {team},
      and leave once they have joined. To close the company, contact the operator of this service.
    </>
  );
}

function Sessions({ sessions }: { sessions: QueryResult<DataOf<typeof SESSIONS>> }) {
  const { session } = useConsole();
  const change = useChange(sessions.reload);
  const endAll = async () => {
    await session.request(END_ALL);
    await session.logOut();
  };
  const everywhere = (
    <Confirmed
      name="Log out everywhere"
      title="Log out everywhere?"
      says="All sessions end at once, this one too, and so do access tokens of scripts."
      work={endAll}
    />
  );
  return (
    <Card title="Where you are logged in" actions={everywhere}>
      <List
        label="Sessions"
        rows={sessions.data?.sessions ?? null}
        error={sessions.error}
        retry={sessions.reload}
        keyOf={({ id }) => id}
        nameOf={({ userAgent, createdAt }) => `${browserWords(userAgent)}, ${exact(createdAt)}`}
        empty={<p>Only this page.</p>}
        columns={[
          {
            name: 'Browser',
            show: ({ userAgent }) => <span title={userAgent}>{browserWords(userAgent)}</span>,
          },
          { name: 'From', show: ({ clientAddress }) => <span className="mono">{clientAddress}</span> },
          { name: 'Since', show: ({ createdAt }) => <Moment at={createdAt} /> },
          { name: 'Last seen', show: ({ refreshedAt }) => <Moment at={refreshedAt} /> },
          {
            name: 'Actions',
            show: ({ id, isCurrent }) =>
              isCurrent ? (
                <Tag>This browser</Tag>
              ) : (
                <Act name="End session" work={() => change(END, { id })} />
              ),
          },
        ]}
      />
    </Card>
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

/** For example “Chrome on Linux”. An unknown browser is shown by its user agent. */
function browserWords(userAgent: string): string {
  const browser = BROWSERS.find(([sign]) => sign.test(userAgent))?.[1];
  const system = SYSTEMS.find(([sign]) => sign.test(userAgent))?.[1];
  if (browser === undefined) return userAgent.slice(0, 60) || 'unknown';
  return system === undefined ? browser : `${browser} on ${system}`;
}
