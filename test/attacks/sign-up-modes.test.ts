import { describe, expect, test } from 'bun:test';
import { openBackend } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { useResource } from '../setup/use-resource.ts';

const SIGN_UP = `mutation { signUp(input: { companyName: "Mine", email: "new@mine.example",
  password: "a long enough pass phrase" }) { accessToken } }`;
const INVITE = 'mutation($email: String!) { inviteMember(email: $email) { id } }';
const ACCEPT = `mutation($token: String!) {
  acceptInvitation(token: $token, password: "a long enough pass phrase") { accessToken } }`;
const CLOSED = { code: 'FORBIDDEN', reason: 'SIGN_UP_CLOSED' };

function signUpInTheConsole(): Request {
  const input = { companyName: 'Ours', email: 'two@mine.example', password: 'a long enough pass phrase' };
  const origin = 'https://console.example';
  return new Request(`${origin}/session/sign-up`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin, 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ input }),
  });
}

describe.each(['open', 'invited', 'closed'] as const)('SIGN_UP=%s', (signUpMode) => {
  const backend = useResource(() => openBackend({ signUpMode }));
  const people = async () => (await backend.database.query('select id from users')).length;

  test('signs up only the allowed users, by GraphQL and by the console', async () => {
    const before = await people();
    const anyone = graphqlClient(backend.fetch, null);
    if (signUpMode === 'open') {
      await anyone.ask(SIGN_UP);
      const answer = await backend.fetch(signUpInTheConsole());
      expect(answer.headers.get('set-cookie')).toContain('turnpike_refresh=');
      expect(await people()).toBe(before + 2);
      return;
    }
    expect((await anyone.refusal(SIGN_UP)).extensions).toMatchObject(CLOSED);
    const answer = await backend.fetch(signUpInTheConsole());
    expect(answer.headers.get('set-cookie')).toBeNull();
    expect(await answer.text()).toContain('SIGN_UP_CLOSED');
    expect(await people()).toBe(before);
  });

  test('admits invited users unless it is closed', async () => {
    const { admin } = backend.people;
    const before = await people();
    const anyone = graphqlClient(backend.fetch, null);
    const email = 'guest@acme.example';
    if (signUpMode === 'closed') {
      expect((await admin.refusal(INVITE, { email })).extensions).toMatchObject(CLOSED);
      expect((await anyone.refusal(ACCEPT, { token: 'of-before' })).extensions).toMatchObject(CLOSED);
      expect(await people()).toBe(before);
      return;
    }
    await admin.ask(INVITE, { email });
    const mail = backend.mails.findLast(({ to }) => to === email);
    await anyone.ask(ACCEPT, { token: mail?.data.token ?? '' });
    expect(await people()).toBe(before + 1);
  });
});
