import { mailVerification } from '../../src/domain/accounts/email-verification.ts';
import { signInIdentity } from '../../src/domain/accounts/oidc-accounts.ts';
import { requestPasswordReset } from '../../src/domain/accounts/passwords.ts';
import { totpCode } from '../../src/domain/accounts/two-factor.ts';
import { findUser } from '../../src/domain/accounts/user.ts';
import { type GraphqlClient, graphqlClient } from '../backend/graphql-client.ts';
import type { SearchedSystem } from './searched-system.ts';

const EMAIL = 'vesna@quibblethorn.example';
const PASSWORD = 'tall ladders at noon';
const ROOM = 'weekly';

/** In the address of the member, in the browser and the client address of their sessions, and in their name at a meeting. */
export const MEMBER_MARKERS = ['quibblethorn', '203.0.113.77'] as const;

export interface MarkedMember {
  readonly userId: string;
  readonly client: GraphqlClient;
}

/** A member who was invited, has signed in every way, has changed things, was at a meeting, and to whom mails wait. */
export async function fillWithMember(system: SearchedSystem): Promise<MarkedMember> {
  const client = await join(system);
  const { whoAmI } = await client.ask<{ whoAmI: { id: string } }>('{ whoAmI { id } }');
  await fillAccount(system, client, whoAmI.id);
  await fillCompany(client);
  await fillMeeting(system, client);
  await system.flushLog();
  return { userId: whoAmI.id, client };
}

async function join(system: SearchedSystem): Promise<GraphqlClient> {
  const { people, fetch } = system.backend;
  await people.admin.ask(
    'mutation($email: String!) { inviteMember(email: $email, role: COMPANY_ADMIN) { id } }',
    {
      email: EMAIL,
    },
  );
  const [invitation] = await system.database.query<{ token: string }>(
    `select data ->> 'token' as token from mail_outbox where kind = 'invitation' and state = 'WAITING' and to_address = $1`,
    [EMAIL],
  );
  const asMember = async (request: Request) => {
    request.headers.set('user-agent', 'Quibblethorn/1.0');
    return await fetch(request, '203.0.113.77');
  };
  const { acceptInvitation } = await graphqlClient(asMember, null).ask<{
    acceptInvitation: { accessToken: string };
  }>(
    'mutation($token: String!, $password: String!) { acceptInvitation(token: $token, password: $password) { accessToken } }',
    { token: invitation?.token, password: PASSWORD },
  );
  return graphqlClient(asMember, acceptInvitation.accessToken);
}

/** A second factor with recovery codes and a fresh code, an identity at a provider, and tokens that were mailed. */
async function fillAccount(system: SearchedSystem, client: GraphqlClient, userId: string): Promise<void> {
  const { clock, database, backend } = system;
  const { parts, companies } = backend;
  const { beginTotp } = await client.ask<{ beginTotp: { secret: string } }>(
    'mutation { beginTotp { secret } }',
  );
  const code = async () => await totpCode(beginTotp.secret, Math.floor(clock.now() / 30_000));
  await client.ask('mutation($code: String!) { confirmTotp(code: $code) { recoveryCodes } }', {
    code: await code(),
  });
  await clock.advance(30_000);
  await client.ask('mutation($totp: String!) { stepUp(totp: $totp) }', { totp: await code() });
  const passwordHash = await parts.secrets.hashPassword(PASSWORD);
  const identity = { issuer: 'https://login.example', subject: 'quibblethorn-7', email: EMAIL, roles: [] };
  const rules = {
    domains: { 'quibblethorn.example': companies.acme },
    roles: {},
    signUpMode: 'open',
  } as const;
  await database.transaction(async (transaction) => {
    await signInIdentity(parts, transaction, { identity, rules, passwordHash });
    const user = await findUser(transaction, userId);
    if (user === null) throw new Error('the member is gone');
    await mailVerification(parts, transaction, user);
    await requestPasswordReset(parts, transaction, user);
  });
}

async function fillCompany(client: GraphqlClient): Promise<void> {
  await client.ask('mutation($input: TalentInput!) { createTalent(input: $input) { id } }', {
    input: { profile: { basics: { name: 'Some Body' } } },
  });
  await client.ask('mutation { createServiceToken(name: "robot", scopes: ["usage:read"]) { rawToken } }');
  await client.ask('mutation { createApiKey(input: { name: "key" }) { rawKey } }');
  await client.ask('mutation($input: AlertSettingsInput!) { setAlertSettings(input: $input) { isOn } }', {
    input: { isOn: true, receivers: [EMAIL] },
  });
  await client.ask(
    'mutation($input: CreateAlertChannelInput!) { createAlertChannel(input: $input) { secret } }',
    {
      input: { kind: 'EMAIL', name: 'mail', address: EMAIL },
    },
  );
}

/** The member was there, as the meeting server says, and a summary waits to be mailed to them. */
async function fillMeeting(system: SearchedSystem, client: GraphqlClient): Promise<void> {
  const { admin } = system.backend.people;
  const { createMeeting } = await client.ask<{ createMeeting: { id: string } }>(
    'mutation($input: MeetingInput!) { createMeeting(input: $input) { id } }',
    { input: { room: ROOM } },
  );
  const at = system.clock.now() / 1_000;
  const place = { room_name: ROOM, room_jid: `${ROOM}@conference.meet`, is_breakout: false };
  const occupant = {
    name: 'Vesna Quibblethorn',
    email: EMAIL,
    id: 'v',
    occupant_jid: 'v@x/1',
    joined_at: at,
  };
  await system.report('room/created', { event_name: 'muc-room-created', ...place, created_at: at });
  await system.report('occupant/joined', { event_name: 'muc-occupant-joined', ...place, occupant });
  await admin.ask(
    'mutation($id: ID!) { addMeetingTranscript(meetingId: $id, text: "Ada: We decided to hire him.") { id } }',
    { id: createMeeting.id },
  );
  await system.run('meeting', { meetingId: createMeeting.id });
  await admin.ask('mutation($id: ID!, $to: [String!]!) { mailMeetingSummary(meetingId: $id, to: $to) }', {
    id: createMeeting.id,
    to: [EMAIL, admin.email],
  });
}
