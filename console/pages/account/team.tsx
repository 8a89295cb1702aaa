import { useState } from 'react';
import { useFilters } from '../../operations/filters.tsx';
import { Act, Confirmed } from '../../parts/dialog.tsx';
import { Choice, Field, Form } from '../../parts/form.tsx';
import { type Column, List, Nil, RowButton } from '../../parts/list.tsx';
import { Card, Page, Tag, ToForm } from '../../parts/page.tsx';
import { Breakable, credits, Moment, spoken } from '../../parts/words.tsx';
import { useSessionState } from '../../session/console-context.ts';
import { graphql, type RowOf } from '../../session/graphql.ts';
import { useChange, usePages } from '../../session/use-query.ts';
import { MemberCredits } from './member-credits.tsx';

const MEMBERS =
  graphql(`query($after: ID, $search: String) { members(first: 50, after: $after, search: $search) {
  nodes { id email role createdAt creditBalance { credits held } } pageInfo { hasNextPage endCursor } } }`);
const INVITATIONS = graphql(`query($after: ID) { invitations(first: 50, after: $after) {
  nodes { id email role createdAt expiresAt } pageInfo { hasNextPage endCursor } } }`);
const INVITE = graphql(
  `mutation($email: String!, $role: Role!) { inviteMember(email: $email, role: $role) { id } }`,
);
const WITHDRAW = graphql(`mutation($id: ID!) { withdrawInvitation(id: $id) { id } }`);
const CHANGE_ROLE = graphql(
  `mutation($id: ID!, $role: Role!) { changeRole(userId: $id, role: $role) { id } }`,
);
const REMOVE = graphql(`mutation($id: ID!) { removeMember(userId: $id) }`);

type Member = RowOf<typeof MEMBERS>;

export function Team() {
  const state = useSessionState();
  const isAdmin = state.status === 'in' && state.person.role === 'COMPANY_ADMIN';
  const ownId = state.status === 'in' ? state.person.id : '';
  return (
    <Page
      title="Team"
      says="The members of your company. Admins also manage members, keys and billing."
      actions={isAdmin ? <ToForm of="Invite a member" /> : undefined}
    >
      <Members isAdmin={isAdmin} ownId={ownId} />
    </Page>
  );
}

function Members({ isAdmin, ownId }: { isAdmin: boolean; ownId: string }) {
  const { filter, typed } = useFilters();
  const pages = usePages(MEMBERS, { search: filter('search') });
  const change = useChange(pages.reload);
  const [moving, setMoving] = useState<Member | null>(null);
  const actions: Column<Member> = {
    name: 'Actions',
    show: (member) => {
      const { id, email, role } = member;
      const move = <RowButton onClick={() => setMoving(member)}>Credits</RowButton>;
      if (id === ownId) {
        return (
          <div className="row">
            {move}
            <span className="quiet">You</span>
          </div>
        );
      }
      const other = role === 'MEMBER' ? 'COMPANY_ADMIN' : 'MEMBER';
      return (
        <div className="row">
          {move}
          <Confirmed
            {...(other === 'MEMBER' ? demotion(email) : promotion(email))}
            danger={false}
            work={() => change(CHANGE_ROLE, { id, role: other })}
          />
          <Confirmed
            name="Remove"
            title={`Remove ${email}?`}
            says="They lose access immediately, and their account is closed. Keys that they pay for are revoked, and their credits return to the company."
            work={() => change(REMOVE, { id })}
          />
        </div>
      );
    },
  };
  return (
    <>
      <Card title="People">
        <Field label="Search people" {...typed('search')} />
        <List
          label="People"
          rows={pages.nodes}
          error={pages.error}
          retry={pages.reload}
          more={pages}
          keyOf={({ id }) => id}
          nameOf={({ email }) => email}
          nothing="No such person"
          empty={<p>No member’s address matches your search.</p>}
          columns={[...COLUMNS, ...(isAdmin ? [CREDITS, actions] : [])]}
        />
        {moving !== null && (
          <MemberCredits member={moving} close={() => setMoving(null)} moved={pages.reload} />
        )}
      </Card>
      {/* Not before the list: its rows would move the form while it is being filled in. */}
      {isAdmin && (pages.nodes !== null || pages.error !== null) && <Invitations />}
    </>
  );
}

const promotion = (email: string) => ({
  name: 'Make an admin',
  title: `Make ${email} an admin?`,
  says: 'Admins manage members, keys, budgets and billing, and read every request and stored prompt.',
});
const demotion = (email: string) => ({
  name: 'Make a member',
  title: `Make ${email} a member?`,
  says: 'They can no longer manage members, keys and billing. Open invitations that they sent are withdrawn.',
});

function Invitations() {
  const pages = usePages(INVITATIONS);
  const change = useChange(pages.reload);
  return (
    <div className="halves">
      <Card title="Invite a member">
        <Form
          submit="Send the invitation"
          clears
          guards
          send={({ text }) => change(INVITE, { email: text('email'), role: text('role') as Member['role'] })}
        >
          <Field label="E-mail" name="email" type="email" required autoComplete="off" />
          <Choice label="Role" name="role">
            <option value="MEMBER">Member</option>
            <option value="COMPANY_ADMIN">Admin</option>
          </Choice>
        </Form>
      </Card>
      <Card title="Open invitations">
        <List
          label="Open invitations"
          rows={pages.nodes}
          error={pages.error}
          retry={pages.reload}
          more={pages}
          keyOf={({ id }) => id}
          nameOf={({ email }) => email}
          nothing="No open invitations"
          empty={<p>An invitation is sent by e-mail. It is valid for a week.</p>}
          columns={[
            { name: 'E-mail', show: ({ email }) => <Breakable text={email} after="@" /> },
            { name: 'Role', show: ({ role }) => spoken(role) },
            { name: 'Expires', show: ({ expiresAt }) => <Moment at={expiresAt} /> },
            {
              name: 'Actions',
              show: ({ id }) => <Act name="Withdraw" work={() => change(WITHDRAW, { id })} />,
            },
          ]}
        />
      </Card>
    </div>
  );
}

const COLUMNS: readonly Column<Member>[] = [
  { name: 'E-mail', show: ({ email }) => <Breakable text={email} after="@" /> },
  { name: 'Role', show: ({ role }) => <Tag>{spoken(role)}</Tag> },
  { name: 'Since', show: ({ createdAt }) => <Moment at={createdAt} /> },
];

const CREDITS: Column<Member> = {
  name: 'Personal credits',
  isNumber: true,
  show: ({ creditBalance }) => (creditBalance === null ? <Nil /> : credits(creditBalance.credits)),
};
